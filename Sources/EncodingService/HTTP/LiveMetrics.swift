// SPDX-License-Identifier: GPL-2.0-or-later

internal import ServiceAPI

extension MetricsText {
    /// Adds the metrics of live jobs that have not ended, by their IDs and the indices of their outputs: addresses may be
    /// long, and would be series for ever.
    mutating func add(live jobs: [LiveJob]) {
        let states = LiveState.allCases.filter { !$0.isFinal }
        add(
            "live_jobs",
            "gauge",
            "Live jobs by state",
            states.map { state in ([("state", state.rawValue)], Double(jobs.count { $0.state == state })) }
        )
        add(
            "live_restarts_total",
            "counter",
            "How often the process of a live job has ended early",
            jobs.map { ([("live", $0.id)], Double($0.restarts)) }
        )
        addOutputs("live_output_up", "gauge", "Whether an output sends", jobs) { $0.state == "live" ? 1 : 0 }
        addOutputs("live_output_bytes_per_second", "gauge", "What the network took of an output", jobs) {
            Double($0.rate) / 8
        }
        addOutputs("live_output_queue_age_seconds", "gauge", "How long the oldest part has waited", jobs, \.queueAge)
        addOutputs("live_output_frames_sent", "gauge", "Pictures that the present process has sent", jobs) {
            Double($0.sentFrames)
        }
        addOutputs("live_output_frames_dropped", "gauge", "Pictures that it has not sent", jobs) {
            Double($0.droppedFrames.sum)
        }
        addOutputs("live_output_reconnects", "gauge", "How often it has connected again", jobs) {
            Double($0.reconnects)
        }
    }

    private mutating func addOutputs(
        _ name: String,
        _ kind: String,
        _ help: String,
        _ jobs: [LiveJob],
        _ value: (LiveOutputStatus) -> Double
    ) {
        add(
            name,
            kind,
            help,
            jobs.flatMap { job in
                (job.statistics?.outputs ?? []).enumerated().map { index, output in
                    ([("live", job.id), ("output", "\(index)")], value(output))
                }
            }
        )
    }
}
