// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import MediaTypes

// The properties, updates and answers of an encoder.

extension EncoderOption: WireValue {}
extension MediaError.Code: WireValue {}
extension MediaError.Cause: WireValue {}

extension EncoderIdentity: WireStructure {
    static var blank: EncoderIdentity { .init(name: "", codec: .h264) }

    mutating func visit(_ visitor: inout some WireVisitor) throws(WireError) {
        try visitor.field(&name)
        try visitor.field(&codec)
        try visitor.field(&device)
    }
}

extension FrameOptions: WireStructure {
    static var blank: FrameOptions { .init() }

    mutating func visit(_ visitor: inout some WireVisitor) throws(WireError) {
        try visitor.field(&forceKeyFrame)
        try visitor.field(&quantizer)
        try visitor.field(&longTermReference)
        try visitor.field(&lostFrames)
        try visitor.field(&decodedFrame)
    }
}

extension Adjustment: WireStructure {
    static var blank: Adjustment { .init(property: "", requested: "", used: "", reason: "") }

    mutating func visit(_ visitor: inout some WireVisitor) throws(WireError) {
        try visitor.field(&property)
        try visitor.field(&requested)
        try visitor.field(&used)
        try visitor.field(&reason)
    }
}

extension EncoderUpdateOutcome: WireValue {
    init(from reader: inout WireReader) throws(WireError) {
        let start = reader.position
        switch try reader.integer(UInt8.self) {
        case 0: self = .needsNewEncoder
        case 1: self = .done(adjustments: try reader.list(atMost: WireLimits.adjustments))
        case let other: throw reader.error("EncoderUpdateOutcome", at: start, .noSuchValue(given: "case \(other)"))
        }
    }

    func write(to writer: inout WireWriter) throws(WireError) {
        switch self {
        case .needsNewEncoder: writer.integer(UInt8(0))
        case .done(let adjustments):
            writer.integer(UInt8(1))
            try writer.list(adjustments, atMost: WireLimits.adjustments)
        }
    }
}

/// Remedies are not sent: they are commands for users, and a helper may be compromised by malicious input to a driver.
/// The code that shows the error derives them from its cause.
extension MediaError: WireStructure {
    static var blank: MediaError { .init(.invalidArgument, "") }

    mutating func visit(_ visitor: inout some WireVisitor) throws(WireError) {
        try visitor.field(&code)
        try visitor.field(&message)
        try visitor.field(&given)
        try visitor.field(&allowed)
        try visitor.field(&call)
        try visitor.field(&status)
        try visitor.field(&isPermanent)
        try visitor.field(&cause)
    }

    /// The error with its texts truncated to fit a message, so that it can always be reported.
    var fittingWire: MediaError {
        var error = self
        error.code = Code(rawValue: code.rawValue.fittingWire)
        error.message = message.fittingWire
        error.given = given?.fittingWire
        error.allowed = allowed?.fittingWire
        error.call = call?.fittingWire
        error.cause = cause.map { Cause(rawValue: $0.rawValue.fittingWire) }
        error.remedies = []
        return error
    }
}

extension EncoderProperties: WireValue {
    init(from reader: inout WireReader) throws(WireError) {
        self.init(
            name: try String(from: &reader),
            profile: try String(from: &reader),
            level: try String(from: &reader),
            reorderDepth: try reader.integer(),
            maximumDelay: try reader.integer(),
            isFailureFinal: try Bool(from: &reader),
            pixelFormats: try reader.list(atMost: WireLimits.pixelFormats),
            conversions: try ConversionSupport?(from: &reader),
            supportedProperties: try Self.options(from: &reader),
            adjustments: try reader.list(atMost: WireLimits.adjustments),
            formatDescription: try FormatDescription(from: &reader)
        )
    }

    /// The options are sorted by name and contain no duplicates.
    private static func options(from reader: inout WireReader) throws(WireError) -> Set<EncoderOption> {
        let start = reader.position
        let options = try reader.list(of: EncoderOption.self, atMost: WireLimits.encoderOptions)
        for (first, second) in zip(options, options.dropFirst()) where !first.precedes(second) {
            let given = "\(second.rawValue) after \(first.rawValue)"
            throw reader.error("set of EncoderOption", at: start, .noSuchValue(given: given))
        }
        let set = Set(options)
        guard set.count == options.count else {
            throw reader.error("set of EncoderOption", at: start, .noSuchValue(given: "one name in two forms"))
        }
        return set
    }

    func write(to writer: inout WireWriter) throws(WireError) {
        try name.write(to: &writer)
        try profile.write(to: &writer)
        try level.write(to: &writer)
        writer.integer(reorderDepth)
        writer.integer(maximumDelay)
        isFailureFinal.write(to: &writer)
        try writer.list(pixelFormats, atMost: WireLimits.pixelFormats)
        try conversions.write(to: &writer)
        try writer.list(supportedProperties.sorted { $0.precedes($1) }, atMost: WireLimits.encoderOptions)
        try writer.list(adjustments, atMost: WireLimits.adjustments)
        try formatDescription.write(to: &writer)
    }
}

extension ConversionSupport: WireValue {
    init(from reader: inout WireReader) throws(WireError) {
        let start = reader.position
        let formats: [PixelFormat] = try reader.list(atMost: WireLimits.pixelFormats)
        let matrices: [ColorDescription.Matrix] = try reader.list(atMost: WireLimits.matrices)
        let isSorted =
            zip(formats, formats.dropFirst()).allSatisfy { $0.rawValue < $1.rawValue }
            && zip(matrices, matrices.dropFirst()).allSatisfy { $0.rawValue < $1.rawValue }
        guard isSorted else {
            throw reader.error("ConversionSupport", at: start, .noSuchValue(given: "unsorted formats or matrices"))
        }
        self.init(
            formats: Set(formats),
            matrices: Set(matrices),
            minimumSize: try reader.integer(),
            maximumWidth: try reader.integer(),
            maximumHeight: try reader.integer()
        )
    }

    func write(to writer: inout WireWriter) throws(WireError) {
        try writer.list(formats.sorted { $0.rawValue < $1.rawValue }, atMost: WireLimits.pixelFormats)
        try writer.list(matrices.sorted { $0.rawValue < $1.rawValue }, atMost: WireLimits.matrices)
        writer.integer(minimumSize)
        writer.integer(maximumWidth)
        writer.integer(maximumHeight)
    }
}

extension EncoderOption {
    /// The order by the bytes of the names, because strings with different bytes can compare as equal.
    fileprivate func precedes(_ other: EncoderOption) -> Bool {
        rawValue.utf8.lexicographicallyPrecedes(other.rawValue.utf8)
    }
}
