// SPDX-License-Identifier: GPL-2.0-or-later

import Dispatch

/// Calls a function after a time, unless it is cancelled or let go of before.
///
/// Nothing of a cancelled one stays. What a cancelled `Task.sleep` has set up stays until its time has come, a kilobyte or
/// so: deadlines are a minute long, and a program may have many sessions in that.
final class Alarm: @unchecked Sendable {  // A timer may be used by any thread.
    private let timer: any DispatchSourceTimer

    /// - Parameters:
    ///   - limit: From now; less than nothing is at once.
    ///   - repeats: Whether it goes off again after as long.
    ///   - work: Is called on any thread, and does not block. It is let go of with the alarm.
    init(after limit: Duration, repeats: Bool = false, _ work: @escaping @Sendable () -> Void) {
        timer = DispatchSource.makeTimerSource(queue: .global())
        timer.setEventHandler(handler: work)
        let interval = Self.interval(limit)
        timer.schedule(deadline: .now() + interval, repeating: repeats ? interval : .never)
        timer.activate()
    }

    deinit { timer.cancel() }

    func cancel() { timer.cancel() }

    /// At most some centuries; what is left of a nanosecond counts as one.
    private static func interval(_ duration: Duration) -> DispatchTimeInterval {
        let (seconds, attoseconds) = duration.components
        let whole = min(max(seconds, 0), 1 << 33) * 1_000_000_000
        return .nanoseconds(Int(whole + max(attoseconds, 0) / 1_000_000_000 + 1))
    }
}
