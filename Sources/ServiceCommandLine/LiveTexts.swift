// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes
package import ServiceAPI

/// What `vatoolbox live` prints for people.
package enum LiveTexts {
    /// A line for each live job.
    package static func list(_ jobs: [LiveJob]) -> String {
        jobs.isEmpty ? "no live jobs\n" : jobs.map { line($0) + "\n" }.joined()
    }

    /// The ID, the state and the name.
    package static func line(_ job: LiveJob) -> String {
        let outputs = job.statistics?.outputs ?? []
        let live = outputs.isEmpty ? "" : ", \(outputs.count { $0.state == "live" }) of \(outputs.count) outputs live"
        return "\(job.id)  \(job.state.rawValue)\(live)  \(Readable.oneLine(job.request.name))"
    }

    /// A live job in full.
    package static func page(_ job: LiveJob) -> String {
        var page = Page()
        page.entry("live job", job.id)
        page.entry("name", job.request.name)
        page.entry("state", job.state.rawValue)
        if job.restarts > 0 { page.entry("restarts", "\(job.restarts)") }
        if let next = job.nextStart { page.entry("next start", "\(next)") }
        let statistics = job.statistics
        for (index, input) in job.request.inputs.enumerated() {
            let told = statistics.flatMap { $0.inputs.indices.contains(index) ? $0.inputs[index] : nil }
            let text = input.text + (index == job.input ? ", used" : "") + (told?.error.map { ", gone: \($0)" } ?? "")
            page.entry("input \(index + 1)", text)
        }
        for (index, output) in job.request.outputs.enumerated() {
            let told = statistics.flatMap { $0.outputs.indices.contains(index) ? $0.outputs[index] : nil }
            page.entry("output \(index + 1)", output.text + (told.map { ", \(text($0))" } ?? ""))
        }
        if let encoder = statistics?.encoder {
            let rate = statistics?.bitrate.map { ", \(Readable.bitRate(Double($0)))" } ?? ""
            page.entry("encoder", "\(encoder.name), \(encoder.codec)\(encoder.device.map { " on \($0)" } ?? "")\(rate)")
        }
        if let time = statistics?.time { page.entry("encoded", Readable.clock(time)) }
        if let failure = job.failure { page.entry("failure", "\(failure.code): \(failure.message)") }
        return page.text
    }

    private static func text(_ output: LiveOutputStatus) -> String {
        var parts = [output.state, Readable.bitRate(Double(output.rate))]
        if output.queueAge >= 0.05 { parts.append("queue \(Readable.number(output.queueAge, places: 1)) s") }
        if output.droppedFrames.sum > 0 { parts.append("dropped \(output.droppedFrames.sum)") }
        if output.reconnects > 0 { parts.append("connected \(output.reconnects + 1) times") }
        if let error = output.error { parts.append(error) }
        return parts.joined(separator: ", ")
    }
}
