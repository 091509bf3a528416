// SPDX-License-Identifier: GPL-2.0-or-later

internal import Dispatch
package import MediaTypes

/// The helper's end: encoders and decoders for a client in another process, each over a separate connection.
///
/// The thread that calls ``run()`` only waits for the client, so that the client's end is detected even while an
/// encoder hangs. Each of them has one thread, in addition to its internal threads.
package final class HelperServer: Sendable {
    private let control: Channel
    private let build: String
    private let limitations: [String]
    private let services: HelperServices
    /// What its decoders have left on the device.
    private let pictures = DevicePictures()

    /// Creates a server.
    ///
    /// - Parameters:
    ///   - socket: The socket to the client that the helper process inherited. The server owns it from now on.
    ///   - build: The build, for errors and logs of the client.
    ///   - limitations: The missing parts of this process's sandbox, as text for the client's log.
    ///   - services: What the helper does for the client.
    package convenience init(
        socket: Int32,
        build: String = HelperProtocol.build,
        limitations: [String] = [],
        services: HelperServices
    ) {
        let control = Channel(Descriptor(owning: socket), peer: "the client")
        self.init(control, build: build, limitations: limitations, services: services)
    }

    init(
        _ control: Channel,
        build: String = HelperProtocol.build,
        limitations: [String] = [],
        services: HelperServices
    ) {
        self.control = control
        self.build = build
        self.limitations = limitations
        self.services = services
    }

    /// Sends a line for the client's log. Safe to call on any thread. It waits while the client does not read.
    ///
    /// - Parameters:
    ///   - level: The name of the level, for example `warning`.
    ///   - text: The text; a very long text is truncated.
    package func log(level: String, _ text: String) {
        try? control.send(ControlNotice.log(LogLine(level: level, text: text)))
    }

    /// Gives the client a copy of the descriptor of a device that was opened. Safe to call on any thread.
    ///
    /// Nobody may look into the files of this process in `/proc`, but the kernel counts the time that a GPU has worked for an
    /// open file with every process that has it. The client does nothing else with it.
    ///
    /// - Parameter descriptor: The descriptor, which the caller keeps.
    package func share(device descriptor: Int32) {
        try? control.send(ControlNotice.device(DeviceNumber(descriptor)), descriptor: descriptor)
    }

    /// Lets the client close the copy of a descriptor that is about to be closed.
    package func unshare(device descriptor: Int32) {
        try? control.send(ControlNotice.deviceClosed(DeviceNumber(descriptor)))
    }

    /// Serves until the client closes the connection and every encoder is closed.
    ///
    /// - Throws: `malformedData` for a message that violates the protocol, `inputOutput` if the client has disappeared.
    ///   A helper process then ends with `_exit`, because a call into an encoder may never return.
    package func run() throws(MediaError) {
        let connections = DispatchGroup()
        var descriptor: Descriptor?
        while let order = try control.receive(ControlOrder.self, descriptor: &descriptor) {
            switch order {
            case .hello: try control.send(ControlNotice.hello(Greeting(build: build, limitations: limitations)))
            case .attach(let kind):
                guard let socket = descriptor.take() else {
                    throw MediaError(.malformedData, "a connection request arrived without its socket")
                }
                serve(Channel(socket, peer: "the client"), kind, connections)
            case .close:
                connections.wait()
                return
            }
        }
        throw MediaError(.inputOutput, "the client has closed its connection")
    }

    private func serve(_ connection: Channel, _ kind: ConnectionKind, _ connections: DispatchGroup) {
        let (services, pictures) = (services, pictures)
        // Each closure creates its server, so that everything on a device is released before the connection has ended.
        switch kind {
        case .encoder:
            serve(EncoderMessages.self, connection, connections, thread: "vt-encode") { () throws(MediaError) in
                try EncoderServer(connection, services, pictures).run()
            }
        case .decoder:
            serve(DecoderMessages.self, connection, connections, thread: "vt-decode") { () throws(MediaError) in
                let server = DecoderServer(connection, services, pictures)
                try server.run()
                try server.keepPictures()
            }
        case .pictures:
            serve(PictureMessages.self, connection, connections, thread: "vt-pictures") { () throws(MediaError) in
                try PictureServer(connection, pictures).run()
            }
        }
    }

    /// Reports any error of a connection to its client. Other connections continue.
    private func serve<Messages: ConnectionMessages>(
        _ messages: Messages.Type,
        _ connection: Channel,
        _ connections: DispatchGroup,
        thread: String,
        _ run: @escaping @Sendable () throws(MediaError) -> Void
    ) {
        connections.enter()
        do {
            try PlainThread.start(name: thread) {
                do throws(MediaError) { try run() } catch { self.end(connection, Messages.Helper.failed(error), error) }
                connection.shutDown()
                connections.leave()
            }
        } catch {
            end(connection, Messages.Helper.failed(error), error)
            connections.leave()
        }
    }

    private func end(_ connection: Channel, _ message: some HelperMessage, _ error: MediaError) {
        log(level: "error", "\(error)")
        connection.sendIfPossible(message)
        connection.shutDown()
    }
}

/// The properties that both ends must agree on.
package enum HelperProtocol {
    /// The version of the messages. Ends with different versions refuse each other.
    package static var version: Int { Int(MessageHeader.version) }

    /// The build of the package, for people.
    package static let build = "vatoolbox \(PackageVersion.current)"
}
