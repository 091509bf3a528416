// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import JobStoreConformance
import Synchronization
import Testing

@testable import JobStore

/// A folder for a database, which is deleted at the end.
final class StoreFolder: Sendable {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "job-store-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    var database: String { path + "/jobs.sqlite" }
}

/// Clocks that a test sets.
final class TestClock: Sendable {
    private let times = Mutex<(time: Int64, elapsed: Int64)>((1_800_000_000_000, 5_000))

    var source: StoreClock.Source {
        StoreClock.Source(
            time: { self.times.withLock { $0.time } },
            elapsed: { self.times.withLock { $0.elapsed } }
        )
    }

    func advance(by milliseconds: Int64) {
        times.withLock { ($0.time, $0.elapsed) = ($0.time + milliseconds, $0.elapsed + milliseconds) }
    }

    func jump(by milliseconds: Int64) { times.withLock { $0.time += milliseconds } }
}

final class SQLiteRig: StoreRig {
    let folder: StoreFolder
    let clock = TestClock()
    private let open: Mutex<SQLiteJobStore?>

    init() throws {
        folder = try StoreFolder()
        open = Mutex(try SQLiteJobStore(path: folder.database, clock: clock.source))
    }

    var store: any JobStore {
        get throws { try #require(open.withLock { $0 }) }
    }

    func advance(by duration: Duration) { clock.advance(by: duration.wholeMilliseconds) }
    func jump(by duration: Duration) { clock.jump(by: duration.wholeMilliseconds) }

    func reopen() throws {
        // The files as a process leaves them that is killed: the log is not written back.
        let other = try StoreFolder()
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) where !name.hasSuffix(".lock") {
            try FileManager.default.copyItem(atPath: folder.path + "/" + name, toPath: other.path + "/" + name)
        }
        open.withLock { $0 = nil }
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
            try FileManager.default.removeItem(atPath: folder.path + "/" + name)
        }
        for name in try FileManager.default.contentsOfDirectory(atPath: other.path) {
            try FileManager.default.copyItem(atPath: other.path + "/" + name, toPath: folder.path + "/" + name)
        }
        let store = try SQLiteJobStore(path: folder.database, clock: clock.source)
        open.withLock { $0 = store }
    }
}

/// The store in SQLite does what every store must do.
@Suite(.timeLimit(.minutes(60))) struct SQLiteConformanceTests {
    @Test(arguments: ConformanceCase.all) func conforms(demand: ConformanceCase) async throws {
        try await demand.run(try SQLiteRig())
    }
}
