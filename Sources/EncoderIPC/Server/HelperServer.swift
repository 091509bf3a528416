// SPDX-License-Identifier: GPL-2.0-or-later

internal import Dispatch
package import MediaTypes

/// The helper's side: encoders for a client in another process, each over a connection of its own.
///
/// The thread that calls ``run()`` only waits for the client, so that its end is seen even while an encoder hangs. Each
/// encoder has one thread, beside those of its own.
package final class HelperServer: Sendable {
    private let control: Channel
    private let build: String
    private let limitations: [String]
    private let factories: [any EncoderFactory]
    private let others: @Sendable (EncoderIdentity) -> (any EncoderFactory)?
    private let inspector: DriverInspector?

    /// Makes a server.
    ///
    /// - Parameters:
    ///   - socket: The socket to the client, as a helper process finds it; the server owns it from now on.
    ///   - build: Which build this is, for errors and logs of the client.
    ///   - limitations: What confines this process less than it should, in words for the client's log.
    ///   - factories: The encoders that can be asked for, by ``EncoderIdentity/name`` and codec.
    ///   - others: Makes a factory for what is not among them, such as an encoder on a device that the client names;
    ///     `nil` if there is no such encoder.
    ///   - inspector: Asks drivers; `nil` if this helper asks none.
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

    /// Sends a line for the client's log. Safe to call on any thread; it waits while the client reads nothing.
    ///
    /// - Parameters:
    ///   - level: The name of the level, for example `warning`.
    ///   - text: What is logged; a very long text is cut.
    package func log(level: String, _ text: String) {
        try? control.send(ControlNotice.log(LogLine(level: level, text: text)))
    }

    /// Serves until the client wants no more, and every encoder is closed.
    ///
    /// - Throws: `malformedData` for a message that the protocol does not allow, `inputOutput` if the client is gone
    ///   without a word. A helper process ends then by `_exit`, since a call into an encoder may never return.
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

    /// Whatever goes wrong with a connection is told to its client, and the others go on.
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

/// What both ends have to agree about.
package enum EncoderProtocol {
    /// The version of the messages. Ends of different versions refuse each other.
    package static var version: Int { Int(MessageHeader.version) }

    /// Which build of the package this is, for people.
    package static let build = "vatoolbox \(PackageVersion.current)"
}
