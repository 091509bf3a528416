// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import CommandLineSupport
import MediaTypes
import Transcoding

/// How a quality was found, for people and for programs.
extension QualityReport {
    /// Adds what was found to the closing lines.
    func add(to page: inout TextPage) {
        let metric = target.metric
        let found = "quality \(Readable.number(chosen.quality, places: 1)) has \(metric.text(chosen.score))"
        let tries = attempts.count == 1 ? "1 try" : "\(attempts.count) tries"
        let amount = "\(tries) on \(Readable.count(samples.count, "sample"))"
        page.entry("target", "\(target.text)\(isReached ? "" : " is not reached"): \(found), \(amount), \(encoder)")
        page.entry("predicted", "\(chosen.size) of video in \(chosen.duration)")
        guard let outcome else { return }
        let score = outcome.score.map { score in
            ", \(metric.name) \(metric.text(score)) of \(Readable.count(outcome.pictureCount, "frame"))"
        }
        let time = Readable.number(outcome.time, places: 1)
        page.entry("became", "\(Readable.byteCount(Int64(outcome.byteCount))) of video in \(time) s\(score ?? "")")
    }

    /// The document for programs.
    var document: JSON {
        .object([
            "metric": .string(target.metric.rawValue),
            "wanted": .number(target.score),
            "reached": .bool(isReached),
            "quality": .number(chosen.quality),
            "score": .number(chosen.score),
            "encoder": encoder.document,
            "samples": .array(
                samples.map { .object(["start": .number($0.start), "duration": .number($0.duration)]) }
            ),
            "tries": .array(attempts.map(\.document)),
            "predicted": .object(["bytes": .integer(chosen.byteCount), "seconds": .number(chosen.time)]),
            "measured": outcome?.document ?? .null,
        ])
    }
}

extension QualityReport.Attempt {
    /// One line for people.
    func line(_ metric: QualityMetric) -> String {
        let quality = Readable.number(quality, places: 1)
        return "quality \(quality): \(metric.name) \(metric.text(score)), predicted \(size) of video in \(duration)"
    }

    fileprivate var size: String { Readable.byteCount(Int64(byteCount)) }
    fileprivate var duration: String { "\(Readable.number(time, places: 1)) s" }

    fileprivate var document: JSON {
        .object([
            "quality": .number(quality), "score": .number(score), "frames": .integer(pictureCount),
            "bytes": .integer(byteCount), "seconds": .number(time),
        ])
    }
}

extension QualityReport.Outcome {
    fileprivate var document: JSON {
        .object([
            "score": JSON(score), "frames": .integer(pictureCount), "bytes": .integer(byteCount),
            "seconds": .number(time),
        ])
    }
}

extension QualityPrediction {
    /// Returns the closing lines for people, wrapped to at most `width` columns where possible.
    func summary(width: Int) -> String {
        var page = TextPage(width: width)
        page.entry("output", "\(path), not written")
        report.add(to: &page)
        return page.text
    }

    /// The document for programs.
    func document(_ status: ExitStatus, input: String, elapsed: Double) -> JSON {
        .object([
            "status": .string(status.name),
            "exitStatus": .integer(Int(status.rawValue)),
            "input": .object(["path": .string(input)]),
            "output": .object(["path": .string(path)]),
            "target": report.document,
            "wallTime": .number(elapsed),
        ])
    }
}
