// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
internal import MediaTypes

/// Makes TCP connections within a deadline.
struct SocketConnector: Sendable {
    /// Finds the addresses of hosts.
    var resolver = HostResolver()
    /// The head start of an address before the next one is tried as well, in milliseconds (RFC 8305, 5).
    var headStart: Int32 = 250
    /// The number of bytes that the kernel keeps before the network is ready for them.
    var unsentLimit: Int32 = 128 << 10

    /// Connects to the first address of a host that answers.
    ///
    /// - Throws: `cancelled` after the stop signal; `deadlineExceeded` at the deadline, even if the name server does
    ///   not answer; `unavailable`, not permanently, if the name is unknown; `inputOutput` if no address accepts a
    ///   connection.
    func connect(host: String, port: UInt16, stop: StopSignal, deadline: Deadline) throws(MediaError) -> Socket {
        let addresses = try resolver.addresses(of: host, port: port, stop: stop, deadline: deadline)
        var race = ConnectionRace(addresses: SocketAddress.alternating(addresses), unsentLimit: unsentLimit)
        return try race.run(host: host, port: port, headStart: headStart, stop: stop, deadline: deadline)
    }
}

/// Attempts to connect to several addresses, of which the first that succeeds wins.
private struct ConnectionRace {
    private struct Attempt {
        var socket: Socket
        var address: SocketAddress
    }

    private var waiting: ArraySlice<SocketAddress>
    private let unsentLimit: Int32
    private var attempts: [Attempt] = []
    private var failures: [String] = []
    private var lastStatus: Int32 = 0

    init(addresses: [SocketAddress], unsentLimit: Int32) {
        waiting = addresses[...]
        self.unsentLimit = unsentLimit
    }

    mutating func run(
        host: String,
        port: UInt16,
        headStart: Int32,
        stop: StopSignal,
        deadline: Deadline
    ) throws(MediaError) -> Socket {
        while true {
            if let address = waiting.popFirst() { try start(address) }
            let next = Deadline(milliseconds: headStart)
            repeat {
                if attempts.isEmpty { break }
                let rest = waiting.isEmpty ? deadline.remaining : min(next.remaining, deadline.remaining)
                let events = try stop.wait(
                    for: attempts.map { ($0.socket.descriptor, Int16(POLLOUT)) },
                    until: rest
                )
                if let winner = judge(events) { return winner }
                guard !deadline.isOver else { throw timedOut(host, port, deadline) }
            } while waiting.isEmpty || !next.isOver
            guard !attempts.isEmpty || !waiting.isEmpty else {
                throw MediaError(
                    .inputOutput,
                    "no connection: \(failures.joined(separator: ", "))",
                    given: "\(host), port \(port)",
                    call: "connect",
                    status: Int(lastStatus)
                )
            }
        }
    }

    /// Begins to connect to an address.
    private mutating func start(_ address: SocketAddress) throws(MediaError) {
        let kind = SOCK_STREAM.rawValue | UInt32(SOCK_NONBLOCK.rawValue) | UInt32(SOCK_CLOEXEC.rawValue)
        let descriptor = Glibc.socket(address.family, Int32(kind), Int32(IPPROTO_TCP))
        guard descriptor >= 0 else {
            let isExhausted = [EMFILE, ENFILE, ENOMEM, ENOBUFS].contains(errno)
            guard !isExhausted else {
                throw MediaError(.outOfMemory, "no descriptor for a socket", call: "socket", status: Int(errno))
            }
            return note(address, errno)
        }
        let socket = Socket(owning: descriptor, unsentLimit: unsentLimit)
        let status = address.withPointer { Glibc.connect(descriptor, $0, $1) }
        let error = status == 0 ? 0 : errno
        guard [0, EINPROGRESS, EINTR].contains(error) else { return note(address, error) }
        attempts.append(Attempt(socket: socket, address: address))
    }

    /// Returns a socket that is connected, and forgets those that failed.
    private mutating func judge(_ events: [Int16]) -> Socket? {
        var running: [Attempt] = []
        for (attempt, events) in zip(attempts, events) {
            guard events != 0 else {
                running.append(attempt)
                continue
            }
            let error = attempt.socket.pendingError
            if error == 0 { return attempt.socket }
            note(attempt.address, error)
        }
        attempts = running
        return nil
    }

    private mutating func note(_ address: SocketAddress, _ error: Int32) {
        lastStatus = error
        failures.append("\(address.host): \(String(cString: strerror(error)))")
    }

    private func timedOut(_ host: String, _ port: UInt16, _ deadline: Deadline) -> MediaError {
        let others = failures.isEmpty ? "" : " (\(failures.joined(separator: ", ")))"
        return MediaError(
            .deadlineExceeded,
            "the server did not accept a connection within \(deadline.text)\(others)",
            given: "\(host), port \(port)"
        )
    }
}
