// SPDX-License-Identifier: GPL-2.0-or-later

import CSRT
import Glibc
import Logging
import MediaTypes
import Synchronization
import Testing

@testable import Streaming

/// A listener in this process that refuses each stream with a code, or accepts all and reads nothing.
final class SRTListener: Sendable {
    let port: UInt16
    private let handle: SRTSOCKET
    /// The stream identifiers of all who tried to connect.
    private static let streamIDs = Mutex<[String]>([])

    /// - Parameter code: The code of `srt_setrejectreason`; 0 to accept.
    init(refusing code: Int32) throws {
        try SRTLibrary.start()
        port = try TestReceiver.freePort()
        handle = srt_create_socket()
        let status = try SocketAddress(localPort: port).withPointer { srt_bind(handle, $0, Int32($1)) }
        try #require(status == 0)
        let context = UnsafeMutableRawPointer(bitPattern: Int(code))
        srt_listen_callback(
            handle,
            { context, socket, _, _, streamID in
                if let streamID { SRTListener.streamIDs.withLock { $0.append(String(cString: streamID)) } }
                let code = Int32(Int(bitPattern: context))
                guard code != 0 else { return 0 }
                srt_setrejectreason(socket, code)
                return -1
            },
            context
        )
        try #require(srt_listen(handle, 5) == 0)
    }

    deinit { srt_close(handle) }

    static func hasSeen(_ streamID: String) -> Bool { streamIDs.withLock { $0.contains(streamID) } }

    /// Waits for a connection, and closes it.
    func acceptAndClose() -> Bool {
        let accepted = srt_accept(handle, nil, nil)
        return accepted != SRT_INVALID_SOCK && srt_close(accepted) == 0
    }
}

extension SocketAddress {
    init(localPort: UInt16) throws {
        self = try #require(HostResolver.address("127.0.0.1", port: localPort))
    }
}

/// Passes datagrams between a caller and a listener of this machine, and loses some of those with data.
final class LossyRelay: Sendable {
    let port: UInt16
    private let stop: StopSignal
    private let counts: Counts

    private final class Counts: Sendable {
        let values = Mutex<(passed: Int, lost: Int)>((0, 0))
    }

    var lost: Int { counts.values.withLock { $0.lost } }

    /// - Parameter isLost: Whether the datagram with data of a number, from 1 on, is lost.
    init(to target: UInt16, losing isLost: @escaping @Sendable (_ number: Int) -> Bool) throws {
        let (stop, counts) = (try StopSignal(), Counts())
        (self.stop, self.counts) = (stop, counts)
        let (near, far) = (try TestReceiver(), try TestReceiver())
        port = near.port
        let remote = try SocketAddress(localPort: target)
        try PlainThread.start(name: "relay") {
            var caller: SocketAddress?
            let events = Int16(POLLIN)
            while let ready = try? stop.wait(for: [(near.descriptor, events), (far.descriptor, events)], until: nil) {
                if ready[0] != 0, let (bytes, sender) = Self.receive(near.descriptor) {
                    caller = sender
                    if Self.isPassed(bytes, isLost, counts) { Self.send(bytes, far.descriptor, remote) }
                }
                if ready[1] != 0, let (bytes, _) = Self.receive(far.descriptor), let caller {
                    Self.send(bytes, near.descriptor, caller)
                }
            }
        }
    }

    deinit { stop.stop() }

    /// The first bit of a packet with data is 0.
    private static func isPassed(_ bytes: [UInt8], _ isLost: (Int) -> Bool, _ counts: Counts) -> Bool {
        guard let first = bytes.first, first & 0x80 == 0 else { return true }
        return counts.values.withLock { counts in
            counts.passed += 1
            guard isLost(counts.passed) else { return true }
            counts.lost += 1
            return false
        }
    }

    private static func receive(_ descriptor: Int32) -> ([UInt8], SocketAddress)? {
        var bytes = [UInt8](repeating: 0, count: 2048)
        var count = 0
        let sender = SocketAddress { address, length in
            count = recvfrom(descriptor, &bytes, bytes.count, 0, address, length)
            return count < 0 ? -1 : 0
        }
        return sender.map { (Array(bytes[..<count]), $0) }
    }

    private static func send(_ bytes: [UInt8], _ descriptor: Int32, _ address: SocketAddress) {
        _ = address.withPointer { sendto(descriptor, bytes, bytes.count, 0, $0, $1) }
    }
}

/// Keeps what libsrt logs.
struct LibraryLog: LogHandler {
    private static let messages = Mutex<[String]>([])

    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    static let logger = Logger(label: "test") { _ in LibraryLog() }

    static func has(_ text: String) -> Bool { messages.withLock { $0.contains { $0.contains(text) } } }

    subscript(metadataKey _: String) -> Logger.Metadata.Value? {
        get { nil }
        set {}
    }

    func log(event: LogEvent) { Self.messages.withLock { $0.append("\(event.level) \(event.message)") } }
}
