// SPDX-License-Identifier: GPL-2.0-or-later

public import BitstreamSyntax
public import Logging
public import MediaTypes
import VideoDecoding

/// A decoder that a ``DecompressionSession`` may use.
public struct DecoderCandidate: Sendable {
    /// Creates the decoder.
    public var factory: any DecoderFactory
    /// The reason for its rank, as text for users.
    public var reason: String

    /// Creates a candidate.
    public init(factory: any DecoderFactory, reason: String) {
        self.factory = factory
        self.reason = reason
    }
}

/// The decoder that a session uses, with the reason for its selection.
public struct DecoderDescription: Sendable {
    /// The decoder's identity.
    public var identity: DecoderIdentity
    /// The actual properties.
    public var properties: DecoderProperties
    /// The reason for its selection, as text for users.
    public var reason: String
}

extension DecoderCandidate {
    /// libavcodec on the CPU.
    ///
    /// - Parameters:
    ///   - codec: The codec to decode.
    ///   - logger: Receives libavcodec's messages; `nil` leaves them to `MediaLog.logger`.
    public static func software(_ codec: VideoCodec, logger: Logger? = nil) -> DecoderCandidate {
        DecoderCandidate(
            factory: SoftwareDecoderFactory(codec: codec, logger: logger),
            reason: "decoding is done by the CPU"
        )
    }
}
