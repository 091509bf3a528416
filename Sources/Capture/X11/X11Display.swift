// SPDX-License-Identifier: GPL-2.0-or-later

internal import CXCB
internal import Glibc
public import MediaTypes

/// What can be captured of an X11 display.
public struct X11Display: Sendable, Hashable {
    /// A monitor.
    public struct Monitor: Sendable, Hashable {
        /// The RandR name, such as `DP-1`.
        public var name: String
        /// The position of the left column in the screen, in pixels.
        public var x: Int
        /// The position of the upper row in the screen, in pixels.
        public var y: Int
        /// The width in pixels.
        public var width: Int
        /// The height in pixels.
        public var height: Int
        /// Whether it is the user's main monitor.
        public var isPrimary: Bool

        /// Describes a monitor.
        public init(name: String, x: Int, y: Int, width: Int, height: Int, isPrimary: Bool = false) {
            (self.name, self.x, self.y, self.isPrimary) = (name, x, y, isPrimary)
            (self.width, self.height) = (width, height)
        }
    }

    /// A window of an application.
    public struct Window: Sendable, Hashable {
        /// The number of the window.
        public var identifier: UInt32
        /// The title; empty if it has none.
        public var title: String
        /// The width in pixels, without the frame of the window manager.
        public var width: Int
        /// The height in pixels, without the frame of the window manager.
        public var height: Int
        /// Whether it can be captured at present: it is neither minimised nor on another workspace.
        public var isVisible: Bool

        /// Describes a window.
        public init(identifier: UInt32, title: String, width: Int, height: Int, isVisible: Bool = true) {
            (self.identifier, self.title, self.isVisible) = (identifier, title, isVisible)
            (self.width, self.height) = (width, height)
        }
    }

    /// The name of the display.
    public var name: String
    /// The width of the screen in pixels.
    public var width: Int
    /// The height of the screen in pixels.
    public var height: Int
    /// The monitors, in the order of the server; none if it does not name them (RandR before 1.5).
    public var monitors: [Monitor]
    /// The windows: those that the window manager lists (`_NET_CLIENT_LIST`); without one, those with a title.
    public var windows: [Window]

    /// Describes a display.
    public init(name: String, width: Int, height: Int, monitors: [Monitor] = [], windows: [Window] = []) {
        (self.name, self.width, self.height) = (name, width, height)
        (self.monitors, self.windows) = (monitors, windows)
    }

    /// Asks a display server.
    ///
    /// - Parameters:
    ///   - display: The name of the display, as `DISPLAY` has it; `nil` for the display of `DISPLAY`.
    ///   - stop: Ends the wait for the server.
    /// - Throws: `unavailable` if there is no such server or it refuses this program, `invalidArgument` for a wrong
    ///   name, `cancelled` after the signal.
    public static func survey(_ display: String? = nil, stop: StopSignal) throws(MediaError) -> X11Display {
        let connection = try X11Connection.open(display, stop: stop)
        let size = try connection.geometry(connection.root)
        return X11Display(
            name: connection.display,
            width: size.width,
            height: size.height,
            monitors: connection.extensions.hasMonitors ? try connection.monitors() : [],
            windows: try connection.windows()
        )
    }
}

// MARK: - Questions to the server

/// The size of a window or pixmap.
struct X11Geometry {
    var width: Int
    var height: Int
    var border: Int
    var depth: UInt8
}

extension X11Connection {
    /// Asks for the size of a window or pixmap.
    func geometry(_ drawable: UInt32, refusal: ((UInt8) -> MediaError)? = nil) throws(MediaError) -> X11Geometry {
        let cookie = xcb_get_geometry(raw, drawable)
        return try ask(cookie.sequence, of: "GetGeometry", refusal: refusal) {
            (reply: UnsafePointer<xcb_get_geometry_reply_t>) in
            X11Geometry(
                width: Int(reply.pointee.width),
                height: Int(reply.pointee.height),
                border: Int(reply.pointee.border_width),
                depth: reply.pointee.depth
            )
        }
    }

    /// Asks for the monitors.
    func monitors() throws(MediaError) -> [X11Display.Monitor] {
        let cookie = xcb_randr_get_monitors(raw, root, 1)
        let found = try ask(cookie.sequence, of: "RRGetMonitors") {
            (reply: UnsafePointer<xcb_randr_get_monitors_reply_t>) in
            var all: [xcb_randr_monitor_info_t] = []
            var iterator = xcb_randr_get_monitors_monitors_iterator(reply)
            while iterator.rem > 0 {
                all.append(iterator.data.pointee)
                xcb_randr_monitor_info_next(&iterator)
            }
            return all
        }
        var monitors: [X11Display.Monitor] = []
        for monitor in found {
            monitors.append(
                X11Display.Monitor(
                    name: try atomName(monitor.name),
                    x: Int(monitor.x),
                    y: Int(monitor.y),
                    width: Int(monitor.width),
                    height: Int(monitor.height),
                    isPrimary: monitor.primary != 0
                )
            )
        }
        return monitors
    }

    private func atomName(_ atom: UInt32) throws(MediaError) -> String {
        let cookie = xcb_get_atom_name(raw, atom)
        return try ask(cookie.sequence, of: "GetAtomName") { (reply: UnsafePointer<xcb_get_atom_name_reply_t>) in
            let name = UnsafeRawBufferPointer(
                start: xcb_get_atom_name_name(reply),
                count: Int(xcb_get_atom_name_name_length(reply))
            )
            return String(decoding: name, as: UTF8.self)
        }
    }

    /// Asks for the windows of applications.
    func windows() throws(MediaError) -> [X11Display.Window] {
        let titles = (try atom("_NET_WM_NAME"), try atom("WM_NAME"))
        let list = try property(try atom("_NET_CLIENT_LIST"), of: root)
        let clients = list.withUnsafeBytes { Array($0.bindMemory(to: UInt32.self)) }
        var windows: [X11Display.Window] = []
        for identifier in clients.isEmpty ? try children(of: root) : clients {
            // A window may be closed meanwhile.
            guard let isVisible = try? isVisible(identifier), let size = try? geometry(identifier) else { continue }
            var title = String(decoding: try property(titles.0, of: identifier), as: UTF8.self)
            if title.isEmpty {
                let latin1 = try property(titles.1, of: identifier)
                title = String(String.UnicodeScalarView(latin1.map(Unicode.Scalar.init)))
            }
            guard !clients.isEmpty || !title.isEmpty else { continue }
            windows.append(
                X11Display.Window(
                    identifier: identifier,
                    title: title,
                    width: size.width,
                    height: size.height,
                    isVisible: isVisible
                )
            )
        }
        return windows
    }

    private func isVisible(_ window: UInt32) throws(MediaError) -> Bool {
        let cookie = xcb_get_window_attributes(raw, window)
        return try ask(cookie.sequence, of: "GetWindowAttributes") {
            (reply: UnsafePointer<xcb_get_window_attributes_reply_t>) in
            Int32(reply.pointee.map_state) == Int32(XCB_MAP_STATE_VIEWABLE.rawValue)
        }
    }

    private func children(of window: UInt32) throws(MediaError) -> [UInt32] {
        let cookie = xcb_query_tree(raw, window)
        return try ask(cookie.sequence, of: "QueryTree") { (reply: UnsafePointer<xcb_query_tree_reply_t>) in
            let children = UnsafeBufferPointer(
                start: xcb_query_tree_children(reply),
                count: Int(xcb_query_tree_children_length(reply))
            )
            return Array(children)
        }
    }

    func atom(_ name: String) throws(MediaError) -> UInt32 {
        let cookie = xcb_intern_atom(raw, 0, UInt16(clamping: name.utf8.count), name)
        return try ask(cookie.sequence, of: "InternAtom") { (reply: UnsafePointer<xcb_intern_atom_reply_t>) in
            reply.pointee.atom
        }
    }

    /// Returns the bytes of a property; none if the window does not have it, or does not exist any more.
    private func property(_ atom: UInt32, of window: UInt32) throws(MediaError) -> [UInt8] {
        let longest: UInt32 = 16384
        let cookie = xcb_get_property(raw, 0, window, atom, UInt32(XCB_ATOM_ANY.rawValue), 0, longest)
        try send()
        guard case .reply(let memory) = try answer(cookie.sequence) else { return [] }
        defer { free(memory) }
        let reply = UnsafePointer(memory.assumingMemoryBound(to: xcb_get_property_reply_t.self))
        let bytes = UnsafeRawBufferPointer(
            start: xcb_get_property_value(reply),
            count: Int(xcb_get_property_value_length(reply))
        )
        return Array(bytes)
    }
}
