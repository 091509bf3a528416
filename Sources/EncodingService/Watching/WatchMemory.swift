// SPDX-License-Identifier: GPL-2.0-or-later

internal import ServiceAPI

/// A file in a watched folder, as it was when the folder was read.
struct WatchedFile: Sendable, Hashable {
    /// Relative to the folder.
    var path: String
    /// In bytes.
    var size: Int
    /// In nanoseconds since 1970.
    var modified: Int64

    /// What distinguishes it from other files of the same path. Network file systems number their files anew when they are
    /// mounted again.
    var identity: String { "\(size)-\(modified)" }
}

/// What is known of the files of a watched folder. A pure value.
///
/// A file that is still being copied grows, or its time changes: it becomes a job when neither has happened for a while. What
/// became a job is remembered after the file is gone, because a network file system that is away looks like an empty folder.
struct WatchMemory: Sendable, Hashable {
    /// A file that became a job.
    struct Done: Sendable, Hashable {
        var identity: String
        /// When it was last there, in seconds since 1970.
        var seen: Double
    }

    private(set) var done: [String: Done] = [:]
    private var settling: [String: Settling] = [:]

    private struct Settling: Sendable, Hashable {
        var file: WatchedFile
        var since: Double
    }

    /// How long a file is remembered that is gone, in seconds.
    static let forgetfulness = 90 * 86_400.0

    init(done: [String: Done] = [:]) { self.done = done }

    /// The number of files that may still change, or wait.
    var settlingCount: Int { settling.count }

    /// Notes what is in the folder.
    ///
    /// - Parameters:
    ///   - now: A time that only advances, in seconds.
    ///   - date: Seconds since 1970.
    ///   - settle: Seconds for which a file must not have changed.
    /// - Returns: The files that are to become jobs, by path. They are returned again until ``finish(_:date:)``.
    mutating func observe(_ files: [WatchedFile], at now: Double, date: Double, settle: Double) -> [WatchedFile] {
        var present: [String: Settling] = [:]
        for file in files {
            if done[file.path]?.identity == file.identity {
                done[file.path]?.seen = date
                continue
            }
            let known = settling[file.path]
            present[file.path] = known?.file == file ? known : Settling(file: file, since: now)
        }
        settling = present
        // A file system that is away looks like an empty folder.
        if !files.isEmpty { done = done.filter { date - $0.value.seen < Self.forgetfulness } }
        return settling.values.filter { now - $0.since >= settle }.map(\.file).sorted { $0.path < $1.path }
    }

    /// Remembers that a file became a job.
    mutating func finish(_ file: WatchedFile, date: Double) {
        settling[file.path] = nil
        done[file.path] = Done(identity: file.identity, seen: date)
    }
}

extension WatchMemory {
    /// For the disk.
    var json: JSONValue {
        .array(
            done.sorted { $0.key < $1.key }.map { path, done in
                ["path": .string(path), "identity": .string(done.identity), "seen": .number(done.seen)]
            }
        )
    }

    /// Reads what was written; what cannot be read is left out.
    init(json: JSONValue) {
        for value in json.elements {
            guard let path = value["path"]?.string, let identity = value["identity"]?.string,
                let seen = value["seen"]?.double
            else { continue }
            done[path] = Done(identity: identity, seen: seen)
        }
    }
}
