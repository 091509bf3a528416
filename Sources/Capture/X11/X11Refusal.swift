// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLinux
internal import CXCB
internal import Glibc
internal import MediaTypes

/// The errors of a display server, explained.
enum X11Refusal {
    /// Returns the name of the display to use.
    ///
    /// - Parameter stated: The name that was asked for; `nil` for that of `DISPLAY`.
    static func displayName(_ stated: String?) throws(MediaError) -> String {
        func variable(_ name: String) -> String { linux_environment(name).map { String(cString: $0) } ?? "" }
        return try displayName(stated, display: variable("DISPLAY"), wayland: variable("WAYLAND_DISPLAY"))
    }

    /// The same with the values of `DISPLAY` and `WAYLAND_DISPLAY`, empty if they are not set.
    static func displayName(
        _ stated: String?,
        display: String,
        wayland: String
    ) throws(MediaError) -> String {
        let name = stated ?? display
        guard name.isEmpty else { return name }
        guard stated == nil, !wayland.isEmpty else {
            throw MediaError(
                .unavailable,
                "no X11 display is named: DISPLAY is not set",
                allowed: names,
                remedies: ["run the program in the desktop session", "name the display, for the first one: DISPLAY=:0"]
            )
        }
        throw MediaError(
            .unavailable,
            "the session uses Wayland and has no X11 display; screens of Wayland are captured through PipeWire",
            given: "WAYLAND_DISPLAY=\(wayland)",
            remedies: ["capture the screen through PipeWire"]
        )
    }

    private static let names = "[host]:display[.screen], such as :0"

    /// The error of `xcb_connect`.
    ///
    /// - Parameter status: That of `xcb_connection_has_error`.
    static func connecting(_ name: String, status: Int32) -> MediaError {
        func failure(_ code: MediaError.Code, _ message: String, allowed: String? = nil) -> MediaError {
            MediaError(
                code,
                message,
                given: name,
                allowed: allowed,
                call: "xcb_connect",
                status: Int(status)
            )
        }
        switch status {
        case XCB_CONN_CLOSED_PARSE_ERR:
            return failure(.invalidArgument, "this is not the name of an X11 display", allowed: names)
        case 0, XCB_CONN_CLOSED_INVALID_SCREEN:
            return failure(.unavailable, "the display server has no screen of this number")
        case XCB_CONN_CLOSED_MEM_INSUFFICIENT:
            return failure(.outOfMemory, "no memory for a connection to the display server")
        default: break
        }
        guard let number = localNumber(name) else {
            return failure(.unavailable, "the display server cannot be reached, or it refuses this program")
        }
        switch reach(number) {
        case 0:
            var error = failure(
                .unavailable,
                "the display server runs and refuses this program: its authorisation (MIT-MAGIC-COOKIE) is missing"
                    + " or wrong"
            )
            error.remedies = [
                "name the authorisation file of the session's user in XAUTHORITY",
                "allow this user, in the session: xhost +SI:localuser:$USER",
            ]
            return error
        case EACCES, EPERM:
            return failure(.unavailable, "the socket of the display server does not allow this user to connect")
        default:
            var error = failure(.unavailable, "no display server runs at this display: connection refused")
            error.remedies = ["start the display server, or name another display in DISPLAY"]
            return error
        }
    }

    /// The number of a display of this machine.
    private static func localNumber(_ name: String) -> Int32? {
        var host: UnsafeMutablePointer<CChar>?
        var (display, screen): (Int32, Int32) = (0, 0)
        guard xcb_parse_display(name, &host, &display, &screen) != 0, let host else { return nil }
        defer { free(host) }
        return ["", "unix"].contains(String(cString: host)) ? display : nil
    }

    /// Connects to the socket of a display, and returns 0 or the `errno`.
    private static func reach(_ number: Int32) -> Int32 {
        let path = "/tmp/.X11-unix/X\(number)"
        return xcb_shim_reach(path, 1) == 0 ? 0 : xcb_shim_reach(path, 0)
    }

    /// The server has ended, or the connection to it.
    static func gone(_ name: String) -> MediaError {
        MediaError(.unavailable, "the display server has ended the connection", given: name)
    }

    /// The server has refused a request.
    ///
    /// - Parameter code: The code of the error, which is that of an extension from 128 on.
    static func request(_ call: String, _ code: UInt8) -> MediaError {
        let names = [
            "BadRequest", "BadValue", "BadWindow", "BadPixmap", "BadAtom", "BadCursor", "BadFont", "BadMatch",
            "BadDrawable", "BadAccess", "BadAlloc", "BadColor", "BadGC", "BadIDChoice", "BadName", "BadLength",
            "BadImplementation",
        ]
        let name = names.indices.contains(Int(code) - 1) ? names[Int(code) - 1] : "an error of an extension"
        let kind: MediaError.Code = Int32(code) == XCB_ALLOC ? .outOfMemory : .inputOutput
        return MediaError(kind, "the display server refused a request: \(name)", call: call, status: Int(code))
    }
}
