// SPDX-License-Identifier: GPL-2.0-or-later

import Dispatch

/// Calls a function after a time, unless it is cancelled or released before.
///
/// A cancelled alarm leaves nothing behind. A cancelled `Task.sleep` keeps its timer, about a kilobyte, until its time
/// has come: deadlines are a minute long, and a program may run many sessions in that time.
final class Alarm: @unchecked Sendable {  // A timer may be used by any thread.
    private let timer: any DispatchSourceTimer

    /// - Parameters:
    ///   - limit: The time from now; a negative time means immediately.
    ///   - repeats: Whether the alarm repeats with the same interval.
    ///   - work: Called on any thread; must not block. It is released with the alarm.
    init(after limit: Duration, repeats: Bool = false, _ work: @escaping @Sendable () -> Void) {
        timer = DispatchSource.makeTimerSource(queue: .global())
        timer.setEventHandler(handler: work)
        let interval = Self.interval(limit)
        timer.schedule(deadline: .now() + interval, repeating: repeats ? interval : .never)
        timer.activate()
    }

    deinit { timer.cancel() }

    func cancel() { timer.cancel() }

    /// The interval, limited to some centuries and rounded up to whole nanoseconds.
    private static func interval(_ duration: Duration) -> DispatchTimeInterval {
        let (seconds, attoseconds) = duration.components
        let whole = min(max(seconds, 0), 1 << 33) * 1_000_000_000
        return .nanoseconds(Int(whole + max(attoseconds, 0) / 1_000_000_000 + 1))
    }
}
