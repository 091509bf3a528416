// SPDX-License-Identifier: GPL-2.0-or-later

/// Which parts of a ring are taken. Parts are contiguous, and become free in the order in which they were taken.
struct RingSpace {
    /// Parts begin at multiples of this, the size of a cache line.
    static let alignment = 64

    let capacity: Int
    /// The parts that are taken, the oldest first.
    private var parts: [Range<Int>] = []
    /// How many parts have become free.
    private(set) var released: UInt64 = 0
    /// The bytes of the parts that are taken.
    private(set) var usedByteCount = 0

    init(capacity: Int) { self.capacity = capacity }

    /// Takes a part.
    ///
    /// - Returns: Where it begins; `nil` if there is no room before another part is released.
    mutating func reserve(_ byteCount: Int) -> Int? {
        guard byteCount >= 0, byteCount <= capacity else { return nil }
        let size = min(max(1, (byteCount + Self.alignment - 1) / Self.alignment) * Self.alignment, capacity)
        guard let first = parts.first, let last = parts.last else { return take(0, size) }
        if last.lowerBound >= first.lowerBound {
            if capacity - last.upperBound >= size { return take(last.upperBound, size) }
            return first.lowerBound >= size ? take(0, size) : nil
        }
        return first.lowerBound - last.upperBound >= size ? take(last.upperBound, size) : nil
    }

    private mutating func take(_ offset: Int, _ size: Int) -> Int {
        parts.append(offset..<offset + size)
        usedByteCount += size
        return offset
    }

    /// Frees the oldest parts.
    ///
    /// - Parameter total: How many parts have been freed since the beginning, these included.
    /// - Returns: Whether there are as many.
    mutating func release(total: UInt64) -> Bool {
        guard total >= released, total - released <= UInt64(parts.count) else { return false }
        let count = Int(total - released)
        usedByteCount -= parts[..<count].reduce(0) { $0 + $1.count }
        parts.removeFirst(count)
        released = total
        return true
    }
}
