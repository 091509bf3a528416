// SPDX-License-Identifier: GPL-2.0-or-later

/// The bytes that prevent start codes inside a NAL unit.
///
/// H.264 7.3.1 and 7.4.1, HEVC 7.3.1.1 and 7.4.2; both are identical.
public enum EmulationPrevention {
    private static let preventionByte: UInt8 = 3

    /// Inserts an `emulation_prevention_three_byte` between two zero bytes and a following byte of 0...3, and after a
    /// trailing zero byte.
    ///
    /// - Parameter bytes: The NAL unit header and RBSP.
    /// - Returns: The NAL unit.
    public static func added(to bytes: some Collection<UInt8>) -> [UInt8] {
        withContiguousBytes(bytes, added(to:))
    }

    /// Removes every `emulation_prevention_three_byte`: each 3 that follows two or more zero bytes.
    ///
    /// - Parameter nalUnit: A NAL unit without start code or length.
    /// - Returns: The NAL unit header and RBSP.
    public static func removed(from nalUnit: some Collection<UInt8>) -> [UInt8] {
        withContiguousBytes(nalUnit, removed(from:))
    }

    private static func added(to bytes: UnsafeRawBufferPointer) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count + bytes.count / 64 + 1)
        var copied = 0
        while let pair = bytes.firstZeroPair(from: copied) {
            let next = pair + 2
            output.append(contentsOf: bytes[copied..<next])
            copied = next
            if next < bytes.count, bytes[next] <= preventionByte { output.append(preventionByte) }
        }
        output.append(contentsOf: bytes[copied...])
        if bytes.last == 0 { output.append(preventionByte) }
        return output
    }

    private static func removed(from bytes: UnsafeRawBufferPointer) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(bytes.count)
        var copied = 0
        var searched = 0
        while let pair = bytes.firstZeroPair(from: searched) {
            searched = bytes.endOfZeros(from: pair)
            guard searched < bytes.count, bytes[searched] == preventionByte else { continue }
            output.append(contentsOf: bytes[copied..<searched])
            searched += 1
            copied = searched
        }
        output.append(contentsOf: bytes[copied...])
        return output
    }
}
