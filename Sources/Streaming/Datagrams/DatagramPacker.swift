// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// Groups packets of a transport stream into datagrams.
///
/// A picture ends its last datagram, so that the receiver has all of it at once. Sound has a few packets per unit,
/// which wait until a datagram is full or a picture follows.
struct DatagramPacker {
    /// A datagram: whole packets, and the time of the unit with its first byte.
    struct Datagram: Equatable {
        var bytes: [UInt8]
        var time: MediaTime
    }

    /// The size of a packet of a transport stream in bytes. ISO/IEC 13818-1, 2.4.3.2.
    static let packetSize = 188
    /// The usual number of packets in a datagram: the most that Ethernet takes.
    static let usualPacketCount = 7
    /// The size of a datagram with that many packets.
    static let usualCapacity = usualPacketCount * packetSize

    private let capacity: Int
    private var pending: Datagram?

    /// - Parameter capacity: The greatest size of a datagram in bytes, a multiple of 188.
    init(capacity: Int = usualCapacity) { self.capacity = capacity }

    /// The number of bytes that wait for others.
    var pendingByteCount: Int { pending?.bytes.count ?? 0 }

    /// Returns the datagrams that are complete.
    ///
    /// - Throws: `invalidState` if these are not whole packets.
    mutating func append(_ packets: [UInt8], of unit: LiveUnit) throws(MediaError) -> [Datagram] {
        guard packets.count.isMultiple(of: Self.packetSize) else {
            throw MediaError(
                .invalidState,
                "the muxer did not write whole packets",
                given: "\(packets.count) bytes",
                allowed: "multiples of \(Self.packetSize)"
            )
        }
        var datagrams = add(packets, at: unit.decodeTime)
        if case .video = unit, let last = flush() { datagrams.append(last) }
        return datagrams
    }

    /// Returns the datagrams for the packets at the end of the stream, with the last one.
    mutating func finish(_ packets: [UInt8]) -> [Datagram] {
        let datagrams = add(packets, at: pending?.time ?? .zero)
        return datagrams + [flush()].compactMap { $0 }
    }

    private mutating func flush() -> Datagram? {
        defer { pending = nil }
        return pending
    }

    private mutating func add(_ packets: [UInt8], at time: MediaTime) -> [Datagram] {
        var datagrams: [Datagram] = []
        var rest = packets[...]
        while !rest.isEmpty {
            var datagram = pending ?? Datagram(bytes: [], time: time)
            let part = rest.prefix(capacity - datagram.bytes.count)
            datagram.bytes += part
            rest = rest.dropFirst(part.count)
            let isFull = datagram.bytes.count >= capacity
            if isFull { datagrams.append(datagram) }
            pending = isFull ? nil : datagram
        }
        return datagrams
    }
}
