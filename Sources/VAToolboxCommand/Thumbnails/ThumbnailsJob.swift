// SPDX-License-Identifier: GPL-2.0-or-later

import CommandLineSupport
import MediaTypes
import Transcoding

/// One run of `vatoolbox thumbnails`, from the command line to the exit status.
final class ThumbnailsJob: Sendable {
    private let command: ThumbnailsCommand
    /// The console, the document and the signals.
    let base: FileJob

    init(_ command: ThumbnailsCommand) {
        self.command = command
        base = FileJob([command.report], usesStandardOutput: false, ending: "finishing the output")
    }

    /// Makes the thumbnails and reports the result.
    func run() async -> ExitStatus {
        await base.run(command.request, ThumbnailMaker.init) { request, report, ending in
            ThumbnailsOutcome(
                request: request,
                report: report,
                elapsed: ending.elapsed,
                wasInterrupted: ending.wasInterrupted
            )
        }
    }
}

extension ThumbnailMaker: FileWork {}

extension ThumbnailProgress: RunProgress {
    func line(elapsed: Double, width: Int) -> String {
        let count = expectedThumbnails.map { "\(thumbnails) of \(Readable.count($0, "thumbnail"))" }
        let parts = [count ?? Readable.count(thumbnails, "thumbnail"), Readable.clock(time.seconds)]
        return String(parts.joined(separator: "  ").prefix(max(width, 0)))
    }

    var hasBegun: Bool { time > .zero }

    var members: JSON.KeyValuePairs {
        [
            "time": .number(time.seconds), "thumbnails": .integer(thumbnails),
            "expectedThumbnails": JSON(expectedThumbnails),
        ]
    }
}
