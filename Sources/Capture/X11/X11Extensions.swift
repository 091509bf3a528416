// SPDX-License-Identifier: GPL-2.0-or-later

internal import CXCB
internal import MediaTypes

/// The extensions of a display server that capture uses.
struct X11Extensions {
    /// Whether the server attaches memory by its descriptor: MIT-SHM 1.2.
    private(set) var attachesDescriptors = false
    /// Whether the server tells what was drawn.
    private(set) var hasDamage = false
    /// Whether the server tells the shape of the cursor.
    private(set) var hasFixes = false
    /// Whether the server names monitors: RandR 1.5.
    private(set) var hasMonitors = false
    /// Whether the server keeps the contents of a window that others cover: Composite 0.2.
    private(set) var hasComposite = false
    /// The number of `DamageNotify`.
    private(set) var damageEvent: Int32 = -1
    /// The number of `CursorNotify`.
    private(set) var cursorEvent: Int32 = -1
    /// The number of `RRScreenChangeNotify`.
    private(set) var screenEvent: Int32 = -1
    /// The number of `RRNotify`.
    private(set) var monitorEvent: Int32 = -1

    /// No extensions.
    init() {}

    /// Asks for all of them, and tells the server the versions that are used, which it wants to know first.
    init(_ connection: X11Connection) throws(MediaError) {
        let raw = connection.raw
        let all = [
            XCB_SHIM_SHARED_MEMORY, XCB_SHIM_DAMAGE, XCB_SHIM_FIXES, XCB_SHIM_RANDR, XCB_SHIM_COMPOSITE,
        ]
        all.forEach { xcb_shim_ask(raw, $0) }
        try connection.wait()
        if xcb_shim_first_event(raw, XCB_SHIM_SHARED_MEMORY) >= 0 {
            let cookie = xcb_shm_query_version(raw)
            attachesDescriptors = try connection.ask(cookie.sequence, of: "ShmQueryVersion") {
                (reply: UnsafePointer<xcb_shm_query_version_reply_t>) in
                (reply.pointee.major_version, reply.pointee.minor_version) >= (1, 2)
            }
        }
        let damage = xcb_shim_first_event(raw, XCB_SHIM_DAMAGE)
        if damage >= 0 {
            let cookie = xcb_damage_query_version(raw, 1, 1)
            try connection.ask(cookie.sequence, of: "DamageQueryVersion") {
                (_: UnsafePointer<xcb_damage_query_version_reply_t>) in
            }
            (hasDamage, damageEvent) = (true, damage + Int32(XCB_DAMAGE_NOTIFY))
        }
        let fixes = xcb_shim_first_event(raw, XCB_SHIM_FIXES)
        if fixes >= 0 {
            let cookie = xcb_xfixes_query_version(raw, 2, 0)
            try connection.ask(cookie.sequence, of: "XFixesQueryVersion") {
                (_: UnsafePointer<xcb_xfixes_query_version_reply_t>) in
            }
            (hasFixes, cursorEvent) = (true, fixes + Int32(XCB_XFIXES_CURSOR_NOTIFY))
        }
        try askForMonitors(connection)
        try askForComposite(connection)
    }

    private mutating func askForMonitors(_ connection: X11Connection) throws(MediaError) {
        let first = xcb_shim_first_event(connection.raw, XCB_SHIM_RANDR)
        guard first >= 0 else { return }
        let cookie = xcb_randr_query_version(connection.raw, 1, 5)
        hasMonitors = try connection.ask(cookie.sequence, of: "RRQueryVersion") {
            (reply: UnsafePointer<xcb_randr_query_version_reply_t>) in
            (reply.pointee.major_version, reply.pointee.minor_version) >= (1, 5)
        }
        (screenEvent, monitorEvent) = (
            first + Int32(XCB_RANDR_SCREEN_CHANGE_NOTIFY), first + Int32(XCB_RANDR_NOTIFY)
        )
    }

    private mutating func askForComposite(_ connection: X11Connection) throws(MediaError) {
        guard xcb_shim_first_event(connection.raw, XCB_SHIM_COMPOSITE) >= 0 else { return }
        let cookie = xcb_composite_query_version(connection.raw, 0, 4)
        hasComposite = try connection.ask(cookie.sequence, of: "CompositeQueryVersion") {
            (reply: UnsafePointer<xcb_composite_query_version_reply_t>) in
            (reply.pointee.major_version, reply.pointee.minor_version) >= (0, 2)
        }
    }
}
