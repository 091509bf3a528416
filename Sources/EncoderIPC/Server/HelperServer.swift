// SPDX-License-Identifier: GPL-2.0-or-later

internal import Dispatch
package import MediaTypes

/// The helper's end: encoders for a client in another process, each over a separate connection.
///
/// The thread that calls ``run()`` only waits for the client, so that the client's end is detected even while an
/// encoder hangs. Each encoder has one thread, in addition to its internal threads.
package final class HelperServer: Sendable {
    private let control: Channel
    private let build: String
    private let limitations: [String]
    private let factories: [any EncoderFactory]
    private let others: @Sendable (EncoderIdentity) -> (any EncoderFactory)?
    private let inspector: DriverInspector?

    /// Creates a server.
    ///
    /// - Parameters:
    ///   - socket: The socket to the client that the helper process inherited. The server owns it from now on.
    ///   - build: The build, for errors and logs of the client.
    ///   - limitations: The missing parts of this process's sandbox, as text for the client's log.
    ///   - factories: The available encoders, by ``EncoderIdentity/name`` and codec.
    ///   - others: Creates a factory for an identity that is not among them, such as an encoder on a device that the
    ///     client names; `nil` if there is no such encoder.
    ///   - inspector: Inspects drivers; `nil` if this helper does not.
    package convenience init(
        socket: Int32,
        build: String = EncoderProtocol.build,
        limitations: [String] = [],
        factories: [any EncoderFactory],
        others: @escaping @Sendable (EncoderIdentity) -> (any EncoderFactory)? = { _ in nil },
        inspector: DriverInspector? = nil
    ) {
        let control = Channel(Descriptor(owning: socket), peer: "the client")
        self.init(
            control,
            build: build,
            limitations: limitations,
            factories: factories,
            others: others,
            inspector: inspector
        )
    }

    init(
        _ control: Channel,
        build: String = EncoderProtocol.build,
        limitations: [String] = [],
        factories: [any EncoderFactory],
        others: @escaping @Sendable (EncoderIdentity) -> (any EncoderFactory)? = { _ in nil },
        inspector: DriverInspector? = nil
    ) {
        self.control = control
        self.build = build
        self.limitations = limitations
        self.factories = factories
        self.others = others
        self.inspector = inspector
    }

    /// Sends a line for the client's log. Safe to call on any thread. It waits while the client does not read.
    ///
    /// - Parameters:
    ///   - level: The name of the level, for example `warning`.
    ///   - text: The text; a very long text is truncated.
    package func log(level: String, _ text: String) {
        try? control.send(ControlNotice.log(LogLine(level: level, text: text)))
    }

    /// Serves until the client closes the connection and every encoder is closed.
    ///
    /// - Throws: `malformedData` for a message that violates the protocol, `inputOutput` if the client has disappeared.
    ///   A helper process then ends with `_exit`, because a call into an encoder may never return.
    package func run() throws(MediaError) {
        let encoders = DispatchGroup()
        var descriptor: Descriptor?
        while let order = try control.receive(ControlOrder.self, descriptor: &descriptor) {
            switch order {
            case .hello: try control.send(ControlNotice.hello(Greeting(build: build, limitations: limitations)))
            case .attach:
                guard let socket = descriptor.take() else {
                    throw MediaError(.malformedData, "a connection request arrived without its socket")
                }
                serve(Channel(socket, peer: "the client"), encoders)
            case .close:
                encoders.wait()
                return
            }
        }
        throw MediaError(.inputOutput, "the client has closed its connection")
    }

    /// Reports any error of a connection to its client. Other connections continue.
    private func serve(_ connection: Channel, _ encoders: DispatchGroup) {
        let server = EncoderServer(connection, factories: factories, others: others, inspector: inspector)
        encoders.enter()
        do {
            try PlainThread.start(name: "vt-encode") {
                do throws(MediaError) { try server.run() } catch { self.end(connection, error) }
                connection.shutDown()
                encoders.leave()
            }
        } catch {
            end(connection, error)
            encoders.leave()
        }
    }

    private func end(_ connection: Channel, _ error: MediaError) {
        log(level: "error", "\(error)")
        connection.sendIfPossible(HelperMessage.failed(error))
        connection.shutDown()
    }
}

/// The properties that both ends must agree on.
package enum EncoderProtocol {
    /// The version of the messages. Ends with different versions refuse each other.
    package static var version: Int { Int(MessageHeader.version) }

    /// The build of the package, for people.
    package static let build = "vatoolbox \(PackageVersion.current)"
}
