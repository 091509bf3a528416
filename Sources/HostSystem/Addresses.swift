// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc

/// Which addresses the service may connect to on behalf of clients: those of the Internet, and what the operator allows.
/// Otherwise a client could make it ask machines that only the service can reach.
package struct AddressPolicy: Sendable, Hashable {
    /// Ranges that are allowed although they are private.
    package var exceptions: [AddressRange]

    /// Makes a policy.
    package init(exceptions: [AddressRange]) { self.exceptions = exceptions }

    /// Whether it may connect to an address.
    package func allows(_ address: IPAddress) -> Bool {
        let address = address.embedded ?? address
        return exceptions.contains { $0.contains(address) } || !Self.special.contains { $0.contains(address) }
    }

    /// Whether the operator has allowed an address by name.
    package func names(_ address: IPAddress) -> Bool {
        let address = address.embedded ?? address
        return exceptions.contains { $0.contains(address) }
    }

    /// Ranges that are not of the Internet at large (IANA's registries of special-purpose addresses, RFC 6890).
    private static let special: [AddressRange] = [
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
        "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
        "224.0.0.0/4", "240.0.0.0/4",
        "::/8", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "3fff::/20", "5f00::/16", "fc00::/7",
        "fe80::/10", "fec0::/10", "ff00::/8",
    ].compactMap(AddressRange.init)
}

/// An address of IPv4 (4 bytes) or IPv6 (16 bytes).
package struct IPAddress: Sendable, Hashable {
    package var bytes: [UInt8]

    init(bytes: [UInt8]) { self.bytes = bytes }

    /// Reads an address in its usual form; `nil` if it is none.
    package init?(_ text: String) {
        var four = in_addr()
        if inet_pton(AF_INET, text, &four) == 1 {
            bytes = withUnsafeBytes(of: &four) { Array($0) }
            return
        }
        var sixteen = in6_addr()
        guard inet_pton(AF_INET6, text, &sixteen) == 1 else { return nil }
        bytes = withUnsafeBytes(of: &sixteen) { Array($0) }
    }

    /// The address of IPv4 that an address of IPv6 stands for: mapped (`::ffff:0:0/96`), translated (NAT64,
    /// `64:ff9b::/96`), or 6to4 (`2002::/16`).
    var embedded: IPAddress? {
        guard bytes.count == 16 else { return nil }
        if bytes[..<10].allSatisfy({ $0 == 0 }), bytes[10] == 0xFF, bytes[11] == 0xFF {
            return IPAddress(bytes: Array(bytes[12...]))
        }
        if bytes.starts(with: [0, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0]) {
            return IPAddress(bytes: Array(bytes[12...]))
        }
        if bytes.starts(with: [0x20, 0x02]) { return IPAddress(bytes: Array(bytes[2..<6])) }
        return nil
    }

    /// The addresses of a host, in the order of preference. Waits for name servers: call it on a thread that may wait.
    ///
    /// - Returns: None if the name is unknown.
    package static func resolve(_ host: String) -> [IPAddress] {
        let bare = host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
        if let address = IPAddress(bare) { return [address] }
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(bare, nil, &hints, &list) == 0 else { return [] }
        defer { freeaddrinfo(list) }
        var addresses: [IPAddress] = []
        var entry = list
        while let info = entry?.pointee {
            if info.ai_family == AF_INET, let address = info.ai_addr {
                address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { pointer in
                    addresses.append(IPAddress(bytes: withUnsafeBytes(of: pointer.pointee.sin_addr) { Array($0) }))
                }
            } else if info.ai_family == AF_INET6, let address = info.ai_addr {
                address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { pointer in
                    addresses.append(IPAddress(bytes: withUnsafeBytes(of: pointer.pointee.sin6_addr) { Array($0) }))
                }
            }
            entry = info.ai_next
        }
        return addresses
    }
}

extension IPAddress: CustomStringConvertible {
    package var description: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let family = bytes.count == 4 ? AF_INET : AF_INET6
        bytes.withUnsafeBytes { _ = inet_ntop(family, $0.baseAddress, &text, socklen_t(text.count)) }
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}

/// A range of addresses such as `10.0.0.0/8`; an address alone is a range of one.
package struct AddressRange: Sendable, Hashable {
    private let bytes: [UInt8]
    private let bits: Int

    package init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count <= 2, let address = IPAddress(String(parts[0])) else { return nil }
        bytes = address.bytes
        let most = bytes.count * 8
        guard let bits = parts.count == 2 ? Int(parts[1]) : most, (0...most).contains(bits) else { return nil }
        self.bits = bits
    }

    package func contains(_ address: IPAddress) -> Bool {
        guard address.bytes.count == bytes.count else { return false }
        for index in bytes.indices {
            let rest = bits - 8 * index
            if rest <= 0 { return true }
            let mask: UInt8 = rest >= 8 ? 0xFF : ~(0xFF >> UInt8(rest))
            if (address.bytes[index] ^ bytes[index]) & mask != 0 { return false }
        }
        return true
    }
}
