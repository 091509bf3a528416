// SPDX-License-Identifier: GPL-2.0-or-later

/// Reads the fixed-length and Exp-Golomb codes of H.264 clause 9.1 and HEVC clause 9.2, most significant bit first.
///
/// The reader works on an RBSP, from which emulation prevention is already removed (see ``EmulationPrevention``). After
/// an error its position is the start of the field that failed.
public struct BitReader: Sendable {
    private let bytes: [UInt8]
    /// The position of the next bit, counted from the first bit of the data.
    public private(set) var bitPosition = 0
    /// The position of the last bit that is one, where `rbsp_trailing_bits()` starts; nil if every bit is zero.
    public let stopBitPosition: Int?

    /// Makes a reader at the first bit of `bytes`.
    public init(_ bytes: [UInt8]) {
        self.bytes = bytes
        stopBitPosition = bytes.lastIndex { $0 != 0 }.map { $0 * 8 + 7 - bytes[$0].trailingZeroBitCount }
    }

    /// The number of remaining bits, including the trailing ones.
    public var bitsLeft: Int { bytes.count * 8 - bitPosition }

    /// `more_rbsp_data()`: whether there is data between the position and the trailing bits.
    ///
    /// H.264 7.2, HEVC 7.2.
    public var moreRBSPData: Bool { stopBitPosition.map { bitPosition < $0 } ?? false }

    /// Reads `u(n)`, an unsigned number of `count` bits.
    ///
    /// - Parameters:
    ///   - count: The number of bits, 0 to 32; larger counts are read as 32.
    ///   - field: The name of the field for errors.
    /// - Throws: `BitstreamError.Reason.truncated`.
    public mutating func readBits(
        _ count: Int,
        _ field: @autoclosure () -> String = "u(n)"
    ) throws(BitstreamError) -> UInt32 {
        guard let value = take(min(max(count, 0), 32)) else {
            throw BitstreamError(field: field(), bitPosition: bitPosition, reason: .truncated)
        }
        return value
    }

    /// Reads `ue(v)`, an unsigned Exp-Golomb code: 0...2^32-2.
    ///
    /// - Throws: `BitstreamError` with `truncated`, or with `invalidCode` if the number needs more than 32 bits.
    public mutating func readUnsignedExpGolomb(
        _ field: @autoclosure () -> String = "ue(v)"
    ) throws(BitstreamError) -> UInt32 {
        let start = bitPosition
        var leadingZeros = 0
        while let bit = take(1) {
            if bit == 1 {
                guard let suffix = take(leadingZeros) else { break }
                return suffix + (1 << UInt32(leadingZeros) - 1)
            }
            leadingZeros += 1
            if leadingZeros == 32 { break }
        }
        bitPosition = start
        let reason: BitstreamError.Reason = leadingZeros == 32 ? .invalidCode : .truncated
        throw BitstreamError(field: field(), bitPosition: start, reason: reason)
    }

    /// Reads `se(v)`, a signed Exp-Golomb code: -(2^31-1)...2^31-1.
    ///
    /// - Throws: `BitstreamError` with `truncated` or `invalidCode`.
    public mutating func readSignedExpGolomb(
        _ field: @autoclosure () -> String = "se(v)"
    ) throws(BitstreamError) -> Int32 {
        let code = try readUnsignedExpGolomb(field())
        let magnitude = Int32(truncatingIfNeeded: code / 2 + code % 2)
        return code % 2 == 1 ? magnitude : -magnitude
    }

    /// Returns the next `count` (0...32) bits; nil, without a change of the position, if there are fewer.
    private mutating func take(_ count: Int) -> UInt32? {
        guard count <= bitsLeft else { return nil }
        guard count > 0 else { return 0 }
        var window: UInt64 = 0
        let lastByte = (bitPosition + count - 1) / 8
        for index in bitPosition / 8...lastByte {
            window = window << 8 | UInt64(bytes[index])
        }
        bitPosition += count
        let surplus = (lastByte + 1) * 8 - bitPosition
        return UInt32(truncatingIfNeeded: (window >> UInt64(surplus)) & (1 << UInt64(count) - 1))
    }
}
