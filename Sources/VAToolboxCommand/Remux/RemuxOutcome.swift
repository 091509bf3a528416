// SPDX-License-Identifier: GPL-2.0-or-later

import CommandLineSupport
import MediaIO
import MediaTypes
import Remuxing

/// The result of a copy, for people and for programs.
struct RemuxOutcome: FileOutcome {
    let request: RemuxRequest
    let report: RemuxReport
    /// The seconds from the start of the command to the end of the output.
    let elapsed: Double
    let wasInterrupted: Bool

    /// The exit status of the command.
    var status: ExitStatus {
        if wasInterrupted { return .interrupted }
        return report.problems.isLossy ? .damagedInput : .done
    }
}

// MARK: - For people

extension RemuxOutcome {
    /// Possible defects of the output.
    var warnings: [String] {
        let damage = report.problems.loss("read")
        return report.losses.map { "lost: \($0)" } + (damage.map { [$0] } ?? [])
    }

    /// Returns the closing lines, wrapped to at most `width` columns where possible.
    func summary(width: Int) -> String {
        var page = TextPage(width: width)
        let seconds = Readable.number(report.output.duration.seconds, places: 2)
        page.entry("output", "\(request.output), \(Readable.byteCount(report.output.byteCount)), \(seconds) s")
        for track in report.tracks {
            var text = "\(track.index): \(track.kind.rawValue) \(track.codecName)"
            if let language = track.language, language != "und" { text += ", \(language)" }
            if track.kind != .attachment { text += ", \(Readable.count(track.packetCount, "packet"))" }
            page.entry("track", text)
        }
        if let start = report.start {
            let actual = "\(Readable.number(start.actual.seconds, places: 3)) s of the input"
            let requested = Readable.number(start.requested.seconds, places: 3)
            page.entry("start", start.isExact ? actual : "\(actual), the key frame near the requested \(requested) s")
        }
        if !report.isCompared, !wasInterrupted, report.format != .null {
            page.entry("note", "losses of rotation, colour, languages and the like are known for files only")
        }
        page.entry("speed", "\(Readable.number(speed ?? 0, places: 0))x, \(Readable.number(elapsed, places: 2)) s")
        if wasInterrupted {
            page.entry("stopped", "by a signal; the output contains everything that was read until then")
        }
        return page.text
    }

    private var speed: Double? { elapsed > 0 ? report.output.duration.seconds / elapsed : nil }
}

// MARK: - For programs

extension RemuxOutcome {
    /// The output of `remux --json`; docs/command.md describes every key.
    var document: JSON {
        .object([
            "status": .string(status.name),
            "exitStatus": .integer(Int(status.rawValue)),
            "input": .object(["path": .string(request.input), "format": .string(report.inputFormat)]),
            "output": .object([
                "path": .string(request.output),
                "format": .string(report.format.rawValue),
                "fragmented": .bool(report.isFragmented),
                "bytes": JSON(report.output.byteCount),
            ]),
            "tracks": .array(report.tracks.map(\.document)),
            "losses": .array(report.losses.map(\.document)),
            "compared": .bool(report.isCompared),
            "start": start,
            "duration": JSON(report.output.duration.seconds),
            "wallTime": .number(elapsed),
            "speed": JSON(speed),
            "stopped": .bool(report.wasStopped),
            "problems": .object(report.problems.members),
        ])
    }

    private var start: JSON {
        guard let start = report.start else { return .null }
        return .object([
            "requested": .number(start.requested.seconds),
            "actual": .number(start.actual.seconds),
            "exact": .bool(start.isExact),
        ])
    }
}

extension RemuxedTrack {
    fileprivate var document: JSON {
        .object([
            "index": .integer(index),
            "kind": .string(kind.rawValue),
            "codec": .string(codecName),
            "language": JSON(language),
            "title": JSON(title),
            "packets": .integer(packetCount),
            "bytes": .integer(byteCount),
        ])
    }
}

extension RemuxLoss {
    fileprivate var document: JSON {
        .object(["track": JSON(track), "property": .string(property), "detail": .string(detail)])
    }
}
