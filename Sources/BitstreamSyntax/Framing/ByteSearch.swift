// SPDX-License-Identifier: GPL-2.0-or-later

extension UnsafeRawBufferPointer {
    /// The first position at or after `start` where two bytes in a row are zero; nil if there is none.
    ///
    /// Start codes and emulation prevention both begin with such a pair, which coded data hardly ever contain. Of any
    /// two neighbours one stands at an odd distance from the start of a block, so half of the bytes need a look.
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

    /// The position of the first byte at or after `start` that is not zero; `count` if there is none.
    func endOfZeros(from start: Int) -> Int {
        var position = start
        while position < count, self[position] == 0 { position += 1 }
        return position
    }

    /// Zero only if none of the bytes at the odd offsets 1, 3, 5 and 7 is zero.
    @inline(__always)
    private static func zeroMarks(_ pointer: UnsafeRawPointer) -> UInt64 {
        let word = UInt64(littleEndian: pointer.loadUnaligned(as: UInt64.self))
        let oddBytes = (word >> 8) & 0x00FF_00FF_00FF_00FF
        return (oddBytes &- 0x0001_0001_0001_0001) & 0x8000_8000_8000_8000
    }

    /// The first zero pair that starts within `range`.
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

/// Runs `body` on the bytes in one piece, copying them only if the collection does not store them so.
func withContiguousBytes<Result>(
    _ bytes: some Collection<UInt8>,
    _ body: (UnsafeRawBufferPointer) -> Result
) -> Result {
    bytes.withContiguousStorageIfAvailable { body(UnsafeRawBufferPointer($0)) }
        ?? Array(bytes).withUnsafeBytes(body)
}
