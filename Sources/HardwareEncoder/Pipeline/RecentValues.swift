// SPDX-License-Identifier: GPL-2.0-or-later

/// A cache of the most recently used values.
struct RecentValues<Key: Hashable, Value> {
    private struct Entry {
        var value: Value
        var byteCount: Int
        var lastUse: UInt64
    }

    private let limit: Int
    private let byteLimit: Int
    /// The minimum number of values to keep, regardless of their size.
    private let fewest: Int
    private var entries: [Key: Entry] = [:]
    private var byteCount = 0
    private var uses: UInt64 = 0

    /// - Parameters:
    ///   - limit: The maximum number of values.
    ///   - byteLimit: The maximum total size; the last `fewest` values are kept in any case.
    init(limit: Int, byteLimit: Int = .max, fewest: Int = 16) {
        self.limit = limit
        self.byteLimit = byteLimit
        self.fewest = fewest
    }

    /// Returns the value of a key and marks it as used.
    mutating func use(_ key: Key) -> Value? {
        uses += 1
        entries[key]?.lastUse = uses
        return entries[key]?.value
    }

    /// Makes room for another value by removing the least recently used ones.
    mutating func makeRoom(byteCount more: Int = 0) {
        while entries.count >= limit || (entries.count >= fewest && byteCount > byteLimit - more),
            let oldest = entries.min(by: { $0.value.lastUse < $1.value.lastUse })
        {
            byteCount -= oldest.value.byteCount
            entries[oldest.key] = nil
        }
    }

    /// Adds a value for a new key, after ``makeRoom(byteCount:)``.
    mutating func insert(_ value: Value, for key: Key, byteCount: Int = 0) {
        entries[key] = Entry(value: value, byteCount: byteCount, lastUse: uses)
        self.byteCount += byteCount
    }
}
