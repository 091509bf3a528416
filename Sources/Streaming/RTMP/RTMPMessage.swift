// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// A message of RTMP, which chunks carry.
struct RTMPMessage: Sendable, Hashable {
    /// The type of a message: RTMP 5.4 and 7.1.
    struct Kind: Sendable, Hashable, RawRepresentable {
        var rawValue: UInt8

        static let setChunkSize = Kind(rawValue: 1)
        static let abort = Kind(rawValue: 2)
        static let acknowledgement = Kind(rawValue: 3)
        static let userControl = Kind(rawValue: 4)
        static let windowAcknowledgementSize = Kind(rawValue: 5)
        static let setPeerBandwidth = Kind(rawValue: 6)
        static let audio = Kind(rawValue: 8)
        static let video = Kind(rawValue: 9)
        /// A command in AMF3, whose first byte announces values in AMF0.
        static let commandAMF3 = Kind(rawValue: 17)
        static let dataAMF0 = Kind(rawValue: 18)
        static let commandAMF0 = Kind(rawValue: 20)
    }

    var kind: Kind
    /// The number of the stream that `createStream` has returned; 0 for the connection.
    var streamID: UInt32 = 0
    /// Milliseconds, modulo 2³².
    var timestamp: UInt32 = 0
    var payload: [UInt8]
}

// MARK: - Messages of the protocol: RTMP 5.4

extension RTMPMessage {
    /// Makes a message whose payload is one number with 32 bits.
    init(_ kind: Kind, number: UInt32) {
        self.init(kind: kind, payload: [])
        payload.append(bigEndian: number, count: 4)
    }

    /// Makes the answer to a ping, with the time of the request: User Control, event type 7 (RTMP 7.1.7).
    init(pingResponse time: ArraySlice<UInt8>) { self.init(kind: .userControl, payload: [0, 7] + time) }

    /// Makes a command with values in AMF0.
    init(command values: [AMF0Value], streamID: UInt32 = 0) {
        self.init(kind: .commandAMF0, streamID: streamID, payload: AMF0Value.bytes(values))
    }
}

/// What a message from a server asks for or tells.
enum RTMPServerMessage: Sendable, Hashable {
    /// The server wants an acknowledgement after each such number of bytes.
    case windowAcknowledgementSize(UInt32)
    case setPeerBandwidth(UInt32)
    /// The server has received that number of bytes, modulo 2³².
    case acknowledgement(UInt32)
    case pingRequest(time: [UInt8])
    /// A command: its name, its transaction, and the values that follow.
    case command(name: String, transaction: Double, values: [AMF0Value])
    /// Anything else, which a publisher need not know.
    case other

    /// - Throws: `malformedData` if the message is cut off or no command.
    init(_ message: RTMPMessage) throws(MediaError) {
        var reader = RTMPByteReader(message.payload)
        switch message.kind {
        case .windowAcknowledgementSize: self = .windowAcknowledgementSize(try reader.word())
        case .setPeerBandwidth: self = .setPeerBandwidth(try reader.word())
        case .acknowledgement: self = .acknowledgement(try reader.word())
        case .userControl:
            let isPing = try reader.number(byteCount: 2) == 6
            self = isPing ? .pingRequest(time: Array(try reader.bytes(4))) : .other
        case .commandAMF0: try self.init(command: message.payload[...])
        case .commandAMF3: try self.init(command: message.payload.dropFirst())
        default: self = .other
        }
    }

    private init(command payload: ArraySlice<UInt8>) throws(MediaError) {
        let values = try AMF0Value.values(in: payload)
        guard let name = values.first?.text else {
            throw MediaError(.malformedData, "the RTMP server sent a command without a name")
        }
        let transaction = values.dropFirst().first?.number ?? 0
        self = .command(name: name, transaction: transaction, values: Array(values.dropFirst(2)))
    }
}
