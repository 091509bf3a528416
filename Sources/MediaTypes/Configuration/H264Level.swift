// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax

/// A level of H.264 and its limits (H.264 tables ).
public struct H264Level: Sendable, Hashable, CustomStringConvertible {
    /// The name, for example `4.1` or `1b`.
    public var name: String {
        if levelIDC == 9 { return "1b" }
        return levelIDC % 10 == 0 ? "\(levelIDC / 10)" : "\(levelIDC / 10).\(levelIDC % 10)"
    }
    /// Ten times the number, as `level_idc` has it; 9 for level 1b.
    public var levelIDC: UInt8 { limits.levelIdc }
    /// MaxMBPS: macroblocks per second.
    public var maximumMacroblocksPerSecond: Int { limits.maxMbps }
    /// MaxFS: macroblocks of a picture.
    public var maximumFrameSize: Int { limits.maxFs }

    /// The name.
    public var description: String { name }

    /// All levels, from the lowest to the highest.
    public static let all = H264LevelLimits.all.map(H264Level.init)

    private let limits: H264LevelLimits

    private init(_ limits: H264LevelLimits) {
        self.limits = limits
    }

    /// The level of that name; both `4` and `4.0` name level 4.
    public init?(name: String) {
        let short = name.hasSuffix(".0") ? String(name.dropLast(2)) : name
        guard let level = Self.all.first(where: { $0.name == short }) else { return nil }
        self = level
    }

    /// The level of that `level_idc`.
    public init?(levelIDC: UInt8) {
        guard let level = Self.all.first(where: { $0.levelIDC == levelIDC }) else { return nil }
        self = level
    }

    /// Why pictures of that size and rate are beyond this level (H.264 A.3.1), or `nil` if they are not.
    public func reasonAgainst(width: Int, height: Int, frameRate: Rational) -> String? {
        let (columns, rows) = (Int128(Self.macroblocks(width)), Int128(Self.macroblocks(height)))
        if columns * rows > maximumFrameSize {
            return "\(columns * rows) macroblocks, more than \(maximumFrameSize)"
        }
        if columns * columns > 8 * maximumFrameSize || rows * rows > 8 * maximumFrameSize {
            return
                "\(columns)x\(rows) macroblocks, a side longer than \(Int(Double(8 * maximumFrameSize).squareRoot()))"
        }
        guard frameRate.isPositive else { return "a frame rate of \(frameRate)" }
        let perSecond = columns * rows * Int128(frameRate.numerator)
        if perSecond > Int128(maximumMacroblocksPerSecond) * Int128(frameRate.denominator) {
            let rate = perSecond / Int128(frameRate.denominator)
            return "\(rate) macroblocks per second, more than \(maximumMacroblocksPerSecond)"
        }
        return nil
    }

    /// Macroblocks of 16 samples that cover a side; none for a side below 1.
    private static func macroblocks(_ samples: Int) -> Int { samples < 1 ? 0 : (samples - 1) / 16 + 1 }

    /// The lowest level that takes pictures of that size and rate.
    public static func lowest(width: Int, height: Int, frameRate: Rational) -> H264Level? {
        all.first { $0.reasonAgainst(width: width, height: height, frameRate: frameRate) == nil }
    }

    /// MaxDpbFrames: how many pictures of that size a decoder keeps, at most 16 (H.264 A.3.1); 0 for no size.
    public func decodedPictures(width: Int, height: Int) -> Int {
        limits.maxDpbFrames(columns: Self.macroblocks(width), rows: Self.macroblocks(height))
    }
}

// MARK: - Slices

extension H264Level {
    /// How many slices each picture of that size and rate may have in a profile, at least 1, as far as table A-4 says it:
    /// one for every `SliceRate` of the macroblocks that a decoder does from one picture to the next, and for the first
    /// picture, if that is less, in 1/172 second, in 1/300 from level 6 on, or as many as the picture has (H.264 A.3.3).
    /// `nil` where there is no such limit: below level 3, and in profile baseline.
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
    /// The highest rate and the largest buffer of coded slices in a profile: MaxBR and MaxCPB times `cpbBrVclFactor`
    /// (H.264 A.3.1 and A.3.3). Profiles of HEVC count as main.
    public func maximumRate(in profile: VideoProfile) -> RateLimit {
        let factor =
            switch profile {
            case .h264High10: 3000
            case .h264High: 1250
            default: 1000
            }
        return RateLimit(bitsPerSecond: limits.maxBr * factor, bufferSize: limits.maxCpb * factor)
    }

    /// Why a stream of that profile with that rate and decoder's buffer is beyond this level, or `nil` if it is not.
    public func reasonAgainst(_ rate: RateLimit, in profile: VideoProfile) -> String? {
        rate.reasonAgainst(maximum: maximumRate(in: profile))
    }
}

extension RateLimit {
    /// Why this limit is beyond the highest rate and the largest buffer of a level, or `nil` if it is not.
    func reasonAgainst(maximum: RateLimit) -> String? {
        if bitsPerSecond > maximum.bitsPerSecond {
            return "\(bitsPerSecond) bit/s, more than \(maximum.bitsPerSecond)"
        }
        if bufferSize > maximum.bufferSize {
            return "a rate buffer of \(bufferSize) bits, more than \(maximum.bufferSize)"
        }
        return nil
    }
}
