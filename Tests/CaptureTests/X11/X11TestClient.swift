// SPDX-License-Identifier: GPL-2.0-or-later

import CXCB
import Glibc
import MediaTypes
import Testing

/// A program that draws on a display.
final class X11TestClient {
    let raw: OpaquePointer
    let root: UInt32
    private let visual: UInt32
    private let context: UInt32

    init(_ server: X11TestServer) throws {
        raw = try #require(xcb_connect(server.display, nil))
        try #require(xcb_connection_has_error(raw) == 0)
        let screen = xcb_setup_roots_iterator(xcb_get_setup(raw)).data.pointee
        (root, visual) = (screen.root, screen.root_visual)
        context = xcb_generate_id(raw)
        xcb_create_gc(raw, context, root, 0, nil)
    }

    deinit { xcb_disconnect(raw) }

    /// Waits until the server has done everything.
    func finish() { free(xcb_get_input_focus_reply(raw, xcb_get_input_focus(raw), nil)) }

    func fill(_ area: (x: Int, y: Int, width: Int, height: Int), _ color: UInt32, in window: UInt32? = nil) {
        var color = color
        xcb_change_gc(raw, context, XCB_GC_FOREGROUND.rawValue, &color)
        var rectangle = xcb_rectangle_t(
            x: Int16(area.x),
            y: Int16(area.y),
            width: UInt16(area.width),
            height: UInt16(area.height)
        )
        xcb_poly_fill_rectangle(raw, window ?? root, context, 1, &rectangle)
        finish()
    }

    /// Shows a window of one colour.
    func window(
        _ area: (x: Int, y: Int, width: Int, height: Int),
        _ color: UInt32,
        title: String = "",
        border: Int = 0
    ) -> UInt32 {
        let window = xcb_generate_id(raw)
        var values = [color, 0xabcdef, 1]
        xcb_create_window(
            raw,
            24,
            window,
            root,
            Int16(area.x),
            Int16(area.y),
            UInt16(area.width),
            UInt16(area.height),
            UInt16(border),
            UInt16(XCB_WINDOW_CLASS_INPUT_OUTPUT.rawValue),
            visual,
            XCB_CW_BACK_PIXEL.rawValue | XCB_CW_BORDER_PIXEL.rawValue | XCB_CW_OVERRIDE_REDIRECT.rawValue,
            &values
        )
        if !title.isEmpty { setText(atom("_NET_WM_NAME"), title, of: window) }
        xcb_map_window(raw, window)
        finish()
        return window
    }

    func setText(_ property: UInt32, _ text: String, of window: UInt32) {
        let count = UInt32(text.utf8.count)
        xcb_change_property(
            raw,
            UInt8(XCB_PROP_MODE_REPLACE.rawValue),
            window,
            property,
            atom("UTF8_STRING"),
            8,
            count,
            text
        )
        finish()
    }

    /// Sets what a window manager sets.
    func setClients(_ windows: [UInt32]) {
        let type = UInt32(XCB_ATOM_WINDOW.rawValue)
        let mode = UInt8(XCB_PROP_MODE_REPLACE.rawValue)
        xcb_change_property(raw, mode, root, atom("_NET_CLIENT_LIST"), type, 32, UInt32(windows.count), windows)
        finish()
    }

    func atom(_ name: String) -> UInt32 {
        let reply = xcb_intern_atom_reply(raw, xcb_intern_atom(raw, 0, UInt16(name.utf8.count), name), nil)
        defer { free(reply) }
        return reply?.pointee.atom ?? 0
    }

    func configure(_ window: UInt32, x: Int, y: Int, width: Int, height: Int) {
        var values = [UInt32(bitPattern: Int32(x)), UInt32(bitPattern: Int32(y)), UInt32(width), UInt32(height)]
        let mask =
            XCB_CONFIG_WINDOW_X.rawValue | XCB_CONFIG_WINDOW_Y.rawValue | XCB_CONFIG_WINDOW_WIDTH.rawValue
            | XCB_CONFIG_WINDOW_HEIGHT.rawValue
        xcb_configure_window(raw, window, UInt16(mask), &values)
        finish()
    }

    func hide(_ window: UInt32) {
        xcb_unmap_window(raw, window)
        finish()
    }

    func close(_ window: UInt32) {
        xcb_destroy_window(raw, window)
        finish()
    }

    func point(x: Int, y: Int) {
        xcb_warp_pointer(raw, 0, root, 0, 0, 0, 0, Int16(x), Int16(y))
        finish()
    }

    /// Gives the display a cursor of 16x16 pixels of one colour that points with the pixel at 5,3.
    func setCursor(red: UInt16, green: UInt16, blue: UInt16) {
        let (shape, full, cursor) = (xcb_generate_id(raw), xcb_generate_id(raw), xcb_generate_id(raw))
        xcb_create_pixmap(raw, 1, shape, root, 16, 16)
        var one: UInt32 = 1
        xcb_create_gc(raw, full, shape, XCB_GC_FOREGROUND.rawValue, &one)
        var rectangle = xcb_rectangle_t(x: 0, y: 0, width: 16, height: 16)
        xcb_poly_fill_rectangle(raw, shape, full, 1, &rectangle)
        xcb_create_cursor(raw, cursor, shape, shape, red, green, blue, red, green, blue, 5, 3)
        var value = cursor
        xcb_change_window_attributes(raw, root, XCB_CW_CURSOR.rawValue, &value)
        finish()
    }

    /// Changes the size of the screen, which must not grow.
    func setScreen(width: Int, height: Int) throws {
        let resources = try #require(
            xcb_randr_get_screen_resources_reply(raw, xcb_randr_get_screen_resources(raw, root), nil)
        )
        defer { free(resources) }
        let outputs = try #require(xcb_randr_get_screen_resources_crtcs(resources))
        let time = resources.pointee.config_timestamp
        let off = xcb_randr_set_crtc_config(raw, outputs.pointee, 0, time, 0, 0, 0, 1, 0, nil)
        free(xcb_randr_set_crtc_config_reply(raw, off, nil))
        let size = xcb_randr_set_screen_size_checked(raw, root, UInt16(width), UInt16(height), 100, 100)
        let error = xcb_request_check(raw, size)
        defer { free(error) }
        try #require(error == nil, "error \(error?.pointee.error_code ?? 0)")
    }
}

/// What a picture should show: red, green and blue in the lower bits.
struct X11Canvas: Equatable {
    let width: Int
    let height: Int
    var pixels: [UInt32]

    init(width: Int, height: Int, _ color: UInt32 = 0) {
        (self.width, self.height) = (width, height)
        pixels = [UInt32](repeating: color, count: width * height)
    }

    init(_ buffer: PixelBuffer) throws {
        self.init(width: buffer.width, height: buffer.height)
        let (width, height) = (width, height)
        pixels = try buffer.withPlanes { planes in
            (0..<height).flatMap { row in
                let line = planes[0].baseAddress + row * planes[0].bytesPerRow
                return (0..<width).map { line.load(fromByteOffset: $0 * 4, as: UInt32.self) & 0xff_ffff }
            }
        }
    }

    mutating func fill(_ area: (x: Int, y: Int, width: Int, height: Int), _ color: UInt32) {
        for row in max(area.y, 0)..<max(0, area.y, min(area.y + area.height, height)) {
            for column in max(area.x, 0)..<max(0, area.x, min(area.x + area.width, width)) {
                pixels[row * width + column] = color
            }
        }
    }

    func part(_ area: (x: Int, y: Int, width: Int, height: Int)) -> X11Canvas {
        var part = X11Canvas(width: area.width, height: area.height)
        for row in 0..<area.height {
            let start = (area.y + row) * width + area.x
            let line = row * area.width..<(row + 1) * area.width
            part.pixels.replaceSubrange(line, with: pixels[start..<start + area.width])
        }
        return part
    }

    /// The first pixels that differ, for messages.
    func difference(_ other: X11Canvas) -> String {
        guard (width, height) == (other.width, other.height) else {
            return "\(width)x\(height) instead of \(other.width)x\(other.height)"
        }
        let indices = pixels.indices.filter { pixels[$0] != other.pixels[$0] }
        guard let first = indices.first else { return "none" }
        let values = [pixels[first], other.pixels[first]].map { String($0, radix: 16) }
        return "\(indices.count) pixels, the first at \(first % width),\(first / width): \(values[0]) not \(values[1])"
    }
}
