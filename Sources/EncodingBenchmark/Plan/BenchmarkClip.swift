// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaTypes

/// The source of a benchmark: a video file, or generated pictures, which are the same on all machines.
public enum BenchmarkClip: PlanText {
    /// Generated pictures.
    case generated(ClipContent)
    /// A video file, by its path.
    case file(String)

    /// Parses the name of a kind of generated pictures, or a path that contains a slash or a point.
    public init?(text: String) {
        if let content = ClipContent(rawValue: text) {
            self = .generated(content)
        } else if text.contains("/") || text.contains(".") {
            self = .file(text)
        } else {
            return nil
        }
    }

    /// The text that ``init(text:)`` parses to this value.
    public var text: String {
        switch self {
        case .generated(let content): content.rawValue
        case .file(let path): path
        }
    }

    /// The allowed values.
    public static var allowedText: String { "\(ClipContent.allowedText), or the path of a video file" }
}

/// The content of generated pictures.
public enum ClipContent: String, PlanText, CaseIterable {
    /// A moving test chart with edges and fine lines.
    case chart
    /// Noise that is different in every picture: the most demanding content for an encoder.
    case noise
    /// A smooth gradient that changes slowly: it causes banding and needs hardly any bits.
    case gradient
    /// Scrolling text, as on a screen.
    case text
    /// All of them in one picture, with cuts.
    case mixed
}

/// Width and height in luma samples.
public struct BenchmarkSize: PlanText {
    /// The width in samples, even.
    public var width: Int
    /// The height in samples, even.
    public var height: Int

    /// Creates a size.
    public init(width: Int, height: Int) {
        self.width = width
        self.height = height
    }

    /// Parses the text; `nil` if it is invalid.
    public init?(text: String) {
        let parts = text.split(separator: "x", omittingEmptySubsequences: false).map { DecimalNumber($0)?.wholeValue }
        guard parts.count == 2, let width = parts[0], let height = parts[1] else { return nil }
        let allowed = 16...16384
        guard allowed.contains(width), allowed.contains(height), width % 2 == 0, height % 2 == 0 else { return nil }
        self.init(width: width, height: height)
    }

    /// The text that ``init(text:)`` parses to this value.
    public var text: String { "\(width)x\(height)" }

    /// The allowed values.
    public static var allowedText: String { "WIDTHxHEIGHT of even numbers from 16 to 16384, such as 1280x720" }
}

/// The frame rate of a plan, in frames per second.
public struct BenchmarkFrameRate: PlanText {
    /// The ratio.
    public var value: Rational

    /// Creates a frame rate.
    public init(_ value: Rational) { self.value = value }

    /// Parses the text; `nil` if it is invalid.
    public init?(text: String) {
        guard let value = Rational(text: text), value.isPositive, (1...1000).contains(value.doubleValue) else {
            return nil
        }
        self.init(value)
    }

    /// The text that ``init(text:)`` parses to this value.
    public var text: String { value.description }

    /// The allowed values.
    public static var allowedText: String { "frames per second from 1 to 1000, such as 30 or 30000/1001" }
}
