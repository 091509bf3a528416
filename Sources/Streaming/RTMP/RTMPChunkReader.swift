// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// Assembles the messages of a server from chunks that arrive in pieces of any size: RTMP 5.3.
///
/// Its memory is bounded by ``greatestPayload`` and ``greatestStreamCount``, whatever the server sends.
struct RTMPChunkReader: Sendable {
    /// The most bytes of messages that are not complete, of all chunk streams together.
    static let greatestPayload = 1 << 20
    /// The most chunk streams.
    static let greatestStreamCount = 64

    private struct Stream {
        var timestamp: UInt32 = 0
        var difference: UInt32 = 0
        var length = 0
        var kind: UInt8 = 0
        var streamID: UInt32 = 0
        var isExtended = false
        var payload: [UInt8] = []
        var isPartial = false
    }

    private enum State {
        case header
        case payload(stream: Int, remaining: Int)
    }

    private var chunkSize = 128
    private var streams: [Int: Stream] = [:]
    private var partialBytes = 0
    private var header: [UInt8] = []
    private var state = State.header

    /// Takes bytes from the server.
    ///
    /// Set Chunk Size and Abort are obeyed and not returned.
    ///
    /// - Returns: The messages that they complete.
    /// - Throws: `malformedData` if the bytes are no chunks, or exceed a limit. The reader is then of no more use.
    mutating func receive(_ bytes: ArraySlice<UInt8>) throws(MediaError) -> [RTMPMessage] {
        var rest = bytes
        var messages: [RTMPMessage] = []
        while true {
            switch state {
            case .header:
                guard let byte = rest.popFirst() else { return messages }
                header.append(byte)
                try readHeader()
            case .payload(let number, let remaining):
                if remaining > 0, rest.isEmpty { return messages }
                let piece = rest.prefix(remaining)
                rest = rest.dropFirst(piece.count)
                streams[number]?.payload += piece
                partialBytes += piece.count
                guard piece.count == remaining else {
                    state = .payload(stream: number, remaining: remaining - piece.count)
                    continue
                }
                state = .header
                if let message = complete(number), try !obey(message) { messages.append(message) }
            }
        }
    }

    /// Returns the message of a chunk stream if its payload is complete.
    private mutating func complete(_ number: Int) -> RTMPMessage? {
        guard let stream = streams[number], stream.payload.count == stream.length else { return nil }
        partialBytes -= stream.length
        streams[number]?.payload = []
        streams[number]?.isPartial = false
        return RTMPMessage(
            kind: RTMPMessage.Kind(rawValue: stream.kind),
            streamID: stream.streamID,
            timestamp: stream.timestamp,
            payload: stream.payload
        )
    }

    /// - Returns: Whether the message concerns only the reader.
    private mutating func obey(_ message: RTMPMessage) throws(MediaError) -> Bool {
        var reader = RTMPByteReader(message.payload)
        switch message.kind {
        case .setChunkSize:
            let size = try reader.word()
            guard size > 0, size < 1 << 31 else { throw Self.malformed("a chunk size of \(size)") }
            chunkSize = Int(size)
        case .abort:
            let number = Int(try reader.word())
            partialBytes -= streams[number]?.payload.count ?? 0
            streams[number]?.payload = []
            streams[number]?.isPartial = false
        default: return false
        }
        return true
    }

    fileprivate static func malformed(_ what: String) -> MediaError {
        MediaError(.malformedData, "the RTMP server sent \(what)")
    }
}

// MARK: - Headers: RTMP 5.3.1

extension RTMPChunkReader {
    /// Parses the header, if it is complete.
    private mutating func readHeader() throws(MediaError) {
        let format = header[0] >> 6
        // One, two or three bytes, with the stream's number or 64 less than it.
        let basicCount = header[0] & 0x3F == 0 ? 2 : header[0] & 0x3F == 1 ? 3 : 1
        let fieldCount = [11, 7, 3, 0][Int(format)]
        guard header.count >= basicCount + fieldCount else { return }
        let number =
            switch basicCount {
            case 2: 64 + Int(header[1])
            case 3: 64 + Int(header[1]) + Int(header[2]) << 8
            default: Int(header[0] & 0x3F)
            }
        let known = streams[number]
        guard known != nil || format == 0 || format == 1 else {
            throw Self.malformed("a chunk that continues an unknown message")
        }
        var stream = known ?? Stream()
        let time = format < 3 ? Self.number(header[basicCount..<basicCount + 3]) : 0
        let isExtended = format < 3 ? time == 0xFFFFFF : stream.isExtended
        let count = basicCount + fieldCount + (isExtended ? 4 : 0)
        guard header.count >= count else { return }
        let fields = header[basicCount..<basicCount + fieldCount]
        let fullTime = isExtended ? Self.number(header.suffix(4)) : time
        header.removeAll(keepingCapacity: true)
        stream.isExtended = isExtended
        try begin(&stream, format: format, fields: fields, time: fullTime)
        try continueMessage(stream, number)
    }

    /// Applies the header of a chunk to its stream.
    private func begin(
        _ stream: inout Stream,
        format: UInt8,
        fields: ArraySlice<UInt8>,
        time: UInt32
    ) throws(MediaError) {
        guard format < 3 || !stream.isPartial else { return }
        guard !stream.isPartial else { throw Self.malformed("a chunk that begins a message inside of another one") }
        if format < 2 {
            stream.length = Int(Self.number(fields.dropFirst(3).prefix(3)))
            stream.kind = fields[fields.startIndex + 6]
        }
        if format == 0 {
            stream.streamID = Self.number(fields.suffix(4)).byteSwapped
            (stream.timestamp, stream.difference) = (time, time)
        } else {
            if format < 3 { stream.difference = time }
            stream.timestamp &+= stream.difference
        }
        stream.isPartial = true
    }

    private mutating func continueMessage(_ stream: Stream, _ number: Int) throws(MediaError) {
        let remaining = min(stream.length - stream.payload.count, chunkSize)
        guard partialBytes + remaining <= Self.greatestPayload, stream.length <= Self.greatestPayload else {
            throw Self.malformed("a message of \(stream.length) bytes, more than \(Self.greatestPayload)")
        }
        streams[number] = stream
        guard streams.count <= Self.greatestStreamCount else {
            throw Self.malformed("more than \(Self.greatestStreamCount) chunk streams")
        }
        state = .payload(stream: number, remaining: remaining)
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt32 { bytes.reduce(0) { $0 << 8 | UInt32($1) } }
}
