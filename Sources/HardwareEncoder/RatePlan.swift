// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
internal import MediaTypes
internal import VAAPI

/// The rate control of a driver: its mode and the values of `VAEncMiscParameterRateControl` and
/// `VAEncMiscParameterHRD`.
struct RatePlan: Hashable, Sendable {
    /// The values of a mode with a target bitrate.
    struct Target: Hashable, Sendable {
        /// `bits_per_second`: the peak rate, which is only exceeded briefly.
        var peak: Int
        /// `target_percentage`: the average, in percent of the peak, 1...100.
        var percentage: Int
        /// `window_size` in milliseconds: the time within which the driver reaches the average.
        var window: Int
        /// The size of the decoder buffer for `VAEncMiscParameterHRD`, in bits; `nil` sends none to the driver.
        var bufferSize: Int?
    }

    /// Exactly one mode.
    var mode: RateControlModes
    /// The target, for modes with a target bitrate.
    var target: Target?
    /// The quality, 1...51, lower is better: `ICQ_quality_factor` or `quality_factor`.
    var quality: Int?
    /// The quantizer of P pictures in CQP mode, and the initial quantizer in other modes, 1...51.
    var quantizer: Int
    /// The allowed quantizers, within 0...51; `nil` for all. In a mode other than CQP, a lower bound of 0 means no
    /// limit.
    var quantizerRange: ClosedRange<Int>?
    /// The initial fullness of the decoder buffer (`initial_buffer_fullness`), in bits; `nil` without a buffer.
    var initialFullness: Int?
    /// Whether the quantizer changes per macroblock (`mb_rate_control`); `nil` leaves the choice to the driver.
    var controlsMacroblocks: Bool?
    /// Whether filler data is added to a stream below its bitrate.
    var isPadded = false
    /// The settings of the plan that differ from the request.
    var adjustments: [Adjustment] = []

    /// The modes of the config. Since 24.1.4, iHD uses `mb_rate_control` only with `VA_RC_MB` in the config, which it
    /// accepts with CBR and VBR and refuses with other modes.
    var configModes: RateControlModes {
        controlsMacroblocks == true && [.cbr, .vbr].contains(mode) ? [mode, .perMacroblock] : mode
    }

    /// The time for which the decoder buffer fills before the first picture is removed (`initial_cpb_removal_delay`),
    /// in units of 1/90000 s, at least 1.
    var initialDelay: UInt32 {
        let bits = Int128(initialFullness ?? 0)
        return UInt32(clamping: max(1, bits * 90_000 / Int128(max(1, target?.peak ?? 1))))
    }

    /// The default initial fullness of the decoder buffer. A higher value leaves more bits for the first intra picture,
    /// a lower value shortens the delay before it.
    static let usualFullness = 0.75
    /// The default `window_size`.
    static let usualWindow = 1000

    /// - Parameters:
    ///   - configuration: A validated configuration.
    ///   - limit: The peak limit as signalled in the stream; `nil` for none.
    ///   - modes: The modes that the driver supports.
    init(
        _ configuration: EncoderConfiguration,
        limit: RateLimit?,
        modes: RateControlModes
    ) throws(MediaError) {
        try self.init(modeOf: configuration, limit, modes)
        settleQuantizers(configuration)
        settleMacroblocks(configuration, modes)
        // Not 0, with which iHD disables rate control or fails.
        initialFullness = target?.bufferSize.map {
            max(1, Int(Double($0) * (configuration.initialBufferFullness ?? Self.usualFullness)))
        }
        if configuration.initialBufferFullness != nil, initialFullness == nil {
            report("initial buffer fullness", "given", "none", "there is no peak limit")
        }
    }

    private init(
        modeOf configuration: EncoderConfiguration,
        _ limit: RateLimit?,
        _ modes: RateControlModes
    ) throws(MediaError) {
        switch configuration.rateControl {
        case .constantQuantizer(let quantizer):
            try self.init(.cqp, of: modes, configuration)
            self.quantizer = min(max(quantizer, 1), 51)
            report("quantizer", "\(quantizer)", "\(self.quantizer)", "the encoder has no lossless mode")
        case .constantQuality(let quality, let peak):
            try self.init(quality: quality, peak: peak, limit, modes, configuration)
        case .constantBitRate:
            try self.init(.cbr, of: modes, configuration)
            isPadded = true
            target = limit.map { limit in
                Target(
                    peak: limit.bitsPerSecond,
                    percentage: 100,
                    window: Self.window(limit),
                    bufferSize: limit.bufferSize
                )
            }
        case .averageBitRate(let average, _):
            try self.init(average: average, limit, modes, configuration)
        }
    }

    private init(_ mode: RateControlModes, of modes: RateControlModes, _ asked: EncoderConfiguration) throws(MediaError)
    {
        guard modes.contains(mode) else {
            throw MediaError(
                .unsupported,
                "the driver has no suitable rate control mode",
                given: Self.text(asked.rateControl),
                allowed: "modes \(modes)",
                cause: .rateControlMissing
            )
        }
        self.mode = mode
        quantizer = 26
    }

    private static func text(_ control: RateControl) -> String {
        switch control {
        case .averageBitRate(let rate, _): "an average of \(rate) bit/s"
        case .constantBitRate(let rate, _): "a constant rate of \(rate) bit/s"
        case .constantQuality(let quality, _): "constant quality \(text(quality))"
        case .constantQuantizer(let quantizer): "constant quantizer \(quantizer)"
        }
    }

    // MARK: - Averages

    private init(
        average: Int,
        _ limit: RateLimit?,
        _ modes: RateControlModes,
        _ configuration: EncoderConfiguration
    ) throws(MediaError) {
        if !modes.contains(.vbr), modes.contains(.cbr) {
            try self.init(.cbr, of: modes, configuration)
            target = Target(peak: average, percentage: 100, window: Self.usualWindow, bufferSize: limit?.bufferSize)
            report("rate control", "average", "constant", "the driver has no variable bitrate mode")
            return
        }
        if case .averageBitRate(_, .unlimited) = configuration.rateControl, modes.contains(.avbr) {
            try self.init(.avbr, of: modes, configuration)
            target = Target(peak: average, percentage: 100, window: Self.usualWindow, bufferSize: nil)
            return
        }
        try self.init(.vbr, of: modes, configuration)
        if case .averageBitRate(_, .unlimited) = configuration.rateControl {
            report(
                "peak bitrate",
                "none",
                "up to twice the average",
                "the driver's only variable bitrate mode has a peak limit"
            )
        }
        // Drivers require a peak even without a limit; twice the average covers demanding scenes.
        let peak = limit?.bitsPerSecond ?? average * 2
        let window = limit.map(Self.window) ?? Self.usualWindow
        target = Target(average: average, peak: peak, window: window, bufferSize: limit?.bufferSize)
    }

    /// Returns this plan with a peak that the stream's level allows, if none was requested; the average is unchanged.
    func keepingPeak(below limit: Int) -> RatePlan {
        guard mode == .vbr, let target, target.bufferSize == nil, target.peak > limit else { return self }
        let average = Int(Int128(target.peak) * Int128(target.percentage) / 100)
        var result = self
        result.target = Target(average: average, peak: limit, window: target.window, bufferSize: nil)
        return result
    }

    /// Returns the time in which the buffer fills, in milliseconds, 1...60000.
    private static func window(_ limit: RateLimit) -> Int {
        Int(min(max(Int128(limit.bufferSize) * 1000 / Int128(max(1, limit.bitsPerSecond)), 1), 60_000))
    }

    // MARK: - Quantizers

    private mutating func settleQuantizers(_ configuration: EncoderConfiguration) {
        if let quality {
            quantizer = quality
        } else if let average = configuration.rateControl.bitsPerSecond {
            quantizer = Self.estimatedQuantizer(average, configuration)
        }
        guard let range = configuration.quantizerRange else { return }
        // Drivers interpret 0 as no limit at both ends; all of them accept 1 and more.
        quantizerRange = range.lowerBound...max(range.upperBound, 1)
        quantizer = constantQuantizers.clamping(quantizer)
    }

    /// The allowed quantizers in constant quantizer mode.
    var constantQuantizers: ClosedRange<Int> {
        max(quantizerRange?.lowerBound ?? 1, 1)...(quantizerRange?.upperBound ?? 51)
    }

    /// Estimates the quantizer for video at that bitrate, 18...40.
    ///
    /// The bitrate decreases about in proportion to the quantizer step, which doubles every 6 (H.264 8.5.9), and camera
    /// pictures at 26 need about a tenth of a bit per sample. A bad estimate costs a few frames until the driver has
    /// corrected it.
    static func estimatedQuantizer(_ bitsPerSecond: Int, _ configuration: EncoderConfiguration) -> Int {
        let samples = Double(configuration.width * configuration.height) * configuration.frameRate.doubleValue
        guard samples > 0, bitsPerSecond > 0 else { return 26 }
        let estimate = 26 - 6 * log2(Double(bitsPerSecond) / samples / 0.1)
        return Int(min(max(estimate, 18), 40).rounded())
    }

    private mutating func settleMacroblocks(_ configuration: EncoderConfiguration, _ modes: RateControlModes) {
        guard let asked = configuration.hardware.controlsMacroblocks else { return }
        if mode == .cqp {
            if asked {
                report("macroblock rate control", "on", "off", "a constant quantizer applies to all macroblocks")
            }
        } else if modes.contains(.perMacroblock) {
            controlsMacroblocks = asked
        } else if asked {
            report("macroblock rate control", "on", "off", "the driver has no rate control per macroblock")
        }
    }

    // MARK: - Quality

    private init(
        quality: Double,
        peak: PeakBitRate,
        _ limit: RateLimit?,
        _ modes: RateControlModes,
        _ configuration: EncoderConfiguration
    ) throws(MediaError) {
        let factor = min(max(Int(quality.rounded()), 1), 51)
        if let limit, modes.contains(.qvbr) {
            try self.init(.qvbr, of: modes, configuration)
            self.quality = factor
            let window = Self.window(limit)
            target = Target(peak: limit.bitsPerSecond, percentage: 100, window: window, bufferSize: limit.bufferSize)
        } else if modes.contains(.icq) {
            try self.init(.icq, of: modes, configuration)
            self.quality = factor
        } else {
            try self.init(.cqp, of: modes, configuration)
            quantizer = factor
            report(
                "rate control",
                "constant quality",
                "constant quantizer",
                "the driver has no constant quality mode"
            )
        }
        if limit != nil, target == nil {
            report("peak bitrate", "\(limit?.bitsPerSecond ?? 0) bit/s", "none", "the driver's mode has no peak limit")
        }
        report("quality", Self.text(quality), "\(factor)", "the driver accepts whole numbers from 1 to 51")
    }

    private static func text(_ quality: Double) -> String {
        quality == quality.rounded() ? "\(Int(quality))" : "\(quality)"
    }

    private mutating func report(_ property: String, _ asked: String, _ used: String, _ reason: String) {
        guard asked != used else { return }
        adjustments.append(Adjustment(property: property, requested: asked, used: used, reason: reason))
    }
}

extension RatePlan.Target {
    /// Creates a target with an average below a peak. The percentage is rounded up and the peak adapted, so that the
    /// average is met and the peak not exceeded.
    fileprivate init(average: Int, peak: Int, window: Int, bufferSize: Int?) {
        let percentage = min(100, max(1, Int((Int128(average) * 100 + Int128(peak) - 1) / Int128(peak))))
        self.init(
            peak: max(average, Int(Int128(average) * 100 / Int128(percentage))),
            percentage: percentage,
            window: window,
            bufferSize: bufferSize
        )
    }
}

extension ClosedRange {
    /// Returns the nearest value in the range.
    func clamping(_ value: Bound) -> Bound { Swift.min(Swift.max(value, lowerBound), upperBound) }
}
