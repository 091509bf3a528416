// SPDX-License-Identifier: GPL-2.0-or-later

/// Writes the fixed-length and Exp-Golomb codes of H.264 clause 9.1 and HEVC clause 9.2, most significant bit first.
///
/// The result is an RBSP; ``EmulationPrevention`` makes it valid in a NAL unit.
public struct BitWriter: Sendable {
    /// The bytes written so far; unwritten bits of the last byte are zero.
    public private(set) var bytes: [UInt8] = []
    /// The number of bits written so far.
    public private(set) var bitPosition = 0

    /// Makes an empty writer.
    public init() {}

    /// Whether the next bit starts a byte.
    public var isByteAligned: Bool { bitPosition % 8 == 0 }

    /// Writes `u(n)`.
    ///
    /// - Parameters:
    ///   - value: The value to write.
    ///   - count: The number of bits, 0 to 32.
    ///   - field: The name of the field for errors.
    /// - Throws: `BitstreamError.Reason.outOfRange` if `value` does not fit `count` bits.
    public mutating func writeBits(
        _ value: UInt32,
        _ count: Int,
        _ field: @autoclosure () -> String = "u(n)"
    ) throws(BitstreamError) {
        let count = min(max(count, 0), 32)
        let largest = UInt32(truncatingIfNeeded: (1 as UInt64) << UInt64(count) - 1)
        guard value <= largest else {
            throw .outOfRange(field(), at: bitPosition, value: value, allowed: 0...largest)
        }
        append(UInt64(value), count)
    }

    /// Writes `ue(v)`, an unsigned Exp-Golomb code.
    ///
    /// - Throws: `BitstreamError.Reason.outOfRange` for 2^32-1, which has no code in the specifications.
    public mutating func writeUnsignedExpGolomb(
        _ value: UInt32,
        _ field: @autoclosure () -> String = "ue(v)"
    ) throws(BitstreamError) {
        guard value < .max else {
            throw .outOfRange(field(), at: bitPosition, value: value, allowed: 0...(.max - 1))
        }
        let code = value + 1
        let suffixLength = 31 - code.leadingZeroBitCount
        append(UInt64(code), 2 * suffixLength + 1)
    }

    /// Writes `se(v)`, a signed Exp-Golomb code.
    ///
    /// - Throws: `BitstreamError.Reason.outOfRange` for -2^31, which has no code in the specifications.
    public mutating func writeSignedExpGolomb(
        _ value: Int32,
        _ field: @autoclosure () -> String = "se(v)"
    ) throws(BitstreamError) {
        guard value > .min else {
            throw .outOfRange(field(), at: bitPosition, value: value, allowed: (.min + 1)...(.max))
        }
        let twice = value.magnitude * 2
        try writeUnsignedExpGolomb(value > 0 ? twice - 1 : twice, field())
    }

    private mutating func append(_ value: UInt64, _ count: Int) {
        var left = count
        while left > 0 {
            if isByteAligned { bytes.append(0) }
            let free = 8 - bitPosition % 8
            let taken = min(free, left)
            let chunk = (value >> UInt64(left - taken)) & (1 << UInt64(taken) - 1)
            bytes[bytes.count - 1] |= UInt8(truncatingIfNeeded: chunk << UInt64(free - taken))
            bitPosition += taken
            left -= taken
        }
    }
}
