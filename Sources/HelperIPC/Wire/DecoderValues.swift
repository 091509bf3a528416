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

    /// The description with as many captions as fit into a message, whole triplets: far more than ATSC A/53 allows.
    var fittingWire: PixelBuffer.Description {
        var description = self
        description.attachments.limitCaptions()
        return description
    }
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

    /// Checks that the parameter sets fit into a message.
    ///
    /// - Throws: `unsupported` with their number and size.
    func checkFitsWire() throws(MediaError) {
        let longest = parameterSets.map(\.count).max() ?? 0
        let total = parameterSets.reduce(0) { $0 + $1.count }
        guard
            parameterSets.count > WireLimits.parameterSets || longest > WireLimits.parameterSetBytes
                || total > WireLimits.parameterSetTotal
        else { return }
        throw MediaError(
            .unsupported,
            "the parameter sets are too many or too long for a decoder in a helper process",
            given: "\(parameterSets.count) with \(total) bytes, the longest with \(longest) bytes",
            allowed: "at most \(WireLimits.parameterSets) with \(WireLimits.parameterSetTotal) bytes, "
                + "each with at most \(WireLimits.parameterSetBytes) bytes"
        )
    }
}
