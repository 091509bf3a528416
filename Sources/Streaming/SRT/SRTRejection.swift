// SPDX-License-Identifier: GPL-2.0-or-later

internal import CSRT
internal import MediaTypes

/// Why a receiver did not accept a connection: `SRT_REJECT_REASON`, and the codes of `access_control.h` from 1000 on,
/// which are those of HTTP plus 1000, and those of the receiver's own from 2000 on.
struct SRTRejection: Sendable, Hashable {
    /// The code, as `srt_getrejectreason` returns it.
    let code: Int32

    /// The error for users.
    ///
    /// - Parameter address: The address as it may be shown.
    func error(_ address: String) -> MediaError {
        if code == Int32(SRT_REJ_TIMEOUT.rawValue) { return Self.timeout(address) }
        let known = Self.known[code]
        return MediaError(
            .unavailable,
            "the receiver refused the connection: \(known?.text ?? fallback)",
            given: address,
            call: "srt_connect",
            status: Int(code),
            isPermanent: known?.isPermanent ?? false,
            remedies: known.map { $0.remedy.isEmpty ? [] : [$0.remedy] } ?? []
        )
    }

    /// The error if nobody answers in time.
    static func timeout(_ address: String) -> MediaError {
        MediaError(
            .deadlineExceeded,
            "the receiver does not answer",
            given: address,
            call: "srt_connect",
            remedies: [
                "check that the receiver runs, and listens at this port",
                "check that firewalls let UDP pass at this port",
            ]
        )
    }

    private var fallback: String {
        switch code {
        case 1000..<2000: "code \(code)"
        case 2000...: "code \(code) of its own"
        default: String(cString: srt_rejectreason_str(code))
        }
    }

    private struct Known {
        let text: String
        let remedy: String
        let isPermanent: Bool
    }

    private static let internalReasons: [(SRT_REJECT_REASON, String, String, Bool)] = [
        (SRT_REJ_PEER, "it does not accept this stream", "check the streamid", false),
        (SRT_REJ_RESOURCE, "it has no resources", "", false),
        (SRT_REJ_BACKLOG, "too many others connect at present", "", false),
        (SRT_REJ_CLOSE, "it is closing", "", false),
        (SRT_REJ_VERSION, "its version of SRT is too old", "update the receiver to SRT 1.3 or later", true),
        (SRT_REJ_RDVCOOKIE, "both sides chose the same cookie", "", false),
        (SRT_REJ_BADSECRET, "the passphrase is wrong", "use the passphrase of the receiver", true),
        (
            SRT_REJ_UNSECURE, "only one side has a passphrase",
            "give both sides the same passphrase, or none to both", true
        ),
        (SRT_REJ_MESSAGEAPI, "it is not in live mode", "set the receiver to live mode: transtype=live", true),
        (SRT_REJ_CONGESTION, "it is not in live mode", "set the receiver to live mode: transtype=live", true),
        (SRT_REJ_FILTER, "it needs a packet filter", "remove packetfilter from the receiver", true),
        (SRT_REJ_GROUP, "it needs a group of connections", "", true),
    ]

    private static let access: [(Int32, String, String, Bool)] = [
        (SRT_REJX_KEY_NOTSUP, "it does not know a key of the streamid", "check the streamid", true),
        (SRT_REJX_FILEPATH, "the streamid has a wrong path", "check the streamid", true),
        (SRT_REJX_HOSTNOTFOUND, "it does not know the host in the streamid", "check the streamid", true),
        (SRT_REJX_BAD_REQUEST, "it does not understand the streamid", "check the streamid", true),
        (SRT_REJX_UNAUTHORIZED, "user or password are wrong", "check the streamid", true),
        (SRT_REJX_OVERLOAD, "it is overloaded, or the account has no credit", "", false),
        (SRT_REJX_FORBIDDEN, "access is forbidden", "check the streamid, and the rights of the user in it", false),
        (SRT_REJX_NOTFOUND, "it does not know the stream", "check the streamid", false),
        (
            SRT_REJX_BAD_MODE, "it does not take streams under this name",
            "check the streamid, which needs m=publish with most receivers", true
        ),
        (SRT_REJX_UNACCEPTABLE, "it cannot accept this stream", "check the streamid", true),
        (SRT_REJX_CONFLICT, "another stream has this name", "end the other stream, or use another streamid", false),
        (SRT_REJX_NOTSUP_MEDIA, "it does not support this kind of stream", "check the streamid", true),
        (SRT_REJX_LOCKED, "the stream is locked", "", false),
        (SRT_REJX_FAILED_DEPEND, "another connection that it needs is closed", "", false),
        (SRT_REJX_ISE, "it has an internal error", "look into the log of the receiver", false),
        (SRT_REJX_UNIMPLEMENTED, "it does not implement this", "check the streamid", true),
        (SRT_REJX_GW, "the server behind it refused the connection", "", false),
        (SRT_REJX_DOWN, "the service is down at present", "", false),
        (SRT_REJX_VERSION, "it does not support this version of SRT", "", true),
        (SRT_REJX_NOROOM, "it has no room to store the stream", "", false),
    ]

    private static let known: [Int32: Known] = {
        var known: [Int32: Known] = [:]
        for (reason, text, remedy, isPermanent) in internalReasons {
            known[Int32(reason.rawValue)] = Known(text: text, remedy: remedy, isPermanent: isPermanent)
        }
        for (code, text, remedy, isPermanent) in access {
            let number = "\(text) (\(code))"
            known[code] = Known(text: number, remedy: remedy, isPermanent: isPermanent)
        }
        return known
    }()
}
