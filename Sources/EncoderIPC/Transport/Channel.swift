// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLinux
internal import Glibc
internal import MediaTypes
internal import Synchronization

/// One end of a socket that carries messages and descriptors. Safe to use from several threads.
final class Channel: Sendable {
    private struct Incoming {
        var sequence: UInt64 = 0
        /// One byte more than a message may have, so that a longer one shows.
        var buffer = [UInt8](repeating: 0, count: MessageHeader.byteCount + MessageHeader.maximumPayload + 1)
    }

    private let socket: Descriptor
    /// Who is at the other end, for errors.
    private let peer: String
    /// The number of the next message.
    private let outgoing = Mutex(UInt64(0))
    private let incoming = Mutex(Incoming())

    /// Takes over a socket, as ``DescriptorPair/sockets()`` makes them.
    init(_ socket: consuming Descriptor, peer: String) {
        self.socket = socket
        self.peer = peer
    }

    /// The number of the socket, to wait for.
    var socketNumber: Int32 { socket.number }

    /// Sends a message. It arrives whole or, after an error, not at all.
    ///
    /// - Parameter descriptor: What to send along, if the message says so. The other end gets a descriptor of its own.
    /// - Throws: `deadlineExceeded` if the other end takes nothing, `inputOutput` if there is no other end, and
    ///   `invalidArgument` for a value that is too long.
    func send(
        _ message: some WireMessage,
        descriptor: Int32? = nil,
        until deadline: Deadline = .never
    ) throws(MediaError) {
        try outgoing.withLock { (sequence) throws(MediaError) in
            let bytes: [UInt8]
            do throws(WireError) {
                bytes = try message.bytes(sequence: sequence)
            } catch {
                throw MediaError(.invalidArgument, "a value is too long for \(peer): \(error)")
            }
            try send(bytes, descriptor, deadline)
            sequence &+= 1
        }
    }

    private func send(_ bytes: [UInt8], _ descriptor: Int32?, _ deadline: Deadline) throws(MediaError) {
        let descriptors = descriptor.map { [$0] } ?? []
        while linux_send_message(socket.number, bytes, bytes.count, descriptors, Int32(descriptors.count)) < 0 {
            guard errno == EAGAIN else { throw systemError("sendmsg", "\(peer) cannot be reached") }
            if deadline.isOver { throw MediaError(.deadlineExceeded, "\(peer) takes no message", call: "sendmsg") }
            _ = try waitForEvents([(socket.number, POLLOUT)], until: deadline)
        }
    }

    /// Waits for the next message.
    ///
    /// - Parameter descriptor: The descriptor that came along with it, if one did.
    /// - Returns: `nil` if the other end was closed.
    /// - Throws: `malformedData` for anything but the next message, `deadlineExceeded`, `inputOutput`. Descriptors that
    ///   came along are closed then.
    func receive<Message: WireMessage>(
        _ type: Message.Type,
        descriptor: inout Descriptor?,
        until deadline: Deadline = .never
    ) throws(MediaError) -> Message? {
        while true {
            switch try receiveNow(type, &descriptor) {
            case .message(let message): return message
            case .end: return nil
            case .nothing:
                if deadline.isOver { throw MediaError(.deadlineExceeded, "\(peer) sends no message", call: "recvmsg") }
                _ = try waitForEvents([(socket.number, POLLIN)], until: deadline)
            }
        }
    }

    /// Waits for the next message, as ``receive(_:descriptor:until:)`` does, in a direction that carries no descriptors.
    func receive<Message: WireMessage>(
        _ type: Message.Type,
        until deadline: Deadline = .never
    ) throws(MediaError) -> Message? {
        var descriptor: Descriptor?
        return try receive(type, descriptor: &descriptor, until: deadline)
    }

    private enum Arrival<Message: WireMessage> {
        case message(Message)
        case end
        case nothing
    }

    private func receiveNow<Message: WireMessage>(
        _ type: Message.Type,
        _ descriptor: inout Descriptor?
    ) throws(MediaError) -> Arrival<Message> {
        var numbers = [Int32](repeating: -1, count: Int(LINUX_MESSAGE_DESCRIPTORS))
        var count: Int32 = 0
        let arrived = try incoming.withLock { (incoming) throws(MediaError) -> (bytes: [UInt8], sequence: UInt64)? in
            let length = incoming.buffer.withUnsafeMutableBytes { buffer in
                buffer.baseAddress.map { linux_receive_message(socket.number, $0, buffer.count, &numbers, &count) } ?? 0
            }
            guard length >= 0 else {
                if errno == EAGAIN { return nil }
                let error = systemError("recvmsg", "\(peer) sent what cannot be received")
                numbers.prefix(Int(count)).forEach { close($0) }
                if errno == ECONNRESET { return ([], 0) }
                throw error
            }
            defer { incoming.sequence &+= 1 }
            return (Array(incoming.buffer[..<length]), incoming.sequence)
        }
        guard let arrived else { return .nothing }
        descriptor = count > 0 ? Descriptor(owning: numbers[0]) : nil
        numbers.prefix(Int(count)).dropFirst().forEach { close($0) }
        if arrived.bytes.isEmpty { return .end }
        do throws(WireError) {
            return .message(try Message(arrived.bytes, sequence: arrived.sequence, descriptorCount: Int(count)))
        } catch {
            descriptor = nil
            throw error.mediaError(from: peer)
        }
    }

    /// Ends both directions: each end finds the end of the messages, after those that were sent before.
    func shutDown() { shutdown(socket.number, Int32(SHUT_RDWR)) }
}
