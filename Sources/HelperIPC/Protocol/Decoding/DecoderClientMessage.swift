// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import MediaTypes

/// An order for a decoder.
struct DecoderOrder: WireStructure, Hashable, Sendable {
    static var blank: DecoderOrder {
        DecoderOrder(
            decoder: .blank,
            formatDescription: .blank,
            isLowLatency: false,
            threadCount: 0,
            devicePictureLimit: 0,
            ringByteCount: 0
        )
    }

    var decoder: DecoderIdentity
    /// The format of the first sample.
    var formatDescription: FormatDescription
    var isLowLatency: Bool
    var threadCount: Int
    /// The number of pictures that the client may keep on the device.
    var devicePictureLimit: Int
    /// The size of the memory for coded samples, whose descriptor is sent with the message.
    var ringByteCount: Int

    mutating func visit(_ visitor: inout some WireVisitor) throws(WireError) {
        try visitor.field(&decoder)
        try visitor.field(&formatDescription)
        try visitor.field(&isLowLatency)
        try visitor.field(&threadCount)
        try visitor.field(&devicePictureLimit)
        try visitor.field(&ringByteCount)
    }
}

/// A sample to decode, whose data is in the memory for coded samples.
struct SampleOrder: WireStructure, Hashable, Sendable {
    static var blank: SampleOrder {
        SampleOrder(
            number: 0,
            offset: 0,
            byteCount: 0,
            presentationTime: .invalid,
            decodeTime: .invalid,
            duration: .invalid,
            isKeyFrame: false,
            isReference: false,
            isDropped: false,
            formatDescription: nil,
            formatDescriptionChanged: false,
            released: []
        )
    }

    var number: Int64
    /// The offset of the data in the ring.
    var offset: Int
    var byteCount: Int
    var presentationTime: MediaTime
    var decodeTime: MediaTime
    var duration: MediaTime
    var isKeyFrame: Bool
    var isReference: Bool
    var isDropped: Bool
    /// The format of this sample and the next ones; `nil` if it is that of the sample before.
    var formatDescription: FormatDescription?
    /// The sample's own statement about its format.
    var formatDescriptionChanged: Bool
    /// The pictures on the device that the client no longer uses.
    var released: [UInt64]

    mutating func visit(_ visitor: inout some WireVisitor) throws(WireError) {
        try visitor.field(&number)
        try visitor.field(&offset)
        try visitor.field(&byteCount)
        try visitor.field(&presentationTime)
        try visitor.field(&decodeTime)
        try visitor.field(&duration)
        try visitor.field(&isKeyFrame)
        try visitor.field(&isReference)
        try visitor.field(&isDropped)
        try visitor.field(&formatDescription)
        try visitor.field(&formatDescriptionChanged)
        try visitor.list(&released, atMost: WireLimits.devicePictures)
    }
}

/// Memory for decoded pictures, whose descriptor is sent with the message.
struct SlotOffer: WireStructure, Hashable, Sendable {
    static var blank: SlotOffer { SlotOffer(slot: 0, shape: .blank, byteCount: 0, planes: []) }

    /// The slot number of the memory in later messages.
    var slot: UInt32
    /// The format and size of the pictures in it.
    var shape: PictureShape
    /// The size of the memory, a memfd with a sealed size.
    var byteCount: Int
    /// The planes of the pictures in it.
    var planes: [PlaneLayout]

    mutating func visit(_ visitor: inout some WireVisitor) throws(WireError) {
        try visitor.field(&slot)
        try visitor.field(&shape)
        try visitor.field(&byteCount)
        try visitor.list(&planes, atMost: WireLimits.planes)
    }
}

/// Messages from the client to a decoder, over a separate connection. Orders are answered one after another, in the
/// order in which they arrived.
enum DecoderClientMessage: Sendable {
    /// Answered by ``DecoderHelperMessage/created(_:)`` or ``DecoderHelperMessage/refused(_:)``.
    case create(DecoderOrder)
    /// Larger memory for coded samples, sent while no sample is unanswered. No answer.
    case ring(byteCount: Int)
    /// Answered by ``DecoderHelperMessage/accepted(number:)`` or ``DecoderHelperMessage/callFailed(_:)``.
    case sample(SampleOrder)
    /// Answered by ``DecoderHelperMessage/drained`` or ``DecoderHelperMessage/callFailed(_:)``.
    case drain
    /// New memory for pictures, which the helper may write. No answer.
    case offer(SlotOffer)
    /// The picture in that slot is no longer used: the helper may write there. No answer.
    case free(slot: UInt32)
    /// The memory of that slot is no longer used. No answer.
    case forget(slot: UInt32)
    /// The client no longer uses pictures on the device. No answer.
    case release(ids: [UInt64])
    /// The last message: the decoder is to be released. No answer.
    case close
}

extension DecoderClientMessage: WireMessage {
    enum Kind: UInt16 {
        case create = 33
        case ring
        case sample
        case drain
        case offer
        case free
        case forget
        case release
        case close
    }

    var kind: UInt16 {
        let kind: Kind =
            switch self {
            case .create: .create
            case .ring: .ring
            case .sample: .sample
            case .drain: .drain
            case .offer: .offer
            case .free: .free
            case .forget: .forget
            case .release: .release
            case .close: .close
            }
        return kind.rawValue
    }

    var descriptorCount: Int {
        switch self {
        case .create, .ring, .offer: 1
        case .sample, .drain, .free, .forget, .release, .close: 0
        }
    }

    init(kind: UInt16, from reader: inout WireReader) throws(WireError) {
        switch Kind(rawValue: kind) {
        case .create: self = .create(try DecoderOrder(from: &reader))
        case .ring: self = .ring(byteCount: try reader.integer())
        case .sample: self = .sample(try SampleOrder(from: &reader))
        case .drain: self = .drain
        case .offer: self = .offer(try SlotOffer(from: &reader))
        case .free: self = .free(slot: try reader.integer())
        case .forget: self = .forget(slot: try reader.integer())
        case .release: self = .release(ids: try reader.list(atMost: WireLimits.devicePictures))
        case .close: self = .close
        case nil: throw reader.error("kind of message", at: 6, .noSuchValue(given: "\(kind)"))
        }
    }

    func writePayload(to writer: inout WireWriter) throws(WireError) {
        switch self {
        case .create(let order): try order.write(to: &writer)
        case .ring(let byteCount): writer.integer(byteCount)
        case .sample(let order): try order.write(to: &writer)
        case .offer(let offer): try offer.write(to: &writer)
        case .free(let slot), .forget(let slot): writer.integer(slot)
        case .release(let ids): try writer.list(ids, atMost: WireLimits.devicePictures)
        case .drain, .close: break
        }
    }
}
