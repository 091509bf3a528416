// SPDX-License-Identifier: GPL-2.0-or-later

/// The header before the payload of every message, 24 bytes:
///
/// | bytes | meaning |
/// |---|---|
/// | 0...3 | `VTIP` |
/// | 4...5 | version of the protocol |
/// | 6...7 | kind of the message |
/// | 8...9 | flags, all of them 0 in this version |
/// | 10...11 | how many descriptors come with the message |
/// | 12...15 | length of the payload in bytes |
/// | 16...23 | number of the message, rising by one from 0 in each direction |
struct MessageHeader: Hashable {
    static let byteCount = 24
    /// The position of the payload's length.
    static let lengthPosition = 12
    static let magic: [UInt8] = Array("VTIP".utf8)
    /// Increased by every change that an older helper or client would not understand.
    static let version: UInt16 = 16
    /// The maximum payload. A message with its header fits into the smallest default send buffer of sockets.
    static let maximumPayload = 128 << 10

    var kind: UInt16
    var descriptorCount: UInt16
    var payloadLength: UInt32
    var sequence: UInt64

    init(kind: UInt16, descriptorCount: UInt16, payloadLength: UInt32, sequence: UInt64) {
        self.kind = kind
        self.descriptorCount = descriptorCount
        self.payloadLength = payloadLength
        self.sequence = sequence
    }

    init(from reader: inout WireReader) throws(WireError) {
        for expected in Self.magic {
            let start = reader.position
            let byte = try reader.integer(UInt8.self)
            guard byte == expected else {
                throw reader.error("magic number", at: start, .wrongHeader(given: "\(byte)", expected: "\(expected)"))
            }
        }
        try Self.expect(Self.version, "version of the protocol", &reader)
        kind = try reader.integer()
        try Self.expect(UInt16(0), "flags", &reader)
        descriptorCount = try reader.integer()
        payloadLength = try reader.integer()
        sequence = try reader.integer()
    }

    private static func expect<Value: FixedWidthInteger>(
        _ expected: Value,
        _ field: String,
        _ reader: inout WireReader
    ) throws(WireError) {
        let start = reader.position
        let given = try reader.integer(Value.self)
        guard given == expected else {
            throw reader.error(field, at: start, .wrongHeader(given: "\(given)", expected: "\(expected)"))
        }
    }

    func write(to writer: inout WireWriter) {
        for byte in Self.magic { writer.integer(byte) }
        writer.integer(Self.version)
        writer.integer(kind)
        writer.integer(UInt16(0))
        writer.integer(descriptorCount)
        writer.integer(payloadLength)
        writer.integer(sequence)
    }
}

/// A message of one direction.
protocol WireMessage: Sendable {
    /// The kind of the message. It determines how many descriptors are sent with it.
    var kind: UInt16 { get }
    var descriptorCount: Int { get }

    /// Reads the payload of a message of a given kind.
    init(kind: UInt16, from reader: inout WireReader) throws(WireError)
    func writePayload(to writer: inout WireWriter) throws(WireError)
}

extension WireWriter {
    /// Writes one complete message.
    ///
    /// - Throws: An error if a value or the message is longer than allowed.
    mutating func message(_ message: some WireMessage, sequence: UInt64) throws(WireError) {
        clear()
        MessageHeader(
            kind: message.kind,
            descriptorCount: UInt16(clamping: message.descriptorCount),
            payloadLength: 0,
            sequence: sequence
        ).write(to: &self)
        try message.writePayload(to: &self)
        let length = bytes.count - MessageHeader.byteCount
        guard length <= MessageHeader.maximumPayload else {
            let reason = WireError.Reason.tooLong(length, allowed: MessageHeader.maximumPayload)
            throw WireError(field: "message", position: 0, reason: reason)
        }
        replace(at: MessageHeader.lengthPosition, with: UInt32(clamping: length))
    }
}

extension WireMessage {
    /// Returns the complete message.
    ///
    /// - Throws: An error if a value or the message is longer than allowed.
    func bytes(sequence: UInt64) throws(WireError) -> [UInt8] {
        var writer = WireWriter()
        try writer.message(self, sequence: sequence)
        return writer.bytes
    }

    /// Reads a complete message.
    ///
    /// - Parameters:
    ///   - bytes: Exactly the bytes of the message.
    ///   - sequence: The expected sequence number.
    ///   - descriptorCount: The number of descriptors that arrived with it.
    init(_ bytes: [UInt8], sequence: UInt64, descriptorCount: Int) throws(WireError) {
        var reader = WireReader(bytes)
        try self.init(&reader, sequence: sequence, descriptorCount: descriptorCount)
    }

    /// Reads a complete message from its beginning.
    init(_ reader: inout WireReader, sequence: UInt64, descriptorCount: Int) throws(WireError) {
        let header = try MessageHeader(from: &reader)
        func check(_ given: some FixedWidthInteger, _ expected: Int, _ field: String, at position: Int)
            throws(WireError)
        {
            guard given == expected else {
                throw reader.error(field, at: position, .wrongHeader(given: "\(given)", expected: "\(expected)"))
            }
        }
        try check(header.payloadLength, reader.remaining, "payload length", at: MessageHeader.lengthPosition)
        guard header.sequence == sequence else {
            let reason = WireError.Reason.wrongHeader(given: "\(header.sequence)", expected: "\(sequence)")
            throw reader.error("message number", at: 16, reason)
        }
        try check(header.descriptorCount, descriptorCount, "number of descriptors", at: 10)
        try self.init(kind: header.kind, from: &reader)
        try check(header.descriptorCount, self.descriptorCount, "number of descriptors", at: 10)
        try reader.finish("message")
    }
}
