// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax

/// A level of H.264 and its limits (H.264 tables ).
public struct H264Level: Sendable, Hashable, CustomStringConvertible {
    /// The name, for example `4.1` or `1b`.
    public var name: String {
        if levelIDC == 9 { return "1b" }
        return levelIDC % 10 == 0 ? "\(levelIDC / 10)" : "\(levelIDC / 10).\(levelIDC % 10)"
    }
    /// Ten times the level number, as in `level_idc`; 9 for level 1b.
    public var levelIDC: UInt8 { limits.levelIdc }
    /// MaxMBPS: the maximum number of macroblocks per second.
    public var maximumMacroblocksPerSecond: Int { limits.maxMbps }
    /// MaxFS: the maximum number of macroblocks of a picture.
    public var maximumFrameSize: Int { limits.maxFs }

    /// The name.
    public var description: String { name }

    /// All levels, from the lowest to the highest.
    public static let all = H264LevelLimits.all.map(H264Level.init)

    private let limits: H264LevelLimits

    private init(_ limits: H264LevelLimits) {
        self.limits = limits
    }

    /// Makes the level with the given name; both `4` and `4.0` name level 4.
    public init?(name: String) {
        let short = name.hasSuffix(".0") ? String(name.dropLast(2)) : name
        guard let level = Self.all.first(where: { $0.name == short }) else { return nil }
        self = level
    }

    /// Makes the level with the given `level_idc`.
    public init?(levelIDC: UInt8) {
        guard let level = Self.all.first(where: { $0.levelIDC == levelIDC }) else { return nil }
        self = level
    }

    /// Returns the reason why pictures of the given size and rate exceed this level (H.264 A.3.1); `nil` if they do
    /// not.
    public func reasonAgainst(width: Int, height: Int, frameRate: Rational) -> String? {
        let (columns, rows) = (Int128(Self.macroblocks(width)), Int128(Self.macroblocks(height)))
        if columns * rows > maximumFrameSize {
            return "\(columns * rows) macroblocks, more than \(maximumFrameSize)"
        }
        if columns * columns > 8 * maximumFrameSize || rows * rows > 8 * maximumFrameSize {
            let longest = Int(Double(8 * maximumFrameSize).squareRoot())
            return "\(columns)x\(rows) macroblocks, width or height above \(longest)"
        }
        guard frameRate.isPositive else { return "a frame rate of \(frameRate)" }
        let perSecond = columns * rows * Int128(frameRate.numerator)
        if perSecond > Int128(maximumMacroblocksPerSecond) * Int128(frameRate.denominator) {
            let rate = perSecond / Int128(frameRate.denominator)
            return "\(rate) macroblocks per second, more than \(maximumMacroblocksPerSecond)"
        }
        return nil
    }

    /// The number of 16-sample macroblocks that cover a width or height; 0 for a size below 1.
    private static func macroblocks(_ samples: Int) -> Int { samples < 1 ? 0 : (samples - 1) / 16 + 1 }

    /// Returns the lowest level that allows pictures of the given size and rate.
    public static func lowest(width: Int, height: Int, frameRate: Rational) -> H264Level? {
        all.first { $0.reasonAgainst(width: width, height: height, frameRate: frameRate) == nil }
    }

    /// Returns MaxDpbFrames: the number of pictures of the given size that a decoder stores, at most 16 (H.264 A.3.1);
    /// 0 for an empty size.
    public func decodedPictures(width: Int, height: Int) -> Int {
        limits.maxDpbFrames(columns: Self.macroblocks(width), rows: Self.macroblocks(height))
    }
}

// MARK: - Slices

extension H264Level {
    /// Returns the maximum number of slices of each picture of the given size and rate in a profile, at least 1.
    ///
    /// H.264 A.3.3 with table A-4 allows one slice for every `SliceRate` macroblocks that a decoder processes between
    /// two pictures. If the limit for the first picture is lower, it applies: the macroblocks that a decoder processes
    /// in 1/172 second (1/300 second from level 6 on), but at least those of the picture. `nil` if there is no such
    /// limit: below level 3 and in the baseline profile.
    public func maximumSlices(width: Int, height: Int, frameRate: Rational, in profile: VideoProfile) -> Int? {
        guard let sliceRate = limits.sliceRate, !profile.isBaseline, frameRate.isPositive else { return nil }
        let own = Int128(Self.macroblocks(width)) * Int128(Self.macroblocks(height))
        let perSecond = Int128(maximumMacroblocksPerSecond)
        let ofFirst = max(own, perSecond / (levelIDC < 60 ? 172 : 300))
        let ofOthers = perSecond * Int128(frameRate.denominator) / Int128(frameRate.numerator)
        return max(Int(clamping: min(ofFirst, ofOthers) / Int128(sliceRate)), 1)
    }
}

// MARK: - Rates

extension H264Level {
    /// Returns the maximum bitrate and buffer size of coded slices in a profile: MaxBR and MaxCPB times
    /// `cpbBrVclFactor` (H.264 A.3.1 and A.3.3). HEVC profiles are treated as main.
    public func maximumRate(in profile: VideoProfile) -> RateLimit {
        let factor =
            switch profile {
            case .h264High10: 3000
            case .h264High: 1250
            default: 1000
            }
        return RateLimit(bitsPerSecond: limits.maxBr * factor, bufferSize: limits.maxCpb * factor)
    }

    /// Returns the reason why a stream with the given profile, bitrate and decoder buffer exceeds this level; `nil` if
    /// it does not.
    public func reasonAgainst(_ rate: RateLimit, in profile: VideoProfile) -> String? {
        rate.reasonAgainst(maximum: maximumRate(in: profile))
    }
}

extension RateLimit {
    /// Returns the reason why this limit exceeds the maximum bitrate or buffer size of a level; `nil` if it does not.
    func reasonAgainst(maximum: RateLimit) -> String? {
        if bitsPerSecond > maximum.bitsPerSecond {
            return "\(bitsPerSecond) bit/s, more than \(maximum.bitsPerSecond)"
        }
        if bufferSize > maximum.bufferSize {
            return "a decoder buffer of \(bufferSize) bits, more than \(maximum.bufferSize)"
        }
        return nil
    }
}
