// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc

/// An address and a port of IPv4 or IPv6: a `sockaddr`.
struct SocketAddress: Sendable, Hashable {
    private let bytes: [UInt8]

    private init(bytes: [UInt8]) { self.bytes = bytes }

    /// Copies an address; `nil` if it is neither of IPv4 nor of IPv6.
    init?(_ address: UnsafePointer<sockaddr>, length: Int) {
        let families: [sa_family_t: Int] = [
            sa_family_t(AF_INET): MemoryLayout<sockaddr_in>.size,
            sa_family_t(AF_INET6): MemoryLayout<sockaddr_in6>.size,
        ]
        guard length >= MemoryLayout<sa_family_t>.size, let size = families[address.pointee.sa_family], length >= size
        else { return nil }
        bytes = [UInt8](UnsafeRawBufferPointer(start: address, count: size))
    }

    /// Copies the address that `read` writes, a call such as `getsockname(2)`; `nil` if that returns another value than
    /// 0.
    init?(reading read: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32) {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let address = withUnsafeMutablePointer(to: &storage) { storage in
            storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                read(address, &length) == 0 ? SocketAddress(address, length: Int(length)) : nil
            }
        }
        guard let address else { return nil }
        self = address
    }

    /// Calls `body` with the address, which is valid only inside it.
    func withPointer<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        var storage = sockaddr_storage()
        withUnsafeMutableBytes(of: &storage) { $0.copyBytes(from: bytes) }
        return withUnsafePointer(to: &storage) { storage in
            storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(bytes.count)) }
        }
    }

    /// `AF_INET` or `AF_INET6`.
    var family: Int32 { withPointer { address, _ in Int32(address.pointee.sa_family) } }

    var isIPv6: Bool { family == AF_INET6 }

    /// Whether the address names a group of receivers: 224.0.0.0/4, ff00::/8.
    var isMulticast: Bool { isIPv6 ? number.first == 0xFF : number.first.map { $0 & 0xF0 } == 0xE0 }

    /// Whether it is the address of all interfaces: 0.0.0.0, ::.
    var isWildcard: Bool { number.allSatisfy { $0 == 0 } }

    /// The 4 or 16 bytes of the address without its port.
    private var number: ArraySlice<UInt8> {
        isIPv6
            ? bytes[(MemoryLayout<sockaddr_in6>.offset(of: \.sin6_addr) ?? 8)...].prefix(16)
            : bytes[(MemoryLayout<sockaddr_in>.offset(of: \.sin_addr) ?? 4)...].prefix(4)
    }

    /// The port.
    var port: UInt16 { UInt16(bytes[2]) << 8 | UInt16(bytes[3]) }

    /// Returns the address with another port.
    func with(port: UInt16) -> SocketAddress {
        var copy = bytes
        copy.replaceSubrange(2..<4, with: [UInt8(port >> 8), UInt8(port & 0xFF)])
        return SocketAddress(bytes: copy)
    }

    /// Returns the addresses with both families alternating, beginning with that of the first one (RFC 8305, 4).
    static func alternating(_ addresses: [SocketAddress]) -> [SocketAddress] {
        let first = addresses.filter { $0.family == addresses.first?.family }
        let others = addresses.filter { $0.family != addresses.first?.family }
        var result: [SocketAddress] = []
        for index in 0..<max(first.count, others.count) {
            result += first.dropFirst(index).prefix(1) + others.dropFirst(index).prefix(1)
        }
        return result
    }
}

extension SocketAddress: CustomStringConvertible {
    /// The address without its port, for example `192.0.2.1` or `2001:db8::1`.
    var host: String {
        var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        let status = withPointer { getnameinfo($0, $1, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST) }
        guard status == 0 else { return "?" }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// The address and its port, as in a URL.
    var description: String { "\(HostAndPort.text(of: host)):\(port)" }
}
