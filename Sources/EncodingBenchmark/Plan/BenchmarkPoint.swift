// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// A point of a curve: the bitrate or the quality of an encode.
///
/// The text is a bitrate (`2M`, `800k`), `crf=23` or `qp=30`.
public enum BenchmarkPoint: PlanText {
    /// An average bitrate in bits per second.
    case bitRate(Int)
    /// A constant quality, 0...51, lower is better.
    case quality(Double)
    /// A constant quantizer, 0...51.
    case quantizer(Int)

    /// Parses the text; `nil` if it is invalid.
    public init?(text: String) {
        if text.hasPrefix("crf=") {
            guard let number = DecimalNumber(text.dropFirst(4))?.doubleValue, number <= 51 else { return nil }
            self = .quality(number)
        } else if text.hasPrefix("qp=") {
            guard let number = DecimalNumber(text.dropFirst(3))?.wholeValue, number <= 51 else { return nil }
            self = .quantizer(number)
        } else {
            guard let rate = DecimalNumber.multiple(text), RateControl.allowedBitRates.contains(rate) else {
                return nil
            }
            self = .bitRate(rate)
        }
    }

    /// The text that ``init(text:)`` parses to this value.
    public var text: String {
        switch self {
        case .bitRate(let rate) where rate % 1_000_000 == 0: "\(rate / 1_000_000)M"
        case .bitRate(let rate) where rate % 1000 == 0: "\(rate / 1000)k"
        case .bitRate(let rate): "\(rate)"
        case .quality(let quality): "crf=\(quality == quality.rounded() ? "\(Int(quality))" : "\(quality)")"
        case .quantizer(let quantizer): "qp=\(quantizer)"
        }
    }

    /// The allowed values.
    public static var allowedText: String {
        "bits per second from 1k to 1000M such as 2.5M, or crf=0 to crf=51, or qp=0 to qp=51"
    }

    /// The requested bitrate in bits per second; `nil` if the point is not a bitrate.
    public var bitsPerSecond: Int? {
        if case .bitRate(let rate) = self { rate } else { nil }
    }
}

/// The way in which pictures are submitted to an encoder.
public enum BenchmarkMode: String, PlanText, CaseIterable {
    /// As fast as the encoder accepts them.
    case throughput
    /// At the frame rate of the clip, as from a camera.
    case realTime = "real-time"
    /// At the frame rate of the clip, each encoded immediately: no lookahead, no reordering.
    case lowLatency = "low-latency"
}
