// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// A point of a curve: how many bits an encoder is given, or how well it is to code.
///
/// Written as a rate (`2M`, `800k`), `crf=23` or `qp=30`.
public enum BenchmarkPoint: PlanText {
    /// An average of so many bits per second.
    case bitRate(Int)
    /// A constant quality, 0...51, lower is better.
    case quality(Double)
    /// A constant quantizer, 0...51.
    case quantizer(Int)

    /// Reads the word; `nil` if it means nothing of this kind.
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

    /// The word that gives the value again.
    public var text: String {
        switch self {
        case .bitRate(let rate) where rate % 1_000_000 == 0: "\(rate / 1_000_000)M"
        case .bitRate(let rate) where rate % 1000 == 0: "\(rate / 1000)k"
        case .bitRate(let rate): "\(rate)"
        case .quality(let quality): "crf=\(quality == quality.rounded() ? "\(Int(quality))" : "\(quality)")"
        case .quantizer(let quantizer): "qp=\(quantizer)"
        }
    }

    /// What may be written.
    public static var allowedText: String {
        "bits per second from 1k to 1000M such as 2.5M, or crf=0 to crf=51, or qp=0 to qp=51"
    }

    /// The bits per second that are asked for; `nil` where none are.
    public var bitsPerSecond: Int? {
        if case .bitRate(let rate) = self { rate } else { nil }
    }
}

/// How pictures are handed to an encoder.
public enum BenchmarkMode: String, PlanText, CaseIterable {
    /// As fast as it takes them.
    case throughput
    /// At the clip's rate, as a camera does.
    case realTime = "real-time"
    /// At the clip's rate, each coded at once: no lookahead, no reordering.
    case lowLatency = "low-latency"
}
