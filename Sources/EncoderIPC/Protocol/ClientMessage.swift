// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// The first message in each direction.
struct Hello: WireStructure, Hashable, Sendable {
    static let blank = Hello(build: "")

    /// Which build speaks, for people; what both ends must agree about is ``MessageHeader/version``.
    var build: String

    mutating func visit(_ visitor: inout some WireVisitor) throws(WireError) {
        try visitor.field(&build)
    }
}

/// Asks for an encoder.
struct EncoderOrder: WireStructure, Hashable, Sendable {
    static var blank: EncoderOrder {
        EncoderOrder(encoder: .blank, configuration: .blank, maximumReorderDepth: nil, ringByteCount: 0)
    }

    var encoder: EncoderIdentity
    var configuration: EncoderConfiguration
    var maximumReorderDepth: Int?
    /// The size of the memory, behind the descriptor that comes with the message, for coded data.
    var ringByteCount: Int

    mutating func visit(_ visitor: inout some WireVisitor) throws(WireError) {
        try visitor.field(&encoder)
        try visitor.field(&configuration)
        try visitor.field(&maximumReorderDepth)
        try visitor.field(&ringByteCount)
    }
}

/// Memory for pictures, whose descriptor comes with the message.
struct MemoryOffer: WireStructure, Hashable, Sendable {
    static let blank = MemoryOffer(slot: 0, byteCount: 0)

    /// What later messages call the memory.
    var slot: UInt32
    var byteCount: Int

    mutating func visit(_ visitor: inout some WireVisitor) throws(WireError) {
        try visitor.field(&slot)
        try visitor.field(&byteCount)
    }
}

/// One frame on its way into the encoder.
struct FrameOrder: WireStructure, Hashable, Sendable {
    static var blank: FrameOrder {
        FrameOrder(
            number: 0,
            picture: .blank,
            slot: 0,
            planes: [],
            presentationTime: .invalid,
            duration: .invalid,
            options: .blank
        )
    }

    var number: Int64
    var picture: PixelBuffer.Description
    /// The memory that holds the picture, and where in it the planes lie.
    var slot: UInt32
    var planes: [PlaneLayout]
    var presentationTime: MediaTime
    var duration: MediaTime
    var options: FrameOptions

    mutating func visit(_ visitor: inout some WireVisitor) throws(WireError) {
        try visitor.field(&number)
        try visitor.field(&picture)
        try visitor.field(&slot)
        try visitor.list(&planes, atMost: WireLimits.planes)
        try visitor.field(&presentationTime)
        try visitor.field(&duration)
        try visitor.field(&options)
    }
}

/// From the client to the helper. Orders are answered one after the other, in the order in which they came.
enum ClientMessage: Sendable {
    /// Answered by ``HelperMessage/hello(_:)``.
    case hello(Hello)
    /// Answered by ``HelperMessage/created(_:)`` or ``HelperMessage/refused(_:)``.
    case create(EncoderOrder)
    /// No answer.
    case offer(MemoryOffer)
    /// The memory of that slot is not used any more. No answer.
    case forget(slot: UInt32)
    /// Answered by ``HelperMessage/accepted(number:)`` or ``HelperMessage/callFailed(_:)``.
    case frame(FrameOrder)
    /// Answered by ``HelperMessage/updated(_:)`` or ``HelperMessage/callFailed(_:)``.
    case update(EncoderConfiguration)
    /// Answered by ``HelperMessage/drained`` or ``HelperMessage/callFailed(_:)``.
    case drain
    /// So many coded frames have been taken out of the ring, from the first on. No answer.
    case taken(count: UInt64)
    /// Nothing else will come: the encoder is to be released, and the helper to end. No answer.
    case close
    /// The driver of the render node at that path is to be asked. Answered by ``HelperMessage/inspected`` or
    /// ``HelperMessage/callFailed(_:)``, after ``HelperMessage/stage(_:)`` and ``HelperMessage/report(_:)``.
    case inspect(path: String)
}

extension ClientMessage: WireMessage {
    enum Kind: UInt16 {
        case hello = 1
        case create
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
            case .hello: .hello
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
        case .hello, .forget, .frame, .update, .drain, .taken, .close, .inspect: 0
        }
    }

    init(kind: UInt16, from reader: inout WireReader) throws(WireError) {
        switch Kind(rawValue: kind) {
        case .hello: self = .hello(try Hello(from: &reader))
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
        case .hello(let hello): try hello.write(to: &writer)
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
