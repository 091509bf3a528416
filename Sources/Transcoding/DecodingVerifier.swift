// SPDX-License-Identifier: GPL-2.0-or-later

public import BitstreamSyntax
import MediaIO
public import MediaTypes
public import VAToolbox

/// Decodes test encodes by libavcodec, which finds fault with everything that it would otherwise conceal.
public struct DecodingVerifier: SampleVerifier {
    /// Makes a verifier.
    public init() {}

    /// As ``SampleVerifier``.
    public func decode(
        _ samples: [SampleBuffer],
        codec: VideoCodec,
        show: (PixelBuffer, MediaTime) throws(MediaError) -> Void
    ) throws(MediaError) {
        try SampleDecoder(codec).decode(samples, show: show)
    }
}
