// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// A coded frame, whose data is in the ring.
struct CodedNotice: WireValue, Sendable {
    var number: Int64
    var isKeyFrame: Bool
    var isReference: Bool
    var isDropped: Bool
    /// The offset of the data in the ring.
    var offset: Int
    var byteCount: Int
    var formatDescription: FormatDescription?

    init(
        number: Int64,
        isKeyFrame: Bool,
        isReference: Bool,
        isDropped: Bool,
        offset: Int,
        byteCount: Int,
        formatDescription: FormatDescription?
    ) {
        self.number = number
        self.isKeyFrame = isKeyFrame
        self.isReference = isReference
        self.isDropped = isDropped
        self.offset = offset
        self.byteCount = byteCount
        self.formatDescription = formatDescription
    }

    init(from reader: inout WireReader) throws(WireError) {
        self.init(
            number: try reader.integer(),
            isKeyFrame: try Bool(from: &reader),
            isReference: try Bool(from: &reader),
            isDropped: try Bool(from: &reader),
            offset: try reader.integer(),
            byteCount: try reader.integer(),
            formatDescription: try FormatDescription?(from: &reader)
        )
    }

    func write(to writer: inout WireWriter) throws(WireError) {
        writer.integer(number)
        isKeyFrame.write(to: &writer)
        isReference.write(to: &writer)
        isDropped.write(to: &writer)
        writer.integer(offset)
        writer.integer(byteCount)
        try formatDescription.write(to: &writer)
    }
}

/// Messages from an encoder in a helper to its client.
enum EncoderHelperMessage: Sendable {
    /// The encoder was created.
    case created(EncoderProperties)
    /// There is no such encoder, or it could not be created.
    case refused(MediaError)
    /// The encoder has accepted the frame, and nothing in the helper reads the pictures of the released frames any
    /// more. The message includes the number of copies of the frame's picture.
    case accepted(number: Int64, released: [Int64] = [], copies: UInt8 = 0)
    /// Nothing in the helper reads the picture of the frame any more.
    case released(number: Int64)
    /// The ring is filling up. Answered by ``EncoderClientMessage/taken(count:)``.
    case roomWanted
    /// A frame was coded or dropped.
    case coded(CodedNotice)
    /// The outcome of an update of the active encoder.
    case updated(EncoderUpdateOutcome)
    /// All frames are coded and were reported before this message.
    case drained
    /// The order to be answered failed.
    case callFailed(MediaError)
    /// A frame failed, independently of any order.
    case failed(MediaError)
    /// The inspection of a driver has reached a stage.
    case stage(DriverStage)
    /// The description of a driver.
    case report(DriverReport)
    /// The encoding capabilities of a driver for an entry of its report.
    case encoder(DriverReport.Encoder)
    /// The inspection has finished, and the driver is closed.
    case inspected
}

extension EncoderHelperMessage: HelperMessage {
    var role: HelperMessageRole {
        switch self {
        case .created, .accepted, .updated, .drained, .inspected: .answer
        case .refused(let error), .callFailed(let error): .refusal(error)
        case .failed: .failure
        case .coded, .released, .roomWanted, .stage, .report, .encoder: .notice
        }
    }

    enum Kind: UInt16 {
        case created = 65
        case refused
        case accepted
        case released
        case coded
        case updated
        case drained
        case callFailed
        case failed
        case stage
        case report
        case inspected
        case roomWanted
        case encoder
    }

    /// The maximum number of released pictures in an answer.
    static let mostReleased = 64

    var kind: UInt16 {
        let kind: Kind =
            switch self {
            case .created: .created
            case .refused: .refused
            case .accepted: .accepted
            case .released: .released
            case .coded: .coded
            case .updated: .updated
            case .drained: .drained
            case .callFailed: .callFailed
            case .failed: .failed
            case .stage: .stage
            case .report: .report
            case .encoder: .encoder
            case .inspected: .inspected
            case .roomWanted: .roomWanted
            }
        return kind.rawValue
    }

    var descriptorCount: Int { 0 }

    init(kind: UInt16, from reader: inout WireReader) throws(WireError) {
        switch Kind(rawValue: kind) {
        case .created: self = .created(try EncoderProperties(from: &reader))
        case .refused: self = .refused(try MediaError(from: &reader))
        case .accepted:
            let number = try reader.integer(Int64.self)
            let released: [Int64] = try reader.list(atMost: Self.mostReleased)
            self = .accepted(number: number, released: released, copies: try reader.integer())
        case .released: self = .released(number: try reader.integer())
        case .coded: self = .coded(try CodedNotice(from: &reader))
        case .updated: self = .updated(try EncoderUpdateOutcome(from: &reader))
        case .drained: self = .drained
        case .callFailed: self = .callFailed(try MediaError(from: &reader))
        case .failed: self = .failed(try MediaError(from: &reader))
        case .stage: self = .stage(try DriverStage(from: &reader))
        case .report: self = .report(try DriverReport(from: &reader))
        case .encoder: self = .encoder(try DriverReport.Encoder(from: &reader))
        case .inspected: self = .inspected
        case .roomWanted: self = .roomWanted
        case nil: throw reader.error("kind of message", at: 6, .noSuchValue(given: "\(kind)"))
        }
    }

    /// Texts for people are truncated if they are too long; any other value that is too long is an error.
    func writePayload(to writer: inout WireWriter) throws(WireError) {
        switch self {
        case .created(let properties): try properties.write(to: &writer)
        case .refused(let error), .callFailed(let error), .failed(let error):
            try error.fittingWire.write(to: &writer)
        case .accepted(let number, let released, let copies):
            writer.integer(number)
            try writer.list(released, atMost: Self.mostReleased)
            writer.integer(copies)
        case .released(let number): writer.integer(number)
        case .coded(let notice): try notice.write(to: &writer)
        case .updated(let outcome): try outcome.write(to: &writer)
        case .drained, .roomWanted, .inspected: break
        case .stage(let stage): try stage.write(to: &writer)
        case .report(let report): try report.fittingWire.write(to: &writer)
        case .encoder(let encoder): try encoder.fittingWire.write(to: &writer)
        }
    }
}
