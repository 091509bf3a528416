// SPDX-License-Identifier: GPL-2.0-or-later

import CommandLineSupport
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
        await base.run(command.request, FileDecoder.init) { request, report, ending in
            DecodeOutcome(
                request: request,
                report: report,
                elapsed: ending.elapsed,
                wasInterrupted: ending.wasInterrupted
            )
        }
    }
}

extension FileDecoder: FileWork {}

extension DecodeProgress: RunProgress {
    func line(elapsed: Double, width: Int) -> String {
        var parts = Readable.progress(time, of: expectedDuration)
        parts.append(Readable.count(pictures, "picture"))
        if elapsed > 0 { parts.append("\(Readable.number(Double(pictures) / elapsed, places: 0)) fps") }
        return String(parts.joined(separator: "  ").prefix(max(width, 0)))
    }

    var hasBegun: Bool { time > .zero }

    var members: JSON.KeyValuePairs {
        [
            "time": .number(time.seconds), "expectedDuration": JSON(expectedDuration?.seconds),
            "pictures": .integer(pictures),
        ]
    }
}
