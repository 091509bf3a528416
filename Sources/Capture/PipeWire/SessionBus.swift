// SPDX-License-Identifier: GPL-2.0-or-later

internal import CSystemBus
internal import Glibc
internal import MediaTypes

/// A connection to the session bus through sd-bus(3) of libsystemd. Every wait ends with a stop signal. Used by one
/// thread.
final class SessionBus {
    /// A message that was received.
    struct Message: Sendable {
        var path: String
        var interface: String
        var member: String
        var values: [BusValue]
    }

    /// The answer to a call.
    enum Reply: Sendable {
        case values([BusValue])
        /// The name of a D-Bus error, and the service's words.
        case error(name: String, message: String)
    }

    /// A method of a service.
    struct Call {
        var destination: String
        var path: String
        var interface: String
        var member: String
        var arguments: [BusValue] = []
    }

    private static let mostSignals = 64

    private let bus: OpaquePointer
    /// The latest signals that nobody has taken.
    private var signals: [Message] = []
    private var replies: [UInt64: Reply] = [:]
    private var failure: MediaError?

    /// Begins to connect.
    ///
    /// - Parameter address: The address of the bus; that of `DBUS_SESSION_BUS_ADDRESS`, or else `bus` in
    ///   `XDG_RUNTIME_DIR`, if `nil`.
    /// - Throws: `unavailable` if there is no bus.
    init(address: String? = nil) throws(MediaError) {
        var opened: OpaquePointer?
        var status: Int32
        if let address {
            status = sd_bus_new(&opened)
            if status >= 0 { status = sd_bus_set_address(opened, address) }
            if status >= 0 { status = sd_bus_set_bus_client(opened, 1) }
            if status >= 0 { status = sd_bus_start(opened) }
        } else {
            status = sd_bus_open_user(&opened)
        }
        guard status >= 0, let opened else {
            sd_bus_unref(opened)
            throw PortalFailure.noBus(status: -status)
        }
        bus = opened
    }

    deinit {
        // A message that was not sent yet, such as the end of a session, may still go if the socket takes it at once.
        sd_bus_close(bus)
        sd_bus_unref(bus)
    }

    /// The descriptor to wait for, and the events of `poll`.
    var descriptor: (descriptor: Int32, events: Int16) {
        let events = sd_bus_get_events(bus)
        return (sd_bus_get_fd(bus), Int16(truncatingIfNeeded: max(events, 0)))
    }

    // MARK: - Receiving

    /// Handles what has arrived, without a wait.
    ///
    /// - Throws: `unavailable` if the connection has ended.
    func process() throws(MediaError) {
        if let failure { throw failure }
        while true {
            var message: OpaquePointer?
            let status = sd_bus_process(bus, &message)
            guard status >= 0 else {
                let error = PortalFailure.noBus(status: -status)
                failure = error
                throw error
            }
            if let message {
                accept(message)
                sd_bus_message_unref(message)
            }
            if status == 0 { return }
        }
    }

    private func accept(_ message: OpaquePointer) {
        func text(_ pointer: UnsafePointer<CChar>?) -> String { pointer.map { String(cString: $0) } ?? "" }
        if sd_bus_message_is_signal(message, nil, nil) > 0 {
            if signals.count == Self.mostSignals { signals.removeFirst() }
            signals.append(
                Message(
                    path: text(sd_bus_message_get_path(message)),
                    interface: text(sd_bus_message_get_interface(message)),
                    member: text(sd_bus_message_get_member(message)),
                    values: BusCoding.values(message)
                )
            )
            return
        }
        var cookie: UInt64 = 0
        guard sd_bus_message_get_reply_cookie(message, &cookie) >= 0 else { return }
        if let error = sd_bus_message_get_error(message), error.pointee.name != nil {
            replies[cookie] = .error(name: text(error.pointee.name), message: text(error.pointee.message))
        } else {
            replies[cookie] = .values(BusCoding.values(message))
        }
    }

    /// Takes the first signal that fits; others remain.
    func takeSignal(where fits: (Message) -> Bool) -> Message? {
        guard let index = signals.firstIndex(where: fits) else { return nil }
        return signals.remove(at: index)
    }

    /// Waits for a message.
    ///
    /// - Parameter end: The end of the wait on `CLOCK_MONOTONIC` in nanoseconds; `nil` for no limit.
    /// - Returns: Whether the end was not reached yet.
    /// - Throws: `unavailable` if the connection has ended; `cancelled` after the stop signal.
    func wait(_ stop: StopSignal, until end: Int64?) throws(MediaError) -> Bool {
        let rest = end.map { max($0 - MonotonicClock.now.value, 0) }
        try stop.wait(for: [descriptor], until: rest.map { Int32(clamping: ($0 + 999_999) / 1_000_000) })
        try process()
        return rest != 0
    }

    // MARK: - Calling

    /// Calls a method, and waits for the answer.
    ///
    /// - Parameter limit: The longest wait, in milliseconds.
    /// - Throws: `deadlineExceeded` without an answer; `unavailable` if the connection has ended; `cancelled` after the
    ///   stop signal; `inputOutput` if the call cannot be sent.
    func call(_ call: Call, limit: Int64, _ stop: StopSignal) throws(MediaError) -> Reply {
        let cookie = try send(call)
        let end = MonotonicClock.now.value + limit * 1_000_000
        while true {
            try process()
            if let reply = replies.removeValue(forKey: cookie) { return reply }
            guard try wait(stop, until: end) else { throw PortalFailure.silent(call.member) }
        }
    }

    /// Sends a call.
    ///
    /// - Returns: The number by which its reply is found.
    @discardableResult
    private func send(_ call: Call) throws(MediaError) -> UInt64 {
        var message: OpaquePointer?
        var cookie: UInt64 = 0
        var status = sd_bus_message_new_method_call(
            bus,
            &message,
            call.destination,
            call.path,
            call.interface,
            call.member
        )
        defer { sd_bus_message_unref(message) }
        if let message {
            for argument in call.arguments where status >= 0 { status = BusCoding.append(argument, to: message) }
            if status >= 0 { status = sd_bus_send(bus, message, &cookie) }
        }
        guard status >= 0 else {
            throw MediaError(
                .inputOutput,
                "a message to the desktop portal cannot be sent: \(PipeWireFailure.text(-status))",
                given: call.member,
                call: "sd_bus_send",
                status: Int(-status)
            )
        }
        return cookie
    }

    /// Subscribes to signals.
    ///
    /// - Parameter rule: A match rule of the D-Bus specification.
    func subscribe(_ rule: String, limit: Int64, _ stop: StopSignal) throws(MediaError) {
        let reply = try call(
            Call(
                destination: "org.freedesktop.DBus",
                path: "/org/freedesktop/DBus",
                interface: "org.freedesktop.DBus",
                member: "AddMatch",
                arguments: [.string(rule)]
            ),
            limit: limit,
            stop
        )
        if case .error(let name, let message) = reply { throw PortalFailure.refused("AddMatch", name, message) }
    }
}
