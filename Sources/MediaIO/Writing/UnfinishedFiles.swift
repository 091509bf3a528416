// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
internal import Synchronization

/// The temporary files that this process is writing.
enum UnfinishedFiles {
    private static let paths = Mutex<Set<String>>([])

    static func add(_ path: String) { paths.withLock { _ = $0.insert(path) } }

    static func remove(_ path: String) { paths.withLock { _ = $0.remove(path) } }

    /// Deletes all of them.
    static func deleteAll() {
        paths.withLock { paths in
            for path in paths { unlink(path) }
            paths = []
        }
    }
}
