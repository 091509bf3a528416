// SPDX-License-Identifier: GPL-2.0-or-later

import MediaIO
import MediaTypes
import Transcoding

/// One run of `vatoolbox decode`, from the command line to the exit status.
final class DecodeJob: Sendable {
    private let command: DecodeCommand
    /// The console, the document and the signals.
    let base: FileJob

    init(_ command: DecodeCommand) {
        self.command = command
        base = FileJob(
            [command.report],
            usesStandardOutput: command.output.output == ContainerFormat.standardOutput,
            ending: "finishing the output"
        )
    }

    /// Decodes and reports the result.
    func run() async -> ExitStatus {
        let clock = SuspendingClock()
        let start = clock.now
        do throws(MediaError) {
            let request = try command.request()
            let decoder = FileDecoder(request)
            base.begin { decoder.stop() }
            let report = try await base.console.watching { elapsed, width in
                String(decoder.progress.line(elapsed: elapsed).prefix(max(width, 0)))
            } during: { () async throws(MediaError) in
                try await decoder.run()
            }
            let outcome = DecodeOutcome(
                request: request,
                report: report,
                elapsed: (clock.now - start).seconds,
                wasInterrupted: base.wasInterrupted
            )
            return base.report(outcome)
        } catch {
            return base.fail(error)
        }
    }
}

extension DecodeProgress {
    /// The progress as one line.
    func line(elapsed: Double) -> String {
        var parts = Readable.progress(time, of: expectedDuration)
        parts.append(Readable.count(pictures, "picture"))
        if elapsed > 0 { parts.append("\(Readable.number(Double(pictures) / elapsed, places: 0)) fps") }
        return parts.joined(separator: "  ")
    }
}
