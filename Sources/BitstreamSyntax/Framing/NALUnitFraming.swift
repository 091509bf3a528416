// SPDX-License-Identifier: GPL-2.0-or-later

/// How the NAL units of a stream are told apart: by start codes, or by a length before each.
///
/// Everything here is the same for H.264 and HEVC. The functions that take an `UnsafeRawBufferPointer` borrow it for the
/// call and copy nothing but what they return.
public enum NALUnitFraming: Hashable, Sendable {
    /// The byte stream format: H.264 Annex B, HEVC Annex B. Written with four-byte start codes.
    case annexB
    /// A big-endian length before each unit, as in MP4: ISO/IEC 14496-15 5.3.2.
    case lengthPrefixed(LengthSize)

    /// How many bytes a length takes: `lengthSizeMinusOne` + 1.
    public enum LengthSize: Int, Sendable, CaseIterable {
        /// Units of up to 255 bytes.
        case one = 1
        /// Units of up to 65,535 bytes.
        case two = 2
        /// Units of up to 4 GiB; what every known muxer writes.
        case four = 4

        /// The size of the largest unit in bytes.
        public var largestUnit: Int { 1 << (rawValue * 8) - 1 }
    }

    /// Where the NAL units are, in order, without start codes, lengths and zero bytes around them.
    ///
    /// In Annex B, start codes may have three or four bytes, zero bytes may precede and follow them, and empty units are
    /// passed over. The time taken is linear in the number of bytes whatever they are.
    ///
    /// - Parameter bytes: whole units; for Annex B, beginning with a start code or with zero bytes before one.
    /// - Returns: ranges of offsets into `bytes`.
    /// - Throws: `BitstreamError` on `start_code_prefix_one_3bytes` where Annex B data begin with something else, on
    ///   `NALUnitLength` where a length is zero or exceeds the bytes that are left.
    public func nalUnits(in bytes: UnsafeRawBufferPointer) throws(BitstreamError) -> [Range<Int>] {
        switch self {
        case .annexB: try Self.annexBUnits(in: bytes)
        case .lengthPrefixed(let size): try Self.lengthPrefixedUnits(in: bytes, size.rawValue)
        }
    }

    /// Where the NAL units are; see ``nalUnits(in:)-(UnsafeRawBufferPointer)``.
    public func nalUnits(in bytes: [UInt8]) throws(BitstreamError) -> [Range<Int>] {
        try bytes.withUnsafeBufferPointer { (buffer) throws(BitstreamError) in
            try nalUnits(in: UnsafeRawBufferPointer(buffer))
        }
    }

    /// Whether bytes begin with a start code of Annex B, or with zero bytes before one.
    public static func hasStartCode(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let end = bytes.endOfZeros(from: 0)
        return end >= 2 && end < bytes.count && bytes[end] == 1
    }

    /// Changes the framing of whole units.
    ///
    /// - Parameters:
    ///   - bytes: whole units, framed as `self` says.
    ///   - target: the framing wanted; it may be `self`, which brings the data into the form that is written here.
    /// - Returns: the same units in the same order, framed as `target` says.
    /// - Throws: what ``nalUnits(in:)-(UnsafeRawBufferPointer)`` throws, and `BitstreamError` on `NALUnitLength` where a
    ///   unit is too large for the size of lengths.
    public func convert(
        _ bytes: UnsafeRawBufferPointer,
        to target: NALUnitFraming
    ) throws(BitstreamError) -> [UInt8] {
        try target.join(nalUnits(in: bytes).map { bytes[$0] })
    }

    /// Changes the framing of whole units; see ``convert(_:to:)-(UnsafeRawBufferPointer,_)``.
    public func convert(_ bytes: [UInt8], to target: NALUnitFraming) throws(BitstreamError) -> [UInt8] {
        try bytes.withUnsafeBufferPointer { (buffer) throws(BitstreamError) in
            try convert(UnsafeRawBufferPointer(buffer), to: target)
        }
    }

    /// Puts NAL units one after another.
    ///
    /// - Parameter nalUnits: units without start codes or lengths, none of them empty.
    /// - Throws: `BitstreamError` on `NALUnitLength` where a unit is empty or too large for the size of lengths.
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
