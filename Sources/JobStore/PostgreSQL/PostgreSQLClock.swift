// SPDX-License-Identifier: GPL-2.0-or-later

internal import Synchronization

/// Watches the clock of the database server: its time is the store's, and must not jump.
///
/// The time of the store is the server's plus a correction, which is in the database. A process that sees the store's time
/// jump, compared with the time that has passed for itself, changes the correction by the jump; for all others, there was
/// none then. Differences that clocks have anyway, and those of a new server after a failover, are below the tolerance.
final class PostgreSQLClock: Sendable {
    /// A time of the store, and that of this process, which never jumps, both in milliseconds.
    private struct Reference {
        var time: Int64
        var elapsed: Int64
    }

    private let source: StoreClock.Source
    private let reference = Mutex<Reference?>(nil)

    init(_ source: StoreClock.Source) { self.source = source }

    /// The time of this process.
    var elapsed: Int64 { source.elapsed() }

    /// Compares a time of the store.
    ///
    /// - Parameters:
    ///   - time: The time of the store.
    ///   - asked: The time of this process before it asked.
    /// - Returns: By how much it has jumped; 0 if it has not.
    func jump(to time: StoreTime, askedAt asked: Int64) -> Int64 {
        let answered = elapsed
        return reference.withLock { reference in
            guard let known = reference else {
                reference = Reference(time: time.milliseconds, elapsed: answered)
                return 0
            }
            let passed = answered - known.elapsed
            let jump = time.milliseconds - known.time - passed
            // The answer may have been on its way for some time.
            guard abs(jump) > Self.tolerance + (answered - asked) + abs(passed) / 20 else {
                if answered >= known.elapsed { reference = Reference(time: time.milliseconds, elapsed: answered) }
                return 0
            }
            return jump
        }
    }

    /// Forgets what it knows, because the store's time was changed on purpose.
    func forget() { reference.withLock { $0 = nil } }

    /// What is not taken for a jump, in milliseconds.
    private static let tolerance: Int64 = 2000
}
