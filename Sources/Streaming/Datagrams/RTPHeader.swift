// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// The headers of the packets of an RTP stream that carries a transport stream. RFC 3550, 5.1; RFC 2250, 2.
///
/// The sequence number, the timestamp and the source begin with random values, as RFC 3550 demands. The timestamp is
/// the time of the unit with the first byte, in the 90 kHz of the transport stream.
struct RTPHeader {
    /// The size of a header in bytes.
    static let size = 12
    /// The static payload type of MPEG transport streams. RFC 3551, 6.
    static let payloadType: UInt8 = 33

    private var sequence: UInt16
    private let timestampOffset: UInt32
    private let source: UInt32

    init(
        sequence: UInt16 = .random(in: .min ... .max),
        timestampOffset: UInt32 = .random(in: .min ... .max),
        source: UInt32 = .random(in: .min ... .max)
    ) {
        (self.sequence, self.timestampOffset, self.source) = (sequence, timestampOffset, source)
    }

    /// Returns the header of the next packet.
    mutating func next(time: MediaTime) -> [UInt8] {
        defer { sequence &+= 1 }
        let ticks = time.isValid ? time.converted(to: 90_000).value : 0
        let timestamp = UInt32(truncatingIfNeeded: ticks) &+ timestampOffset
        let version: UInt8 = 2 << 6
        return [version, Self.payloadType] + Self.bytes(sequence) + Self.bytes(timestamp) + Self.bytes(source)
    }

    private static func bytes<Value: FixedWidthInteger>(_ value: Value) -> [UInt8] {
        withUnsafeBytes(of: value.bigEndian) { Array($0) }
    }
}
