// SPDX-License-Identifier: GPL-2.0-or-later

/// The framing of NAL units in a stream: start codes or length prefixes.
///
/// It is the same for H.264 and HEVC. The functions with an `UnsafeRawBufferPointer` parameter borrow the memory for
/// the call and copy only what they return.
public enum NALUnitFraming: Hashable, Sendable {
    /// The byte stream format: H.264 Annex B, HEVC Annex B. Written with four-byte start codes.
    case annexB
    /// A big-endian length before each unit, as in MP4: ISO/IEC 14496-15 5.3.2.
    case lengthPrefixed(LengthSize)

    /// The size of a length prefix in bytes: `lengthSizeMinusOne` + 1.
    public enum LengthSize: Int, Sendable, CaseIterable {
        /// Units of up to 255 bytes.
        case one = 1
        /// Units of up to 65,535 bytes.
        case two = 2
        /// Units of up to 4 GiB; the size that every known muxer writes.
        case four = 4

        /// The maximum size of a unit in bytes.
        public var largestUnit: Int { 1 << (rawValue * 8) - 1 }
    }

    /// Returns the ranges of the NAL units, in order, without start codes, length prefixes and zero bytes around them.
    ///
    /// In Annex B, start codes may have three or four bytes, zero bytes may precede and follow them, and empty units
    /// are skipped. The time is linear in the number of bytes, whatever their values.
    ///
    /// - Parameter bytes: Complete units; for Annex B, beginning with a start code or with zero bytes before one.
    /// - Returns: The ranges of offsets into `bytes`.
    /// - Throws: `BitstreamError` on `start_code_prefix_one_3bytes` if Annex B data begins with something else, on
    ///   `NALUnitLength` if a length is zero or exceeds the remaining bytes.
    public func nalUnits(in bytes: UnsafeRawBufferPointer) throws(BitstreamError) -> [Range<Int>] {
        switch self {
        case .annexB: try Self.annexBUnits(in: bytes)
        case .lengthPrefixed(let size): try Self.lengthPrefixedUnits(in: bytes, size.rawValue)
        }
    }

    /// Returns the ranges of the NAL units; see ``nalUnits(in:)-(UnsafeRawBufferPointer)``.
    public func nalUnits(in bytes: [UInt8]) throws(BitstreamError) -> [Range<Int>] {
        try bytes.withUnsafeBufferPointer { (buffer) throws(BitstreamError) in
            try nalUnits(in: UnsafeRawBufferPointer(buffer))
        }
    }

    /// Returns whether bytes begin with a start code of Annex B, or with zero bytes before one.
    public static func hasStartCode(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let end = bytes.endOfZeros(from: 0)
        return end >= 2 && end < bytes.count && bytes[end] == 1
    }

    /// Changes the framing of complete units.
    ///
    /// - Parameters:
    ///   - bytes: Complete units with the framing `self`.
    ///   - target: The new framing; if it is `self`, the result has the form that this type writes.
    /// - Returns: The same units in the same order, with the framing `target`.
    /// - Throws: The errors of ``nalUnits(in:)-(UnsafeRawBufferPointer)``, and `BitstreamError` on `NALUnitLength` if a
    ///   unit is too large for the size of length prefixes.
    public func convert(
        _ bytes: UnsafeRawBufferPointer,
        to target: NALUnitFraming
    ) throws(BitstreamError) -> [UInt8] {
        try target.join(nalUnits(in: bytes).map { bytes[$0] })
    }

    /// Changes the framing of complete units; see ``convert(_:to:)-(UnsafeRawBufferPointer,_)``.
    public func convert(_ bytes: [UInt8], to target: NALUnitFraming) throws(BitstreamError) -> [UInt8] {
        try bytes.withUnsafeBufferPointer { (buffer) throws(BitstreamError) in
            try convert(UnsafeRawBufferPointer(buffer), to: target)
        }
    }

    /// Concatenates NAL units with this framing.
    ///
    /// - Parameter nalUnits: Units without start codes or lengths, none of them empty.
    /// - Throws: `BitstreamError` on `NALUnitLength` if a unit is empty or too large for the size of length prefixes.
    public func join<Units: Collection>(
        _ nalUnits: Units
    ) throws(BitstreamError) -> [UInt8] where Units.Element: Collection<UInt8> {
        var output: [UInt8] = []
        output.reserveCapacity(nalUnits.reduce(0) { $0 + Self.longestPrefix + $1.count })
        for unit in nalUnits {
            try appendPrefix(ofUnitWith: unit.count, to: &output)
            output.append(contentsOf: unit)
        }
        return output
    }

    private static let longestPrefix = 4

    private func appendPrefix(ofUnitWith length: Int, to output: inout [UInt8]) throws(BitstreamError) {
        switch self {
        case .annexB:
            try Self.check(length, in: 1...(.max), at: output.count)
            output.append(contentsOf: [0, 0, 0, 1])
        case .lengthPrefixed(let size):
            try Self.check(length, in: 1...size.largestUnit, at: output.count)
            for index in (0..<size.rawValue).reversed() {
                output.append(UInt8(truncatingIfNeeded: length >> (8 * index)))
            }
        }
    }

    /// H.264 B.1, HEVC B.2.
    private static func annexBUnits(in bytes: UnsafeRawBufferPointer) throws(BitstreamError) -> [Range<Int>] {
        var units: [Range<Int>] = []
        var start: Int?
        var searched = 0
        while let zeros = bytes.firstZeroPair(from: searched) {
            searched = bytes.endOfZeros(from: zeros)
            guard searched < bytes.count, bytes[searched] == 1 else { continue }
            searched += 1
            if let start {
                if start < zeros { units.append(start..<zeros) }
            } else if zeros > 0 {
                break
            }
            start = searched
        }
        var end = bytes.count
        while end > start ?? 0, bytes[end - 1] == 0 { end -= 1 }
        if let start {
            if start < end { units.append(start..<end) }
        } else if end > 0 {
            throw BitstreamError(field: "start_code_prefix_one_3bytes", bitPosition: 0, reason: .invalidCode)
        }
        return units
    }

    /// ISO/IEC 14496-15 5.3.2.
    private static func lengthPrefixedUnits(
        in bytes: UnsafeRawBufferPointer,
        _ lengthSize: Int
    ) throws(BitstreamError) -> [Range<Int>] {
        var units: [Range<Int>] = []
        var position = 0
        while position < bytes.count {
            let start = position + lengthSize
            guard start <= bytes.count else {
                throw BitstreamError(field: lengthField, bitPosition: position * 8, reason: .truncated)
            }
            let length = bytes[position..<start].reduce(0) { $0 << 8 | Int($1) }
            guard start < bytes.count else {
                throw BitstreamError(field: lengthField, bitPosition: start * 8, reason: .truncated)
            }
            try check(length, in: 1...(bytes.count - start), at: position)
            units.append(start..<start + length)
            position = start + length
        }
        return units
    }

    private static let lengthField = "NALUnitLength"

    private static func check(_ length: Int, in range: ClosedRange<Int>, at byte: Int) throws(BitstreamError) {
        guard range.contains(length) else {
            throw .outOfRange(lengthField, at: byte * 8, value: length, allowed: range)
        }
    }
}
