// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

extension [UInt8] {
    /// Appends the lowest bytes of a number, the most significant one first.
    mutating func append(bigEndian value: some FixedWidthInteger & UnsignedInteger, count: Int) {
        for index in (0..<count).reversed() { append(UInt8(truncatingIfNeeded: value >> (8 * index))) }
    }
}

/// Reads numbers from bytes that may be damaged.
struct RTMPByteReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: some Collection<UInt8>) { rest = Array(bytes)[...] }

    /// The number of bytes that are left.
    var remaining: Int { rest.count }
    /// The next byte, which is not taken.
    var next: UInt8? { rest.first }

    /// Returns a number of at most eight bytes, the most significant one first.
    ///
    /// - Throws: `malformedData` if there are fewer bytes.
    mutating func number(byteCount: Int) throws(MediaError) -> UInt64 {
        try bytes(byteCount).reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// Returns a number of 32 bits.
    mutating func word() throws(MediaError) -> UInt32 { UInt32(truncatingIfNeeded: try number(byteCount: 4)) }

    mutating func byte() throws(MediaError) -> UInt8 { UInt8(truncatingIfNeeded: try number(byteCount: 1)) }

    /// Returns the next bytes.
    ///
    /// - Throws: `malformedData` if there are fewer.
    mutating func bytes(_ count: Int) throws(MediaError) -> ArraySlice<UInt8> {
        guard count >= 0, count <= rest.count else {
            throw MediaError(.malformedData, "an RTMP message is too short")
        }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }
}
