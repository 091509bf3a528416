// SPDX-License-Identifier: GPL-2.0-or-later

import CLinux
import Glibc
import Logging
import MediaTypes

/// Listens to logind, or to another owner of its name on the system bus, on a separate thread while the value exists.
///
/// Without a bus, as in most containers, or after losing it, no announcement arrives.
final class LoginManager: Sendable {
    /// The announcements for ``SystemSleep``.
    static let announcements: SystemSleep.Announcements = { LoginManager($0) }

    private static let logger = Logger(label: "vatoolbox.sleep")
    /// org.freedesktop.login1(5): true before the system is suspended, false when it has resumed.
    private static let signal = SystemBus.Signal(
        sender: "org.freedesktop.login1",
        path: "/org/freedesktop/login1",
        interface: "org.freedesktop.login1.Manager",
        name: "PrepareForSleep"
    )

    /// The write end of a pipe; closing it ends the thread.
    private let lifeline: Int32

    /// - Parameter handler: Called on the thread; must not block.
    private init?(_ handler: @escaping @Sendable (SystemSleep.Announcement) -> Void) {
        var ends: [Int32] = [-1, -1]
        guard linux_pipe(&ends) == 0 else { return nil }
        lifeline = ends[1]
        let end = ends[0]
        do throws(MediaError) {
            try PlainThread.start(name: "vt-sleep") {
                do throws(SystemBus.Failure) {
                    try Self.listen(until: end, handler)
                } catch {
                    Self.logger.debug("no suspend notifications: \(error.reason)")
                }
                close(end)
            }
        } catch {
            close(end)
            Self.logger.debug("suspend notifications stopped: \(error)")
        }
    }

    deinit { close(lifeline) }

    /// - Parameter end: A descriptor that becomes ready when listening must end.
    private static func listen(
        until end: Int32,
        _ handler: @escaping @Sendable (SystemSleep.Announcement) -> Void
    ) throws(SystemBus.Failure) {
        var bus = try SystemBus()
        try bus.subscribe(to: signal) { handler($0 ? .suspend : .resume) }
        while true {
            try bus.process()
            let wait = bus.wait
            var entries = [wait.entry, pollfd(fd: end, events: Int16(POLLIN), revents: 0)]
            guard poll(&entries, 2, wait.milliseconds) >= 0 || errno == EINTR else {
                throw SystemBus.Failure("poll", -errno)
            }
            if entries[1].revents != 0 { return }
        }
    }
}
