// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import MediaTypes

// The identity and properties of a decoder, and the shape of its pictures.

/// The format and size of a picture: pictures of one shape fit into the same memory.
struct PictureShape: WireStructure, Hashable, Sendable {
    static var blank: PictureShape { PictureShape(format: .nv12, width: 0, height: 0) }

    /// The maximum number of luma samples, that of HEVC level 7.2, which exceeds those of H.264.
    static let mostSamples = 142_606_336

    var format: PixelFormat
    var width: Int
    var height: Int

    mutating func visit(_ visitor: inout some WireVisitor) throws(WireError) {
        try visitor.field(&format)
        try visitor.field(&width)
        try visitor.field(&height)
    }

    /// Returns the layout of such a picture in memory.
    ///
    /// - Throws: `unsupported` for a size that no decoder returns.
    func layout() throws(MediaError) -> PackedLayout {
        let sides = 1...PixelBuffer.maximumDimension
        guard sides.contains(width), sides.contains(height), width * height <= Self.mostSamples else {
            throw MediaError(
                .unsupported,
                "the size of a decoded picture is out of range",
                given: "\(width)x\(height)",
                allowed: "\(Self.mostSamples) samples, sides of 1...\(PixelBuffer.maximumDimension)"
            )
        }
        return try PackedLayout(format: format, width: width, height: height)
    }
}

extension PixelBuffer.Description {
    /// The format and size.
    var shape: PictureShape { PictureShape(format: format, width: width, height: height) }
}

extension DecoderIdentity: WireStructure {
    static var blank: DecoderIdentity { .init(name: "", codec: .h264) }

    mutating func visit(_ visitor: inout some WireVisitor) throws(WireError) {
        try visitor.field(&name)
        try visitor.field(&codec)
        try visitor.field(&device)
    }
}

extension DecoderProperties: WireStructure {
    static var blank: DecoderProperties { .init(name: "") }

    mutating func visit(_ visitor: inout some WireVisitor) throws(WireError) {
        try visitor.field(&name)
        try visitor.field(&threadCount)
    }

    /// The properties with the name truncated to fit a message: it is for people.
    var fittingWire: DecoderProperties {
        var properties = self
        properties.name = name.fittingWire
        return properties
    }
}

extension FormatDescription {
    /// An initial value for reading.
    static var blank: FormatDescription { FormatDescription(codec: .h264, width: 0, height: 0, parameterSets: []) }
}
