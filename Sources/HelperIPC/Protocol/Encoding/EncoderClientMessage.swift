// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// An order for an encoder.
struct EncoderOrder: WireStructure, Hashable, Sendable {
    static var blank: EncoderOrder {
        EncoderOrder(encoder: .blank, configuration: .blank, maximumReorderDepth: nil, ringByteCount: 0)
    }

    var encoder: EncoderIdentity
    var configuration: EncoderConfiguration
    var maximumReorderDepth: Int?
    var copiesOnDevice = true
    /// The size of the memory for coded data, whose descriptor is sent with the message.
    var ringByteCount: Int

    mutating func visit(_ visitor: inout some WireVisitor) throws(WireError) {
        try visitor.field(&encoder)
        try visitor.field(&configuration)
        try visitor.field(&maximumReorderDepth)
        try visitor.field(&copiesOnDevice)
        try visitor.field(&ringByteCount)
    }
}

/// Memory for pictures, whose descriptor is sent with the message.
struct MemoryOffer: WireStructure, Hashable, Sendable {
    static let blank = MemoryOffer(slot: 0, byteCount: 0)

    /// The slot number of the memory in later messages.
    var slot: UInt32
    /// The size of a sealed memfd, which the helper maps; `nil` for a file, which it reads, and for a DMA-BUF, which it
    /// passes on unchanged.
    var byteCount: Int?

    mutating func visit(_ visitor: inout some WireVisitor) throws(WireError) {
        try visitor.field(&slot)
        try visitor.field(&byteCount)
    }
}

/// The position of a picture's samples in memory that was offered before, or in the helper.
enum PicturePlace: Hashable, Sendable {
    /// In a memfd.
    case memory(slot: UInt32, planes: [PlaneLayout])
    /// In DMA-BUFs: the slot of each object of the picture, and the planes in these objects.
    case dmaBuf(slots: [UInt32], planes: [DMABuffer.Plane], modifier: UInt64)
    /// In a file, at any position.
    case file(slot: UInt32, planes: [PlaneLayout])
    /// On the device, where a decoder in the same helper has left it.
    case device(id: UInt64)
}

extension PicturePlace: WireValue {
    init(from reader: inout WireReader) throws(WireError) {
        let start = reader.position
        switch try reader.integer(UInt8.self) {
        case 0: self = .memory(slot: try reader.integer(), planes: try reader.list(atMost: WireLimits.planes))
        case 1:
            self = .dmaBuf(
                slots: try reader.list(atMost: WireLimits.planes),
                planes: try reader.list(atMost: WireLimits.planes),
                modifier: try reader.integer()
            )
        case 2: self = .file(slot: try reader.integer(), planes: try reader.list(atMost: WireLimits.planes))
        case 3: self = .device(id: try reader.integer())
        case let other: throw reader.error("PicturePlace", at: start, .noSuchValue(given: "case \(other)"))
        }
    }

    func write(to writer: inout WireWriter) throws(WireError) {
        switch self {
        case .memory(let slot, let planes):
            writer.integer(UInt8(0))
            writer.integer(slot)
            try writer.list(planes, atMost: WireLimits.planes)
        case .dmaBuf(let slots, let planes, let modifier):
            writer.integer(UInt8(1))
            try writer.list(slots, atMost: WireLimits.planes)
            try writer.list(planes, atMost: WireLimits.planes)
            writer.integer(modifier)
        case .file(let slot, let planes):
            writer.integer(UInt8(2))
            writer.integer(slot)
            try writer.list(planes, atMost: WireLimits.planes)
        case .device(let id):
            writer.integer(UInt8(3))
            writer.integer(id)
        }
    }
}

/// A frame to encode.
struct FrameOrder: WireStructure, Hashable, Sendable {
    static var blank: FrameOrder {
        FrameOrder(
            number: 0,
            picture: .blank,
            place: .memory(slot: 0, planes: []),
            conversion: nil,
            presentationTime: .invalid,
            duration: .invalid,
            options: .blank
        )
    }

    var number: Int64
    var picture: PixelBuffer.Description
    var place: PicturePlace
    var conversion: PictureConversion?
    var presentationTime: MediaTime
    var duration: MediaTime
    var options: FrameOptions

    mutating func visit(_ visitor: inout some WireVisitor) throws(WireError) {
        try visitor.field(&number)
        try visitor.field(&picture)
        try visitor.field(&place)
        try visitor.field(&conversion)
        try visitor.field(&presentationTime)
        try visitor.field(&duration)
        try visitor.field(&options)
    }
}

/// Messages from the client to an encoder, over a separate connection. Orders are answered one after another, in the
/// order in which they arrived.
enum EncoderClientMessage: Sendable {
    /// Answered by ``EncoderHelperMessage/created(_:)`` or ``EncoderHelperMessage/refused(_:)``.
    case create(EncoderOrder)
    /// No answer.
    case offer(MemoryOffer)
    /// The memory of that slot is no longer used. No answer.
    case forget(slot: UInt32)
    /// Answered by ``EncoderHelperMessage/accepted(number:)`` or ``EncoderHelperMessage/callFailed(_:)``.
    case frame(FrameOrder)
    /// Answered by ``EncoderHelperMessage/updated(_:)`` or ``EncoderHelperMessage/callFailed(_:)``.
    case update(EncoderConfiguration)
    /// Answered by ``EncoderHelperMessage/drained`` or ``EncoderHelperMessage/callFailed(_:)``.
    case drain
    /// The total number of coded frames that were taken from the ring. Answers ``EncoderHelperMessage/roomWanted``.
    case taken(count: UInt64)
    /// The last message: the encoder is to be released. No answer.
    case close
    /// The driver of the render node at that path is to be inspected. Answered by ``EncoderHelperMessage/inspected`` or
    /// ``EncoderHelperMessage/callFailed(_:)``, after ``EncoderHelperMessage/stage(_:)`` and ``EncoderHelperMessage/report(_:)``.
    case inspect(path: String)
}

extension EncoderClientMessage: WireMessage {
    enum Kind: UInt16 {
        case create = 1
        case offer
        case forget
        case frame
        case update
        case drain
        case taken
        case close
        case inspect
    }

    var kind: UInt16 {
        let kind: Kind =
            switch self {
            case .create: .create
            case .offer: .offer
            case .forget: .forget
            case .frame: .frame
            case .update: .update
            case .drain: .drain
            case .taken: .taken
            case .close: .close
            case .inspect: .inspect
            }
        return kind.rawValue
    }

    var descriptorCount: Int {
        switch self {
        case .create, .offer: 1
        case .forget, .frame, .update, .drain, .taken, .close, .inspect: 0
        }
    }

    init(kind: UInt16, from reader: inout WireReader) throws(WireError) {
        switch Kind(rawValue: kind) {
        case .create: self = .create(try EncoderOrder(from: &reader))
        case .offer: self = .offer(try MemoryOffer(from: &reader))
        case .forget: self = .forget(slot: try reader.integer())
        case .frame: self = .frame(try FrameOrder(from: &reader))
        case .update: self = .update(try EncoderConfiguration(from: &reader))
        case .drain: self = .drain
        case .taken: self = .taken(count: try reader.integer())
        case .close: self = .close
        case .inspect: self = .inspect(path: try String(from: &reader))
        case nil: throw reader.error("kind of message", at: 6, .noSuchValue(given: "\(kind)"))
        }
    }

    func writePayload(to writer: inout WireWriter) throws(WireError) {
        switch self {
        case .create(let order): try order.write(to: &writer)
        case .offer(let offer): try offer.write(to: &writer)
        case .forget(let slot): writer.integer(slot)
        case .frame(let order): try order.write(to: &writer)
        case .update(let configuration): try configuration.write(to: &writer)
        case .taken(let count): writer.integer(count)
        case .inspect(let path): try path.write(to: &writer)
        case .drain, .close: break
        }
    }
}
