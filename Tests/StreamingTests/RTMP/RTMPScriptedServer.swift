// SPDX-License-Identifier: GPL-2.0-or-later

import Glibc
import MediaTypes
import Synchronization

@testable import Streaming

/// A server on a thread that accepts one publisher, or fails it at some stage.
final class RTMPScriptedServer: Sendable {
    /// What the server does when it has come to a stage; the stage `accepted` begins with the first media.
    enum Fault: Sendable, Hashable {
        case none
        /// Closes the connection.
        case closes(at: RTMPPublisher.Stage)
        /// Neither answers nor reads any more.
        case stalls(at: RTMPPublisher.Stage)
        /// Answers with an error and a text.
        case refuses(at: RTMPPublisher.Stage)
        /// Asks for the password "pw" of any user, in the steps of Adobe's servers.
        case asksForPassword
        /// Asks for answers without end, and reads none of them or all.
        case floods(reads: Bool)
        /// Asks for a new connection.
        case asksToReconnect
        /// Reads at most so many bytes at a time, and waits some milliseconds after each.
        case reads(bytes: Int, pause: Int32)
    }

    struct Record: Sendable {
        /// What the publisher has sent.
        var messages: [RTMPMessage] = []
        /// Whether the stage of the fault was reached.
        var hasFault = false
        /// Whether the connection of the publisher has ended.
        var isOver = false

        func payloads(_ kind: RTMPMessage.Kind) -> [[UInt8]] { messages.filter { $0.kind == kind }.map(\.payload) }

        var commands: [String] {
            payloads(.commandAMF0).compactMap { (try? AMF0Value.values(in: $0))?.first?.text }
        }
    }

    static let refusal = "this is why"

    let port: UInt16
    private let listener: LoopbackListener
    private let stop: StopSignal
    private let state = Mutex(Record())

    /// - Parameter bytewise: Whether answers are sent byte by byte.
    init(_ fault: Fault = .none, bytewise: Bool = false) throws {
        let listener = try LoopbackListener(backlog: 8, receiveBuffer: fault == .none ? nil : 4096)
        (self.listener, stop, port) = (listener, try StopSignal(), listener.port)
        try PlainThread.start(name: "scripted rtmp") { [stop, weak self] in
            for number in 0... {
                guard (try? stop.wait(for: [(listener.descriptor, Int16(POLLIN))], until: nil)) != nil else { return }
                let descriptor = accept(listener.descriptor, nil, nil)
                guard descriptor >= 0 else { return }
                var session = Session(descriptor: descriptor, fault: fault, bytewise: bytewise, stop: stop) { change in
                    self?.state.withLock { change(&$0) }
                }
                session.run()
                close(descriptor)
                if fault != .asksForPassword || session.isAccepted || number == 2 { break }
            }
            self?.state.withLock { $0.isOver = true }
        }
    }

    deinit { stop.stop() }

    var record: Record { state.withLock { $0 } }

    var address: RTMPAddress {
        get throws { try RTMPAddress("rtmp://127.0.0.1:\(port)/app/hidden") }
    }
}

/// The dialogue with a publisher.
private struct Session {
    private struct Over: Error {}

    let descriptor: Int32
    let fault: RTMPScriptedServer.Fault
    let bytewise: Bool
    let stop: StopSignal
    let note: ((inout RTMPScriptedServer.Record) -> Void) -> Void

    private var reader = RTMPChunkReader()
    private var server = RTMPMemoryServer()
    private(set) var isAccepted = false

    init(
        descriptor: Int32,
        fault: RTMPScriptedServer.Fault,
        bytewise: Bool,
        stop: StopSignal,
        note: @escaping ((inout RTMPScriptedServer.Record) -> Void) -> Void
    ) {
        (self.descriptor, self.fault, self.bytewise, self.stop, self.note) = (descriptor, fault, bytewise, stop, note)
        var one: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, 4)
    }

    mutating func run() {
        do {
            var handshake: [UInt8] = []
            while handshake.count < 1537 { handshake += try receive() }
            try reach(.handshake)
            try send(server.handshake)
            while handshake.count < 3073 { handshake += try receive() }
            try take(handshake[3073...])
            while true { try take(receive()[...]) }
        } catch {}
    }

    private mutating func take(_ bytes: ArraySlice<UInt8>) throws {
        for message in try reader.receive(bytes) {
            note { $0.messages.append(message) }
            if case .command(let name, _, _) = try RTMPServerMessage(message) {
                switch name {
                case "connect":
                    if fault == .asksForPassword { try authenticate(message) }
                    try answer(.connecting)
                case "createStream": try answer(.creatingStream)
                case "publish": try answer(.publishing)
                default: break
                }
            } else if !isAccepted, [.audio, .video].contains(message.kind) {
                isAccepted = true
                try reach(.accepted)
            }
        }
    }

    /// Sends ping requests until the publisher closes the connection.
    private mutating func flood(reading: Bool) throws {
        let ping = server.chunks(RTMPMessage(kind: .userControl, payload: [0, 6, 1, 2, 3, 4]))
        let pings = [UInt8](Array(repeating: ping, count: 100).joined())
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            try send(pings)
            if reading { recv(descriptor, &bytes, bytes.count, Int32(MSG_DONTWAIT)) }
        }
    }

    private mutating func answer(_ stage: RTMPPublisher.Stage) throws {
        try reach(stage)
        if case .floods(let reads) = fault { try flood(reading: reads) }
        if fault == .refuses(at: stage) {
            note { $0.hasFault = true }
            let information = AMF0Value.object([
                .init("level", .string("error")), .init("code", .string("NetConnection.Connect.Rejected")),
                .init("description", .string(RTMPScriptedServer.refusal)),
            ])
            let transaction = AMF0Value.number([.connecting: 1, .creatingStream: 4][stage] ?? 0)
            let name = stage == .publishing ? "onStatus" : "_error"
            try send(server.chunks(RTMPMessage(command: [.string(name), transaction, .null, information])))
            throw Over()
        }
        try send(server.chunks(RTMPMessage(command: RTMPMemoryServer.answer(to: stage))))
        guard stage == .publishing, fault == .asksToReconnect else { return }
        let request = AMF0Value.object([
            .init("code", .string(RTMPStatus.reconnectRequest)), .init("description", .string("maintenance")),
        ])
        try send(server.chunks(RTMPMessage(command: [.string("onStatus"), .number(0), .null, request])))
    }

    private mutating func authenticate(_ connect: RTMPMessage) throws {
        let application = try AMF0Value.values(in: connect.payload).last?["app"]?.text ?? ""
        // md5(base64(md5("me" + "salt" + "pw")) + "opaque" + challenge), for which the address is one of this test.
        let expected = try application.split(separator: "&").first { $0.hasPrefix("challenge=") }.map { field in
            try RTMPAuthentication.query(
                after: "authmod=adobe ?reason=needauth&salt=salt&opaque=opaque",
                of: "?authmod=adobe&user=me",
                for: RTMPAddress("rtmp://me:pw@host/app/key"),
                challenge: UInt32(field.dropFirst(10), radix: 16) ?? 0
            )
        }
        if let expected, application == "app" + (expected ?? "") { return }
        let text =
            expected != nil
            ? "[ AccessManager.Reject ] : [ authmod=adobe ] : ?reason=authfailed&opaque=opaque"
            : application == "app"
                ? "[ AccessManager.Reject ] : [ code=403 need auth; authmod=adobe ] : "
                : "[ AccessManager.Reject ] : [ authmod=adobe ] : ?reason=needauth&user=me&salt=salt&opaque=opaque"
        let information = AMF0Value.object([
            .init("level", .string("error")), .init("code", .string("NetConnection.Connect.Rejected")),
            .init("description", .string(text)),
        ])
        try send(server.chunks(RTMPMessage(command: [.string("_error"), .number(1), .null, information])))
        throw Over()
    }

    private func reach(_ stage: RTMPPublisher.Stage) throws {
        guard fault == .closes(at: stage) || fault == .stalls(at: stage) else { return }
        note { $0.hasFault = true }
        if fault == .stalls(at: stage) {
            // POLLRDHUP, which needs _GNU_SOURCE: the publisher has ended, whatever it has sent before.
            try stop.wait(for: [(descriptor, 0x2000)], until: nil)
        }
        throw Over()
    }

    private func receive() throws -> [UInt8] {
        try stop.wait(for: [(descriptor, Int16(POLLIN))], until: nil)
        var limit = 1 << 16
        if case .reads(let bytes, let pause) = fault, isAccepted {
            try stop.wait(for: [], until: pause)
            limit = bytes
        }
        var bytes = [UInt8](repeating: 0, count: limit)
        let count = recv(descriptor, &bytes, bytes.count, 0)
        guard count > 0 else { throw Over() }
        return Array(bytes.prefix(count))
    }

    private func send(_ bytes: [UInt8]) throws {
        for piece in bytewise ? bytes.map({ [$0] }) : [bytes] {
            guard Glibc.send(descriptor, piece, piece.count, Int32(MSG_NOSIGNAL)) == piece.count else { throw Over() }
        }
    }
}

/// A socket that listens on 127.0.0.1, and is closed with the object.
final class LoopbackListener: Sendable {
    let descriptor: Int32
    let port: UInt16

    /// - Parameters:
    ///   - backlog: As `listen` takes it.
    ///   - receiveBuffer: `SO_RCVBUF` of the connections.
    ///   - port: The port; 0 for any.
    init(backlog: Int32, receiveBuffer: Int32? = nil, port: UInt16 = 0) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        if var size = receiveBuffer { setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, 4) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        address.sin_port = port.bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        let status = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                bind(descriptor, generic, length) == 0 && listen(descriptor, backlog) == 0
                    && getsockname(descriptor, generic, &length) == 0
            }
        }
        guard status else { throw MediaError(.inputOutput, "no port to listen on", status: Int(errno)) }
        self.port = UInt16(bigEndian: address.sin_port)
    }

    /// A port for another program: below those that the system gives to connections.
    static func freePort() throws -> UInt16 {
        for _ in 0..<100 {
            if let listener = try? LoopbackListener(backlog: 1, port: .random(in: 20_000..<32_000)) {
                return listener.port
            }
        }
        throw MediaError(.inputOutput, "no port is free")
    }

    deinit { close(descriptor) }

    /// A listener whose queue is full, so that the kernel lets further connections wait, and what fills it.
    static func full() throws -> (listener: LoopbackListener, filling: [Socket]) {
        let listener = try LoopbackListener(backlog: 0)
        let (connector, stop) = (SocketConnector(), try StopSignal())
        var filling: [Socket] = []
        while filling.count < 16 {
            let deadline = Deadline(milliseconds: 200)
            do throws(MediaError) {
                filling.append(
                    try connector.connect(host: "127.0.0.1", port: listener.port, stop: stop, deadline: deadline)
                )
            } catch {
                guard error.code == .deadlineExceeded else { throw error }
                return (listener, filling)
            }
        }
        throw MediaError(.inputOutput, "the queue of a listener is never full")
    }
}
