// SPDX-License-Identifier: GPL-2.0-or-later

internal import CXCB
internal import Glibc
internal import MediaTypes
internal import PixelConversion

/// The window of a preview, and what draws in it. For one thread.
final class PreviewCanvas {
    private let connection: X11Connection
    private let window: UInt32
    private let context: UInt32
    private let depth: UInt8
    /// The atom with which a window manager asks for the end of a window.
    private let deletion: UInt32
    private var converter: ScreenConverter
    /// What the window shows, to draw it again.
    private var pixels: [UInt8] = []

    /// The largest size with which the window opens.
    private static let largest = (width: 960, height: 540)
    private static let smallest = 16

    /// Opens a window with the shape of a picture.
    ///
    /// - Throws: `unsupported` if the screen has other pixels than those of 24 bits; `inputOutput` if the server refuses
    ///   the window.
    init(_ connection: X11Connection, title: String, like picture: PixelBuffer) throws(MediaError) {
        let screen = try connection.screen()
        // Throws if they are others.
        _ = try connection.bytesPerRow(width: 4, depth: screen.depth, visual: screen.visual)
        let size = Self.size(for: picture)
        (self.connection, depth) = (connection, screen.depth)
        converter = try ScreenConverter(width: size.width, height: size.height)
        (window, context) = (xcb_generate_id(connection.raw), xcb_generate_id(connection.raw))
        deletion = try connection.atom("WM_DELETE_WINDOW")
        let raw = connection.raw
        var values = [
            screen.black, XCB_EVENT_MASK_EXPOSURE.rawValue | XCB_EVENT_MASK_STRUCTURE_NOTIFY.rawValue,
        ]
        let creation = xcb_create_window_checked(
            raw,
            depth,
            window,
            connection.root,
            0,
            0,
            UInt16(clamping: size.width),
            UInt16(clamping: size.height),
            0,
            UInt16(XCB_WINDOW_CLASS_INPUT_OUTPUT.rawValue),
            screen.visual,
            XCB_CW_BACK_PIXEL.rawValue | XCB_CW_EVENT_MASK.rawValue,
            &values
        )
        xcb_create_gc(raw, context, window, 0, nil)
        let (text, utf8) = (UInt32(XCB_ATOM_STRING.rawValue), try connection.atom("UTF8_STRING"))
        set(UInt32(XCB_ATOM_WM_NAME.rawValue), text, Array(title.utf8))
        set(try connection.atom("_NET_WM_NAME"), utf8, Array(title.utf8))
        set(UInt32(XCB_ATOM_WM_CLASS.rawValue), text, Array("vatoolbox\0vatoolbox\0".utf8))
        let replace = UInt8(XCB_PROP_MODE_REPLACE.rawValue)
        var protocols = deletion
        let list = try connection.atom("WM_PROTOCOLS")
        xcb_change_property(raw, replace, window, list, UInt32(XCB_ATOM_ATOM.rawValue), 32, 1, &protocols)
        xcb_map_window(raw, window)
        if let code = try connection.perform(creation.sequence)[0] { throw X11Refusal.request("CreateWindow", code) }
    }

    private func set(_ name: UInt32, _ type: UInt32, _ bytes: [UInt8]) {
        let (replace, count) = (UInt8(XCB_PROP_MODE_REPLACE.rawValue), UInt32(bytes.count))
        xcb_change_property(connection.raw, replace, window, name, type, 8, count, bytes)
    }

    /// The size of the window for a picture: its shape, not enlarged.
    static func size(for picture: PixelBuffer) -> (width: Int, height: Int) {
        let ratio = picture.pixelAspectRatio
        let shape = ratio.isPositive ? Double(ratio.numerator) / Double(ratio.denominator) : 1
        let (width, height) = (Double(picture.width) * max(shape, 1), Double(picture.height) / min(shape, 1))
        let scale = min(Double(largest.width) / width, Double(largest.height) / height, 1)
        func even(_ length: Double) -> Int { max(Int(length * scale) & ~1, smallest) }
        return (even(width), even(height))
    }

    /// Does what the server has told until then.
    ///
    /// - Returns: Whether the window was closed.
    func isClosed() throws(MediaError) -> Bool {
        while let event = xcb_poll_for_event(connection.raw) {
            defer { free(event) }
            func body<Body>(_ type: Body.Type) -> Body { UnsafeRawPointer(event).loadUnaligned(as: type) }
            switch Int32(event.pointee.response_type & 0x7f) {
            case XCB_EXPOSE:
                // Of several areas, the last one.
                if body(xcb_expose_event_t.self).count == 0, !pixels.isEmpty { try put() }
            case XCB_DESTROY_NOTIFY: return true
            case XCB_CLIENT_MESSAGE:
                if body(xcb_client_message_event_t.self).data.data32.0 == deletion { return true }
            case XCB_CONFIGURE_NOTIFY:
                let size = body(xcb_configure_notify_event_t.self)
                try resize(width: Int(size.width), height: Int(size.height))
            default: break
            }
        }
        try connection.check()
        return false
    }

    private func resize(width: Int, height: Int) throws(MediaError) {
        let (width, height) = (max(width & ~1, Self.smallest), max(height & ~1, Self.smallest))
        guard (width, height) != (converter.width, converter.height) else { return }
        converter = try ScreenConverter(width: width, height: height)
        pixels = []
    }

    /// Draws a picture, and waits until the server has it.
    func draw(_ picture: PixelBuffer) throws(MediaError) {
        pixels = try converter.pixels(of: picture)
        try put()
    }

    private func put() throws(MediaError) {
        let row = converter.bytesPerRow
        // The size of a request is limited, in words of four bytes.
        let limit = Int(xcb_get_maximum_request_length(connection.raw)) * 4 - MemoryLayout<xcb_put_image_request_t>.size
        let rows = max(limit / row, 1)
        for first in stride(from: 0, to: converter.height, by: rows) {
            let count = min(rows, converter.height - first)
            pixels.withUnsafeBufferPointer { pixels in
                _ = xcb_put_image(
                    connection.raw,
                    UInt8(XCB_IMAGE_FORMAT_Z_PIXMAP.rawValue),
                    window,
                    context,
                    UInt16(clamping: converter.width),
                    UInt16(clamping: count),
                    0,
                    Int16(clamping: first),
                    0,
                    depth,
                    UInt32(clamping: count * row),
                    pixels.baseAddress.map { $0 + first * row }
                )
            }
        }
        try connection.wait()
    }
}

extension X11Connection {
    /// The screen of the root window.
    func screen() throws(MediaError) -> (depth: UInt8, visual: UInt32, black: UInt32) {
        var screens = xcb_setup_roots_iterator(xcb_get_setup(raw))
        while screens.rem > 0, screens.data.pointee.root != root { xcb_screen_next(&screens) }
        guard screens.rem > 0 else { throw X11Refusal.gone(display) }
        let screen = screens.data.pointee
        return (screen.root_depth, screen.root_visual, screen.black_pixel)
    }
}
