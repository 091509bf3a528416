// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import PixelConversion
import Synchronization

/// The shared knowledge of a session about encoders that convert pictures: after one has failed with such pictures,
/// later encoders are given converted pictures. After one has failed with pictures on a device, which the device may have to
/// copy, later encoders have the CPU copy them.
final class ConversionTrial: Sendable {
    private let failed = Atomic(false)
    private let copiesFailed = Atomic(false)

    /// Whether an encoder has failed that was given pictures to convert.
    var hasFailed: Bool { failed.load(ordering: .relaxed) }
    /// Whether an encoder has failed that was given pictures on a device.
    var haveCopiesFailed: Bool { copiesFailed.load(ordering: .relaxed) }

    /// Records a failure of an encoder.
    ///
    /// - Parameters:
    ///   - converted: Whether it was given pictures to convert.
    ///   - copied: Whether it was given pictures on a device.
    func noteFailure(converted: Bool, copied: Bool) {
        if converted { failed.store(true, ordering: .relaxed) }
        if copied { copiesFailed.store(true, ordering: .relaxed) }
    }
}

/// Adapts pictures to an encoder: to its size, its pixel format and the configured colour. Conversions that the encoder
/// supports are left to it and described in the frame. Used on the encoder's thread.
final class FrameAdapter {
    private let configuration: EncoderConfiguration
    private let formats: [PixelFormat]
    /// `nil` if the encoder supports no conversion, or has failed at one.
    private var conversions: ConversionSupport?
    private let memory: PixelBufferPool.Memory
    private var converters: [PixelFormat: PixelConverter] = [:]
    /// Interleaves the chroma of pictures that the encoder scales.
    private var interleaver: PixelConverter?

    /// - Parameter memory: The memory type of converted pictures, which the encoder can read without a copy.
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

    /// Returns the frame unchanged if its picture fits, with a conversion for the encoder, or with a converted copy.
    func adapt(_ frame: EncoderFrame) throws(MediaError) -> EncoderFrame {
        guard var output = Self.target(for: frame.buffer.format, configuration, formats) else { return frame }
        let picture = frame.buffer.pictureDescription
        let wanted = try PixelConverter.conversion(of: picture, to: output, scaling: configuration.scaling)
        guard let wanted else { return frame }
        var frame = frame
        if let conversions {
            if conversions.takes(picture, wanted) {
                frame.conversion = wanted
                return frame
            }
            if let interleaved = try interleaved(frame.buffer, wanted, output, for: conversions) {
                (frame.buffer, frame.conversion) = interleaved
                return frame
            }
        }
        // YUY2 is encoded as it is, and converted to another format that the encoder accepts.
        if !PixelConverter.canMake(output.format), let other = formats.first(where: PixelConverter.canMake) {
            output.format = other
        }
        frame.buffer = try converter(output).convert(frame.buffer)
        return frame
    }

    /// Returns a planar picture with interleaved chroma, as the encoder requires for scaling, and the conversion that
    /// remains. Interleaving takes one pass over the memory, fewer than scaling.
    ///
    /// - Returns: `nil` if the picture is not scaled, or if the encoder does not support the interleaved format either.
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

    /// Converts all further pictures in this class.
    ///
    /// - Returns: The adjustment to report.
    func giveUpConversions(of encoder: any EncoderBackend, because error: MediaError) -> Adjustment {
        conversions = nil
        return Self.givenUp(encoder.properties, because: error.description)
    }

    /// Returns the adjustment to report when an encoder no longer converts pictures.
    static func givenUp(_ properties: EncoderProperties, because reason: String) -> Adjustment {
        Adjustment(
            property: "conversion of pictures",
            requested: "by \(properties.name)",
            used: "by the CPU",
            reason: reason
        )
    }

    /// Returns the format to which pictures are converted for an encoder that accepts these formats; `nil` if no
    /// conversion is needed.
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
