// SPDX-License-Identifier: GPL-2.0-or-later

/// Bits that are kept as they were found because their meaning is unknown, such as extension data of later editions.
public struct RawBits: Hashable, Sendable {
    /// The bits from the most significant bit of the first byte on; unused bits of the last byte are zero.
    public private(set) var bytes: [UInt8] = []
    /// How many bits there are.
    public private(set) var count = 0

    /// Makes an empty string of bits.
    public init() {}

    /// The bit at `index`, which must be in `0..<count`; false elsewhere.
    public subscript(index: Int) -> Bool {
        guard index >= 0, index < count else { return false }
        return bytes[index / 8] & (0x80 >> UInt8(index % 8)) != 0
    }

    /// Adds one bit at the end.
    public mutating func append(_ bit: Bool) {
        if count % 8 == 0 { bytes.append(0) }
        if bit { bytes[count / 8] |= 0x80 >> UInt8(count % 8) }
        count += 1
    }
}
