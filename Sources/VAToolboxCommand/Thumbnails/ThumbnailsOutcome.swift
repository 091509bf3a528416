// SPDX-License-Identifier: GPL-2.0-or-later

import CommandLineSupport
import MediaIO
import MediaTypes
import Transcoding

/// The result of making thumbnails, for people and for programs.
struct ThumbnailsOutcome: FileOutcome {
    let request: ThumbnailRequest
    let report: ThumbnailReport
    /// The seconds from the start of the command to the end of the output.
    let elapsed: Double
    let wasInterrupted: Bool

    /// The exit status of the command.
    var status: ExitStatus {
        if wasInterrupted { return .interrupted }
        return report.problems.isLossy ? .damagedInput : .done
    }

    /// The WebVTT file, and the thumbnails of a full sheet.
    private var sheets: (track: String, columns: Int, rows: Int)? {
        if case .sheets(let path, let columns, let rows) = request.output { (path, columns, rows) } else { nil }
    }

    private var formatName: String { request.format == .png ? "png" : "jpeg" }

    /// Possible defects of the output.
    var warnings: [String] {
        var warnings: [String] = []
        if let loss = report.problems.loss("decoded") { warnings.append(loss) }
        if [.pq, .hlg].contains(report.color.transfer) {
            warnings.append("the video is HDR: its pictures are not tone-mapped, and look pale on other displays")
        }
        return warnings
    }

    /// Returns the closing lines, wrapped to at most `width` columns where possible.
    func summary(width: Int) -> String {
        var page = TextPage(width: width)
        let count = Readable.count(report.thumbnails.count, "thumbnail")
        page.entry("input", "\(report.codec), \(report.inputFormat)")
        page.entry("output", "\(count) of \(report.width)x\(report.height), \(formatName)")
        if let sheets {
            page.entry(
                "sheets",
                "\(Readable.count(report.paths.count, "file")), up to \(sheets.columns)x\(sheets.rows) each"
            )
            page.entry("track", sheets.track)
        }
        if let first = report.paths.first, let last = report.paths.last {
            page.entry(
                "files",
                "\(first == last ? first : "\(first) to \(last)"), \(Readable.byteCount(report.byteCount))"
            )
        }
        page.entry("time", "\(Readable.number(elapsed, places: 2)) s, \(Readable.count(report.seeks, "seek"))")
        if wasInterrupted {
            page.entry("stopped", "by a signal; the output contains everything that was made until then")
        }
        return page.text
    }

    /// The output of `thumbnails --json`; docs/command.md describes every key.
    var document: JSON {
        .object([
            "status": .string(status.name),
            "exitStatus": .integer(Int(status.rawValue)),
            "input": .object([
                "path": .string(request.input),
                "format": .string(report.inputFormat),
                "codec": .string(report.codec),
                "duration": JSON(report.inputDuration?.seconds),
            ]),
            "output": .object([
                "format": .string(formatName),
                "width": .integer(report.width),
                "height": .integer(report.height),
                "track": JSON(sheets?.track),
                "columns": JSON(sheets?.columns),
                "rows": JSON(sheets?.rows),
                "files": JSON(report.paths),
                "bytes": JSON(report.byteCount),
            ]),
            "thumbnails": .array(report.thumbnails.map(\.document)),
            "seeks": .integer(report.seeks),
            "wallTime": .number(elapsed),
            "stopped": .bool(report.wasStopped),
            "problems": .object(report.problems.members),
        ])
    }
}

extension Thumbnail {
    fileprivate var document: JSON {
        .object([
            "start": .number(start.seconds), "end": .number(end.seconds), "time": .number(time.seconds),
            "pictureTime": .number(pictureTime.seconds), "file": .string(path), "x": .integer(x), "y": .integer(y),
        ])
    }
}
