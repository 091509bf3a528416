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

/// Messages from the client about pictures on the device, over a connection that no decoder has to serve.
enum PictureClientMessage: Sendable {
    /// Answered by ``PictureHelperMessage/fetched`` or ``PictureHelperMessage/callFailed(_:)``.
    case fetch(FetchOrder)
    /// The last message. No answer.
    case close
}

extension PictureClientMessage: WireMessage {
    enum Kind: UInt16 {
        case fetch = 65
        case close
    }

    var kind: UInt16 {
        let kind: Kind =
            switch self {
            case .fetch: .fetch
            case .close: .close
            }
        return kind.rawValue
    }

    var descriptorCount: Int {
        switch self {
        case .fetch: 1
        case .close: 0
        }
    }

    init(kind: UInt16, from reader: inout WireReader) throws(WireError) {
        switch Kind(rawValue: kind) {
        case .fetch: self = .fetch(try FetchOrder(from: &reader))
        case .close: self = .close
        case nil: throw reader.error("kind of message", at: 6, .noSuchValue(given: "\(kind)"))
        }
    }

    func writePayload(to writer: inout WireWriter) throws(WireError) {
        if case .fetch(let order) = self { try order.write(to: &writer) }
    }
}

/// Messages from a helper about pictures on its device.
enum PictureHelperMessage: Sendable {
    /// The picture is in the client's memory.
    case fetched
    /// The order failed.
    case callFailed(MediaError)
    /// The connection failed.
    case failed(MediaError)
}

extension PictureHelperMessage: HelperMessage {
    enum Kind: UInt16 {
        case fetched = 161
        case callFailed
        case failed
    }

    var role: HelperMessageRole {
        switch self {
        case .fetched: .answer
        case .callFailed(let error): .refusal(error)
        case .failed: .failure
        }
    }

    var kind: UInt16 {
        let kind: Kind =
            switch self {
            case .fetched: .fetched
            case .callFailed: .callFailed
            case .failed: .failed
            }
        return kind.rawValue
    }

    var descriptorCount: Int { 0 }

    init(kind: UInt16, from reader: inout WireReader) throws(WireError) {
        switch Kind(rawValue: kind) {
        case .fetched: self = .fetched
        case .callFailed: self = .callFailed(try MediaError(from: &reader))
        case .failed: self = .failed(try MediaError(from: &reader))
        case nil: throw reader.error("kind of message", at: 6, .noSuchValue(given: "\(kind)"))
        }
    }

    func writePayload(to writer: inout WireWriter) throws(WireError) {
        switch self {
        case .fetched: break
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

/// The client's connection for copies of pictures.
typealias PictureLink = HelperLink<PictureMessages>
