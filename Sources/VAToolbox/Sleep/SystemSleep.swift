// SPDX-License-Identifier: GPL-2.0-or-later

import Glibc
import Synchronization

/// Reports to listeners in this process that the system was suspended and has resumed.
///
/// There are two sources. logind, where available, reports immediately. The clocks reveal a suspend when they are
/// compared: `CLOCK_BOOTTIME` runs during a suspend and `CLOCK_MONOTONIC` does not, so they diverge. Each suspend is
/// reported once.
///
/// An upcoming suspend is neither reported nor delayed, which logind would allow privileged processes for some seconds.
/// Pictures that are not coded yet are in memory, which survives a suspend. A GPU context that does not survive it
/// fails like any other, and the pictures are encoded again.
final class SystemSleep: Sendable {
    /// The instance for this system.
    static let shared = SystemSleep(lead: SystemSleep.lead, announcements: LoginManager.announcements)

    /// An announcement of a service.
    enum Announcement: Sendable {
        /// The system is about to be suspended.
        case suspend
        /// The system has resumed, or could not be suspended.
        case resume
    }

    /// Starts to listen to a service until the value is released; returns `nil` if that fails.
    typealias Announcements = @Sendable (@escaping @Sendable (Announcement) -> Void) -> (any Sendable & AnyObject)?

    private struct State {
        var record = SleepRecord(lead: .zero)
        var handlers: [UInt64: @Sendable () -> Void] = [:]
        var nextHandler: UInt64 = 0
        /// The connection to the service, which exists while there are listeners.
        var service: (any Sendable & AnyObject)?
    }

    private let state = Mutex(State())
    private let lead: @Sendable () -> Duration
    private let announcements: Announcements

    /// - Parameters:
    ///   - lead: Returns the lead of the clock that runs during a suspend over the one that stops.
    ///   - announcements: The service.
    init(lead: @escaping @Sendable () -> Duration, announcements: @escaping Announcements) {
        self.lead = lead
        self.announcements = announcements
    }

    /// A registration for reports, which ends when it is released.
    final class Listener: Sendable {
        private let sleep: SystemSleep
        private let id: UInt64

        fileprivate init(_ sleep: SystemSleep, _ id: UInt64) {
            self.sleep = sleep
            self.id = id
        }

        deinit { sleep.remove(id) }

        /// Compares the clocks; calls all listeners if they reveal a suspend.
        func look() { sleep.look() }
    }

    /// Calls a function after each suspend.
    ///
    /// - Parameter handler: Called on any thread; must not block.
    func listen(_ handler: @escaping @Sendable () -> Void) -> Listener {
        look()  // who comes now has slept through nothing
        let lead = lead()
        let (id, isFirst) = state.withLock { state in
            let isFirst = state.handlers.isEmpty
            if isFirst { state.record = SleepRecord(lead: lead) }
            defer { state.nextHandler += 1 }
            state.handlers[state.nextHandler] = handler
            return (state.nextHandler, isFirst)
        }
        if isFirst { startService() }
        return Listener(self, id)
    }

    private func startService() {
        let service = announcements { [weak self] in self?.take($0) }
        let unneeded = state.withLock { state -> (any Sendable & AnyObject)? in
            guard !state.handlers.isEmpty, state.service == nil else { return service }
            state.service = service
            return nil
        }
        withExtendedLifetime(unneeded) {}
    }

    private func remove(_ id: UInt64) {
        let ended = state.withLock { state -> (any Sendable & AnyObject)? in
            state.handlers[id] = nil
            return state.handlers.isEmpty ? state.service.take() : nil
        }
        withExtendedLifetime(ended) {}
    }

    private func look() {
        let lead = lead()
        tell { $0.look(lead: lead) }
    }

    private func take(_ announcement: Announcement) {
        switch announcement {
        case .suspend: state.withLock { $0.record.suspendAnnounced() }
        case .resume:
            let lead = lead()
            tell { $0.resumeAnnounced(lead: lead) }
        }
    }

    /// Calls all listeners if the record reports a new suspend.
    private func tell(if isNews: (inout SleepRecord) -> Bool) {
        let handlers = state.withLock { state in
            isNews(&state.record) ? Array(state.handlers.values) : []
        }
        for handler in handlers { handler() }
    }

    /// The lead of `CLOCK_BOOTTIME` over `CLOCK_MONOTONIC`. It is never too large, because the clock that is ahead is
    /// read first.
    @Sendable private static func lead() -> Duration {
        let running = time(of: CLOCK_BOOTTIME)
        return running - time(of: CLOCK_MONOTONIC)
    }

    private static func time(of clock: clockid_t) -> Duration {
        var time = timespec()
        clock_gettime(clock, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}
