// SPDX-License-Identifier: GPL-2.0-or-later

/// A change to the settings of a running encoder; `nil` leaves a setting unchanged.
public struct EncoderUpdate: Sendable, Hashable {
    /// The new bitrate in bits per second, for average and constant bitrate. A peak limit is scaled proportionally
    /// unless ``peak`` is set.
    public var bitRate: Int?
    /// The new peak limit.
    public var peak: PeakBitRate?
    /// The new quality, for constant quality.
    public var quality: Double?
    /// The new quantizer, for constant quantizer.
    public var quantizer: Int?
    /// The new frame rate.
    public var frameRate: Rational?

    /// Makes a change; settings that are not given stay unchanged.
    public init(
        bitRate: Int? = nil,
        peak: PeakBitRate? = nil,
        quality: Double? = nil,
        quantizer: Int? = nil,
        frameRate: Rational? = nil
    ) {
        self.bitRate = bitRate
        self.peak = peak
        self.quality = quality
        self.quantizer = quantizer
        self.frameRate = frameRate
    }
}

extension EncoderConfiguration {
    /// Returns this configuration with a change applied. The result is not validated.
    ///
    /// - Throws: `invalidArgument` if the change does not apply to the present rate control mode.
    public func applying(_ update: EncoderUpdate) throws(MediaError) -> EncoderConfiguration {
        var result = self
        if let frameRate = update.frameRate { result.frameRate = frameRate }
        result.rateControl = try rateControl.applying(update)
        return result
    }

    /// Returns whether this configuration differs from another only in settings that an ``EncoderUpdate`` can change.
    ///
    /// A session takes settings that a configuration leaves open from the first picture. If that does not specify them
    /// either, no new encoder is needed: an absent colour description or aspect ratio equals an unspecified one.
    package func isUpdate(of other: EncoderConfiguration) -> Bool {
        var (one, two) = (self, other)
        (one.rateControl, one.frameRate) = (two.rateControl, two.frameRate)
        (one.color, two.color) = (one.color ?? .unspecified, two.color ?? .unspecified)
        (one.pixelAspectRatio, two.pixelAspectRatio) = (one.pixelAspectRatio ?? .one, two.pixelAspectRatio ?? .one)
        return one == two
    }
}

extension RateControl {
    private var name: String {
        switch self {
        case .averageBitRate: "average bit rate"
        case .constantBitRate: "constant bit rate"
        case .constantQuality: "constant quality"
        case .constantQuantizer: "constant quantizer"
        }
    }

    fileprivate func applying(_ update: EncoderUpdate) throws(MediaError) -> RateControl {
        func refuse(_ property: String, _ given: Any?) throws(MediaError) {
            guard let given else { return }
            throw MediaError(.invalidArgument, "\(property) cannot change with \(name)", given: "\(given)")
        }
        switch self {
        case .averageBitRate(let rate, let peak):
            try refuse("quality", update.quality)
            try refuse("quantizer", update.quantizer)
            let newRate = update.bitRate ?? rate
            return .averageBitRate(newRate, peak: update.peak ?? peak.scaled(from: rate, to: newRate))
        case .constantBitRate(let rate, let window):
            try refuse("quality", update.quality)
            try refuse("quantizer", update.quantizer)
            try refuse("peak", update.peak)
            return .constantBitRate(update.bitRate ?? rate, window: window)
        case .constantQuality(let quality, let peak):
            try refuse("bitrate", update.bitRate)
            try refuse("quantizer", update.quantizer)
            return .constantQuality(update.quality ?? quality, peak: update.peak ?? peak)
        case .constantQuantizer(let quantizer):
            try refuse("bitrate", update.bitRate)
            try refuse("quality", update.quality)
            try refuse("peak", update.peak)
            return .constantQuantizer(update.quantizer ?? quantizer)
        }
    }
}

extension PeakBitRate {
    fileprivate func scaled(from old: Int, to new: Int) -> PeakBitRate {
        guard case .limit(let rate, let window) = self, old > 0 else { return self }
        let scaled = Double(rate) * Double(new) / Double(old)
        return .limit(Int(exactly: scaled.rounded()) ?? rate, window: window)
    }
}
