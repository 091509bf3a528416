// SPDX-License-Identifier: GPL-2.0-or-later

public import BitstreamSyntax
public import MediaTypes

/// Decodes the output of an encoder, so that a session can compare the pictures with the source pictures.
///
/// VAToolbox has no decoder of its own. A program that provides a verifier (``DeviceOptions/verifier``) has the output
/// of GPU test encodes decoded and compared. The library `Transcoding` provides `DecodingVerifier`, based on
/// libavcodec.
public protocol SampleVerifier: Sendable {
    /// Decodes a whole stream strictly, with a decoder that is independent of the encoder.
    ///
    /// This function is called on a thread that may block.
    ///
    /// - Parameters:
    ///   - samples: The samples in decoding order, starting with a key frame.
    ///   - codec: The codec of the samples.
    ///   - show: Receives the pictures in presentation order, as luma and chroma of any format, each with its
    ///     presentation time.
    /// - Throws: `malformedData` if the stream is damaged, and any error that `show` throws.
    func decode(
        _ samples: [SampleBuffer],
        codec: VideoCodec,
        show: (PixelBuffer, MediaTime) throws(MediaError) -> Void
    ) throws(MediaError)
}
