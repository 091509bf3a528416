// SPDX-License-Identifier: GPL-2.0-or-later

internal import CXCB
internal import Glibc
internal import MediaTypes

/// When pictures are due: at multiples of a period from the first one on, so that no error adds up. A pure value; its
/// times are nanoseconds.
struct X11Schedule {
    private let rate: Rational
    /// The time of the first picture.
    private var start: Int64?
    /// The number of the last picture.
    private var last: Int64 = -1

    init(rate: Rational) { self.rate = rate }

    /// Returns when the next picture is due. It is in the past if the reader is late.
    func due(at now: Int64) -> Int64 {
        guard let start else { return now }
        let slot = max(last + 1, slot(at: now, start))
        let (ticks, unit) = (Int128(slot) * 1_000_000_000 * Int128(rate.denominator), Int128(rate.numerator))
        return start + Int64(clamping: (ticks + unit - 1) / unit)
    }

    /// Notes that a picture is taken now.
    ///
    /// - Returns: How many pictures were due and not taken since the previous one.
    mutating func take(at now: Int64) -> Int {
        let start = start ?? now
        self.start = start
        let slot = max(last + 1, slot(at: now, start))
        defer { last = slot }
        return Int(slot - last - 1)
    }

    private func slot(at now: Int64, _ start: Int64) -> Int64 {
        Int64(clamping: Int128(now - start) * Int128(rate.numerator) / (1_000_000_000 * Int128(rate.denominator)))
    }
}

/// A timer of `CLOCK_MONOTONIC`, for one thread.
final class X11Timer {
    private let descriptor: Int32

    init() throws(MediaError) {
        descriptor = xcb_shim_timer()
        guard descriptor < 0 else { return }
        throw MediaError(.outOfMemory, "no descriptor for a timer", call: "timerfd_create", status: Int(errno))
    }

    deinit { close(descriptor) }

    /// Waits until a time in nanoseconds, which may be in the past.
    func wait(until time: Int64, stop: StopSignal) throws(MediaError) {
        guard xcb_shim_set_timer(descriptor, max(time, 1)) == 0 else {
            throw MediaError(.inputOutput, "a timer failed", call: "timerfd_settime", status: Int(errno))
        }
        try stop.wait(for: [(descriptor, Int16(POLLIN))], until: nil)
    }
}
