// SPDX-License-Identifier: GPL-2.0-or-later

import Glibc

/// A connection to the system message bus through sd-bus(3) of libsystemd, which is loaded when it is first needed. For
/// use by one thread.
struct SystemBus: ~Copyable {
    /// The functions of sd-bus, with their types from `systemd/sd-bus.h`.
    private struct Library: @unchecked Sendable {
        typealias Bus = OpaquePointer
        typealias Message = OpaquePointer
        typealias Handler = @convention(c) (Message?, UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> Int32

        typealias Open = @convention(c) (UnsafeMutablePointer<Bus?>) -> Int32
        typealias SetTimeout = @convention(c) (Bus, UInt64) -> Int32
        typealias MatchSignal =
            @convention(c) (
                Bus, UnsafeMutablePointer<OpaquePointer?>?, UnsafePointer<CChar>?, UnsafePointer<CChar>?,
                UnsafePointer<CChar>?, UnsafePointer<CChar>?, Handler, UnsafeMutableRawPointer?
            ) -> Int32
        typealias Read = @convention(c) (Message, CChar, UnsafeMutableRawPointer) -> Int32
        typealias Process = @convention(c) (Bus, UnsafeMutablePointer<Message?>?) -> Int32
        typealias Number = @convention(c) (Bus) -> Int32
        typealias Timeout = @convention(c) (Bus, UnsafeMutablePointer<UInt64>) -> Int32
        typealias Close = @convention(c) (Bus) -> Bus?

        let open: Open
        let setTimeout: SetTimeout
        let matchSignal: MatchSignal
        let read: Read
        let process: Process
        let descriptor: Number
        let events: Number
        let timeout: Timeout
        let close: Close

        /// The library; `nil` if it is not installed, or is older than version 240 (2018).
        static let shared = Library()

        private init?() {
            // On systems without systemd, elogind's library provides sd-bus.
            guard let handle = dlopen("libsystemd.so.0", RTLD_NOW) ?? dlopen("libelogind.so.0", RTLD_NOW),
                let open = dlsym(handle, "sd_bus_open_system"),
                let setTimeout = dlsym(handle, "sd_bus_set_method_call_timeout"),
                let matchSignal = dlsym(handle, "sd_bus_match_signal"),
                let read = dlsym(handle, "sd_bus_message_read_basic"),
                let process = dlsym(handle, "sd_bus_process"),
                let descriptor = dlsym(handle, "sd_bus_get_fd"),
                let events = dlsym(handle, "sd_bus_get_events"),
                let timeout = dlsym(handle, "sd_bus_get_timeout"),
                let close = dlsym(handle, "sd_bus_flush_close_unref")
            else { return nil }
            self.open = unsafeBitCast(open, to: Open.self)
            self.setTimeout = unsafeBitCast(setTimeout, to: SetTimeout.self)
            self.matchSignal = unsafeBitCast(matchSignal, to: MatchSignal.self)
            self.read = unsafeBitCast(read, to: Read.self)
            self.process = unsafeBitCast(process, to: Process.self)
            self.descriptor = unsafeBitCast(descriptor, to: Number.self)
            self.events = unsafeBitCast(events, to: Number.self)
            self.timeout = unsafeBitCast(timeout, to: Timeout.self)
            self.close = unsafeBitCast(close, to: Close.self)
        }
    }

    /// A signal of a service: sender, object path, interface and member name.
    struct Signal {
        var sender: String
        var path: String
        var interface: String
        var name: String
    }

    /// The reason why there is no connection, or why it was lost, as text for users.
    struct Failure: Error {
        var reason: String

        /// - Parameter status: The return value of an sd-bus function: a negative errno.
        init(_ call: String, _ status: Int32) {
            reason = "\(call): \(String(cString: strerror(-status)))"
        }

        init(_ reason: String) { self.reason = reason }
    }

    private final class Subscription {
        let handler: (Bool) -> Void
        init(_ handler: @escaping (Bool) -> Void) { self.handler = handler }
    }

    private let library: Library
    private let bus: OpaquePointer
    private var subscriptions: [Subscription] = []

    /// Connects to the bus in `DBUS_SYSTEM_BUS_ADDRESS`, or to the system bus.
    init() throws(Failure) {
        guard let library = Library.shared else { throw Failure("libsystemd is not installed") }
        var bus: OpaquePointer?
        let status = library.open(&bus)
        guard status >= 0, let bus else { throw Failure("sd_bus_open_system", status) }
        self.library = library
        self.bus = bus
        // In microseconds: a bus that does not respond within this time counts as missing.
        _ = library.setTimeout(bus, 5_000_000)
    }

    deinit { _ = library.close(bus) }

    /// Subscribes to a signal with a Boolean argument. ``process()`` calls the handler with it.
    mutating func subscribe(to signal: Signal, _ handler: @escaping (Bool) -> Void) throws(Failure) {
        let subscription = Subscription(handler)
        subscriptions.append(subscription)
        let library = library
        let context = Unmanaged.passUnretained(subscription).toOpaque()
        let status = library.matchSignal(
            bus,
            nil,
            signal.sender,
            signal.path,
            signal.interface,
            signal.name,
            { message, context, _ in
                guard let message, let context, let library = Library.shared else { return 0 }
                var value: Int32 = 0
                if library.read(message, CChar(UInt8(ascii: "b")), &value) > 0 {
                    Unmanaged<Subscription>.fromOpaque(context).takeUnretainedValue().handler(value != 0)
                }
                return 0
            },
            context
        )
        guard status >= 0 else { throw Failure("sd_bus_match_signal", status) }
    }

    /// Handles all received messages.
    func process() throws(Failure) {
        while true {
            let status = library.process(bus, nil)
            guard status >= 0 else { throw Failure("sd_bus_process", status) }
            if status == 0 { return }
        }
    }

    /// The descriptor to wait for, as a poll(2) entry, and the longest wait in milliseconds.
    var wait: (entry: pollfd, milliseconds: Int32) {
        var microseconds = UInt64.max
        _ = library.timeout(bus, &microseconds)
        let events = Int16(truncatingIfNeeded: library.events(bus))
        // A point in time of CLOCK_MONOTONIC, not a duration (sd_bus_get_timeout(3)).
        var now = timespec()
        clock_gettime(CLOCK_MONOTONIC, &now)
        let passed = UInt64(now.tv_sec) * 1_000_000 + UInt64(now.tv_nsec) / 1000
        let rest = microseconds > passed ? microseconds - passed : 0
        let milliseconds = microseconds == .max ? -1 : Int32(clamping: rest / 1000 + (rest > 0 ? 1 : 0))
        return (pollfd(fd: library.descriptor(bus), events: events, revents: 0), milliseconds)
    }
}
