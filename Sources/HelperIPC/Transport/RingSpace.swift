// SPDX-License-Identifier: GPL-2.0-or-later

/// The used parts of a ring. Parts are contiguous, and are freed in the order in which they were reserved.
struct RingSpace {
    /// The alignment of parts, the size of a cache line.
    static let alignment = 64

    let capacity: Int
    /// The used parts, oldest first.
    private var parts: [Range<Int>] = []
    /// The number of parts that were freed.
    private(set) var released: UInt64 = 0
    /// The total size of the used parts in bytes.
    private(set) var usedByteCount = 0

    init(capacity: Int) { self.capacity = capacity }

    /// Reserves a part.
    ///
    /// - Returns: Its offset; `nil` if there is no space until another part is released.
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
    /// - Parameter total: The total number of parts freed since the beginning, including these.
    /// - Returns: Whether there are that many parts.
    mutating func release(total: UInt64) -> Bool {
        guard total >= released, total - released <= UInt64(parts.count) else { return false }
        let count = Int(total - released)
        usedByteCount -= parts[..<count].reduce(0) { $0 + $1.count }
        parts.removeFirst(count)
        released = total
        return true
    }
}
