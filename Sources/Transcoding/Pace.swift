// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes

/// Delays frames until their presentation time.
struct Pace {
    /// The maximum time for which a wait continues after it is no longer needed.
    private static let patience = Duration.milliseconds(100)
    private var start: (instant: SuspendingClock.Instant, time: MediaTime)?

    /// Waits until a frame is due, or until `isStopped` returns `true`.
    mutating func wait(for time: MediaTime, unless isStopped: @Sendable () -> Bool) async throws(MediaError) {
        guard let start else {
            start = (.now, time)
            return
        }
        let due = start.instant + .seconds(max((time - start.time).seconds, 0))
        while SuspendingClock.now < due, !isStopped() {
            do {
                try await Task.sleep(until: min(due, .now + Self.patience), clock: .suspending)
            } catch {
                throw MediaError(.cancelled, "the call was cancelled")
            }
        }
    }
}
