// SPDX-License-Identifier: GPL-2.0-or-later

public import BitstreamSyntax

/// Everything that a decoder needs before the first sample: codec, size, parameter sets, colour.
///
/// The counterpart of `CMVideoFormatDescription`. It is immutable and shared by the samples that it describes.
public final class FormatDescription: Sendable {
    /// The codec.
    public let codec: VideoCodec
    /// Width in luma samples after cropping.
    public let width: Int
    /// Height in luma samples after cropping.
    public let height: Int
    /// Parameter sets in decoding order, each a NAL unit with its header and emulation prevention, without start code
    /// or length: SPS, PPS for H.264; VPS, SPS, PPS for HEVC.
    public let parameterSets: [[UInt8]]
    /// The colour description in the parameter sets.
    public let color: ColorDescription
    /// Width to height of one pixel.
    public let pixelAspectRatio: Rational
    /// HDR metadata that a container can also store.
    public let attachments: PixelAttachments

    /// Describes coded video.
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

    /// Hashes codec and parameter sets.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(codec)
        hasher.combine(parameterSets)
    }
}
