// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaTypes
internal import Synchronization

/// The desktop portal for cameras (`org.freedesktop.portal.Camera`): the way to a camera for programs in a sandbox.
///
/// A refusal is final for a value: ``open(_:stop:)`` then throws the same error again without a question.
public final class CameraPortal: Sendable {
    private let patience: Int32
    private let bus: String?
    private let refusal = Mutex<MediaError?>(nil)

    /// Makes a way to the portal. Nothing is asked yet.
    ///
    /// - Parameter patience: The longest wait for the user's answer, in seconds.
    public convenience init(patience: Int32 = 120) { self.init(patience: patience, bus: nil) }

    /// - Parameter bus: The address of the session bus; the usual one if `nil`.
    package init(patience: Int32, bus: String?) { (self.patience, self.bus) = (max(patience, 0), bus) }

    /// Asks for the cameras, and opens one.
    ///
    /// - Parameters:
    ///   - capture: Which camera is captured, and how. The portal gives the connection.
    ///   - stop: Ends the wait for the user's answer, and all later ones.
    /// - Throws: As ``ScreenCastPortal/open(_:stop:)``.
    public func open(
        _ capture: PipeWireStream.Request = .init(),
        stop: StopSignal
    ) throws(MediaError) -> PipeWireStream {
        if let refusal = refusal.withLock({ $0 }) { throw refusal }
        try capture.validate()
        do throws(MediaError) {
            let client = try PortalClient(
                "org.freedesktop.portal.Camera",
                bus: bus,
                answerLimit: PortalClient.answerLimit,
                stop: stop
            )
            if case .flag(false)? = try client.properties()["IsCameraPresent"] {
                throw MediaError(.unavailable, "the desktop portal knows no camera")
            }
            _ = try client.request("AccessCamera", [], options: [:], limit: Int64(patience) * 1000)
            let answer = try client.call("OpenPipeWireRemote", [.dictionary([:])])
            guard case .descriptor(let descriptor)? = answer.first else {
                throw PortalFailure.malformed("OpenPipeWireRemote", "no connection to PipeWire")
            }
            let connection = try PipeWireConnection(.descriptor(descriptor.copy()))
            return try PipeWireStream(capture, connection, session: PortalSession(client, path: nil), stop: stop)
        } catch {
            if error.code == .cancelled, !stop.isStopped { refusal.withLock { $0 = error } }
            throw error
        }
    }
}
