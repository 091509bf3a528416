// SPDX-License-Identifier: GPL-2.0-or-later

extension UnsafeRawBufferPointer {
    /// Returns the first position at or after `start` with two consecutive zero bytes; nil if there is none.
    ///
    /// Start codes and emulation prevention both begin with such a pair, which is rare in coded data. One byte of each
    /// pair is at an odd offset from the start of a block, so only half of the bytes have to be examined.
    func firstZeroPair(from start: Int) -> Int? {
        guard let base = baseAddress else { return nil }
        let blockSize = 32
        var position = Swift.max(start, 0)
        while position + blockSize < count {
            let block = base + position
            let zeros =
                Self.zeroMarks(block) | Self.zeroMarks(block + 8) | Self.zeroMarks(block + 16)
                | Self.zeroMarks(block + 24)
            if zeros != 0, let pair = zeroPair(in: position..<position + blockSize) { return pair }
            position += blockSize
        }
        return zeroPair(in: position..<count)
    }

    /// Returns the position of the first nonzero byte at or after `start`; `count` if there is none.
    func endOfZeros(from start: Int) -> Int {
        var position = start
        while position < count, self[position] == 0 { position += 1 }
        return position
    }

    /// Returns zero only if none of the bytes at the odd offsets 1, 3, 5 and 7 is zero.
    @inline(__always)
    private static func zeroMarks(_ pointer: UnsafeRawPointer) -> UInt64 {
        let word = UInt64(littleEndian: pointer.loadUnaligned(as: UInt64.self))
        let oddBytes = (word >> 8) & 0x00FF_00FF_00FF_00FF
        return (oddBytes &- 0x0001_0001_0001_0001) & 0x8000_8000_8000_8000
    }

    /// Returns the first zero pair that starts within `range`.
    private func zeroPair(in range: Range<Int>) -> Int? {
        var position = range.lowerBound
        let last = Swift.min(range.upperBound, count - 1)
        while position < last {
            if self[position] == 0, self[position + 1] == 0 { return position }
            position += 1
        }
        return nil
    }
}

/// Calls `body` with the bytes in contiguous memory, and copies them only if the collection is not contiguous.
func withContiguousBytes<Result>(
    _ bytes: some Collection<UInt8>,
    _ body: (UnsafeRawBufferPointer) -> Result
) -> Result {
    bytes.withContiguousStorageIfAvailable { body(UnsafeRawBufferPointer($0)) }
        ?? Array(bytes).withUnsafeBytes(body)
}
