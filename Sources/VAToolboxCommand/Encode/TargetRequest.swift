// SPDX-License-Identifier: GPL-2.0-or-later

import CommandLineSupport
import EncodingBenchmark
import MediaTypes
import Transcoding

extension QualityTarget: ArgumentValue {
    /// Parses a metric and a score, such as `ssim:0.98`; their range is checked later.
    init?(argument text: String) {
        let words = text.split(separator: ":", omittingEmptySubsequences: false)
        guard words.count == 2, let metric = QualityMetric(rawValue: String(words[0])),
            let score = DecimalNumber(words[1])?.doubleValue
        else { return nil }
        self.init(metric, score)
    }

    static let allowedText =
        QualityMetric.allCases.map { metric in
            let range = metric.allowed
            return "\(metric.rawValue):\(range.lowerBound) to \(metric.rawValue):\(range.upperBound)"
        }.joined(separator: ", ")
}

extension QualityTarget.Shortfall: ArgumentValue {}

extension RateControlArguments {
    /// Gives an output its target.
    ///
    /// - Parameter isRealTime: Whether frames may be dropped.
    /// - Throws: `invalidArgument` for options that need a target or exclude it; `unsupported` if nothing measures
    /// VMAF.
    func applyTarget(to output: inout OutputRequest, isRealTime: Bool) throws(MediaError) {
        guard let target else {
            let given = targetOnly ? "--target-only" : targetShortfall.map { "--target-shortfall \($0.text)" }
            guard let given else { return }
            throw MediaError(.invalidArgument, "\(given) needs --target", given: given, allowed: "with --target")
        }
        if isRealTime { throw contradiction("--target \(target.text)", "--realtime") }
        var wanted = try target.value(of: "--target")
        guard wanted.metric.allowed.contains(wanted.score) else {
            throw MediaError(
                .invalidArgument,
                "--target is out of range",
                given: target.text,
                allowed: QualityTarget.allowedText
            )
        }
        if let targetShortfall { wanted.shortfall = try targetShortfall.value(of: "--target-shortfall") }
        output.target = wanted
        guard wanted.metric == .vmaf else { return }
        let program = try VMAFMeter.program()
        output.judge = { (pictures) throws(MediaError) in
            ExternalJudge(
                VMAFMeter(
                    program,
                    width: pictures.width,
                    height: pictures.height,
                    bitDepth: pictures.bitDepth,
                    frameRate: pictures.frameRate
                )
            )
        }
    }
}

extension [EncodeCommand] {
    /// Whether no output is written.
    ///
    /// - Throws: `invalidArgument` if some outputs are.
    var isPrediction: Bool {
        get throws(MediaError) {
            guard contains(where: \.rate.targetOnly) else { return false }
            guard let other = first(where: { !$0.rate.targetOnly }) else { return true }
            throw MediaError(
                .invalidArgument,
                "--target-only is about all outputs",
                given: "-o \(other.output.output) without it",
                allowed: "in front of the first -o, and a --target for each"
            )
        }
    }
}

/// Measures VMAF with another program.
private final class ExternalJudge: QualityJudge {
    private let meter: VMAFMeter

    init(_ meter: VMAFMeter) { self.meter = meter }

    func add(_ decoded: PixelBuffer, reference: PixelBuffer) throws(MediaError) {
        meter.add(decoded, reference: reference)
    }

    func score() throws(MediaError) -> Double { try meter.finish() }
}
