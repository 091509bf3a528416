// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// A decoded picture, whose samples are in the memory of a slot, in the planes that the client chose for it.
struct PictureNotice: WireStructure, Hashable, Sendable {
    static var blank: PictureNotice { PictureNotice(number: 0, slot: 0, picture: .blank, isDamaged: false) }

    /// The number of its sample.
    var number: Int64
    var slot: UInt32
    var picture: PixelBuffer.Description
    var isDamaged: Bool

    mutating func visit(_ visitor: inout some WireVisitor) throws(WireError) {
        try visitor.field(&number)
        try visitor.field(&slot)
        try visitor.field(&picture)
        try visitor.field(&isDamaged)
    }
}

/// A decoded picture that stays on the device.
struct DevicePictureNotice: WireStructure, Hashable, Sendable {
    static var blank: DevicePictureNotice {
        DevicePictureNotice(number: 0, id: 0, device: "", picture: .blank, isDamaged: false)
    }

    /// The number of its sample.
    var number: Int64
    /// The number of the picture in this helper.
    var id: UInt64
    /// The device, for example `/dev/dri/renderD128`.
    var device: String
    var picture: PixelBuffer.Description
    var isDamaged: Bool

    mutating func visit(_ visitor: inout some WireVisitor) throws(WireError) {
        try visitor.field(&number)
        try visitor.field(&id)
        try visitor.field(&device)
        try visitor.field(&picture)
        try visitor.field(&isDamaged)
    }
}

/// Messages from a decoder in a helper to its client.
enum DecoderHelperMessage: Sendable {
    /// The decoder was created.
    case created(DecoderProperties)
    /// There is no such decoder, or it could not be created.
    case refused(MediaError)
    /// The decoder has accepted the sample and all before it, and nothing in the helper reads their memory any more.
    case accepted(number: Int64)
    /// All pictures were reported before this message.
    case drained
    /// The order to be answered failed.
    case callFailed(MediaError)
    /// The decoder failed, independently of any order.
    case failed(MediaError)
    /// A picture is complete.
    case picture(PictureNotice)
    /// The data of a sample is damaged.
    case damaged(number: Int64, MediaError)
    /// The decoder waits for memory for a picture of that shape. Its next message about a picture follows when it has
    /// some.
    case slotAwaited(PictureShape)
    /// A picture is complete, and stays on the device until the client releases it.
    case devicePicture(DevicePictureNotice)
}

extension DecoderHelperMessage: HelperMessage {
    enum Kind: UInt16 {
        case created = 97
        case refused
        case accepted
        case drained
        case callFailed
        case failed
        case picture
        case damaged
        case slotAwaited
        case devicePicture
    }

    var role: HelperMessageRole {
        switch self {
        case .created, .accepted, .drained: .answer
        case .refused(let error), .callFailed(let error): .refusal(error)
        case .failed: .failure
        case .picture, .damaged, .slotAwaited, .devicePicture: .notice
        }
    }

    var kind: UInt16 {
        let kind: Kind =
            switch self {
            case .created: .created
            case .refused: .refused
            case .accepted: .accepted
            case .drained: .drained
            case .callFailed: .callFailed
            case .failed: .failed
            case .picture: .picture
            case .damaged: .damaged
            case .slotAwaited: .slotAwaited
            case .devicePicture: .devicePicture
            }
        return kind.rawValue
    }

    var descriptorCount: Int { 0 }

    init(kind: UInt16, from reader: inout WireReader) throws(WireError) {
        switch Kind(rawValue: kind) {
        case .created: self = .created(try DecoderProperties(from: &reader))
        case .refused: self = .refused(try MediaError(from: &reader))
        case .accepted: self = .accepted(number: try reader.integer())
        case .drained: self = .drained
        case .callFailed: self = .callFailed(try MediaError(from: &reader))
        case .failed: self = .failed(try MediaError(from: &reader))
        case .picture: self = .picture(try PictureNotice(from: &reader))
        case .damaged: self = .damaged(number: try reader.integer(), try MediaError(from: &reader))
        case .slotAwaited: self = .slotAwaited(try PictureShape(from: &reader))
        case .devicePicture: self = .devicePicture(try DevicePictureNotice(from: &reader))
        case nil: throw reader.error("kind of message", at: 6, .noSuchValue(given: "\(kind)"))
        }
    }

    /// Texts for people are truncated if they are too long; any other value that is too long is an error.
    func writePayload(to writer: inout WireWriter) throws(WireError) {
        switch self {
        case .created(let properties): try properties.fittingWire.write(to: &writer)
        case .refused(let error), .callFailed(let error), .failed(let error):
            try error.fittingWire.write(to: &writer)
        case .accepted(let number): writer.integer(number)
        case .picture(let notice): try notice.write(to: &writer)
        case .damaged(let number, let error):
            writer.integer(number)
            try error.fittingWire.write(to: &writer)
        case .slotAwaited(let shape): try shape.write(to: &writer)
        case .devicePicture(let notice): try notice.write(to: &writer)
        case .drained: break
        }
    }
}

/// The messages of a decoder.
enum DecoderMessages: ConnectionMessages {
    typealias Client = DecoderClientMessage
    typealias Helper = DecoderHelperMessage

    static var kind: ConnectionKind { .decoder }
    static var close: DecoderClientMessage { .close }
}

/// The client's connection to a decoder.
typealias DecoderLink = HelperLink<DecoderMessages>
