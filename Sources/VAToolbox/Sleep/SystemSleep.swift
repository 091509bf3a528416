// SPDX-License-Identifier: GPL-2.0-or-later

import Glibc
import Synchronization

/// Tells that the system was suspended and has resumed, to all in this process who want to know.
///
/// Two sources tell. logind, where there is one, says it at once. The clocks say it when somebody looks at them:
/// `CLOCK_BOOTTIME` runs on in a suspend and `CLOCK_MONOTONIC` does not, so they move apart. Each suspend is told once.
///
/// That a suspend is about to come is not told, and nothing delays it (logind would allow that for some seconds, to those
/// who may): pictures that are not coded yet are in memory, which a suspend keeps, and a GPU's context that does not
/// survive it fails like any other, after which they are encoded again.
final class SystemSleep: Sendable {
    /// The system's.
    static let shared = SystemSleep(lead: SystemSleep.lead, announcements: LoginManager.announcements)

    /// What a service says.
    enum Announcement: Sendable {
        /// The system is about to be suspended.
        case suspend
        /// It was, or could not be, and goes on.
        case resume
    }

    /// Starts to listen to a service, and goes on until the value is let go of; `nil` if it cannot be started.
    typealias Announcements = @Sendable (@escaping @Sendable (Announcement) -> Void) -> (any Sendable & AnyObject)?

    private struct State {
        var record = SleepRecord(lead: .zero)
        var handlers: [UInt64: @Sendable () -> Void] = [:]
        var nextHandler: UInt64 = 0
        /// Listens to the service while anybody listens here.
        var service: (any Sendable & AnyObject)?
    }

    private let state = Mutex(State())
    private let lead: @Sendable () -> Duration
    private let announcements: Announcements

    /// - Parameters:
    ///   - lead: By how much the clock that runs on in a suspend is ahead of the one which does not.
    ///   - announcements: The service.
    init(lead: @escaping @Sendable () -> Duration, announcements: @escaping Announcements) {
        self.lead = lead
        self.announcements = announcements
    }

    /// Wants to know; until it is let go of.
    final class Listener: Sendable {
        private let sleep: SystemSleep
        private let id: UInt64

        fileprivate init(_ sleep: SystemSleep, _ id: UInt64) {
            self.sleep = sleep
            self.id = id
        }

        deinit { sleep.remove(id) }

        /// Looks at the clocks; tells all who listen if they say that the system was suspended.
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

    /// Calls everybody if the record says so.
    private func tell(if isNews: (inout SleepRecord) -> Bool) {
        let handlers = state.withLock { state in
            isNews(&state.record) ? Array(state.handlers.values) : []
        }
        for handler in handlers { handler() }
    }

    /// By how much `CLOCK_BOOTTIME` is ahead of `CLOCK_MONOTONIC`. Never too much: the one that is ahead is read first.
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
