// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaTypes
internal import Synchronization

/// The desktop portal for screens (`org.freedesktop.portal.ScreenCast`): the user chooses a monitor or a window in a
/// dialog of the desktop, and its pictures come through PipeWire. It is the way to capture a screen of Wayland.
///
/// A refusal, and the end of a capture by the user, are final for a value: ``open(_:stop:)`` then throws the same error
/// again without a question. So a reader that opens its device again never annoys a user who has said no.
public final class ScreenCastPortal: Sendable {
    private let request: Request
    private let state: Mutex<State>

    private struct State {
        var token: String?
        var refusal: MediaError?
    }

    /// Makes a way to the portal. Nothing is asked yet.
    public init(_ request: Request = Request()) {
        self.request = request
        state = Mutex(State(token: request.restoreToken))
    }

    /// The portal's word for the permission that was given, to be used once as ``Request/restoreToken``; `nil` if there
    /// is none.
    public var restoreToken: String? { state.withLock { $0.token } }

    /// Asks for a screen, and opens it.
    ///
    /// - Parameters:
    ///   - capture: How it is captured. The portal gives the node and the connection.
    ///   - stop: Ends the wait for the user's answer, and all later ones.
    /// - Throws: `cancelled` if the user refuses or has ended the capture, and after the stop signal;
    ///   `deadlineExceeded` if nobody answers; `unavailable` if there is no session bus, no portal or no PipeWire;
    ///   `unsupported` if the desktop has no backend for screens, or not what was asked for; otherwise the errors of
    ///   ``PipeWireStream/init(_:stop:)``.
    public func open(
        _ capture: PipeWireStream.Request = .init(),
        stop: StopSignal
    ) throws(MediaError) -> PipeWireStream {
        if let refusal = state.withLock({ $0.refusal }) { throw refusal }
        try capture.validate()
        do throws(MediaError) {
            let grant = try ask(stop)
            var capture = capture
            capture.target = .node(grant.node)
            let connection = try PipeWireConnection(.descriptor(grant.connection))
            return try PipeWireStream(capture, connection, session: grant.session, stop: stop)
        } catch {
            remember(error, stop)
            throw error
        }
    }

    private func remember(_ error: MediaError, _ stop: StopSignal) {
        guard error.code == .cancelled, !stop.isStopped else { return }
        state.withLock { $0.refusal = error }
    }
}

// MARK: - Asking

extension ScreenCastPortal {
    /// What the user allows.
    private struct Grant {
        var session: PortalSession
        var node: UInt32
        /// A descriptor that belongs to the caller.
        var connection: Int32
    }

    private func ask(_ stop: StopSignal) throws(MediaError) -> Grant {
        let client = try PortalClient(
            "org.freedesktop.portal.ScreenCast",
            bus: request.bus,
            answerLimit: request.answerLimit,
            stop: stop
        )
        let offer = ScreenCastOffer(try client.properties())
        let selection = try offer.selection(request)
        let created = try client.request(
            "CreateSession",
            [],
            options: ["session_handle_token": .string(PortalClient.token)],
            limit: request.answerLimit
        )
        guard let path = created["session_handle"]?.text else {
            throw PortalFailure.malformed("CreateSession", "no session")
        }
        var options = selection
        if offer.canRestore, let token { options["restore_token"] = .string(token) }
        _ = try client.request(
            "SelectSources",
            [.objectPath(path)],
            options: options,
            session: path,
            limit: request.answerLimit
        )
        let started = try client.request(
            "Start",
            [.objectPath(path), .string("")],
            options: [:],
            session: path,
            limit: request.dialogLimit
        )
        try keepToken(started["restore_token"]?.text)
        let streams = started["streams"]?.elements ?? []
        guard let node = streams.first?.elements?.first?.number else {
            throw PortalFailure.malformed("Start", "no stream")
        }
        let answer = try client.call("OpenPipeWireRemote", [.objectPath(path), .dictionary([:])])
        guard case .descriptor(let descriptor)? = answer.first else {
            throw PortalFailure.malformed("OpenPipeWireRemote", "no connection to PipeWire")
        }
        let session = PortalSession(client, path: path) { [self] in remember($0, stop) }
        return Grant(session: session, node: node, connection: try descriptor.copy())
    }

    /// The word of an earlier permission. The portal accepts it once, and gives another one.
    private var token: String? {
        state.withLock { $0.token } ?? request.tokenPath.flatMap { RestoreToken(path: $0).read() }
    }

    private func keepToken(_ token: String?) throws(MediaError) {
        state.withLock { $0.token = token }
        if let path = request.tokenPath { try RestoreToken(path: path).write(token) }
    }
}
