// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import MediaTypes

// The descriptions of pictures and coded video.

/// The limits for values of pictures and formats, far above what the standards allow.
enum WireLimits {
    /// `cc_data` of one picture; ATSC A/53 part 4 allows 31 triplets.
    static let captionBytes = PixelAttachments.maximumCaptionBytes
    static let regionsOfInterest = PixelAttachments.maximumRegionsOfInterest
    /// H.264 has 32 sequence parameter sets with as many extensions, and 256 picture parameter sets; HEVC has 96 sets, but
    /// a file may store several for each identifier.
    static let parameterSets = 512
    /// The longest one that a file can store.
    static let parameterSetBytes = 65535
    /// All of them, with room in the message for everything else.
    static let parameterSetTotal = MessageHeader.maximumPayload - 16384
    static let pixelFormats = 16
    /// H.273 has 18.
    static let matrices = 32
    static let encoderOptions = 256
    static let adjustments = 64
    static let planes = 4
    /// The pictures that a decoder may leave on its device.
    static let devicePictures = 128
}

extension VideoCodec: WireValue {}
extension ChromaFormat: WireValue {}
extension PixelFormat: WireValue {}
extension FieldOrder: WireValue {}
extension ColorDescription.Primaries: WireValue {}
extension ColorDescription.Transfer: WireValue {}
extension ColorDescription.Matrix: WireValue {}
extension ColorDescription.Range: WireValue {}
extension ColorDescription.ChromaLocation: WireValue {}

extension MediaTime: WireValue {
    init(from reader: inout WireReader) throws(WireError) {
        let value = try reader.integer(Int64.self)
        let start = reader.position
        let timescale = try reader.integer(Int32.self)
        guard timescale >= 0 else {
            throw reader.error("timescale", at: start, .noSuchValue(given: "\(timescale)"))
        }
        self.init(value: value, timescale: timescale)
    }

    func write(to writer: inout WireWriter) {
        writer.integer(value)
        writer.integer(timescale)
    }
}

extension Rational: WireValue {
    init(from reader: inout WireReader) throws(WireError) {
        let numerator = try reader.integer(Int32.self)
        self.init(numerator, try reader.integer())
    }

    func write(to writer: inout WireWriter) {
        writer.integer(numerator)
        writer.integer(denominator)
    }
}

extension ColorDescription: WireStructure {
    static var blank: ColorDescription { .unspecified }

    mutating func visit(_ visitor: inout some WireVisitor) throws(WireError) {
        try visitor.field(&primaries)
        try visitor.field(&transfer)
        try visitor.field(&matrix)
        try visitor.field(&range)
        try visitor.field(&chromaLocation)
    }
}

extension MasteringDisplay.Chromaticity: WireStructure {
    static var blank: Self { .init(x: 0, y: 0) }

    mutating func visit(_ visitor: inout some WireVisitor) throws(WireError) {
        try visitor.field(&x)
        try visitor.field(&y)
    }
}

extension MasteringDisplay: WireStructure {
    static var blank: MasteringDisplay {
        MasteringDisplay(
            red: .blank,
            green: .blank,
            blue: .blank,
            whitePoint: .blank,
            maximumLuminance: 0,
            minimumLuminance: 0
        )
    }

    mutating func visit(_ visitor: inout some WireVisitor) throws(WireError) {
        try visitor.field(&red)
        try visitor.field(&green)
        try visitor.field(&blue)
        try visitor.field(&whitePoint)
        try visitor.field(&maximumLuminance)
        try visitor.field(&minimumLuminance)
    }
}

extension ContentLightLevel: WireStructure {
    static var blank: ContentLightLevel { .init(maximumContentLightLevel: 0, maximumFrameAverageLightLevel: 0) }

    mutating func visit(_ visitor: inout some WireVisitor) throws(WireError) {
        try visitor.field(&maximumContentLightLevel)
        try visitor.field(&maximumFrameAverageLightLevel)
    }
}

extension RegionOfInterest: WireStructure {
    static var blank: RegionOfInterest { .init(x: 0, y: 0, width: 0, height: 0, quantizerOffset: 0) }

    mutating func visit(_ visitor: inout some WireVisitor) throws(WireError) {
        try visitor.field(&x)
        try visitor.field(&y)
        try visitor.field(&width)
        try visitor.field(&height)
        try visitor.field(&quantizerOffset)
    }
}

extension PixelAttachments: WireStructure {
    static var blank: PixelAttachments { .init() }

    mutating func visit(_ visitor: inout some WireVisitor) throws(WireError) {
        try visitor.field(&masteringDisplay)
        try visitor.field(&contentLight)
        try visitor.blob(&captions, atMost: WireLimits.captionBytes)
        try visitor.list(&regionsOfInterest, atMost: WireLimits.regionsOfInterest)
        try visitor.field(&fieldOrder)
    }
}

extension PixelBuffer.Description: WireStructure {
    static var blank: PixelBuffer.Description { .init(format: .nv12, width: 0, height: 0) }

    mutating func visit(_ visitor: inout some WireVisitor) throws(WireError) {
        try visitor.field(&format)
        try visitor.field(&width)
        try visitor.field(&height)
        try visitor.field(&color)
        try visitor.field(&pixelAspectRatio)
        try visitor.field(&attachments)
    }
}

extension PictureArea: WireStructure {
    static var blank: PictureArea { .init(width: 0, height: 0) }

    mutating func visit(_ visitor: inout some WireVisitor) throws(WireError) {
        try visitor.field(&x)
        try visitor.field(&y)
        try visitor.field(&width)
        try visitor.field(&height)
    }
}

extension PictureConversion: WireStructure {
    static var blank: PictureConversion {
        .init(source: .blank, target: .blank, changesMatrix: false, result: .blank)
    }

    mutating func visit(_ visitor: inout some WireVisitor) throws(WireError) {
        try visitor.field(&source)
        try visitor.field(&target)
        try visitor.field(&changesMatrix)
        try visitor.field(&result)
    }
}

extension PlaneLayout: WireStructure {
    static var blank: PlaneLayout { .init(offset: 0, bytesPerRow: 0) }

    mutating func visit(_ visitor: inout some WireVisitor) throws(WireError) {
        try visitor.field(&offset)
        try visitor.field(&bytesPerRow)
    }
}

extension DMABuffer.Plane: WireStructure {
    static var blank: Self { .init(object: 0, layout: .blank) }

    mutating func visit(_ visitor: inout some WireVisitor) throws(WireError) {
        try visitor.field(&object)
        try visitor.field(&layout)
    }
}

/// One parameter set.
private struct ParameterSet: WireStructure {
    static let blank = ParameterSet()

    var bytes: [UInt8] = []

    mutating func visit(_ visitor: inout some WireVisitor) throws(WireError) {
        try visitor.blob(&bytes, atMost: WireLimits.parameterSetBytes)
    }
}

extension FormatDescription: WireValue {
    convenience init(from reader: inout WireReader) throws(WireError) {
        self.init(
            codec: try VideoCodec(from: &reader),
            width: try reader.integer(),
            height: try reader.integer(),
            parameterSets: try reader.list(of: ParameterSet.self, atMost: WireLimits.parameterSets).map(\.bytes),
            color: try ColorDescription(from: &reader),
            pixelAspectRatio: try Rational(from: &reader),
            attachments: try PixelAttachments(from: &reader)
        )
    }

    func write(to writer: inout WireWriter) throws(WireError) {
        try codec.write(to: &writer)
        writer.integer(width)
        writer.integer(height)
        try writer.list(parameterSets.map { ParameterSet(bytes: $0) }, atMost: WireLimits.parameterSets)
        try color.write(to: &writer)
        pixelAspectRatio.write(to: &writer)
        try attachments.write(to: &writer)
    }
}
