// SPDX-License-Identifier: GPL-2.0-or-later

/// What was made for a few keys and is kept as long as it is among what was used last.
struct RecentValues<Key: Hashable, Value> {
    private struct Entry {
        var value: Value
        var byteCount: Int
        var lastUse: UInt64
    }

    private let limit: Int
    private let byteLimit: Int
    /// How many are kept, however large they are.
    private let fewest: Int
    private var entries: [Key: Entry] = [:]
    private var byteCount = 0
    private var uses: UInt64 = 0

    /// - Parameters:
    ///   - limit: How many values are kept.
    ///   - byteLimit: How large they may be together; the last `fewest` are kept in any case.
    init(limit: Int, byteLimit: Int = .max, fewest: Int = 16) {
        self.limit = limit
        self.byteLimit = byteLimit
        self.fewest = fewest
    }

    /// The value of a key, which is used now.
    mutating func use(_ key: Key) -> Value? {
        uses += 1
        entries[key]?.lastUse = uses
        return entries[key]?.value
    }

    /// Makes room for another value: gives up those that were used longest ago.
    mutating func makeRoom(byteCount more: Int = 0) {
        while entries.count >= limit || (entries.count >= fewest && byteCount > byteLimit - more),
            let oldest = entries.min(by: { $0.value.lastUse < $1.value.lastUse })
        {
            byteCount -= oldest.value.byteCount
            entries[oldest.key] = nil
        }
    }

    /// Keeps a value for a key that has none, after ``makeRoom(byteCount:)``.
    mutating func insert(_ value: Value, for key: Key, byteCount: Int = 0) {
        entries[key] = Entry(value: value, byteCount: byteCount, lastUse: uses)
        self.byteCount += byteCount
    }
}
