// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// The errors of the desktop portal, explained. Refusals of the user are `cancelled`, so that nobody asks them again.
enum PortalFailure {
    private static let installation =
        "install the portal and the backend of the desktop: apt install xdg-desktop-portal, with"
        + " xdg-desktop-portal-gnome, xdg-desktop-portal-kde or xdg-desktop-portal-wlr"

    /// There is no session bus, or it has ended.
    ///
    /// - Parameter status: The `errno`.
    static func noBus(status: Int32) -> MediaError {
        MediaError(
            .unavailable,
            "there is no session bus, over which the desktop portal is asked: \(PipeWireFailure.text(status))",
            call: "sd_bus_process",
            status: Int(status),
            remedies: [
                "run the program in the desktop session: DBUS_SESSION_BUS_ADDRESS or XDG_RUNTIME_DIR names its bus"
            ]
        )
    }

    /// The portal does not answer a call.
    static func silent(_ call: String) -> MediaError {
        MediaError(
            .deadlineExceeded,
            "the desktop portal does not answer",
            call: call,
            remedies: ["start the portal again: systemctl --user restart xdg-desktop-portal"]
        )
    }

    /// The user has not answered.
    static func noAnswer(_ seconds: Double) -> MediaError {
        MediaError(
            .deadlineExceeded,
            "nobody has answered the desktop's question whether the capture is allowed",
            given: "\(Readable.number(seconds, places: 0)) seconds",
            remedies: ["answer the dialog that the desktop shows", "allow more time for the answer"]
        )
    }

    /// The portal has answered with an error of D-Bus.
    static func refused(_ call: String, _ name: String, _ message: String) -> MediaError {
        let parts = name.split(separator: ".")
        switch parts.contains("Spawn") ? "Spawn" : parts.last ?? "" {
        case "ServiceUnknown", "NameHasNoOwner", "NoSuchUnit", "Spawn":
            return MediaError(
                .unavailable,
                "the desktop portal is not installed, or does not start: \(message)",
                call: call,
                remedies: [installation]
            )
        case "UnknownMethod", "UnknownInterface", "UnknownObject", "UnknownProperty", "InvalidArgs":
            return MediaError(
                .unsupported,
                "the desktop portal has no backend for this: \(message)",
                call: call,
                remedies: [installation]
            )
        case "NoReply", "Timeout", "TimedOut": return silent(call)
        case "AccessDenied", "NotAllowed", "AuthFailed":
            return MediaError(
                .unsupported,
                "the desktop portal does not allow this program to capture: \(message)",
                call: call,
                remedies: ["allow it in the privacy settings of the desktop"]
            )
        default:
            return MediaError(
                .inputOutput,
                "the desktop portal has refused: \(message.isEmpty ? name : message)",
                call: call
            )
        }
    }

    /// The portal has answered in another form than its documentation says.
    static func malformed(_ call: String, _ what: String) -> MediaError {
        MediaError(.malformedData, "the answer of the desktop portal has \(what)", call: call)
    }

    /// The answer to a request is not 0 (`org.freedesktop.portal.Request::Response`).
    static func response(_ code: UInt32, _ call: String) -> MediaError {
        code == 1
            ? MediaError(
                .cancelled,
                "the user has not allowed the capture",
                call: call,
                status: 1,
                remedies: ["start the capture again, and choose what to share in the desktop's dialog"]
            )
            : MediaError(
                .cancelled,
                "the desktop has ended the question whether the capture is allowed",
                call: call,
                status: Int(code),
                remedies: [
                    "look for the reason in the journal: journalctl --user -u 'xdg-desktop-portal*'", installation,
                ]
            )
    }

    /// The session has ended (`org.freedesktop.portal.Session::Closed`).
    static var closed: MediaError {
        MediaError(.cancelled, "the user or the desktop has ended the capture")
    }

    /// The portal's process has ended.
    static var portalGone: MediaError {
        MediaError(.unavailable, "the desktop portal has ended, and with it the capture")
    }

    /// Something that the desktop does not offer was asked for.
    static func missing(_ what: String, given: String, allowed: String, remedies: [String] = []) -> MediaError {
        MediaError(
            .unsupported,
            "the desktop does not offer \(what)",
            given: given,
            allowed: allowed.isEmpty ? "nothing" : allowed,
            remedies: remedies
        )
    }
}
