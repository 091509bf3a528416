// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
internal import Synchronization

/// The clock of a store on one machine: it begins at the system's time, or at the last time that the store knows if that is
/// later, and goes on with the time since the machine was started, suspends included.
final class StoreClock: Sendable {
    /// The system's clocks, in milliseconds.
    struct Source: Sendable {
        /// The time since 1970.
        var time: @Sendable () -> Int64
        /// A time that never jumps.
        var elapsed: @Sendable () -> Int64

        static let system = Source(
            time: { milliseconds(of: CLOCK_REALTIME) },
            elapsed: { milliseconds(of: CLOCK_BOOTTIME) }
        )

        private static func milliseconds(of clock: clockid_t) -> Int64 {
            var time = timespec()
            clock_gettime(clock, &time)
            return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
        }
    }

    private let source: Source
    private let offset: Mutex<Int64>

    init(_ source: Source) {
        self.source = source
        offset = Mutex(source.time() - source.elapsed())
    }

    /// The present time.
    var now: StoreTime { StoreTime(milliseconds: offset.withLock { $0 } + source.elapsed()) }

    /// Sees to it that the clock is not before a time.
    func advance(to time: StoreTime) {
        let elapsed = source.elapsed()
        offset.withLock { $0 = max($0, time.milliseconds - elapsed) }
    }
}
