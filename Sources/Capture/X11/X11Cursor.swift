// SPDX-License-Identifier: GPL-2.0-or-later

internal import CXCB
internal import Glibc
internal import MediaTypes

/// The shape of a cursor.
struct X11Cursor {
    /// The server's number of the shape.
    var serial: UInt32
    var width: Int
    var height: Int
    /// The column of the point that the cursor points with.
    var hotColumn: Int
    /// The row of the point that the cursor points with.
    var hotRow: Int
    /// The pixels, row by row: alpha, red, green and blue from the upper to the lower bits, multiplied by alpha.
    var pixels: [UInt32]

    /// The cursor at a place in a picture.
    struct Placement: Hashable {
        var serial: UInt32
        /// The area that the cursor covers in the picture; parts of it may lie outside.
        var area: X11Area

        /// The rows of a picture of this height that the cursor covers.
        func rows(of height: Int) -> Range<Int> {
            let first = min(max(area.y, 0), height)
            return first..<min(max(area.y + area.height, first), height)
        }
    }

    /// Places the cursor in a picture.
    ///
    /// - Parameters:
    ///   - x: The column of the picture that the cursor points at.
    ///   - y: The row that it points at.
    /// - Returns: `nil` if no part of the cursor lies in the picture.
    func placement(x: Int, y: Int, width pictureWidth: Int, height pictureHeight: Int) -> Placement? {
        let area = X11Area(x: x - hotColumn, y: y - hotRow, width: width, height: height)
        guard area.x < pictureWidth, area.y < pictureHeight, area.x + width > 0, area.y + height > 0 else { return nil }
        return Placement(serial: serial, area: area)
    }

    /// Draws the cursor into a picture with 4 bytes per pixel: blue, green, red, and one that stays.
    ///
    /// - Parameters:
    ///   - area: Where the cursor is in the picture, with the size of the cursor.
    ///   - base: The first pixel of the picture.
    ///   - source: The size of the picture.
    func draw(
        at area: X11Area,
        into base: UnsafeMutableRawPointer,
        _ source: X11Source
    ) {
        let columns = max(0, -area.x)..<max(0, -area.x, min(width, source.area.width - area.x))
        let rows = max(0, -area.y)..<max(0, -area.y, min(height, source.area.height - area.y))
        pixels.withUnsafeBufferPointer { pixels in
            guard pixels.count >= width * height else { return }
            for row in rows {
                let line = base + (area.y + row) * source.bytesPerRow
                for column in columns {
                    let target = line + (area.x + column) * 4
                    let under = UInt32(littleEndian: target.load(as: UInt32.self))
                    let over = Self.blend(pixels[row * width + column], over: under)
                    target.storeBytes(of: over.littleEndian, as: UInt32.self)
                }
            }
        }
    }

    /// Lays a pixel that is multiplied by its alpha over another one, whose upper bits stay.
    static func blend(_ pixel: UInt32, over under: UInt32) -> UInt32 {
        let through = 255 - pixel >> 24
        func component(_ shift: UInt32) -> UInt32 {
            let seen = ((under >> shift & 0xff) * through + 127) / 255
            return min((pixel >> shift & 0xff) + seen, 255) << shift
        }
        return under & 0xff00_0000 | component(16) | component(8) | component(0)
    }
}

extension X11Connection {
    /// Asks for the shape of the cursor; `nil` while the server shows none.
    func cursor() throws(MediaError) -> X11Cursor? {
        let cookie = xcb_xfixes_get_cursor_image(raw)
        try send()
        guard case .reply(let memory) = try answer(cookie.sequence) else { return nil }
        defer { free(memory) }
        let reply = UnsafePointer(memory.assumingMemoryBound(to: xcb_xfixes_get_cursor_image_reply_t.self))
        let pixels = UnsafeBufferPointer(
            start: xcb_xfixes_get_cursor_image_cursor_image(reply),
            count: Int(xcb_xfixes_get_cursor_image_cursor_image_length(reply))
        )
        return X11Cursor(
            serial: reply.pointee.cursor_serial,
            width: Int(reply.pointee.width),
            height: Int(reply.pointee.height),
            hotColumn: Int(reply.pointee.xhot),
            hotRow: Int(reply.pointee.yhot),
            pixels: Array(pixels)
        )
    }
}
