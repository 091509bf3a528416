// SPDX-License-Identifier: GPL-2.0-or-later

import CommandLineSupport
import MediaIO
import MediaTypes
import Remuxing

/// One run of `vatoolbox remux`, from the command line to the exit status.
final class RemuxJob: Sendable {
    private let command: RemuxCommand
    /// The console, the document and the signals.
    let base: FileJob

    init(_ command: RemuxCommand) {
        self.command = command
        base = FileJob(
            [command.report],
            usesStandardOutput: command.output.output == ContainerFormat.standardOutput,
            ending: "finishing the output"
        )
    }

    /// Copies and reports the result.
    func run() async -> ExitStatus {
        await base.run(command.request, Remuxer.init) { request, report, ending in
            RemuxOutcome(
                request: request,
                report: report,
                elapsed: ending.elapsed,
                wasInterrupted: ending.wasInterrupted
            )
        }
    }
}

extension Remuxer: FileWork {}

extension RemuxProgress: RunProgress {
    func line(elapsed: Double, width: Int) -> String {
        var parts = Readable.progress(time, of: expectedDuration)
        parts.append(Readable.byteCount(Int64(bytes)))
        if elapsed > 0 { parts.append("\(Readable.number(time.seconds / elapsed, places: 0))x") }
        return String(parts.joined(separator: "  ").prefix(max(width, 0)))
    }

    var hasBegun: Bool { time > .zero }

    var members: JSON.KeyValuePairs {
        [
            "time": .number(time.seconds), "expectedDuration": JSON(expectedDuration?.seconds),
            "packets": .integer(packets), "bytes": .integer(Int(bytes)),
        ]
    }
}
