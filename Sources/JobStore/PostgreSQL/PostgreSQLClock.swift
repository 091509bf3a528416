// SPDX-License-Identifier: GPL-2.0-or-later

internal import Synchronization

/// Watches the clock of the database server: its time is the store's, and must not jump.
///
/// The time of the store is the server's plus a correction, which is in the database. A process that sees it jump, compared
/// with the time that has passed for itself, changes the correction by the jump; for all others, there was none then.
/// Differences that clocks have anyway, and those of a new server after a failover, are below the tolerance.
final class PostgreSQLClock: Sendable {
    /// A time of the store, and that of this process, which never jumps, both in milliseconds.
    private struct Reference {
        var time: Int64
        var elapsed: Int64
        var changes: Int64
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
    ///   - changes: How often its correction was changed because of a jump.
    ///   - asked: The time of this process before it asked.
    /// - Returns: By how much it has jumped; 0 if it has not.
    func jump(to time: StoreTime, changes: Int64, askedAt asked: Int64) -> Int64 {
        let answered = elapsed
        // A slow answer says too little of the time at which it was given.
        let isSlow = answered - asked > Self.slowest
        return reference.withLock { reference in
            let new = Reference(time: time.milliseconds, elapsed: answered, changes: changes)
            // Others may have corrected the time in favour of their own clocks.
            guard let known = reference, known.changes == changes else {
                if !isSlow { reference = new }
                return 0
            }
            let passed = answered - known.elapsed
            let jump = time.milliseconds - known.time - passed
            guard abs(jump) > Self.tolerance + (answered - asked) + abs(passed) / 20 else {
                if !isSlow, passed >= 0 { reference = new }
                return 0
            }
            return jump
        }
    }

    /// Forgets what it knows, because the store's time was changed on purpose.
    func forget() { reference.withLock { $0 = nil } }

    /// How long workers have to be heard of when nobody can say how long they were not, in milliseconds: several of their
    /// renewals, and the time after which a call that went to the old server gives up.
    static let grace: Int64 = 20_000
    /// What is not taken for a jump, in milliseconds.
    private static let tolerance: Int64 = 2000
    /// The time of an answer that is not compared with later ones, in milliseconds.
    private static let slowest: Int64 = 500
}
