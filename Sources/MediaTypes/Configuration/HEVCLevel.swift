// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax

/// A level of HEVC in one of its tiers, and its limits (HEVC tables A.8 and A.9).
public struct HEVCLevel: Sendable, Hashable, CustomStringConvertible {
    /// The name: `4.1` for the Main tier, `4.1-high` for the High tier.
    public var name: String { number + (isHighTier ? "-high" : "") }
    /// The level number as written in the specification, for example `4.1`.
    public var number: String {
        let tenths = levelIDC / 3
        return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)"
    }
    /// Thirty times the level number, as in `general_level_idc`.
    public var levelIDC: UInt8 { limits.generalLevelIdc }
    /// `general_tier_flag`: whether it is the High tier, which exists from level 4 on.
    public let isHighTier: Bool
    /// MaxLumaPs: the maximum number of luma samples of a picture.
    public var maximumPictureSize: Int { limits.maxLumaPs }
    /// MaxLumaSr: the maximum number of luma samples per second.
    public var maximumSampleRate: Int { limits.maxLumaSr }
    /// MaxSliceSegmentsPerPicture: the maximum number of slice segments of a picture.
    public var maximumSlices: Int { limits.maxSliceSegments }

    /// The name.
    public var description: String { name }

    /// All levels, from the lowest to the highest: first those of the Main tier, which every decoder of a level
    /// supports, then those of the High tier.
    public static let all =
        HEVCLevelLimits.all.map { HEVCLevel($0, isHighTier: false) }
        + HEVCLevelLimits.all.filter { $0.high != nil }.map { HEVCLevel($0, isHighTier: true) }

    private let limits: HEVCLevelLimits

    private init(_ limits: HEVCLevelLimits, isHighTier: Bool) {
        self.limits = limits
        self.isHighTier = isHighTier
    }

    /// Makes the level with the given name; both `4` and `4.0` name level 4 in the Main tier.
    public init?(name: String) {
        var short = name
        for suffix in ["", "-high"] where name.hasSuffix(".0\(suffix)") {
            short = name.dropLast(2 + suffix.count) + suffix
        }
        guard let level = Self.all.first(where: { $0.name == short }) else { return nil }
        self = level
    }

    /// Makes the level with the given `general_level_idc` and `general_tier_flag`.
    public init?(levelIDC: UInt8, isHighTier: Bool) {
        guard let level = Self.all.first(where: { $0.levelIDC == levelIDC && $0.isHighTier == isHighTier }) else {
            return nil
        }
        self = level
    }

    /// Returns the reason why pictures of the given coded size and rate exceed this level (HEVC A.4.1); `nil` if they
    /// do not.
    public func reasonAgainst(width: Int, height: Int, frameRate: Rational) -> String? {
        let samples = Int128(width) * Int128(height)
        if samples > maximumPictureSize { return "\(samples) luma samples, more than \(maximumPictureSize)" }
        let (width, height) = (Int128(width), Int128(height))
        if width * width > 8 * maximumPictureSize || height * height > 8 * maximumPictureSize {
            let longest = Int(Double(8 * maximumPictureSize).squareRoot())
            return "\(width)x\(height) luma samples, width or height above \(longest)"
        }
        guard frameRate.isPositive else { return "a frame rate of \(frameRate)" }
        let perSecond = samples * Int128(frameRate.numerator)
        if perSecond > Int128(maximumSampleRate) * Int128(frameRate.denominator) {
            let rate = perSecond / Int128(frameRate.denominator)
            return "\(rate) luma samples per second, more than \(maximumSampleRate)"
        }
        return nil
    }

    /// Returns the lowest level in the Main tier that allows pictures of the given size and rate.
    public static func lowest(width: Int, height: Int, frameRate: Rational) -> HEVCLevel? {
        all.first { $0.reasonAgainst(width: width, height: height, frameRate: frameRate) == nil }
    }

    /// Returns the number of pictures of the given coded size that a decoder stores besides the one that it decodes:
    /// MaxDpbSize - 1, 5...15 (HEVC A.4.2); 0 for an empty size and for one beyond the level.
    public func decodedPictures(width: Int, height: Int) -> Int {
        let (samples, isTooLarge) = width.multipliedReportingOverflow(by: height)
        return isTooLarge ? 0 : max(limits.maxDpbSize(lumaSamples: samples) - 1, 0)
    }
}

// MARK: - Rates

extension HEVCLevel {
    /// The maximum bitrate and buffer size of coded slices in the Main and Main 10 profiles.
    public var maximumRate: RateLimit { maximumRate(in: .hevcMain) }

    /// Returns the maximum bitrate and buffer size of coded slices in a profile: MaxBR and MaxCPB of the tier times
    /// `CpbVclFactor` (HEVC A.4.1 and A.4.2, tables A.8 to A.10).
    public func maximumRate(in profile: VideoProfile) -> RateLimit {
        let tier = isHighTier ? limits.high ?? limits.main : limits.main
        let factor = profile.codedBufferFactor
        return RateLimit(bitsPerSecond: tier.maxBr * factor, bufferSize: tier.maxCpb * factor)
    }

    /// Returns the reason why a stream with the given bitrate and decoder buffer exceeds this level in a profile; `nil`
    /// if it does not.
    public func reasonAgainst(_ rate: RateLimit, in profile: VideoProfile = .hevcMain) -> String? {
        rate.reasonAgainst(maximum: maximumRate(in: profile))
    }
}

extension VideoProfile {
    /// `CpbVclFactor` of an HEVC profile (table A.10).
    fileprivate var codedBufferFactor: Int {
        switch self {
        case .hevcMain12: 1500
        case .hevcMain422Bits10: 1667
        case .hevcMain422Bits12, .hevcMain444: 2000
        case .hevcMain444Bits10: 2500
        case .hevcMain444Bits12: 3000
        case .hevcMain, .hevcMain10, .h264Baseline, .h264Main, .h264High, .h264High10: 1000
        }
    }
}
