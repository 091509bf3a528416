// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLinux
internal import Glibc

/// Ends the waits of a device or a connection, from any thread and for ever.
public final class StopSignal: Sendable {
    /// An `eventfd` that is readable from ``stop()`` on, for `poll`. It belongs to the signal.
    package let descriptor: Int32

    /// Makes a signal.
    ///
    /// - Throws: `outOfMemory` if there is no descriptor for it.
    public init() throws(MediaError) {
        descriptor = linux_event_descriptor()
        guard descriptor < 0 else { return }
        throw MediaError(.outOfMemory, "no descriptor for a signal", call: "eventfd", status: Int(errno))
    }

    deinit { close(descriptor) }

    /// Ends all present and later waits.
    public func stop() {
        var one: UInt64 = 1
        _ = write(descriptor, &one, MemoryLayout.size(ofValue: one))
    }

    /// Whether ``stop()`` was called.
    public var isStopped: Bool { (try? wait(for: [], until: 0)) == nil }

    /// Waits until a descriptor is ready, until a time, or for the signal.
    ///
    /// - Parameters:
    ///   - descriptors: What to wait for, with the events of `poll`; the events that occurred are returned in the same
    ///     order.
    ///   - milliseconds: The longest wait; `nil` for no limit.
    /// - Returns: The events of each descriptor, all zero at the end of the time.
    /// - Throws: `cancelled` after ``stop()``; `inputOutput` if `poll` fails.
    @discardableResult
    package func wait(
        for descriptors: [(descriptor: Int32, events: Int16)],
        until milliseconds: Int32?
    ) throws(MediaError) -> [Int16] {
        var all = descriptors.map { pollfd(fd: $0.descriptor, events: $0.events, revents: 0) }
        all.append(pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0))
        while poll(&all, nfds_t(all.count), milliseconds ?? -1) < 0 {
            guard errno == EINTR else {
                throw MediaError(.inputOutput, "waiting for a descriptor failed", call: "poll", status: Int(errno))
            }
        }
        guard all[all.count - 1].revents == 0 else { throw Self.stopped }
        return all.dropLast().map(\.revents)
    }

    /// The error of a wait that was ended.
    package static var stopped: MediaError { MediaError(.cancelled, "the work was stopped") }
}

/// `CLOCK_MONOTONIC`, the clock that devices and their readers share.
public enum MonotonicClock {
    /// The present time, with nanoseconds as the timescale.
    public static var now: MediaTime {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return MediaTime(value: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec), timescale: 1_000_000_000)
    }
}
