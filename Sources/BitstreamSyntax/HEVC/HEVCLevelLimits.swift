// SPDX-License-Identifier: GPL-2.0-or-later

/// A row of HEVC tables A.8 and A.9: the limits for streams of a level, in the Main tier and in the High tier.
public struct HEVCLevelLimits: Sendable, Hashable {
    /// The limits that depend on the tier.
    public struct Tier: Sendable, Hashable {
        /// `MaxBR`: the maximum bitrate, in units of `CpbVclFactor` bits per second.
        public let maxBr: Int
        /// `MaxCPB`: the maximum size of the coded picture buffer, in units of `CpbVclFactor` bits.
        public let maxCpb: Int
    }

    /// `general_level_idc`: thirty times the level number.
    public let generalLevelIdc: UInt8
    /// `MaxLumaPs`: the maximum number of luma samples of a picture.
    public let maxLumaPs: Int
    /// `MaxLumaSr`: the maximum number of luma samples per second.
    public let maxLumaSr: Int
    /// `MaxSliceSegmentsPerPicture`: the maximum number of slice segments of a picture.
    public let maxSliceSegments: Int
    /// The Main tier.
    public let main: Tier
    /// The High tier; nil for levels below 4, which have none.
    public let high: Tier?

    private init(
        _ level: (tenths: Int, maxLumaPs: Int, maxLumaSr: Int, maxSliceSegments: Int),
        main: (Int, Int),
        high: (Int, Int)? = nil
    ) {
        generalLevelIdc = UInt8(clamping: level.tenths * 3)
        (maxLumaPs, maxLumaSr, maxSliceSegments) = (level.maxLumaPs, level.maxLumaSr, level.maxSliceSegments)
        self.main = Tier(maxBr: main.0, maxCpb: main.1)
        self.high = high.map { Tier(maxBr: $0.0, maxCpb: $0.1) }
    }

    /// All levels, from the lowest to the highest.
    public static let all: [HEVCLevelLimits] = [
        HEVCLevelLimits((10, 36864, 552_960, 16), main: (128, 350)),
        HEVCLevelLimits((20, 122_880, 3_686_400, 16), main: (1500, 1500)),
        HEVCLevelLimits((21, 245_760, 7_372_800, 20), main: (3000, 3000)),
        HEVCLevelLimits((30, 552_960, 16_588_800, 30), main: (6000, 6000)),
        HEVCLevelLimits((31, 983_040, 33_177_600, 40), main: (10000, 10000)),
        HEVCLevelLimits((40, 2_228_224, 66_846_720, 75), main: (12000, 12000), high: (30000, 30000)),
        HEVCLevelLimits((41, 2_228_224, 133_693_440, 75), main: (20000, 20000), high: (50000, 50000)),
        HEVCLevelLimits((50, 8_912_896, 267_386_880, 200), main: (25000, 25000), high: (100_000, 100_000)),
        HEVCLevelLimits((51, 8_912_896, 534_773_760, 200), main: (40000, 40000), high: (160_000, 160_000)),
        HEVCLevelLimits((52, 8_912_896, 1_069_547_520, 200), main: (60000, 60000), high: (240_000, 240_000)),
        HEVCLevelLimits((60, 35_651_584, 1_069_547_520, 600), main: (60000, 60000), high: (240_000, 240_000)),
        HEVCLevelLimits((61, 35_651_584, 2_139_095_040, 600), main: (120_000, 120_000), high: (480_000, 480_000)),
        HEVCLevelLimits((62, 35_651_584, 4_278_190_080, 600), main: (240_000, 240_000), high: (800_000, 800_000)),
    ]

    /// Makes the row with the given `general_level_idc`; nil if the tables have none.
    public init?(generalLevelIdc: UInt8) {
        guard let row = Self.all.first(where: { $0.generalLevelIdc == generalLevelIdc }) else { return nil }
        self = row
    }

    /// Returns `MaxDpbSize`: the number of pictures with the given number of luma samples that the decoded picture
    /// buffer holds, including the current one: 6 of the largest pictures, at most 16; 0 for pictures that are larger,
    /// or have no samples.
    ///
    /// HEVC A.4.2.
    public func maxDpbSize(lumaSamples: Int) -> Int {
        guard lumaSamples > 0, lumaSamples <= maxLumaPs else { return 0 }
        if lumaSamples <= maxLumaPs >> 2 { return 16 }
        if lumaSamples <= maxLumaPs >> 1 { return 12 }
        return lumaSamples <= 3 * maxLumaPs >> 2 ? 8 : 6
    }
}
