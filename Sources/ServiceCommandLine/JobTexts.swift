// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes
package import ServiceAPI

/// What the commands print for people.
package enum JobTexts {
    /// How far a job is, in at most `width` columns; the least important parts are dropped first.
    package static func progress(_ progress: Progress, width: Int) -> String {
        var parts: [(text: String, rank: Int)] = []
        if let fraction = progress.fraction { parts.append((percent(fraction), 1)) }
        parts.append((progress.phase.rawValue, 0))
        if let time = progress.time {
            let whole = progress.expectedDuration.map { " of \(Readable.clock($0))" } ?? ""
            parts.append((Readable.clock(time) + whole, 5))
        }
        if let rate = progress.framesPerSecond {
            parts.append(("\(Readable.number(rate, places: rate < 10 ? 1 : 0)) fps", 3))
        }
        if let speed = progress.speed { parts.append(("\(Readable.number(speed, places: 2))x", 4)) }
        if let rate = progress.bitRate { parts.append((Readable.bitRate(Double(rate)), 6)) }
        if let remaining = progress.remaining { parts.append(("\(Readable.clock(remaining)) left", 2)) }
        func line() -> String { parts.map(\.text).joined(separator: "  ") }
        while parts.count > 1, line().count > width {
            guard let least = parts.indices.max(by: { parts[$0].rank < parts[$1].rank }) else { break }
            parts.remove(at: least)
        }
        return String(line().prefix(max(width, 0)))
    }

    /// How much of a file was sent or received.
    package static func transfer(_ what: String, bytes: Int, of size: Int, width: Int) -> String {
        let share = size > 0 ? "\(percent(Double(bytes) / Double(size)))  " : ""
        let sizes = "\(Readable.byteCount(Int64(bytes))) of \(Readable.byteCount(Int64(size)))"
        return String("\(share)\(what)  \(sizes)".prefix(max(width, 0)))
    }

    /// A table of jobs, which is as wide as the screen at most.
    ///
    /// - Parameters:
    ///   - width: Columns of the screen; inputs are shortened to it.
    ///   - now: The present time, for ages.
    package static func table(_ jobs: [JobSummary], width: Int, now: Timestamp) -> String {
        let hasQueues = jobs.contains { $0.queue != "default" }
        var rows = [["JOB", "STATE"] + (hasQueues ? ["QUEUE"] : []) + ["DONE", "AGE", "INPUT -> OUTPUT"]]
        for job in jobs {
            let names = job.outputs.map(\.name).joined(separator: ", ")
            rows.append(
                [job.id, state(job)] + (hasQueues ? [shortened(job.queue, 12)] : [])
                    + [done(job), age(job.createdAt, now), Readable.oneLine("\(name(ofInput: job.input)) -> \(names)")]
            )
        }
        let columns = rows[0].count
        let widths = (0..<columns).map { column in rows.map { $0[column].count }.max() ?? 0 }
        let fixed = widths.dropLast().reduce(0) { $0 + $1 + 2 }
        return rows.map { row in
            var cells = row.indices.dropLast().map { row[$0] + blank(widths[$0] - row[$0].count) }
            cells.append(shortened(row[columns - 1], max(width - fixed, 12)))
            return cells.joined(separator: "  ") + "\n"
        }.joined()
    }

    /// A job in full.
    package static func page(_ job: Job, now: Timestamp) -> String {
        var page = Page()
        page.entry("job", job.id)
        page.entry("state", job.state.rawValue + (isCancelling(job) ? ", to be cancelled" : ""))
        if let waiting = job.waiting { page.entry("waits", waiting.message) }
        if let progress = job.progress { page.entry("progress", self.progress(progress, width: 68)) }
        page.entry("input", job.request.input.source?.publicText ?? "-")
        let share = job.share.isEmpty ? "" : ", share \(job.share)"
        page.entry("queue", "\(job.queue), priority \(job.priority)\(share)")
        for label in job.labels.sorted(by: { $0.key < $1.key }) { page.entry("label", "\(label.key)=\(label.value)") }
        page.entry("submitted", "\(job.createdAt), \(age(job.createdAt, now)) ago")
        if let started = job.startedAt { page.entry("started", "\(started)") }
        if let ended = job.endedAt {
            let took = job.startedAt.map { ", after \(Readable.clock(seconds(from: $0, to: ended)))" } ?? ""
            page.entry("ended", "\(ended)\(took)")
        }
        if let expires = job.expiresAt { page.entry("expires", "\(expires)") }
        for output in job.outputs { add(output, to: &page) }
        for attempt in job.attempts {
            var text = "\(attempt.number) on \(attempt.worker): \(attempt.outcome?.rawValue ?? "runs")"
            if let failure = attempt.failure { text += ", \(failure.code): \(failure.message)" }
            page.entry("attempt", text)
        }
        if let failure = job.failure {
            for line in self.failure(failure) { page.entry(line.name, line.text) }
        }
        for warning in job.warnings { page.entry("warning", warning) }
        return page.text
    }

    private static func add(_ output: OutputState, to page: inout Page) {
        page.entry("output", "\(output.name): \(output.state.rawValue)")
        if let encoder = output.encoder {
            let device = encoder.device.map { " on \($0)" } ?? ""
            page.entry("", "\(encoder.name), \(encoder.codec) \(encoder.profile)\(device)")
        }
        if let verification = output.verification {
            let psnr = verification.psnr.map { ", PSNR at least \(Readable.number($0.lowest, places: 2)) dB" } ?? ""
            page.entry("", "verified: \(Readable.count(verification.comparedFrames, "frame")) compared\(psnr)")
        }
        for file in output.files.prefix(20) { page.entry("", "\(file.path), \(Readable.byteCount(Int64(file.size)))") }
        if output.files.count > 20 { page.entry("", "and \(output.files.count - 20) more files") }
    }

    /// Why something has failed, and what helps.
    package static func failure(_ failure: FailureInfo) -> [(name: String, text: String)] {
        let facts = [failure.given.map { "given \($0)" }, failure.allowed.map { "allowed: \($0)" }].compactMap(\.self)
        let text = facts.isEmpty ? failure.message : "\(failure.message) (\(facts.joined(separator: "; ")))"
        return [(name: "failure", text: "\(failure.code): \(text)")]
            + failure.remedies.map { (name: "try", text: $0) }
    }

    /// The node, its devices and its queues.
    package static func page(
        _ status: NodeStatus,
        _ capabilities: Capabilities,
        _ queues: [QueueObject],
        url: String
    ) -> String {
        var page = Page()
        page.entry("service", "\(url), version \(status.version), since \(status.startedAt)")
        let tasks = "\(Readable.count(status.running, "task")) running, \(status.waiting) waiting"
        page.entry("work", tasks + (status.draining ? ", draining: no task begins" : ""))
        let disk = status.disk
        let free = "\(Readable.byteCount(Int64(disk.free))) free of \(Readable.byteCount(Int64(disk.total)))"
        page.entry(
            "disk",
            free + (disk.low ? ", below \(Readable.byteCount(Int64(disk.watermark))): no task begins" : "")
        )
        page.entry(
            "memory",
            "\(Readable.byteCount(Int64(status.memory.available))) available of "
                + Readable.byteCount(Int64(status.memory.total))
        )
        let busy = status.processors.busy.map { ", \(percent($0)) busy" } ?? ""
        page.entry("processors", Readable.number(status.processors.count, places: 1) + busy)
        page.entry("load", Readable.number(status.load, places: 2))
        for encoder in capabilities.softwareEncoders { page.entry("CPU", "\(encoder.name), \(encoder.codec)") }
        for device in capabilities.devices {
            let name = [device.node, device.vendor ?? device.driver ?? device.kernelDriver].compactMap(\.self)
            page.entry("GPU", "\(name.joined(separator: ", ")): \(device.usable ? "usable" : "not usable")")
            let engines = status.engines.filter { $0.node == device.node }
            if !engines.isEmpty {
                page.entry("", "busy: " + engines.map { "\($0.name) \(percent($0.busy))" }.joined(separator: ", "))
            }
            if !device.encodes.isEmpty { page.entry("", "encodes \(device.encodes.joined(separator: ", "))") }
            if let until = device.suspended { page.entry("", "suspended until \(until)") }
            if let cause = device.cause { page.entry("", cause + (device.explanation.map { ": \($0)" } ?? "")) }
            for remedy in device.remedies { page.entry("try", remedy) }
        }
        if let absence = capabilities.absence, capabilities.devices.allSatisfy({ !$0.usable }) {
            page.entry("no GPU", "\(absence.cause): \(absence.explanation)")
            for remedy in absence.remedies { page.entry("try", remedy) }
        }
        for queue in queues { page.entry("queue", text(queue)) }
        return page.text
    }

    /// A queue in one line.
    package static func text(_ queue: QueueObject) -> String {
        let most = queue.settings.mostRunning.map { " of at most \($0)" } ?? ""
        return "\(queue.name): \(queue.running)\(most) running, \(queue.waiting) waiting"
            + (queue.settings.paused ? ", paused" : "")
    }

    // MARK: Parts

    private static func state(_ job: JobSummary) -> String {
        job.cancelRequested && !job.state.isFinal ? "cancelling" : job.state.rawValue
    }

    private static func isCancelling(_ job: Job) -> Bool { job.cancelRequested && !job.state.isFinal }

    private static func done(_ job: JobSummary) -> String {
        switch job.state {
        case .succeeded: "100 %"
        case .running: job.progress?.fraction.map(percent) ?? "0 %"
        case .waiting, .failed, .cancelled: "-"
        }
    }

    private static func percent(_ fraction: Double) -> String {
        "\(Readable.number(min(max(fraction, 0), 1) * 100, places: 0)) %"
    }

    private static func seconds(from first: Timestamp, to last: Timestamp) -> Double {
        Double(last.milliseconds - first.milliseconds) / 1000
    }

    /// How long ago something was, in its largest unit: `12s`, `5m`, `3h`, `2d`.
    static func age(_ time: Timestamp, _ now: Timestamp) -> String {
        let seconds = max(Int(seconds(from: time, to: now)), 0)
        return switch seconds {
        case ..<60: "\(seconds)s"
        case ..<3600: "\(seconds / 60)m"
        case ..<172_800: "\(seconds / 3600)h"
        default: "\(seconds / 86_400)d"
        }
    }

    /// The name of the input. The ID of an upload, which is all that lists have, says nothing.
    private static func name(ofInput input: String) -> String {
        let isUpload = input.utf8.count == 26 && !input.contains("/") && !input.contains(".")
        return isUpload ? "upload" : input.split(separator: "/").last.map(String.init) ?? input
    }

    private static func shortened(_ text: String, _ width: Int) -> String {
        text.count <= width ? text : text.prefix(max(width - 1, 0)) + "…"
    }

    fileprivate static func blank(_ count: Int) -> String { String(repeating: " ", count: max(count, 0)) }
}

/// Names with texts beside them.
struct Page {
    private(set) var text = ""

    mutating func entry(_ name: String, _ words: String) {
        text += name + JobTexts.blank(max(11 - name.count, 1)) + Readable.oneLine(words) + "\n"
    }
}
