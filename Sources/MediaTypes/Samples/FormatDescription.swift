// SPDX-License-Identifier: GPL-2.0-or-later

public import BitstreamSyntax

/// The information that a decoder needs before the first sample: codec, size, parameter sets and colour description.
///
/// The counterpart of `CMVideoFormatDescription`. It is immutable and shared by the samples that it describes.
public final class FormatDescription: Sendable {
    /// The codec.
    public let codec: VideoCodec
    /// The width in luma samples after cropping.
    public let width: Int
    /// The height in luma samples after cropping.
    public let height: Int
    /// The parameter sets in decoding order, each a NAL unit with its header and emulation prevention bytes, without
    /// start code or length prefix: SPS and PPS for H.264; VPS, SPS and PPS for HEVC.
    public let parameterSets: [[UInt8]]
    /// The colour description in the parameter sets.
    public let color: ColorDescription
    /// The pixel aspect ratio (width to height).
    public let pixelAspectRatio: Rational
    /// HDR metadata that a container can also store.
    public let attachments: PixelAttachments

    /// Makes a format description.
    public init(
        codec: VideoCodec,
        width: Int,
        height: Int,
        parameterSets: [[UInt8]],
        color: ColorDescription = .unspecified,
        pixelAspectRatio: Rational = .one,
        attachments: PixelAttachments = .init()
    ) {
        self.codec = codec
        self.width = width
        self.height = height
        self.parameterSets = parameterSets
        self.color = color
        self.pixelAspectRatio = pixelAspectRatio
        self.attachments = attachments
    }
}

extension FormatDescription: Hashable {
    /// Whether both describe the same video.
    public static func == (left: FormatDescription, right: FormatDescription) -> Bool {
        left === right
            || (left.codec == right.codec && left.width == right.width && left.height == right.height
                && left.parameterSets == right.parameterSets && left.color == right.color
                && left.pixelAspectRatio == right.pixelAspectRatio && left.attachments == right.attachments)
    }

    /// Hashes the codec and the parameter sets.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(codec)
        hasher.combine(parameterSets)
    }
}
