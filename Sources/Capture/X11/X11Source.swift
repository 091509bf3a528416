// SPDX-License-Identifier: GPL-2.0-or-later

internal import CXCB
internal import MediaTypes

/// Where the pictures come from at present.
struct X11Source {
    /// The root window or a pixmap.
    var drawable: UInt32
    /// The position of the pictures in the drawable.
    var position: X11Area
    /// The area of the pictures in the coordinates of the window that is watched.
    var area: X11Area
    /// The length of a row in bytes.
    var bytesPerRow: Int

    /// The rows of the pictures that an area of the window touches; `nil` if none.
    func rows(of drawn: X11Area) -> Range<Int>? {
        guard drawn.x < area.x + area.width, drawn.x + drawn.width > area.x else { return nil }
        let first = max(drawn.y - area.y, 0)
        let end = min(drawn.y + drawn.height - area.y, area.height)
        return first < end ? first..<end : nil
    }
}

extension X11Connection {
    /// Finds the window to watch for an area: the root window, or the one that was asked for.
    func window(for area: X11Screen.Request.Area) throws(MediaError) -> UInt32 {
        switch area {
        case .screen, .monitor, .region: return root
        case .window(let identifier): return identifier
        case .windowTitled(let title):
            let windows = try windows()
            let candidates = Self.windows(titled: title, among: windows)
            if candidates.count == 1 { return candidates[0].identifier }
            func list(_ windows: [X11Display.Window]) -> String {
                windows.map { "\"\($0.title)\" (0x\(String($0.identifier, radix: 16)))" }.joined(separator: ", ")
            }
            if candidates.isEmpty {
                throw MediaError(
                    .unavailable,
                    "no window has this title",
                    given: "\"\(title)\"",
                    allowed: windows.isEmpty ? "no window, as none has a title" : list(windows)
                )
            }
            throw MediaError(
                .invalidArgument,
                "several windows have this title",
                given: "\"\(title)\"",
                allowed: "the number of one: \(list(candidates))"
            )
        }
    }

    /// The windows with exactly a title; if there are none, those whose title contains it in any case.
    static func windows(titled title: String, among windows: [X11Display.Window]) -> [X11Display.Window] {
        let exact = windows.filter { $0.title == title }
        let part = title.lowercased()
        return exact.isEmpty ? windows.filter { $0.title.lowercased().contains(part) } : exact
    }

    /// Returns where the pictures of an area come from at present.
    ///
    /// - Parameter window: The window that is watched. If it is not the root window, the caller frees the pixmap.
    /// - Throws: `unavailable` for a monitor or a window that is not there, `invalidArgument` for a region outside the
    ///   screen, `unsupported` for pixels other than 32 bits of blue, green and red.
    func source(of area: X11Screen.Request.Area, watching window: UInt32) throws(MediaError) -> X11Source {
        if window != root { return try source(of: window) }
        let size = try geometry(root)
        let screen = X11Area(x: 0, y: 0, width: size.width, height: size.height)
        let visual = try visual(of: root) { X11Refusal.request("GetWindowAttributes", $0) }.visual
        let found = try part(area, of: screen)
        let bytesPerRow = try bytesPerRow(width: found.width, depth: size.depth, visual: visual)
        return X11Source(drawable: root, position: found, area: found, bytesPerRow: bytesPerRow)
    }

    private func part(_ area: X11Screen.Request.Area, of screen: X11Area) throws(MediaError) -> X11Area {
        switch area {
        case .monitor(let name): return try monitor(name, of: screen)
        case .region(let x, let y, let width, let height):
            // In this order, no sum overflows.
            guard (1...screen.width).contains(width), (1...screen.height).contains(height),
                (0...screen.width - width).contains(x), (0...screen.height - height).contains(y)
            else {
                throw MediaError(
                    .invalidArgument,
                    "the region does not lie in the screen",
                    given: "\(width)x\(height) at \(x),\(y)",
                    allowed: "within \(screen.width)x\(screen.height)"
                )
            }
            return X11Area(x: x, y: y, width: width, height: height)
        case .screen, .window, .windowTitled: return screen
        }
    }

    private func monitor(_ name: String, of screen: X11Area) throws(MediaError) -> X11Area {
        guard extensions.hasMonitors else {
            throw MediaError(
                .unsupported,
                "the display server does not name its monitors (RandR before 1.5)",
                given: name,
                allowed: "the whole screen, or a region"
            )
        }
        let monitors = try monitors()
        guard let monitor = monitors.first(where: { $0.name == name }) else {
            throw MediaError(
                .unavailable,
                "the display has no such monitor",
                given: name,
                allowed: monitors.map(\.name).joined(separator: ", ")
            )
        }
        let (left, top) = (max(monitor.x, 0), max(monitor.y, 0))
        let width = min(monitor.x + monitor.width, screen.width) - left
        let height = min(monitor.y + monitor.height, screen.height) - top
        guard width > 0, height > 0 else {
            throw MediaError(.unavailable, "the monitor shows no part of the screen", given: name)
        }
        return X11Area(x: left, y: top, width: width, height: height)
    }
}

// MARK: - Windows

extension X11Connection {
    /// Has the server keep the contents of a window in memory of its own, where nothing covers it.
    func redirect(_ window: UInt32) throws(MediaError) {
        guard extensions.hasComposite else {
            throw MediaError(
                .unsupported,
                "the display server cannot give the contents of one window: it lacks the extension Composite",
                allowed: "the whole screen, a monitor or a region"
            )
        }
        let update = UInt8(XCB_COMPOSITE_REDIRECT_AUTOMATIC.rawValue)
        let cookie = xcb_composite_redirect_window_checked(raw, window, update)
        guard let code = try perform(cookie.sequence)[0] else { return }
        throw Int32(code) == XCB_WINDOW
            ? Self.noWindow(window) : X11Refusal.request("CompositeRedirectWindow", code)
    }

    private func source(of window: UInt32) throws(MediaError) -> X11Source {
        let closed: (UInt8) -> MediaError = { _ in Self.noWindow(window) }
        let (visual, isVisible) = try visual(of: window, refusal: closed)
        let border = try geometry(window, refusal: closed).border
        guard isVisible else { throw Self.hidden(window) }
        let pixmap = xcb_generate_id(raw)
        let cookie = xcb_composite_name_window_pixmap_checked(raw, window, pixmap)
        if try perform(cookie.sequence)[0] != nil { throw Self.hidden(window) }
        do throws(MediaError) {
            let size = try geometry(pixmap)
            let (width, height) = (size.width - 2 * border, size.height - 2 * border)
            guard width > 0, height > 0 else { throw Self.hidden(window) }
            return X11Source(
                drawable: pixmap,
                position: X11Area(x: border, y: border, width: width, height: height),
                area: X11Area(x: 0, y: 0, width: width, height: height),
                bytesPerRow: try bytesPerRow(width: width, depth: size.depth, visual: visual)
            )
        } catch {
            xcb_free_pixmap(raw, pixmap)
            throw error
        }
    }

    private func visual(
        of window: UInt32,
        refusal: @escaping (UInt8) -> MediaError
    ) throws(MediaError) -> (visual: UInt32, isVisible: Bool) {
        let cookie = xcb_get_window_attributes(raw, window)
        return try ask(cookie.sequence, of: "GetWindowAttributes", refusal: refusal) {
            (reply: UnsafePointer<xcb_get_window_attributes_reply_t>) in
            (reply.pointee.visual, UInt32(reply.pointee.map_state) == XCB_MAP_STATE_VIEWABLE.rawValue)
        }
    }

    /// The error for a window that does not exist.
    static func noWindow(_ window: UInt32) -> MediaError {
        MediaError(
            .unavailable,
            "there is no such window, or it was closed",
            given: "0x\(String(window, radix: 16))"
        )
    }

    private static func hidden(_ window: UInt32) -> MediaError {
        MediaError(
            .unavailable,
            "the window is not shown: it is minimised, hidden or on another workspace",
            given: "0x\(String(window, radix: 16))"
        )
    }
}

// MARK: - Pixels

extension X11Connection {
    /// Returns the length of a row as the server writes it.
    func bytesPerRow(width: Int, depth: UInt8, visual: UInt32) throws(MediaError) -> Int {
        guard let setup = xcb_get_setup(raw) else { throw X11Refusal.gone(display) }
        let formats = UnsafeBufferPointer(
            start: xcb_setup_pixmap_formats(setup),
            count: Int(xcb_setup_pixmap_formats_length(setup))
        )
        let format = formats.first { $0.depth == depth }
        let bits = Int(format?.bits_per_pixel ?? 0)
        let isLittleEndian = UInt32(setup.pointee.image_byte_order) == XCB_IMAGE_ORDER_LSB_FIRST.rawValue
        let masks = masks(of: visual)
        guard let format, [24, 32].contains(depth), bits == 32, isLittleEndian, masks == [0xff0000, 0xff00, 0xff] else {
            let order = isLittleEndian ? "little" : "big"
            let colors = masks.map { "0x" + String($0, radix: 16) }.joined(separator: " ")
            throw MediaError(
                .unsupported,
                "the display has other pixels than those that can be captured and shown",
                given: "depth \(depth), \(bits) bits per pixel, \(order)-endian, red, green and blue \(colors)",
                allowed: "depth 24 or 32, 32 bits per pixel, little-endian, red, green and blue 0xff0000 0xff00 0xff"
            )
        }
        let unit = max(Int(format.scanline_pad), 8)
        return (width * bits + unit - 1) / unit * unit / 8
    }

    /// The bits of red, green and blue of a visual; empty if it is not known.
    private func masks(of visual: UInt32) -> [UInt32] {
        var screens = xcb_setup_roots_iterator(xcb_get_setup(raw))
        while screens.rem > 0 {
            var depths = xcb_screen_allowed_depths_iterator(screens.data)
            while depths.rem > 0 {
                let visuals = UnsafeBufferPointer(
                    start: xcb_depth_visuals(depths.data),
                    count: Int(xcb_depth_visuals_length(depths.data))
                )
                if let found = visuals.first(where: { $0.visual_id == visual }) {
                    return [found.red_mask, found.green_mask, found.blue_mask]
                }
                xcb_depth_next(&depths)
            }
            xcb_screen_next(&screens)
        }
        return []
    }
}
