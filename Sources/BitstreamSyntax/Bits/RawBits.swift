// SPDX-License-Identifier: GPL-2.0-or-later

/// Bits that are preserved because their meaning is unknown, such as extension data of later editions.
public struct RawBits: Hashable, Sendable {
    /// The bits, starting with the most significant bit of the first byte; unused bits of the last byte are zero.
    public private(set) var bytes: [UInt8] = []
    /// The number of bits.
    public private(set) var count = 0

    /// Makes an empty bit string.
    public init() {}

    /// The bit at `index`, which must be in `0..<count`; false for other indices.
    public subscript(index: Int) -> Bool {
        guard index >= 0, index < count else { return false }
        return bytes[index / 8] & (0x80 >> UInt8(index % 8)) != 0
    }

    /// Appends one bit.
    public mutating func append(_ bit: Bool) {
        if count % 8 == 0 { bytes.append(0) }
        if bit { bytes[count / 8] |= 0x80 >> UInt8(count % 8) }
        count += 1
    }
}
