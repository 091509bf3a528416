// SPDX-License-Identifier: GPL-2.0-or-later

public import ArgumentParser
internal import MediaTypes
public import ServiceAPI

/// A rate in bit/s: `800k`, `2.5M`, `5000000`.
package struct RateArgument: ExpressibleByArgument, Sendable, Hashable {
    package let bitsPerSecond: Int

    package init?(argument: String) {
        guard let number = DecimalNumber.multiple(argument) else { return nil }
        bitsPerSecond = number
    }
}

/// A quality target: `ssim:0.98`.
package struct TargetArgument: ExpressibleByArgument, Sendable, Hashable {
    package let target: QualityTarget

    package init?(argument: String) {
        let words = argument.split(separator: ":", omittingEmptySubsequences: false)
        guard words.count == 2, let metric = QualityMetric(rawValue: String(words[0])),
            let score = DecimalNumber(words[1])?.doubleValue
        else { return nil }
        target = QualityTarget {
            $0.metric = metric
            $0.score = score
        }
    }
}

/// Width and height: `1280x720`.
package struct SizeArgument: ExpressibleByArgument, Sendable, Hashable {
    package let width: Int
    package let height: Int

    package init?(argument: String) {
        let parts = argument.split(separator: "x", omittingEmptySubsequences: false)
        guard parts.count == 2, let width = DecimalNumber(parts[0])?.wholeValue,
            let height = DecimalNumber(parts[1])?.wholeValue
        else { return nil }
        (self.width, self.height) = (width, height)
    }
}

/// A time: seconds, or `[HH:]MM:SS[.fff]`.
package struct TimeArgument: ExpressibleByArgument, Sendable, Hashable {
    package let seconds: Double

    package init?(argument: String) {
        let parts = argument.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count <= 3 else { return nil }
        var sum = 0.0
        for (index, part) in parts.enumerated() {
            guard let number = DecimalNumber(part), index == parts.count - 1 || number.wholeValue != nil,
                index == 0 || number.doubleValue < 60
            else { return nil }
            sum = sum * 60 + number.doubleValue
        }
        seconds = sum
    }
}

/// Seconds with their unit, `5s`: without it, `vatoolbox encode` counts frames.
package struct IntervalArgument: ExpressibleByArgument, Sendable, Hashable {
    package let seconds: Double

    package init?(argument: String) {
        guard argument.last == "s", let number = DecimalNumber(argument.dropLast()) else { return nil }
        seconds = number.doubleValue
    }
}

/// Variants of a ladder: `1080p:5M,720p,480p`.
package struct LadderArgument: ExpressibleByArgument, Sendable, Hashable {
    package let rungs: [Rung]

    package init?(argument: String) {
        var rungs: [Rung] = []
        for part in argument.split(separator: ",", omittingEmptySubsequences: false) {
            let words = part.split(separator: ":", omittingEmptySubsequences: false)
            guard words.count <= 2, let first = words.first, first.last == "p",
                let height = DecimalNumber(first.dropLast())?.wholeValue
            else { return nil }
            var rung = Rung()
            rung.height = height
            if words.count == 2 {
                guard let rate = DecimalNumber.multiple(String(words[1])) else { return nil }
                rung.bitRate = rate
            }
            rungs.append(rung)
        }
        self.rungs = rungs
    }
}

/// A label: `KEY=VALUE`.
package struct LabelArgument: ExpressibleByArgument, Sendable, Hashable {
    package let key: String
    package let value: String

    package init?(argument: String) {
        guard let equals = argument.firstIndex(of: "="), equals > argument.startIndex else { return nil }
        key = String(argument[..<equals])
        value = String(argument[argument.index(after: equals)...])
    }

    /// The labels of several options. Of a key that occurs twice, the last value counts.
    package static func dictionary(_ labels: [LabelArgument]) -> [String: String] {
        Dictionary(labels.map { ($0.key, $0.value) }) { $1 }
    }
}

extension ServiceAPI.AudioCodecChoice: ExpressibleByArgument {}
extension ServiceAPI.BitDepthChoice: ExpressibleByArgument {
    /// Reads `8`, `10`, `12` or `source`.
    public init?(argument: String) {
        guard let choice = Self.allCases.first(where: { $0.name == argument }) else { return nil }
        self = choice
    }

    private var name: String {
        switch self {
        case .bits8: "8"
        case .bits10: "10"
        case .bits12: "12"
        case .source: "source"
        }
    }

    /// The words for the help.
    public static var allValueStrings: [String] { allCases.map(\.name) }
    /// The word of the value.
    public var defaultValueDescription: String { name }
}
extension ServiceAPI.ChromaChoice: ExpressibleByArgument {}
extension ServiceAPI.Deinterlacing: ExpressibleByArgument {}
extension ServiceAPI.EncoderPreset: ExpressibleByArgument {}
extension ServiceAPI.EncoderTuning: ExpressibleByArgument {}
extension ServiceAPI.TargetShortfall: ExpressibleByArgument {}
extension ServiceAPI.JobState: ExpressibleByArgument {}
extension ServiceAPI.LiveState: ExpressibleByArgument {}
extension ServiceAPI.SegmentFormat: ExpressibleByArgument {}
extension ServiceAPI.VideoCodecChoice: ExpressibleByArgument {}
extension ServiceAPI.VideoProfile: ExpressibleByArgument {}

/// How pictures are fitted, by the words of `vatoolbox encode --fit`.
package enum FitArgument: String, ExpressibleByArgument, CaseIterable, Sendable {
    case letterbox
    case aspectFill = "aspect-fill"
    case stretch

    package var scaling: Scaling {
        switch self {
        case .letterbox: .fit
        case .aspectFill: .fill
        case .stretch: .stretch
        }
    }
}
