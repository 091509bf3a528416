// SPDX-License-Identifier: GPL-2.0-or-later

internal import CPipeWire
internal import Glibc
internal import MediaTypes

/// The errors of PipeWire, explained.
enum PipeWireFailure {
    /// The client library does not start.
    static func starting(_ call: String, status: Int32) -> MediaError {
        MediaError(
            status == ENOMEM || status == EMFILE || status == ENFILE ? .outOfMemory : .creationFailed,
            "PipeWire's client library does not start: \(text(status))",
            call: call,
            status: Int(status),
            remedies: ["install PipeWire's modules and client.conf: apt install pipewire"]
        )
    }

    /// There is no connection.
    static func connecting(_ remote: String?, status: Int32) -> MediaError {
        let name = remote ?? "the default one"
        switch status {
        case EACCES, EPERM:
            return MediaError(
                .unavailable,
                "the PipeWire server refuses this user",
                given: name,
                call: "pw_context_connect",
                status: Int(status),
                remedies: ["run the program as the user of the desktop session"]
            )
        default:
            return MediaError(
                .unavailable,
                "no PipeWire server runs for this user: \(text(status))",
                given: name,
                call: "pw_context_connect",
                status: Int(status),
                remedies: [
                    "run the program in the desktop session, where XDG_RUNTIME_DIR names the folder of the socket",
                    "start the server: systemctl --user start pipewire wireplumber",
                ]
            )
        }
    }

    /// The connection has ended.
    static func serverGone(_ message: String) -> MediaError {
        MediaError(.unavailable, "the PipeWire server has ended the connection: \(message)")
    }

    /// There is no answer.
    static func silent(_ what: String) -> MediaError {
        MediaError(.deadlineExceeded, "the PipeWire server does not answer", given: what)
    }

    /// No such node.
    static func noNode(_ target: PipeWireStream.Request.Target, among nodes: [PipeWireNode]) -> MediaError {
        let sources = PipeWireNode.preferred(nodes).map { "\($0.id) (\($0.name))" }
        let given =
            switch target {
            case .preferred: "the preferred camera"
            case .node(let id): "node \(id)"
            case .named(let name): name
            }
        return MediaError(
            .unavailable,
            "PipeWire has no such source of pictures",
            given: given,
            allowed: sources.isEmpty ? "there are none" : sources.joined(separator: ", ")
        )
    }

    /// The node is not there any more.
    static func nodeGone(_ node: PipeWireNode) -> MediaError {
        MediaError(.unavailable, "the source of the pictures is gone", given: "\(node.description) (node \(node.id))")
    }

    /// The source and the stream were not linked in time.
    static func notLinked(_ node: PipeWireNode) -> MediaError {
        MediaError(
            .unavailable,
            "the source of the pictures does not start",
            given: "\(node.description) (node \(node.id))",
            remedies: [
                "check that the session manager runs: systemctl --user status wireplumber",
                "check that no other program uses the source alone",
            ]
        )
    }

    /// The stream is in the state of an error.
    ///
    /// - Parameter message: That of the server or the session manager.
    static func stream(_ message: String, _ node: PipeWireNode) -> MediaError {
        let name = "\(node.description) (node \(node.id))"
        // The texts of pw_link and of pw_context for two nodes that have no format in common.
        guard message.contains("input formats") || message.contains("output formats") || message.contains("negotiat")
        else {
            return MediaError(.unavailable, "the stream of the source has ended: \(message)", given: name)
        }
        return MediaError(
            .unsupported,
            "the source has no format that is supported: \(message)",
            given: name,
            allowed: PipeWireFormat.offered.map { PipeWireFormat.name($0.code) }.joined(separator: ", ")
        )
    }

    /// The name of an `errno`.
    static func text(_ status: Int32) -> String { String(cString: strerror(status)) }
}
