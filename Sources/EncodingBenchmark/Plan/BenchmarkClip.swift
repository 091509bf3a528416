// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaTypes

/// What is encoded: a file, or pictures that are computed and hence the same everywhere.
public enum BenchmarkClip: PlanText {
    /// Pictures made by the harness.
    case generated(ClipContent)
    /// A video file, by its path.
    case file(String)

    /// The name of a kind of generated pictures, or else a path with a slash or a point in it.
    public init?(text: String) {
        if let content = ClipContent(rawValue: text) {
            self = .generated(content)
        } else if text.contains("/") || text.contains(".") {
            self = .file(text)
        } else {
            return nil
        }
    }

    /// The word that gives the value again.
    public var text: String {
        switch self {
        case .generated(let content): content.rawValue
        case .file(let path): path
        }
    }

    /// What may be written.
    public static var allowedText: String { "\(ClipContent.allowedText), or the path of a video file" }
}

/// What generated pictures show.
public enum ClipContent: String, PlanText, CaseIterable {
    /// A test chart that moves as a whole, with edges and fine lines.
    case chart
    /// Noise that is new in every picture: the most that an encoder can be given.
    case noise
    /// A smooth gradient that changes slowly: banding, and next to no bits.
    case gradient
    /// Text that scrolls, as of a screen.
    case text
    /// All of them in one picture, with cuts.
    case mixed
}

/// Width and height in luma samples.
public struct BenchmarkSize: PlanText {
    /// Samples from left to right, even.
    public var width: Int
    /// Samples from top to bottom, even.
    public var height: Int

    /// Makes a size.
    public init(width: Int, height: Int) {
        self.width = width
        self.height = height
    }

    /// Reads the word; `nil` if it means nothing of this kind.
    public init?(text: String) {
        let parts = text.split(separator: "x", omittingEmptySubsequences: false).map { DecimalNumber($0)?.wholeValue }
        guard parts.count == 2, let width = parts[0], let height = parts[1] else { return nil }
        let allowed = 16...16384
        guard allowed.contains(width), allowed.contains(height), width % 2 == 0, height % 2 == 0 else { return nil }
        self.init(width: width, height: height)
    }

    /// The word that gives the value again.
    public var text: String { "\(width)x\(height)" }

    /// What may be written.
    public static var allowedText: String { "WIDTHxHEIGHT of even numbers from 16 to 16384, such as 1280x720" }
}

/// Frames per second of a plan.
public struct BenchmarkFrameRate: PlanText {
    /// The ratio.
    public var value: Rational

    /// Makes a rate.
    public init(_ value: Rational) { self.value = value }

    /// Reads the word; `nil` if it means nothing of this kind.
    public init?(text: String) {
        guard let value = Rational(text: text), value.isPositive, (1...1000).contains(value.doubleValue) else {
            return nil
        }
        self.init(value)
    }

    /// The word that gives the value again.
    public var text: String { value.description }

    /// What may be written.
    public static var allowedText: String { "frames per second from 1 to 1000, such as 30 or 30000/1001" }
}
