// SPDX-License-Identifier: GPL-2.0-or-later

internal import CXCB
internal import Glibc
internal import MediaTypes

/// What the display server has told since the last look.
enum X11Event {
    /// The box around everything that was drawn in a window since the last `DamageSubtract`.
    case damage(X11Area)
    /// The cursor has another shape.
    case cursor
    /// A window was moved, resized, shown or hidden.
    case structure(window: UInt32)
    /// A window does not exist any more.
    case destroyed(window: UInt32)
    /// Monitors have changed.
    case monitors
}

/// An area of a window in pixels.
struct X11Area: Hashable {
    var x: Int
    var y: Int
    var width: Int
    var height: Int
}

/// A connection to a display server, for one thread. No wait outlasts the stop signal, except that of `xcb_connect`.
final class X11Connection {
    /// What the server says of a request.
    enum Answer {
        /// The reply, which the receiver frees.
        case reply(UnsafeMutableRawPointer)
        /// The code of its error.
        case refused(UInt8)
    }

    /// The `xcb_connection_t`.
    let raw: OpaquePointer
    /// The name of the display.
    let display: String
    /// The root window.
    let root: UInt32
    /// Whether the server can receive descriptors.
    let isLocal: Bool
    private(set) var extensions = X11Extensions()
    private let stop: StopSignal
    private let descriptor: Int32

    /// - Parameter display: As `DISPLAY`; `nil` for that.
    static func open(_ display: String?, stop: StopSignal) throws(MediaError) -> X11Connection {
        let name = try X11Refusal.displayName(display)
        var number: Int32 = 0
        let raw = quietly { xcb_connect(name, &number) }
        guard let raw else { throw MediaError(.outOfMemory, "no memory for a connection", call: "xcb_connect") }
        let status = xcb_connection_has_error(raw)
        guard status == 0, let root = root(raw, number) else {
            xcb_disconnect(raw)
            throw X11Refusal.connecting(name, status: status)
        }
        let connection = X11Connection(raw, display: name, root: root, stop: stop)
        connection.extensions = try X11Extensions(connection)
        return connection
    }

    private init(_ raw: OpaquePointer, display: String, root: UInt32, stop: StopSignal) {
        (self.raw, self.display, self.root, self.stop) = (raw, display, root, stop)
        descriptor = xcb_get_file_descriptor(raw)
        isLocal = xcb_shim_is_local(descriptor) != 0
    }

    deinit { xcb_disconnect(raw) }

    private static func root(_ raw: OpaquePointer, _ number: Int32) -> UInt32? {
        var screens = xcb_setup_roots_iterator(xcb_get_setup(raw))
        for _ in 0..<max(number, 0) where screens.rem > 0 { xcb_screen_next(&screens) }
        return screens.rem > 0 ? screens.data.pointee.root : nil
    }

    /// Runs calls that write to the server. A server that has ended causes an error and no `SIGPIPE`.
    private static func quietly(_ body: () -> OpaquePointer?) -> OpaquePointer? {
        let hasBlocked = xcb_shim_block_pipe_signal()
        let connection = body()
        let hasFailed = connection.map { xcb_connection_has_error($0) != 0 } ?? false
        if hasBlocked != 0 { xcb_shim_unblock_pipe_signal(hasFailed ? 1 : 0) }
        return connection
    }
}

// MARK: - Requests and their answers

extension X11Connection {
    /// Sends all requests that were made.
    func send() throws(MediaError) {
        _ = Self.quietly {
            xcb_flush(raw)
            return raw
        }
        try check()
    }

    /// Waits for the answer to a request that was sent and has a reply.
    func answer(_ sequence: UInt32) throws(MediaError) -> Answer {
        while true {
            var reply: UnsafeMutableRawPointer?
            var error: UnsafeMutablePointer<xcb_generic_error_t>?
            if xcb_poll_for_reply(raw, sequence, &reply, &error) != 0 {
                if let reply { return .reply(reply) }
                if let error {
                    defer { free(error) }
                    return .refused(error.pointee.error_code)
                }
                throw X11Refusal.gone(display)
            }
            try check()
            try stop.wait(for: [(descriptor, Int16(POLLIN))], until: nil)
        }
    }

    /// Waits for the reply to a request that was sent.
    ///
    /// - Throws: `inputOutput` if the server refuses the request, or what `refusal` makes of the error's code.
    func reply<Reply, Result>(
        _ sequence: UInt32,
        of call: String,
        refusal: ((UInt8) -> MediaError)? = nil,
        _ use: (UnsafePointer<Reply>) throws(MediaError) -> Result
    ) throws(MediaError) -> Result {
        switch try answer(sequence) {
        case .refused(let code): throw refusal?(code) ?? X11Refusal.request(call, code)
        case .reply(let reply):
            defer { free(reply) }
            return try use(UnsafePointer(reply.assumingMemoryBound(to: Reply.self)))
        }
    }

    /// Sends a request and waits for its reply.
    func ask<Reply, Result>(
        _ sequence: UInt32,
        of call: String,
        refusal: ((UInt8) -> MediaError)? = nil,
        _ use: (UnsafePointer<Reply>) throws(MediaError) -> Result
    ) throws(MediaError) -> Result {
        try send()
        return try reply(sequence, of: call, refusal: refusal, use)
    }

    /// Sends checked requests that have no reply, and waits until the server has done them.
    ///
    /// - Returns: The code of the error of each; `nil` for none.
    func perform(_ sequences: UInt32...) throws(MediaError) -> [UInt8?] {
        try wait()
        return sequences.map { sequence in
            var error: UnsafeMutablePointer<xcb_generic_error_t>?
            var reply: UnsafeMutableRawPointer?
            _ = xcb_poll_for_reply(raw, sequence, &reply, &error)
            defer {
                free(reply)
                free(error)
            }
            return error?.pointee.error_code
        }
    }

    /// Waits until the server has done all requests.
    func wait() throws(MediaError) {
        let cookie = xcb_get_input_focus(raw)
        try ask(cookie.sequence, of: "GetInputFocus") { (_: UnsafePointer<xcb_get_input_focus_reply_t>) in }
    }

    /// Throws if the connection has ended.
    func check() throws(MediaError) {
        if xcb_connection_has_error(raw) != 0 { throw X11Refusal.gone(display) }
    }
}

// MARK: - Events

extension X11Connection {
    /// Returns what has happened; does not wait.
    ///
    /// - Parameter isReplied: Whether a reply has just arrived, before which the server tells everything.
    func events(isReplied: Bool) throws(MediaError) -> [X11Event] {
        var events: [X11Event] = []
        while let event = isReplied ? xcb_poll_for_queued_event(raw) : xcb_poll_for_event(raw) {
            defer { free(event) }
            if let known = decode(event) { events.append(known) }
        }
        try check()
        return events
    }

    private func decode(_ event: UnsafeMutablePointer<xcb_generic_event_t>) -> X11Event? {
        func body<Body>(_ type: Body.Type) -> Body { UnsafeRawPointer(event).loadUnaligned(as: type) }
        let code = Int32(event.pointee.response_type & 0x7f)
        switch code {
        case 0: return nil
        case XCB_CONFIGURE_NOTIFY: return .structure(window: body(xcb_configure_notify_event_t.self).window)
        case XCB_MAP_NOTIFY: return .structure(window: body(xcb_map_notify_event_t.self).window)
        case XCB_UNMAP_NOTIFY: return .structure(window: body(xcb_unmap_notify_event_t.self).window)
        case XCB_DESTROY_NOTIFY: return .destroyed(window: body(xcb_destroy_notify_event_t.self).window)
        case extensions.damageEvent:
            let area = body(xcb_damage_notify_event_t.self).area
            return .damage(
                X11Area(x: Int(area.x), y: Int(area.y), width: Int(area.width), height: Int(area.height))
            )
        case extensions.cursorEvent: return .cursor
        case extensions.screenEvent, extensions.monitorEvent: return .monitors
        default: return nil
        }
    }
}
