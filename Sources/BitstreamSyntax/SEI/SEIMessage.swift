// SPDX-License-Identifier: GPL-2.0-or-later

/// A supplemental enhancement information (SEI) message: H.264 7.3.2.3.1, HEVC 7.3.5.
public struct SEIMessage: Hashable, Sendable {
    /// `payloadType`: the type of the message; H.264 annex D.
    public struct PayloadType: RawRepresentable, Hashable, Sendable {
        /// The number in the bitstream.
        public var rawValue: UInt32
        /// Makes the type with the given number.
        public init(rawValue: UInt32) { self.rawValue = rawValue }

        /// Buffering period.
        public static let bufferingPeriod = PayloadType(rawValue: 0)
        /// Picture timing.
        public static let pictureTiming = PayloadType(rawValue: 1)
        /// User data registered by Recommendation ITU-T T.35.
        public static let registeredUserData = PayloadType(rawValue: 4)
        /// User data with a UUID.
        public static let unregisteredUserData = PayloadType(rawValue: 5)
        /// Recovery point.
        public static let recoveryPoint = PayloadType(rawValue: 6)
        /// Mastering display colour volume.
        public static let masteringDisplay = PayloadType(rawValue: 137)
        /// Content light level information.
        public static let contentLightLevel = PayloadType(rawValue: 144)
    }

    /// The type of the message.
    public var type: PayloadType
    /// `sei_payload()` in whole bytes.
    public var payload: [UInt8]

    /// Makes a message.
    public init(type: PayloadType, payload: [UInt8]) {
        self.type = type
        self.payload = payload
    }

    /// Serializes messages into one NAL unit; prefix SEI for HEVC.
    ///
    /// - Parameters:
    ///   - messages: The messages, in order.
    ///   - codec: The codec.
    ///   - temporalId: `TemporalId` of HEVC, 0...6: that of the access unit (H.265 7.4.2.2). Not used for H.264.
    /// - Returns: A NAL unit without start code or length.
    public static func nalUnit(_ messages: [SEIMessage], codec: VideoCodec, temporalId: UInt8 = 0) -> [UInt8] {
        var bytes: [UInt8] =
            switch codec {
            case .h264: [UInt8(H264NALUnitHeader.UnitType.sei.rawValue)]
            case .hevc: [UInt8(HEVCNALUnitHeader.UnitType.prefixSEI.rawValue << 1), min(temporalId, 6) + 1]
            }
        for message in messages {
            bytes += coded(Int(message.type.rawValue)) + coded(message.payload.count) + message.payload
        }
        return EmulationPrevention.added(to: bytes + [0x80])
    }

    /// Returns a number as one `ff_byte` for each 255 in it, followed by the remainder.
    private static func coded(_ number: Int) -> [UInt8] {
        Array(repeating: 0xFF, count: number / 255) + [UInt8(number % 255)]
    }

    /// Parses the messages of a NAL unit.
    ///
    /// - Parameters:
    ///   - nalUnit: An SEI NAL unit of H.264, or a prefix or suffix SEI NAL unit of HEVC, without start code or length.
    ///   - codec: The codec.
    /// - Throws: `BitstreamError` if a message exceeds the unit.
    public static func messages(
        in nalUnit: some Collection<UInt8>,
        codec: VideoCodec
    ) throws(BitstreamError) -> [SEIMessage] {
        let bytes = EmulationPrevention.removed(from: nalUnit)
        var reader = BitReader(bytes)
        for _ in 0..<(codec == .h264 ? 1 : 2) { _ = try reader.readBits(8, "nal_unit_header") }
        var messages: [SEIMessage] = []
        while reader.moreRBSPData {
            let type = try number("payload_type_byte", &reader)
            let size = try number("payload_size_byte", &reader)
            let start = reader.bitPosition / 8
            guard size <= bytes.count - start else {
                throw BitstreamError(field: "sei_payload", bitPosition: reader.bitPosition, reason: .truncated)
            }
            let payload = Array(bytes[start..<start + size])
            messages.append(SEIMessage(type: PayloadType(rawValue: UInt32(type)), payload: payload))
            for _ in 0..<size { _ = try reader.readBits(8, "sei_payload") }
        }
        return messages
    }

    private static func number(_ field: String, _ reader: inout BitReader) throws(BitstreamError) -> Int {
        var number = 0
        while true {
            let byte = Int(try reader.readBits(8, field))
            number += byte
            // No unit is that long.
            guard number < 1 << 30 else {
                throw .outOfRange(field, at: reader.bitPosition, value: number, allowed: 0...(1 << 30 - 1))
            }
            if byte != 0xFF { return number }
        }
    }
}

/// An SEI payload whose elements are described in order.
protocol SEIPayload {
    /// Visits every element in the order of the syntax table.
    mutating func visit(_ visitor: inout some SyntaxVisitor) throws(BitstreamError)
}

extension SEIPayload {
    /// Returns the elements as whole bytes, with `bit_equal_to_one` and zeros after them if they end within a byte.
    func message(_ type: SEIMessage.PayloadType) throws(BitstreamError) -> SEIMessage {
        var writer = SyntaxWriter()
        var copy = self
        try copy.visit(&writer)
        if !writer.writer.isByteAligned { try writer.trailingBits() }
        return SEIMessage(type: type, payload: writer.writer.bytes)
    }

    /// Parses the elements; the data after them is ignored.
    mutating func read(_ payload: [UInt8]) throws(BitstreamError) {
        var reader = SyntaxReader(BitReader(payload))
        try visit(&reader)
    }
}
