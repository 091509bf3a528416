// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
internal import HostSystem
internal import MediaTypes
internal import Synchronization

/// Finds the addresses of hosts within a deadline.
struct HostResolver: Sendable {
    /// Which addresses it returns; `nil` for all.
    var policy: AddressPolicy?
    /// Returns the addresses of a name. It is called on a thread of its own, and may take any time.
    var lookUp: @Sendable (_ host: String, _ port: UInt16) throws(MediaError) -> [SocketAddress] = {
        (host, port) throws(MediaError) in
        try Self.addresses(host, port, flags: 0)
    }

    /// Returns the addresses of a name, or the address that a text already is, in the order of the system (RFC 6724).
    ///
    /// A name is looked up on a thread of its own, because nothing ends `getaddrinfo(3)`: the thread is left behind at
    /// the deadline, and ends with the call.
    ///
    /// - Returns: At least one address.
    /// - Throws: `unavailable`, not permanently, if the name has no address at present; `invalidArgument` if it has none
    ///   that is allowed, not permanently, because the name may get one; `deadlineExceeded` at the deadline;
    ///   `cancelled` after the stop signal.
    func addresses(
        of host: String,
        port: UInt16,
        stop: StopSignal,
        deadline: Deadline
    ) throws(MediaError) -> [SocketAddress] {
        guard !stop.isStopped else { throw StopSignal.stopped }
        if let address = Self.address(host, port: port) { return try allowed([address], of: host) }
        let (answer, lookUp) = (Answer(done: try StopSignal()), lookUp)
        try PlainThread.start(name: "look up host") {
            answer.set(Result { () throws(MediaError) in try lookUp(host, port) })
        }
        try stop.wait(for: [(answer.done.descriptor, Int16(POLLIN))], until: deadline.remaining)
        guard let result = answer.result else {
            throw MediaError(
                .deadlineExceeded,
                "the host name was not resolved within \(deadline.text)",
                given: host,
                call: "getaddrinfo",
                remedies: ["check the name server of this machine: resolvectl status"]
            )
        }
        let addresses = try result.get()
        guard !addresses.isEmpty else {
            throw MediaError(
                .unavailable,
                "the host has no address of the Internet",
                given: host,
                isPermanent: false
            )
        }
        return try allowed(addresses, of: host)
    }

    private func allowed(_ addresses: [SocketAddress], of host: String) throws(MediaError) -> [SocketAddress] {
        guard let policy else { return addresses }
        let allowed = addresses.filter { IPAddress($0.host).map(policy.allows) ?? false }
        if !allowed.isEmpty { return allowed }
        throw MediaError(
            .invalidArgument,
            "the address of \(host) is not public",
            given: addresses.map(\.host).joined(separator: ", "),
            allowed: "public addresses, and those that are allowed by name",
            isPermanent: Self.address(host, port: 0) != nil
        )
    }

    /// Returns the address that a text is, for example `192.0.2.1`, `2001:db8::1` or `fe80::1%eth0`; `nil` for a name.
    static func address(_ text: String, port: UInt16) -> SocketAddress? {
        try? addresses(text, port, flags: AI_NUMERICHOST).first
    }

    private final class Answer: Sendable {
        typealias Addresses = Result<[SocketAddress], MediaError>

        let done: StopSignal
        private let state = Mutex<Addresses?>(nil)

        init(done: StopSignal) { self.done = done }

        var result: Addresses? { state.withLock { $0 } }

        func set(_ result: Addresses) {
            state.withLock { $0 = result }
            done.stop()
        }
    }

    private static func addresses(
        _ host: String,
        _ port: UInt16,
        flags: Int32
    ) throws(MediaError) -> [SocketAddress] {
        var hints = addrinfo()
        // One entry for each address instead of one for each kind of socket.
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = flags | AI_NUMERICSERV
        var list: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(host, String(port), &hints, &list)
        guard status == 0 else {
            let reason = status == EAI_SYSTEM ? String(cString: strerror(errno)) : String(cString: gai_strerror(status))
            throw MediaError(
                .unavailable,
                "the host name cannot be resolved: \(reason)",
                given: host,
                call: "getaddrinfo",
                status: Int(status),
                isPermanent: false,
                remedies: ["check the name of the host", "check the network"]
            )
        }
        defer { freeaddrinfo(list) }
        return sequence(first: list, next: { $0?.pointee.ai_next }).prefix { $0 != nil }.compactMap { entry in
            entry?.pointee.ai_addr.flatMap { SocketAddress($0, length: Int(entry?.pointee.ai_addrlen ?? 0)) }
        }
    }
}
