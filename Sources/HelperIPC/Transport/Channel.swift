// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLinux
internal import Glibc
internal import MediaTypes
internal import Synchronization

/// One end of a socket for messages and descriptors. Safe to use from several threads.
final class Channel: Sendable {
    fileprivate struct Incoming {
        var sequence: UInt64 = 0
        /// One byte longer than any message, so that a longer message is detected.
        var buffer = [UInt8](repeating: 0, count: MessageHeader.byteCount + MessageHeader.maximumPayload + 1)
        var descriptors = [Int32](repeating: -1, count: Int(LINUX_MESSAGE_DESCRIPTORS))
    }

    private struct Outgoing {
        /// The number of the next message.
        var sequence: UInt64 = 0
        /// Reused for all messages.
        var writer = WireWriter()
    }

    private let socket: Descriptor
    /// The name of the other end, for errors.
    private let peer: String
    private let outgoing = Mutex(Outgoing())
    private let incoming = Mutex(Incoming())

    /// Takes ownership of a socket from ``DescriptorPair/sockets()``.
    init(_ socket: consuming Descriptor, peer: String) {
        self.socket = socket
        self.peer = peer
    }

    /// The descriptor number of the socket, to wait for.
    var socketNumber: Int32 { socket.number }

    /// Sends a message. It arrives completely or, after an error, not at all.
    ///
    /// - Parameter descriptors: The descriptors to send with it, as many as the message requires. The other end receives
    ///   duplicates.
    /// - Throws: `deadlineExceeded` if the other end does not read, `inputOutput` if the other end is gone, and
    ///   `invalidArgument` for a value that is too long.
    func send(
        _ message: some WireMessage,
        descriptors: [Int32],
        until deadline: Deadline = .never
    ) throws(MediaError) {
        try outgoing.withLock { (outgoing) throws(MediaError) in
            do throws(WireError) {
                try outgoing.writer.message(message, sequence: outgoing.sequence)
            } catch {
                throw MediaError(.invalidArgument, "a value is too long for \(peer): \(error)")
            }
            try send(outgoing.writer.bytes, descriptors, deadline)
            outgoing.sequence &+= 1
        }
    }

    /// Sends a message with at most one descriptor, like ``send(_:descriptors:until:)``.
    func send(
        _ message: some WireMessage,
        descriptor: Int32? = nil,
        until deadline: Deadline = .never
    ) throws(MediaError) {
        try send(message, descriptors: descriptor.map { [$0] } ?? [], until: deadline)
    }

    /// Sends a message if this requires no waiting, neither for the other end nor for another sending thread.
    ///
    /// - Returns: Whether it was sent. If not, the end of the connection must have the same effect.
    @discardableResult
    func sendIfPossible(_ message: some WireMessage, descriptor: Int32? = nil) -> Bool {
        outgoing.withLockIfAvailable { outgoing in
            do {
                try outgoing.writer.message(message, sequence: outgoing.sequence)
                try send(outgoing.writer.bytes, descriptor.map { [$0] } ?? [], .now)
                outgoing.sequence &+= 1
                return true
            } catch {
                return false
            }
        } ?? false
    }

    private func send(_ bytes: [UInt8], _ descriptors: [Int32], _ deadline: Deadline) throws(MediaError) {
        let count = Int32(clamping: descriptors.count)
        while linux_send_message(socket.number, bytes, bytes.count, descriptors, count) < 0 {
            guard errno == EAGAIN else { throw systemError("sendmsg", "\(peer) cannot be reached") }
            if deadline.isOver {
                throw MediaError(.deadlineExceeded, "\(peer) does not accept messages", call: "sendmsg")
            }
            _ = try waitForEvents([(socket.number, POLLOUT)], until: deadline)
        }
    }

    /// Waits for the next message.
    ///
    /// - Parameter descriptor: The descriptor that arrived with it, if any.
    /// - Returns: `nil` if the other end was closed.
    /// - Throws: `malformedData` for anything but the next message, `deadlineExceeded`, `inputOutput`. Descriptors that
    ///   arrived with it are then closed.
    func receive<Message: WireMessage>(
        _ type: Message.Type,
        descriptor: inout Descriptor?,
        until deadline: Deadline = .never
    ) throws(MediaError) -> Message? {
        while true {
            switch try receive(type, &descriptor, waits: deadline.isNever) {
            case .message(let message): return message
            case .end: return nil
            case .nothing:
                if deadline.isOver { throw MediaError(.deadlineExceeded, "\(peer) sent no message", call: "recvmsg") }
                _ = try waitForEvents([(socket.number, POLLIN)], until: deadline)
            }
        }
    }

    /// Waits for the next message in a direction without descriptors, like ``receive(_:descriptor:until:)``.
    func receive<Message: WireMessage>(
        _ type: Message.Type,
        until deadline: Deadline = .never
    ) throws(MediaError) -> Message? {
        var descriptor: Descriptor?
        return try receive(type, descriptor: &descriptor, until: deadline)
    }

    /// The state of a socket.
    enum Arrival<Message: WireMessage> {
        case message(Message)
        case end
        case nothing
    }

    /// Receives the next message if it has arrived, or waits for it, like ``receive(_:descriptor:until:)``.
    func receive<Message: WireMessage>(
        _ type: Message.Type,
        _ descriptor: inout Descriptor?,
        waits: Bool
    ) throws(MediaError) -> Arrival<Message> {
        var descriptors: [Int32] = []
        defer { descriptors.dropFirst().forEach { close($0) } }
        descriptor = nil
        let arrival = try receive(type, waits, &descriptors)
        descriptor = descriptors.first.map { Descriptor(owning: $0) }
        return arrival
    }

    /// Receives the next message as above, with all of its descriptors.
    func receive<Message: WireMessage>(
        _ type: Message.Type,
        _ descriptors: inout [SharedDescriptor],
        waits: Bool
    ) throws(MediaError) -> Arrival<Message> {
        var numbers: [Int32] = []
        descriptors = []
        let arrival = try receive(type, waits, &numbers)
        descriptors = numbers.map { SharedDescriptor(Descriptor(owning: $0)) }
        return arrival
    }

    /// - Parameter descriptors: The descriptors that arrived with the message, which belong to the caller; none after an
    ///   error.
    private func receive<Message: WireMessage>(
        _ type: Message.Type,
        _ waits: Bool,
        _ descriptors: inout [Int32]
    ) throws(MediaError) -> Arrival<Message> {
        try incoming.withLock { (incoming) throws(MediaError) in
            var count: Int32 = 0
            let length = incoming.receive(socket.number, waits, &count)
            let status = errno
            let numbers = incoming.descriptors[..<Int(count)]
            guard length > 0 else {
                numbers.forEach { close($0) }
                if length == 0 || status == ECONNRESET { return .end }
                if status == EAGAIN { return .nothing }
                if status == EMSGSIZE {
                    let message = "\(peer) sent an oversized message or too many descriptors"
                    throw MediaError(.malformedData, message, call: "recvmsg", status: Int(status))
                }
                errno = status
                throw systemError("recvmsg", "receiving from \(peer) failed")
            }
            defer { incoming.sequence &+= 1 }
            do throws(WireError) {
                var reader = WireReader(incoming.buffer, count: length)
                let sequence = incoming.sequence
                let message = try Message(&reader, sequence: sequence, descriptorCount: Int(count))
                descriptors = Array(numbers)
                return .message(message)
            } catch {
                numbers.forEach { close($0) }
                throw error.mediaError(from: peer)
            }
        }
    }

    /// Ends the direction from here: the other end reads the end of the stream after the messages that were sent before.
    func endSending() { shutdown(socket.number, Int32(SHUT_WR)) }

    /// Ends both directions: each end reads the end of the stream after the messages that were sent before.
    func shutDown() { shutdown(socket.number, Int32(SHUT_RDWR)) }
}

extension Channel.Incoming {
    /// - Parameter count: The number of received descriptors.
    /// - Returns: The length of the message, 0 at the end, -1 for an error.
    fileprivate mutating func receive(_ socket: Int32, _ waits: Bool, _ count: inout Int32) -> Int {
        buffer.withUnsafeMutableBytes { buffer in
            guard let base = buffer.baseAddress else { return 0 }
            return linux_receive_message(socket, waits ? 1 : 0, base, buffer.count, &descriptors, &count)
        }
    }
}
