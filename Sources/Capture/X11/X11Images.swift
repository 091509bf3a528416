// SPDX-License-Identifier: GPL-2.0-or-later

internal import CXCB
internal import Glibc
internal import MediaTypes

extension X11Connection {
    /// Has the server tell what happens to a window.
    ///
    /// - Returns: The number of its `DAMAGE`, `nil` if the server lacks the extension.
    func watch(_ window: UInt32, withCursor: Bool) throws(MediaError) -> UInt32? {
        if window != root { try redirect(window) }
        var events = XCB_EVENT_MASK_STRUCTURE_NOTIFY.rawValue
        let select = xcb_change_window_attributes_checked(raw, window, XCB_CW_EVENT_MASK.rawValue, &events)
        if extensions.monitorEvent >= 0 {
            let changes =
                XCB_RANDR_NOTIFY_MASK_SCREEN_CHANGE.rawValue | XCB_RANDR_NOTIFY_MASK_CRTC_CHANGE.rawValue
                | XCB_RANDR_NOTIFY_MASK_OUTPUT_CHANGE.rawValue
            xcb_randr_select_input(raw, root, UInt16(changes))
        }
        if withCursor {
            xcb_xfixes_select_cursor_input(raw, root, XCB_XFIXES_CURSOR_NOTIFY_MASK_DISPLAY_CURSOR.rawValue)
        }
        if try perform(select.sequence)[0] != nil { throw Self.noWindow(window) }
        guard extensions.hasDamage else { return nil }
        let damage = xcb_generate_id(raw)
        let level = UInt8(XCB_DAMAGE_REPORT_LEVEL_BOUNDING_BOX.rawValue)
        let create = xcb_damage_create_checked(raw, damage, window, level)
        if let code = try perform(create.sequence)[0] { throw X11Refusal.request("DamageCreate", code) }
        return damage
    }
}

extension X11Source {
    /// Asks for rows of a picture, in the memory of a segment or in the reply.
    func request(_ rows: Range<Int>, into segment: UInt32?, _ connection: X11Connection) -> UInt32 {
        let (x, y) = (Int16(clamping: position.x), Int16(clamping: position.y + rows.lowerBound))
        let (width, height) = (UInt16(clamping: position.width), UInt16(clamping: rows.count))
        let format = UInt8(XCB_IMAGE_FORMAT_Z_PIXMAP.rawValue)
        guard let segment else {
            return xcb_get_image(connection.raw, format, drawable, x, y, width, height, .max).sequence
        }
        let offset = UInt32(clamping: rows.lowerBound * bytesPerRow)
        return xcb_shm_get_image(connection.raw, drawable, x, y, width, height, .max, format, segment, offset).sequence
    }

    /// Waits for rows.
    ///
    /// - Returns: The code of the error with which the server refuses them.
    func receive(
        _ sequence: UInt32,
        _ rows: Range<Int>,
        _ segment: (identifier: UInt32?, base: UnsafeMutableRawPointer),
        _ connection: X11Connection
    ) throws(MediaError) -> UInt8? {
        let memory: UnsafeMutableRawPointer
        switch try connection.answer(sequence) {
        case .refused(let code): return code
        case .reply(let reply): memory = reply
        }
        defer { free(memory) }
        let byteCount = rows.count * bytesPerRow
        let given: Int
        if segment.identifier == nil {
            let reply = UnsafePointer(memory.assumingMemoryBound(to: xcb_get_image_reply_t.self))
            given = Int(xcb_get_image_data_length(reply))
            if given == byteCount, let data = xcb_get_image_data(reply) {
                (segment.base + rows.lowerBound * bytesPerRow).copyMemory(from: data, byteCount: byteCount)
            }
        } else {
            given = Int(memory.assumingMemoryBound(to: xcb_shm_get_image_reply_t.self).pointee.size)
        }
        guard given == byteCount else {
            throw MediaError(
                .inputOutput,
                "the display server has copied another number of bytes than the size of the picture",
                given: "\(given) bytes",
                allowed: "\(byteCount)",
                call: segment.identifier == nil ? "GetImage" : "ShmGetImage"
            )
        }
        return nil
    }
}
