// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc

/// Waiting for what no event tells of: the state of other processes, files that they write, objects that are gone. It is
/// asked for again and again, so where something tells, wait for that.
package enum Patience {
    /// How long something that has to come may take, on a machine that is busy with other things.
    package static let limit = Duration.seconds(60)

    /// Waits until something is so, and blocks the thread meanwhile.
    ///
    /// - Returns: Whether it is so.
    package static func block(until isSo: () throws -> Bool) rethrows -> Bool {
        let end = ContinuousClock.now + limit
        while try !isSo() {
            if .now >= end { return false }
            usleep(2_000)
        }
        return true
    }

    /// Waits until something is so, and leaves the thread to others meanwhile.
    ///
    /// Tests that block the threads of the cooperative pool keep this task, and those that it waits for, from running:
    /// for minutes, where there are few processors. So it gives up only when it has also had this many turns.
    ///
    /// - Returns: Whether it is so; false also where the task was cancelled.
    package static func wait(until isSo: @Sendable () async -> Bool) async -> Bool {
        let end = ContinuousClock.now + limit
        var turns = 0
        while await !isSo() {
            if .now >= end, turns >= fewestTurns { return false }
            turns += 1
            guard (try? await Task.sleep(for: .milliseconds(1))) != nil else { return await isSo() }
        }
        return true
    }

    private static let fewestTurns = 100
}
