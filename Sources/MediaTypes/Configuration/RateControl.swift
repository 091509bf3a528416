// SPDX-License-Identifier: GPL-2.0-or-later

public import BitstreamSyntax

/// The rate control mode with its target.
public enum RateControl: Sendable, Hashable {
    /// Average bitrate of the whole stream, in bits per second (VBR, ABR), with a peak limit.
    case averageBitRate(Int, peak: PeakBitRate = .automatic)
    /// Constant bitrate, in bits per second, over windows of the given number of seconds, with padding where needed
    /// (CBR).
    case constantBitRate(Int, window: Double = 1)
    /// Constant visual quality, the CRF of x264 and x265: 0...51, lower values mean better quality.
    case constantQuality(Double, peak: PeakBitRate = .unlimited)
    /// Constant quantizer (CQP): 0...51, lower values mean better quality.
    case constantQuantizer(Int)

    /// The requested bitrate in bits per second, if there is one.
    public var bitsPerSecond: Int? {
        switch self {
        case .averageBitRate(let rate, _), .constantBitRate(let rate, _): rate
        case .constantQuality, .constantQuantizer: nil
        }
    }

    /// The accepted bitrates, in bits per second. The maximum is that of level 6.2 in the high profile.
    public static let allowedBitRates = 1_000...1_000_000_000
    /// The accepted windows, in seconds.
    public static let allowedWindows = 0.01...60.0
}

/// A limit on temporary increases of the bitrate: the VBV of encoders, `DataRateLimits` in VideoToolbox.
public enum PeakBitRate: Sendable, Hashable {
    /// 1.5 times the average over one second for H.264 without reordering (``EncoderConfiguration/allowsReordering``),
    /// as far as the requested level allows; otherwise no limit.
    case automatic
    /// No limit.
    case unlimited
    /// A maximum in bits per second, over a window in seconds. The size of the decoder's buffer is the rate times the
    /// window.
    case limit(Int, window: Double = 1)
}

/// An effective peak bitrate with its buffer size.
public struct RateLimit: Sendable, Hashable {
    /// The bitrate at which the decoder's buffer fills, in bits per second.
    public var bitsPerSecond: Int
    /// The size of that buffer in bits: at most `Int.max`, and 0 if the window is not a number.
    public var bufferSize: Int

    /// Makes a limit.
    public init(bitsPerSecond: Int, bufferSize: Int) {
        self.bitsPerSecond = bitsPerSecond
        self.bufferSize = bufferSize
    }

    /// Returns this limit reduced to what a level allows, but not below the average.
    fileprivate func fitting(_ maximum: RateLimit, average: Int) -> RateLimit {
        let rate = max(average, min(bitsPerSecond, maximum.bitsPerSecond))
        return RateLimit(bitsPerSecond: rate, bufferSize: min(bufferSize, rate, maximum.bufferSize))
    }

    fileprivate init(_ bitsPerSecond: Int, window: Double) {
        let bits = (Double(bitsPerSecond) * window).rounded()
        self.init(bitsPerSecond: bitsPerSecond, bufferSize: bits > 0 ? Int(exactly: bits) ?? .max : 0)
    }
}

extension EncoderConfiguration {
    /// Returns the peak limit that an encoder of the given codec has to observe, with ``PeakBitRate/automatic``
    /// resolved; `nil` if there is none.
    public func rateLimit(codec: VideoCodec) -> RateLimit? {
        let limit = rateControl.rateLimit(codec: codec, allowsReordering: allowsReordering)
        guard let limit, let h264Level, case .averageBitRate(let average, .automatic) = rateControl
        else { return limit }
        return limit.fitting(h264Level.maximumRate(in: mostGenerousProfile), average: average)
    }
}

extension RateControl {
    fileprivate func rateLimit(codec: VideoCodec, allowsReordering: Bool) -> RateLimit? {
        switch self {
        case .constantBitRate(let rate, let window): return RateLimit(rate, window: window)
        case .constantQuantizer: return nil
        case .averageBitRate(_, .limit(let rate, let window)), .constantQuality(_, .limit(let rate, let window)):
            return RateLimit(rate, window: window)
        case .averageBitRate(let rate, .automatic) where codec == .h264 && !allowsReordering:
            return RateLimit(Int(clamping: Int128(rate) * 3 / 2), window: 1)
        case .averageBitRate, .constantQuality: return nil
        }
    }

    func validate() throws(MediaError) {
        switch self {
        case .averageBitRate(let rate, let peak):
            try Self.check(rate, "bitrate")
            if case .limit(let limit, _) = peak, limit < rate {
                throw MediaError(
                    .invalidArgument,
                    "the peak bitrate is below the average",
                    given: "\(limit) bit/s",
                    allowed: "at least \(rate) bit/s"
                )
            }
            try Self.check(peak)
        case .constantBitRate(let rate, let window):
            try Self.check(rate, "bitrate")
            try Self.check(window: window)
        case .constantQuality(let quality, let peak):
            guard (0...51).contains(quality) else {
                throw MediaError(.invalidArgument, "quality is out of range", given: "\(quality)", allowed: "0...51")
            }
            try Self.check(peak)
        case .constantQuantizer(let quantizer):
            guard (0...51).contains(quantizer) else {
                throw MediaError(
                    .invalidArgument,
                    "quantizer is out of range",
                    given: "\(quantizer)",
                    allowed: "0...51"
                )
            }
        }
    }

    private static func check(_ peak: PeakBitRate) throws(MediaError) {
        guard case .limit(let rate, let window) = peak else { return }
        try check(rate, "peak bitrate")
        try check(window: window)
    }

    private static func check(_ rate: Int, _ name: String) throws(MediaError) {
        if allowedBitRates.contains(rate) { return }
        throw MediaError(
            .invalidArgument,
            "\(name) is out of range",
            given: "\(rate) bit/s",
            allowed: "\(allowedBitRates.lowerBound)...\(allowedBitRates.upperBound) bit/s"
        )
    }

    private static func check(window: Double) throws(MediaError) {
        if allowedWindows.contains(window) { return }
        throw MediaError(
            .invalidArgument,
            "rate window is out of range",
            given: "\(window) s",
            allowed: "\(allowedWindows.lowerBound)...\(allowedWindows.upperBound) s"
        )
    }
}
