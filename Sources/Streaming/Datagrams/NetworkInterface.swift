// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
internal import MediaTypes

/// A network interface of this machine.
struct NetworkInterface: Sendable, Hashable {
    /// The name, such as `eth0`.
    let name: String
    /// The number by which socket options select it.
    let index: UInt32

    /// Finds an interface by its name, or by one of its addresses.
    ///
    /// - Throws: `unavailable`, not permanently, if there is none at present.
    init(_ text: String) throws(MediaError) {
        let addresses = Self.addresses
        let name = addresses.first { $0.address?.host == text }?.name ?? text
        let index = if_nametoindex(name)
        guard index > 0 else {
            let names = Set(addresses.map(\.name)).sorted()
            throw MediaError(
                .unavailable,
                "there is no such network interface",
                given: text,
                allowed: names.isEmpty ? nil : names.joined(separator: ", "),
                call: "if_nametoindex",
                status: Int(errno),
                isPermanent: false
            )
        }
        (self.name, self.index) = (name, index)
    }

    private static var addresses: [(name: String, address: SocketAddress?)] {
        var list: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&list) == 0 else { return [] }
        defer { freeifaddrs(list) }
        return sequence(first: list, next: { $0?.pointee.ifa_next }).prefix { $0 != nil }.compactMap { entry in
            guard let entry, let name = entry.pointee.ifa_name else { return nil }
            let address = entry.pointee.ifa_addr.flatMap {
                SocketAddress($0, length: MemoryLayout<sockaddr_in6>.size)
            }
            return (String(cString: name), address)
        }
    }
}
