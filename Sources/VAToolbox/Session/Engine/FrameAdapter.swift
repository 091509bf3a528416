// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import PixelConversion
import Synchronization

/// What a session knows of encoders that convert pictures by themselves: once one has failed with such pictures, those after
/// it are given pictures that are converted already.
final class ConversionTrial: Sendable {
    private let failed = Atomic(false)

    /// Whether an encoder has failed that was given pictures to convert.
    var hasFailed: Bool { failed.load(ordering: .relaxed) }

    /// Notes such a failure.
    func noteFailure() { failed.store(true, ordering: .relaxed) }
}

/// Makes pictures fit an encoder: its size, its pixel format, the configured colour. What the encoder converts by itself is
/// left to it, with word of what is to be done. Used on the encoder's thread.
final class FrameAdapter {
    private let configuration: EncoderConfiguration
    private let formats: [PixelFormat]
    /// `nil` if the encoder converts nothing, or has failed to.
    private var conversions: ConversionSupport?
    private let memory: PixelBufferPool.Memory
    private var converters: [PixelFormat: PixelConverter] = [:]
    /// Interleaves the chroma of pictures that the encoder then scales.
    private var interleaver: PixelConverter?

    /// - Parameter memory: What converted pictures are made of: what the encoder reads without a copy.
    init(
        _ configuration: EncoderConfiguration,
        _ properties: EncoderProperties,
        memory: PixelBufferPool.Memory = .owned
    ) {
        self.configuration = configuration
        self.memory = memory
        formats = properties.pixelFormats
        conversions = properties.conversions
    }

    /// The same frame if its picture fits, or with what the encoder has to do to it, else with a converted copy.
    func adapt(_ frame: EncoderFrame) throws(MediaError) -> EncoderFrame {
        guard let output = Self.target(for: frame.buffer.format, configuration, formats) else { return frame }
        var frame = frame
        if let conversions {
            let picture = frame.buffer.pictureDescription
            let wanted = try PixelConverter.conversion(of: picture, to: output, scaling: configuration.scaling)
            guard let wanted else { return frame }
            if conversions.takes(picture, wanted) {
                frame.conversion = wanted
                return frame
            }
            if let interleaved = try interleaved(frame.buffer, wanted, output, for: conversions) {
                (frame.buffer, frame.conversion) = interleaved
                return frame
            }
        }
        frame.buffer = try converter(output).convert(frame.buffer)
        return frame
    }

    /// A picture in planes as the encoder scales it, with its chroma interleaved, and what is to be done to it then: one pass
    /// over memory instead of those that scaling takes.
    ///
    /// - Returns: `nil` if it is not to be scaled, or the encoder does not do it in that format either.
    private func interleaved(
        _ buffer: PixelBuffer,
        _ wanted: PictureConversion,
        _ output: PixelBuffer.Description,
        for conversions: ConversionSupport
    ) throws(MediaError) -> (PixelBuffer, PictureConversion)? {
        let isScaled =
            wanted.source.width != wanted.target.width || wanted.source.height != wanted.target.height
        guard buffer.format == .i420, isScaled, buffer.width % 2 == 0, buffer.height % 2 == 0 else { return nil }
        var picture = buffer.pictureDescription
        picture.format = .nv12
        guard let conversion = try PixelConverter.conversion(of: picture, to: output, scaling: configuration.scaling),
            conversions.takes(picture, conversion)
        else { return nil }
        return (try interleaver(picture).convert(buffer), conversion)
    }

    private func interleaver(_ picture: PixelBuffer.Description) throws(MediaError) -> PixelConverter {
        var output = picture
        (output.color, output.attachments) = (.unspecified, PixelAttachments())
        if let interleaver, interleaver.output == output { return interleaver }
        let interleaver = try PixelConverter(output: output, scaling: .stretch, memory: memory)
        self.interleaver = interleaver
        return interleaver
    }

    private func converter(_ output: PixelBuffer.Description) throws(MediaError) -> PixelConverter {
        if let converter = converters[output.format] { return converter }
        let converter = try PixelConverter(output: output, scaling: configuration.scaling, memory: memory)
        converters[output.format] = converter
        return converter
    }

    /// From here on all pictures are converted here.
    ///
    /// - Returns: what there is to tell of it.
    func giveUpConversions(of encoder: any EncoderBackend, because error: MediaError) -> Adjustment {
        conversions = nil
        return Self.givenUp(encoder.properties, because: error.description)
    }

    /// What there is to tell of an encoder that is not asked to convert pictures.
    static func givenUp(_ properties: EncoderProperties, because reason: String) -> Adjustment {
        Adjustment(
            property: "conversion of pictures",
            requested: "by \(properties.name)",
            used: "by the CPU",
            reason: reason
        )
    }

    /// What pictures of a format become for an encoder that takes these formats; `nil` if it takes them as they are.
    static func target(
        for format: PixelFormat,
        _ configuration: EncoderConfiguration,
        _ formats: [PixelFormat]
    ) -> PixelBuffer.Description? {
        guard let preferred = formats.first else { return nil }
        return PixelBuffer.Description(
            format: formats.contains(format) ? format : preferred,
            width: configuration.width,
            height: configuration.height,
            color: configuration.color ?? .unspecified,
            pixelAspectRatio: configuration.pixelAspectRatio ?? .one
        )
    }
}
