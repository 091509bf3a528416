// SPDX-License-Identifier: GPL-2.0-or-later

/// A row of H.264 table A-1, with one column of table A-4: the limits for streams of a level.
public struct H264LevelLimits: Sendable, Hashable {
    /// `level_idc`: ten times the level number; 9 for level 1b.
    public let levelIdc: UInt8
    /// `MaxMBPS`: the maximum number of macroblocks per second.
    public let maxMbps: Int
    /// `MaxFS`: the maximum number of macroblocks of a frame.
    public let maxFs: Int
    /// `MaxDpbMbs`: the size of the decoded picture buffer in macroblocks.
    public let maxDpbMbs: Int
    /// `MaxBR`: the maximum bitrate, in units of `cpbBrVclFactor` bits per second.
    public let maxBr: Int
    /// `MaxCPB`: the maximum size of the coded picture buffer, in units of `cpbBrVclFactor` bits.
    public let maxCpb: Int
    /// `SliceRate` of table A-4: one slice is allowed for each such number of macroblocks that a decoder has time for,
    /// in profiles above Baseline; `nil` if the level has no such limit.
    public let sliceRate: Int?

    private init(
        _ levelIdc: UInt8,
        _ maxMbps: Int,
        _ maxFs: Int,
        _ maxDpbMbs: Int,
        _ maxBr: Int,
        _ maxCpb: Int,
        _ sliceRate: Int? = nil
    ) {
        self.levelIdc = levelIdc
        self.maxMbps = maxMbps
        self.maxFs = maxFs
        self.maxDpbMbs = maxDpbMbs
        self.maxBr = maxBr
        self.maxCpb = maxCpb
        self.sliceRate = sliceRate
    }

    /// All levels, from the lowest to the highest.
    public static let all: [H264LevelLimits] = [
        H264LevelLimits(10, 1485, 99, 396, 64, 175),
        H264LevelLimits(9, 1485, 99, 396, 128, 350),
        H264LevelLimits(11, 3000, 396, 900, 192, 500),
        H264LevelLimits(12, 6000, 396, 2376, 384, 1000),
        H264LevelLimits(13, 11880, 396, 2376, 768, 2000),
        H264LevelLimits(20, 11880, 396, 2376, 2000, 2000),
        H264LevelLimits(21, 19800, 792, 4752, 4000, 4000),
        H264LevelLimits(22, 20250, 1620, 8100, 4000, 4000),
        H264LevelLimits(30, 40500, 1620, 8100, 10000, 10000, 22),
        H264LevelLimits(31, 108_000, 3600, 18000, 14000, 14000, 60),
        H264LevelLimits(32, 216_000, 5120, 20480, 20000, 20000, 60),
        H264LevelLimits(40, 245_760, 8192, 32768, 20000, 25000, 60),
        H264LevelLimits(41, 245_760, 8192, 32768, 50000, 62500, 24),
        H264LevelLimits(42, 522_240, 8704, 34816, 50000, 62500, 24),
        H264LevelLimits(50, 589_824, 22080, 110_400, 135_000, 135_000, 24),
        H264LevelLimits(51, 983_040, 36864, 184_320, 240_000, 240_000, 24),
        H264LevelLimits(52, 2_073_600, 36864, 184_320, 240_000, 240_000, 24),
        H264LevelLimits(60, 4_177_920, 139_264, 696_320, 240_000, 240_000, 24),
        H264LevelLimits(61, 8_355_840, 139_264, 696_320, 480_000, 480_000, 24),
        H264LevelLimits(62, 16_711_680, 139_264, 696_320, 800_000, 800_000, 24),
    ]

    /// Makes the row with the given `level_idc`; nil if the table has none.
    public init?(levelIdc: UInt8) {
        guard let row = Self.all.first(where: { $0.levelIdc == levelIdc }) else { return nil }
        self = row
    }

    /// Returns `MaxDpbFrames`: the number of frames of the given size, in macroblocks, that the decoded picture buffer
    /// holds, at most 16; 0 for a frame without macroblocks.
    ///
    /// H.264 A.3.1.
    public func maxDpbFrames(columns: Int, rows: Int) -> Int {
        columns > 0 && rows > 0 ? min(maxDpbMbs / columns / rows, 16) : 0
    }
}
