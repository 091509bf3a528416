// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import CommandLineSupport
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
        if let rate = report.assumedFrameRate {
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
            let place = decoder.identity.device.map { " on \($0), in a helper process" } ?? ""
            page.entry("decoder", Readable.oneLine(decoder.properties.name) + place)
            for reason in reasons(for: decoder) { page.entry("why", reason) }
            for remedy in remedies(for: decoder) { page.entry("try", remedy) }
        }
        for failure in failures { page.entry("failed", failure) }
        var pictures = Readable.count(report.pictures, "picture")
        if let format = report.pixelFormat { pictures += ", \(format.rawValue)" }
        page.entry("pictures", "\(pictures), \(Readable.number(report.duration.seconds, places: 2)) s")
        switch request.output {
        case .discarded: break
        case .y4m(let path, _): page.entry("output", "\(path), \(Readable.byteCount(report.byteCount))")
        case .png(let path, _):
            let samples = report.samples.map { ", \($0)" } ?? ""
            let files = "\(Readable.count(report.pictures, "file"))\(samples), \(Readable.byteCount(report.byteCount))"
            page.entry("output", "\(path), \(files)")
            if let matrix = assumedMatrix { page.entry("colour", "by \(matrix): the input states no matrix") }
        }
        page.entry("speed", "\(Readable.number(speed ?? 0, places: 0)) fps, \(Readable.number(elapsed, places: 2)) s")
        if wasInterrupted {
            page.entry("stopped", "by a signal; the output contains everything that was decoded until then")
        }
        return page.text
    }
}

extension DecodeOutcome {
    /// The reasons for this decoder, or against all earlier candidates.
    private func reasons(for decoder: DecoderDescription) -> [String] {
        let rejected = decoder.rejected.map(\.description).map(Readable.oneLine)
        return rejected.isEmpty ? [Readable.oneLine(decoder.reason)] : rejected
    }

    /// The most likely remedies, without duplicates; `--json` contains all remedies.
    private func remedies(for decoder: DecoderDescription) -> [String] {
        var known: Set<String> = []
        // A GPU that does not decode the stream needs no remedy once another decoder works.
        let lacks: [MediaError.Cause] = [.driverWithoutCodec, .formatMissing]
        let mendable = decoder.rejected.filter { !($0.cause.map(lacks.contains) ?? false) }
        return mendable.flatMap { $0.remedies.prefix(2) }.map(Readable.oneLine).filter { known.insert($0).inserted }
    }

    /// The failures of decoders that are not the reason of a rejection, with the number of equal ones in a row.
    private var failures: [String] {
        var groups: [(text: String, count: Int)] = []
        let rejections = Set(report.decoder?.rejected.map(\.reason) ?? [])
        for failure in report.failures where !rejections.contains(failure.readable) {
            let text = Readable.oneLine(failure.readable)
            if groups.last?.text == text { groups[groups.count - 1].count += 1 } else { groups.append((text, 1)) }
        }
        return groups.map { $0.count == 1 ? $0.text : "\($0.text), \($0.count) times" }
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
        case .y4m(let path, _), .png(let path, _):
            .object([
                "path": .string(path),
                "pixelFormat": JSON(report.pixelFormat?.rawValue),
                "samples": JSON(report.samples),
                "assumedMatrix": JSON(assumedMatrix),
                "bytes": JSON(report.byteCount),
            ])
        }
    }

    /// The name of the matrix that was chosen for PNG files.
    private var assumedMatrix: String? { report.assumedMatrix.map { $0 == .bt709 ? "BT.709" : "BT.601" } }

    private var decoder: JSON {
        guard let decoder = report.decoder else { return .null }
        return .object([
            "name": .string(decoder.identity.name),
            "version": .string(decoder.properties.name),
            "device": JSON(decoder.identity.device),
            "reason": .string(decoder.reason),
            "proof": JSON(decoder.proof.name),
            "rejected": decoder.rejected.document,
        ])
    }
}
