// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes

/// Which files a playlist lists, and until when those must exist that it does not list any more.
struct LiveFiles: Sendable, Hashable {
    private struct Use: Hashable {
        var count = 0
        /// When the file may be deleted, once nothing refers to it.
        var end = MediaTime.zero
    }

    private var uses: [String: Use] = [:]
    private var unlisted: Set<String> = []

    /// Whether the playlist refers to a file.
    func isListed(_ path: String) -> Bool { (uses[path]?.count ?? 0) > 0 }

    /// Notes a reference to a file.
    mutating func retain(_ path: String) {
        uses[path, default: Use()].count += 1
        unlisted.remove(path)
    }

    /// Notes that a reference is gone.
    ///
    /// - Parameter end: Until when the file must exist.
    mutating func release(_ path: String, until end: MediaTime) {
        guard var use = uses[path], use.count > 0 else { return }
        use.count -= 1
        use.end = max(use.end, end)
        uses[path] = use
        if use.count == 0 { unlisted.insert(path) }
    }

    /// When the next file can be deleted; `nil` if all are listed.
    var nextEnd: MediaTime? { unlisted.compactMap { uses[$0]?.end }.min() }

    /// Removes and returns the paths of the files that need not exist any more, in the order of their names.
    mutating func takeExpired(at now: MediaTime) -> [String] {
        let expired = unlisted.filter { path in uses[path].map { $0.end <= now } ?? true }
        for path in expired { uses[path] = nil }
        unlisted.subtract(expired)
        return expired.sorted()
    }
}
