// SPDX-License-Identifier: GPL-2.0-or-later

import CommandLineSupport
import MediaTypes

/// The rate control modes, named as in drivers (`VA_RC_...`).
enum RateControlMode: String, ArgumentValue, CaseIterable {
    /// Constant quantizer: `--qp`.
    case cqp
    /// Constant bitrate: `--bitrate` with `--cbr`.
    case cbr
    /// Average bitrate with a peak limit: `--bitrate` with `--peak-bitrate`.
    case vbr
    /// Average bitrate without a peak limit: `--bitrate`.
    case avbr
    /// Constant quality: `--crf`.
    case icq
    /// Constant quality with a peak limit: `--crf` with `--peak-bitrate`.
    case qvbr

    /// The options that belong to the mode.
    fileprivate var options: [String] {
        switch self {
        case .cqp: ["--qp"]
        case .cbr: ["--bitrate", "--cbr", "--peak-window"]
        case .vbr: ["--bitrate", "--peak-bitrate", "--peak-window"]
        case .avbr: ["--bitrate"]
        case .icq: ["--crf"]
        case .qvbr: ["--crf", "--peak-bitrate", "--peak-window"]
        }
    }
}

extension RateControlArguments {
    /// The given option that selects a mode other than an average bitrate, if there is one.
    var nameOfOtherMode: String? {
        let given = [
            ("--rate-control", rateControl != nil), ("--target", target != nil), ("--crf", crf != nil),
            ("--qp", qp != nil), ("--cbr", cbr),
            ("--peak-bitrate", peakBitrate != nil),
        ]
        return given.first(where: \.1)?.0
    }

    /// The default quantizer and quality of a mode without a value: those of x264.
    fileprivate static let standardQuality = 23

    func apply(to configuration: inout EncoderConfiguration) throws(MediaError) {
        configuration.rateControl = try rateControl(default: configuration.rateControl)
        configuration.quantizerRange = try quantizerRange()
        if target != nil { configuration.rateControl = configuration.rateControl.asQuality }
        configuration.maximumFrameSize = try maxFrameSize?.value(of: "--max-frame-size").bytes
    }

    /// Returns the single rate control mode that the options request.
    ///
    /// - Parameter standard: The default.
    private func rateControl(default standard: RateControl) throws(MediaError) -> RateControl {
        if let target, let rateControl {
            throw contradiction("--target \(target.text)", "--rate-control \(rateControl.text)", allowed: Self.kinds)
        }
        let mode = try rateControl?.value(of: "--rate-control")
        if let mode { try checkOptions(of: mode) } else { try checkContradictions() }
        let window = try peakWindow?.value(of: "--peak-window").value ?? 1
        let limit = try peakBitrate?.value(of: "--peak-bitrate").bitsPerSecond
        let peak = limit.map { PeakBitRate.limit($0, window: window) }
        let quantizer = try qp?.value(of: "--qp").value
        let quality = try crf?.value(of: "--crf").value
        let rate = try bitrate?.value(of: "--bitrate").bitsPerSecond ?? standard.bitsPerSecond ?? 0
        // The same value as PeakBitRate.automatic where that sets a limit.
        let usualPeak = PeakBitRate.limit(Int(clamping: Int128(rate) * 3 / 2), window: window)
        switch mode {
        case .cqp: return .constantQuantizer(quantizer ?? Self.standardQuality)
        case .cbr: return .constantBitRate(rate, window: window)
        case .vbr: return .averageBitRate(rate, peak: peak ?? usualPeak)
        case .avbr: return .averageBitRate(rate, peak: .unlimited)
        case .icq: return .constantQuality(quality ?? Double(Self.standardQuality), peak: .unlimited)
        case .qvbr: return .constantQuality(quality ?? Double(Self.standardQuality), peak: peak ?? usualPeak)
        case nil: break
        }
        if let quantizer { return .constantQuantizer(quantizer) }
        if let quality { return .constantQuality(quality, peak: peak ?? .unlimited) }
        return cbr ? .constantBitRate(rate, window: window) : .averageBitRate(rate, peak: peak ?? .automatic)
    }

    /// The given rate control options with their original text.
    private var given: [(name: String, text: String)] {
        let values = [
            ("--bitrate", bitrate?.text), ("--peak-bitrate", peakBitrate?.text), ("--peak-window", peakWindow?.text),
            ("--crf", crf?.text), ("--qp", qp?.text), ("--target", target?.text),
        ]
        let texts = values.compactMap { name, text in text.map { (name, "\(name) \($0)") } }
        return texts + (cbr ? [("--cbr", "--cbr")] : [])
    }

    private static let kinds = "one of --bitrate, --crf, --qp and --target"

    private func checkOptions(of mode: RateControlMode) throws(MediaError) {
        guard let other = given.first(where: { !mode.options.contains($0.name) }) else { return }
        let options = mode.options.joined(separator: ", ")
        throw contradiction("--rate-control \(mode.rawValue)", other.text, allowed: "\(mode.rawValue) with \(options)")
    }

    private func checkContradictions() throws(MediaError) {
        func text(_ name: String) -> String? { given.first { $0.name == name }?.text }
        let kinds = ["--bitrate", "--crf", "--qp", "--target"].compactMap(text)
        if kinds.count > 1 { throw contradiction(kinds[0], kinds[1], allowed: Self.kinds) }
        if cbr, let constant = text("--crf") ?? text("--qp") ?? text("--target") {
            throw contradiction("--cbr", constant, allowed: "--cbr with --bitrate")
        }
        if let peak = text("--peak-bitrate") {
            if cbr { throw contradiction(peak, "--cbr") }
            if let quantizer = text("--qp") { throw contradiction(peak, quantizer) }
        } else if let window = text("--peak-window"), !cbr {
            throw MediaError(
                .invalidArgument,
                "--peak-window needs a peak or constant bitrate",
                given: window,
                allowed: "with --peak-bitrate or --cbr"
            )
        }
    }

    /// Returns the allowed quantizers; a single limit leaves the other end open.
    private func quantizerRange() throws(MediaError) -> ClosedRange<Int>? {
        let lowest = try minQp?.value(of: "--min-qp").value
        let highest = try maxQp?.value(of: "--max-qp").value
        if lowest == nil, highest == nil { return nil }
        let all = EncoderConfiguration.allowedQuantizers
        let (lower, upper) = (lowest ?? all.lowerBound, highest ?? all.upperBound)
        guard lower <= upper else {
            throw MediaError(
                .invalidArgument,
                "the quantizer range is empty",
                given: "\(lower) and \(upper)",
                allowed: "--min-qp up to --max-qp, within \(all)"
            )
        }
        return lower...upper
    }
}

extension RateControl {
    /// A constant quality with the same peak limit, if one was requested.
    fileprivate var asQuality: RateControl {
        if case .averageBitRate(_, .limit(let limit, let window)) = self {
            return .constantQuality(Double(RateControlArguments.standardQuality), peak: .limit(limit, window: window))
        }
        return .constantQuality(Double(RateControlArguments.standardQuality))
    }
}
