// SPDX-License-Identifier: GPL-2.0-or-later

/// Splits messages into chunks: RTMP 5.3.
///
/// The first message of a chunk stream has a header with an absolute time; those that follow it, as long as their
/// stream is the same and their time does not go back, have one with the difference.
struct RTMPChunkWriter: Sendable {
    /// The chunk streams in use: their numbers are free to choose from 3 on.
    enum ChunkStream: UInt8, Sendable, Hashable {
        case control = 2
        case commands
        case audio
        case metadata
        case video
    }

    private struct Previous {
        var streamID: UInt32
        var timestamp: UInt32
    }

    /// The greatest payload of a chunk that this side sends. It applies from the next message on; the receiver must
    /// have been told.
    var chunkSize = 128
    private var previous: [ChunkStream: Previous] = [:]

    /// Appends the chunks of a message.
    mutating func write(_ message: RTMPMessage, on stream: ChunkStream, to bytes: inout [UInt8]) {
        let last = previous[stream]
        previous[stream] = Previous(streamID: message.streamID, timestamp: message.timestamp)
        let difference = last.map { message.timestamp &- $0.timestamp } ?? 0
        let isRelative = last?.streamID == message.streamID && difference < 1 << 31
        let time = isRelative ? difference : message.timestamp
        let extended = time >= Self.extendedTime ? time : nil

        bytes.append(stream.rawValue | (isRelative ? 0x40 : 0))
        bytes.append(bigEndian: min(time, Self.extendedTime), count: 3)
        bytes.append(bigEndian: UInt(message.payload.count), count: 3)
        bytes.append(message.kind.rawValue)
        if !isRelative { bytes.append(bigEndian: message.streamID.byteSwapped, count: 4) }
        var rest = message.payload[...]
        while true {
            if let extended { bytes.append(bigEndian: extended, count: 4) }
            bytes += rest.prefix(chunkSize)
            rest = rest.dropFirst(chunkSize)
            guard !rest.isEmpty else { return }
            bytes.append(stream.rawValue | 0xC0)
        }
    }

    /// The longest payload of a message, whose length has 24 bits.
    static let greatestPayload = 0xFFFFFF
    private static let extendedTime: UInt32 = 0xFFFFFF
}
