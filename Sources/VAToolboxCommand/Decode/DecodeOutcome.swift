// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import MediaIO
import MediaTypes
import Transcoding
import VAToolbox

/// The result of decoding, for people and for programs.
struct DecodeOutcome: FileOutcome {
    let request: DecodeRequest
    let report: DecodeReport
    /// The seconds from the start of the command to the end of the output.
    let elapsed: Double
    let wasInterrupted: Bool

    /// The exit status of the command.
    var status: ExitStatus {
        if wasInterrupted { return .interrupted }
        return isLossy ? .damagedInput : .done
    }

    private var isLossy: Bool {
        report.damagedPictures + report.statistics.damagedSamples + report.statistics.lostFrames > 0
            || report.problems.isLossy
    }

    private var speed: Double? { elapsed > 0 ? Double(report.pictures) / elapsed : nil }
}

// MARK: - For people

extension DecodeOutcome {
    /// Possible defects of the output.
    var warnings: [String] {
        var warnings: [String] = []
        if let loss = report.problems.loss("read") { warnings.append(loss) }
        if report.damagedPictures + report.statistics.damagedSamples > 0 {
            let count = Readable.count(report.damagedPictures, "picture")
            let samples = Readable.count(report.statistics.damagedSamples, "sample")
            warnings.append("\(count) may be damaged: part of the data is, in \(samples) or before the first")
        }
        if report.statistics.lostFrames > 0 {
            warnings.append(
                "lost with a decoder that failed: \(Readable.count(report.statistics.lostFrames, "picture"))"
            )
        }
        if let rate = report.assumedFrameRate, request.output != .discarded {
            warnings.append("the input states no frame rate: the output has \(rate)")
        }
        return warnings
    }

    /// Returns the closing lines, wrapped to at most `width` columns where possible.
    func summary(width: Int) -> String {
        var page = TextPage(width: width)
        let format = report.format
        page.entry("input", "\(format.codec.rawValue), \(format.width)x\(format.height), \(report.inputFormat)")
        if let decoder = report.decoder {
            page.entry("decoder", "\(decoder.properties.name): \(decoder.reason)")
        }
        for failure in report.failures { page.entry("failed", failure.readable) }
        for remedy in remedies { page.entry("try", remedy) }
        var pictures = Readable.count(report.pictures, "picture")
        if let format = report.pixelFormat { pictures += ", \(format.rawValue)" }
        page.entry("pictures", "\(pictures), \(Readable.number(report.duration.seconds, places: 2)) s")
        if case .y4m(let path, _) = request.output {
            page.entry("output", "\(path), \(Readable.byteCount(report.byteCount))")
        }
        page.entry("speed", "\(Readable.number(speed ?? 0, places: 0)) fps, \(Readable.number(elapsed, places: 2)) s")
        if wasInterrupted {
            page.entry("stopped", "by a signal; the output contains everything that was decoded until then")
        }
        return page.text
    }

    /// The most likely remedies for the decoders that failed, without duplicates.
    private var remedies: [String] {
        var known: Set<String> = []
        return report.failures.flatMap { $0.remedies.prefix(2) }.map(Readable.oneLine)
            .filter { known.insert($0).inserted }
    }
}

// MARK: - For programs

extension DecodeOutcome {
    /// The output of `decode --json`; docs/command.md describes every key.
    var document: JSON {
        let statistics = report.statistics
        return .object([
            "status": .string(status.name),
            "exitStatus": .integer(Int(status.rawValue)),
            "input": .object([
                "path": .string(request.input),
                "format": .string(report.inputFormat),
                "codec": .string(report.format.codec.rawValue),
                "width": .integer(report.format.width),
                "height": .integer(report.format.height),
            ]),
            "output": output,
            "decoder": decoder,
            "pictures": .integer(report.pictures),
            "damagedPictures": .integer(report.damagedPictures),
            "damagedSamples": .integer(statistics.damagedSamples),
            "lostPictures": .integer(statistics.lostFrames),
            "samplesWithoutPicture": .integer(statistics.samplesWithoutFrame),
            "skippedSamples": .integer(statistics.skippedSamples),
            "repeatedSamples": .integer(statistics.repeatedSamples),
            "failures": .array(report.failures.map { .string($0.readable) }),
            "duration": JSON(report.duration.seconds),
            "wallTime": .number(elapsed),
            "speed": JSON(speed),
            "stopped": .bool(report.wasStopped),
            "problems": .object(report.problems.members),
        ])
    }

    private var output: JSON {
        switch request.output {
        case .discarded: .null
        case .y4m(let path, _):
            .object([
                "path": .string(path),
                "pixelFormat": JSON(report.pixelFormat?.rawValue),
                "bytes": JSON(report.byteCount),
            ])
        }
    }

    private var decoder: JSON {
        guard let decoder = report.decoder else { return .null }
        return .object([
            "name": .string(decoder.identity.name),
            "version": .string(decoder.properties.name),
            "device": JSON(decoder.identity.device),
            "reason": .string(decoder.reason),
        ])
    }
}
