// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
internal import MediaTypes

/// What a call of a ``ByteStream`` has done.
enum Transfer: Sendable, Hashable {
    /// That many bytes, at least one, were taken or given.
    case bytes(Int)
    /// Nothing, until `poll` reports these events.
    case waits(for: Int16)
    /// The other side has ended the stream.
    case ended
}

/// A connection that carries bytes in both directions and never blocks. One thread uses it.
protocol ByteStream: AnyObject {
    /// The socket below.
    var socket: Socket { get }

    /// Sends bytes from the beginning of `bytes`, which is not empty. After `waits`, the next call must pass the same
    /// bytes again; more may follow them.
    func write(_ bytes: UnsafeRawBufferPointer) throws(MediaError) -> Transfer

    /// Receives bytes.
    func read(into memory: UnsafeMutableRawBufferPointer) throws(MediaError) -> Transfer

    /// Tells the other side that nothing follows.
    func endWriting()
}

/// Bytes over TCP.
final class TCPStream: ByteStream {
    let socket: Socket

    init(_ socket: Socket) { self.socket = socket }

    func write(_ bytes: UnsafeRawBufferPointer) throws(MediaError) -> Transfer {
        try transfer("send", waitingFor: POLLOUT) {
            send(socket.descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
        }
    }

    func read(into memory: UnsafeMutableRawBufferPointer) throws(MediaError) -> Transfer {
        try transfer("recv", waitingFor: POLLIN) { recv(socket.descriptor, memory.baseAddress, memory.count, 0) }
    }

    func endWriting() { shutdown(socket.descriptor, Int32(SHUT_WR)) }

    private func transfer(
        _ name: String,
        waitingFor events: Int32,
        _ call: () -> Int
    ) throws(MediaError) -> Transfer {
        while true {
            let count = call()
            if count > 0 { return .bytes(count) }
            if count == 0 { return .ended }
            switch errno {
            case EINTR: continue
            case EAGAIN: return .waits(for: Int16(events))
            default: throw Socket.failure(name, errno)
            }
        }
    }
}
