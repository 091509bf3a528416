// SPDX-License-Identifier: GPL-2.0-or-later

public import BitstreamSyntax
public import MediaTypes

/// Decodes what an encoder gave, so that a session can hold the pictures against those that it had encoded.
///
/// VAToolbox has no decoder of its own; whoever uses it with one has test encodes of GPUs judged by it
/// (``DeviceOptions/verifier``). The library `Transcoding` has `DecodingVerifier`, on libavcodec.
public protocol SampleVerifier: Sendable {
    /// Decodes a whole stream strictly, by a decoder that shares nothing with the encoder.
    ///
    /// It is called on a thread that may block.
    ///
    /// - Parameters:
    ///   - samples: The samples in decoding order, from a key frame on.
    ///   - codec: What they are coded by.
    ///   - show: Takes the pictures in the order in which they are shown, as luma and chroma of any format, each with its time.
    /// - Throws: `malformedData` if the stream is damaged; what `show` throws.
    func decode(
        _ samples: [SampleBuffer],
        codec: VideoCodec,
        show: (PixelBuffer, MediaTime) throws(MediaError) -> Void
    ) throws(MediaError)
}
