// SPDX-License-Identifier: GPL-2.0-or-later

/// A level of H.264 and its limits (H.264 table A-1).
public struct H264Level: Sendable, Hashable, CustomStringConvertible {
    /// The name, for example `4.1` or `1b`.
    public let name: String
    /// Ten times the number, as `level_idc` has it; 9 for level 1b.
    public let levelIDC: UInt8
    /// MaxMBPS: macroblocks per second.
    public let maximumMacroblocksPerSecond: Int
    /// MaxFS: macroblocks of a picture.
    public let maximumFrameSize: Int
    /// MaxDpbMbs: macroblocks of the decoded picture buffer.
    public let maximumDPBMacroblocks: Int
    /// MaxBR: thousand bits per second in baseline, main and extended profile; 1.25 times as much in high profile.
    public let maximumBitRate: Int
    /// MaxCPB: thousand bits of the coded picture buffer, in the same profiles.
    public let maximumCPBSize: Int

    /// The name.
    public var description: String { name }

    /// All levels, from the lowest to the highest.
    public static let all: [H264Level] = [
        H264Level("1", 10, 1485, 99, 396, 64, 175),
        H264Level("1b", 9, 1485, 99, 396, 128, 350),
        H264Level("1.1", 11, 3000, 396, 900, 192, 500),
        H264Level("1.2", 12, 6000, 396, 2376, 384, 1000),
        H264Level("1.3", 13, 11880, 396, 2376, 768, 2000),
        H264Level("2", 20, 11880, 396, 2376, 2000, 2000),
        H264Level("2.1", 21, 19800, 792, 4752, 4000, 4000),
        H264Level("2.2", 22, 20250, 1620, 8100, 4000, 4000),
        H264Level("3", 30, 40500, 1620, 8100, 10000, 10000),
        H264Level("3.1", 31, 108_000, 3600, 18000, 14000, 14000),
        H264Level("3.2", 32, 216_000, 5120, 20480, 20000, 20000),
        H264Level("4", 40, 245_760, 8192, 32768, 20000, 25000),
        H264Level("4.1", 41, 245_760, 8192, 32768, 50000, 62500),
        H264Level("4.2", 42, 522_240, 8704, 34816, 50000, 62500),
        H264Level("5", 50, 589_824, 22080, 110_400, 135_000, 135_000),
        H264Level("5.1", 51, 983_040, 36864, 184_320, 240_000, 240_000),
        H264Level("5.2", 52, 2_073_600, 36864, 184_320, 240_000, 240_000),
        H264Level("6", 60, 4_177_920, 139_264, 696_320, 240_000, 240_000),
        H264Level("6.1", 61, 8_355_840, 139_264, 696_320, 480_000, 480_000),
        H264Level("6.2", 62, 16_711_680, 139_264, 696_320, 800_000, 800_000),
    ]

    private init(
        _ name: String,
        _ levelIDC: UInt8,
        _ macroblocksPerSecond: Int,
        _ frameSize: Int,
        _ dpbMacroblocks: Int,
        _ bitRate: Int,
        _ cpbSize: Int
    ) {
        self.name = name
        self.levelIDC = levelIDC
        maximumMacroblocksPerSecond = macroblocksPerSecond
        maximumFrameSize = frameSize
        maximumDPBMacroblocks = dpbMacroblocks
        maximumBitRate = bitRate
        maximumCPBSize = cpbSize
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
        let columns = (width + 15) / 16
        let rows = (height + 15) / 16
        if columns * rows > maximumFrameSize {
            return "\(columns * rows) macroblocks, more than \(maximumFrameSize)"
        }
        if columns * columns > 8 * maximumFrameSize || rows * rows > 8 * maximumFrameSize {
            return
                "\(columns)x\(rows) macroblocks, a side longer than \(Int(Double(8 * maximumFrameSize).squareRoot()))"
        }
        if Double(columns * rows) * frameRate.doubleValue > Double(maximumMacroblocksPerSecond) {
            let rate = Int(Double(columns * rows) * frameRate.doubleValue)
            return "\(rate) macroblocks per second, more than \(maximumMacroblocksPerSecond)"
        }
        return nil
    }

    /// The lowest level that takes pictures of that size and rate.
    public static func lowest(width: Int, height: Int, frameRate: Rational) -> H264Level? {
        all.first { $0.reasonAgainst(width: width, height: height, frameRate: frameRate) == nil }
    }
}
