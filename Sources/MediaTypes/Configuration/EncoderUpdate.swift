// SPDX-License-Identifier: GPL-2.0-or-later

/// A change of settings while an encoder runs; `nil` leaves a setting unchanged.
public struct EncoderUpdate: Sendable, Hashable {
    /// The new rate in bits per second, for average and constant bit rate. A peak limit is scaled with it unless
    /// ``peak`` is given.
    public var bitRate: Int?
    /// The new limit on peaks.
    public var peak: PeakBitRate?
    /// The new quality, for constant quality.
    public var quality: Double?
    /// The new quantizer, for constant quantizer.
    public var quantizer: Int?
    /// The new frame rate.
    public var frameRate: Rational?

    /// Makes a change; nothing changes unless given.
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
    /// This configuration with a change applied, not yet validated.
    ///
    /// - Throws: `invalidArgument` if the change is about another kind of rate control than the present one.
    public func applying(_ update: EncoderUpdate) throws(MediaError) -> EncoderConfiguration {
        var result = self
        if let frameRate = update.frameRate { result.frameRate = frameRate }
        result.rateControl = try rateControl.applying(update)
        return result
    }

    /// Whether this configuration differs from another in nothing but what an ``EncoderUpdate`` can change.
    ///
    /// A session takes what a configuration leaves open from the first picture, and makes no new encoder if that says
    /// nothing either: colour and aspect ratio that are not given are the same as such that are not specified.
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
