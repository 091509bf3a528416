// SPDX-License-Identifier: GPL-2.0-or-later

internal import ServiceAPI
internal import Synchronization

/// What the process of a live job tells. It may be taken over by what it reads, so nothing here is more than its claim;
/// what it says has limits, and no secrets of the request.
final class LiveTelemetry: Sendable {
    struct Report: Sendable, Hashable {
        var statistics: LiveStatistics?
        /// Whether inputs and encoder are open.
        var isRunning = false
        /// Whether this process or an earlier one has sent pictures or sound to an output.
        var hasDelivered = false
        /// The last lines of its log.
        var messages: [String] = []
    }

    private let request: LiveRequest
    private let secrets: [String]
    private let state = Mutex(Report())

    /// The lines of its log that are kept.
    private static let mostMessages = 20
    private static let longestText = 500

    init(_ request: LiveRequest) {
        self.request = request
        secrets = request.secrets
    }

    var report: Report { state.withLock { $0 } }

    /// A process begins or has ended: it delivers nothing.
    func reset() {
        state.withLock { ($0.statistics, $0.isRunning) = (nil, false) }
    }

    /// Takes a line of its progress.
    func add(progress line: [UInt8]) {
        guard let json = try? JSONValue(parsing: line),
            var statistics = try? LiveStatistics.decode(json: json, mode: .response)
        else { return }
        statistics.outputs = zip(request.outputs, statistics.outputs).map { output, told in
            var status = told
            status.address = output.text
            status.state = safe(told.state)
            status.error = told.error.map(safe)
            return status
        }
        statistics.inputs = statistics.inputs.prefix(request.inputs.count + 1).enumerated().map { index, told in
            var status = told
            status.name = index < request.inputs.count ? request.inputs[index].text : "test tone"
            status.error = told.error.map(safe)
            return status
        }
        statistics.encoder = statistics.encoder.map { told in
            LiveEncoder {
                $0.name = safe(told.name)
                $0.codec = safe(told.codec)
                $0.device = told.device.map(safe)
            }
        }
        let phase = json["phase"]?.string
        let delivers = statistics.outputs.contains { $0.sentFrames > 0 }
        state.withLock { report in
            report.statistics = statistics
            report.hasDelivered = report.hasDelivered || delivers
            // It also finishes what has never run.
            report.isRunning = phase == "running" || phase == "finishing" && report.isRunning
        }
    }

    /// Takes a line of its log.
    func add(message line: String) {
        let line = safe(line)
        state.withLock { $0.messages = Array(($0.messages + [line]).suffix(Self.mostMessages)) }
    }

    /// A text without secrets, shortened.
    func safe(_ text: String) -> String {
        var text = text
        for secret in secrets { text = text.replacing(secret, with: "***") }
        guard text.unicodeScalars.count > Self.longestText else { return text }
        return String(String.UnicodeScalarView(text.unicodeScalars.prefix(Self.longestText))) + "…"
    }

    /// A failure without secrets.
    func safe(_ failure: FailureInfo) -> FailureInfo {
        var failure = failure
        failure.message = safe(failure.message)
        failure.given = failure.given.map(safe)
        failure.allowed = failure.allowed.map(safe)
        failure.remedies = failure.remedies.prefix(10).map(safe)
        return failure
    }
}
