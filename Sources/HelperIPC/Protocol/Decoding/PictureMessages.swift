// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// An order to copy a picture from the device to memory of the client.
struct FetchOrder: WireStructure, Hashable, Sendable {
    static var blank: FetchOrder { FetchOrder(id: 0, shape: .blank, byteCount: 0, planes: []) }

    /// The number of the picture in this helper.
    var id: UInt64
    /// The format and size of the picture.
    var shape: PictureShape
    /// The size of the memory, a memfd with a sealed size, whose descriptor is sent with the message.
    var byteCount: Int
    /// The planes of the picture in it.
    var planes: [PlaneLayout]

    mutating func visit(_ visitor: inout some WireVisitor) throws(WireError) {
        try visitor.field(&id)
        try visitor.field(&shape)
        try visitor.field(&byteCount)
        try visitor.list(&planes, atMost: WireLimits.planes)
    }
}

/// A picture on the device as DMA-BUF, whose descriptors are sent with the message.
struct ExportNotice: WireStructure, Hashable, Sendable {
    static var blank: ExportNotice { ExportNotice(objectCount: 0, planes: [], modifier: 0) }

    /// The number of descriptors.
    var objectCount: Int
    /// The planes of the picture in them.
    var planes: [DMABuffer.Plane]
    var modifier: UInt64

    mutating func visit(_ visitor: inout some WireVisitor) throws(WireError) {
        try visitor.field(&objectCount)
        try visitor.list(&planes, atMost: WireLimits.planes)
        try visitor.field(&modifier)
    }
}

/// Messages from the client about pictures on the device, over a connection that no decoder has to serve.
enum PictureClientMessage: Sendable {
    /// Answered by ``PictureHelperMessage/fetched`` or ``PictureHelperMessage/callFailed(_:)``.
    case fetch(FetchOrder)
    /// The picture of that number is to be exported. Answered by ``PictureHelperMessage/exported(_:)`` or
    /// ``PictureHelperMessage/callFailed(_:)``.
    case export(id: UInt64)
    /// The last message. No answer.
    case close
}

extension PictureClientMessage: WireMessage {
    enum Kind: UInt16 {
        case fetch = 65
        case export
        case close
    }

    var kind: UInt16 {
        let kind: Kind =
            switch self {
            case .fetch: .fetch
            case .export: .export
            case .close: .close
            }
        return kind.rawValue
    }

    var descriptorCount: Int {
        switch self {
        case .fetch: 1
        case .export, .close: 0
        }
    }

    init(kind: UInt16, from reader: inout WireReader) throws(WireError) {
        switch Kind(rawValue: kind) {
        case .fetch: self = .fetch(try FetchOrder(from: &reader))
        case .export: self = .export(id: try reader.integer())
        case .close: self = .close
        case nil: throw reader.error("kind of message", at: 6, .noSuchValue(given: "\(kind)"))
        }
    }

    func writePayload(to writer: inout WireWriter) throws(WireError) {
        switch self {
        case .fetch(let order): try order.write(to: &writer)
        case .export(let id): writer.integer(id)
        case .close: break
        }
    }
}

/// Messages from a helper about pictures on its device.
enum PictureHelperMessage: Sendable {
    /// The picture is in the client's memory.
    case fetched
    /// The memory of the picture.
    case exported(ExportNotice)
    /// The order failed.
    case callFailed(MediaError)
    /// The connection failed.
    case failed(MediaError)
}

extension PictureHelperMessage: HelperMessage {
    enum Kind: UInt16 {
        case fetched = 161
        case exported
        case callFailed
        case failed
    }

    var role: HelperMessageRole {
        switch self {
        case .fetched, .exported: .answer
        case .callFailed(let error): .refusal(error)
        case .failed: .failure
        }
    }

    var kind: UInt16 {
        let kind: Kind =
            switch self {
            case .fetched: .fetched
            case .exported: .exported
            case .callFailed: .callFailed
            case .failed: .failed
            }
        return kind.rawValue
    }

    var descriptorCount: Int {
        switch self {
        case .exported(let notice): notice.objectCount
        case .fetched, .callFailed, .failed: 0
        }
    }

    init(kind: UInt16, from reader: inout WireReader) throws(WireError) {
        switch Kind(rawValue: kind) {
        case .fetched: self = .fetched
        case .exported: self = .exported(try ExportNotice(from: &reader))
        case .callFailed: self = .callFailed(try MediaError(from: &reader))
        case .failed: self = .failed(try MediaError(from: &reader))
        case nil: throw reader.error("kind of message", at: 6, .noSuchValue(given: "\(kind)"))
        }
    }

    func writePayload(to writer: inout WireWriter) throws(WireError) {
        switch self {
        case .fetched: break
        case .exported(let notice): try notice.write(to: &writer)
        case .callFailed(let error), .failed(let error): try error.fittingWire.write(to: &writer)
        }
    }
}

/// The messages about pictures on a device.
enum PictureMessages: ConnectionMessages {
    typealias Client = PictureClientMessage
    typealias Helper = PictureHelperMessage

    static var kind: ConnectionKind { .pictures }
    static var close: PictureClientMessage { .close }
}

/// The client's connection for pictures.
typealias PictureLink = HelperLink<PictureMessages>
