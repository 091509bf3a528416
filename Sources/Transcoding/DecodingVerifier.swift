// SPDX-License-Identifier: GPL-2.0-or-later

public import BitstreamSyntax
public import Logging
import MediaIO
public import MediaTypes
public import VAToolbox

/// Decodes test encodes with libavcodec in a mode that reports all errors instead of concealing them.
public struct DecodingVerifier: SampleVerifier {
    private let logger: Logger?

    /// Makes a verifier.
    ///
    /// - Parameter logger: Receives FFmpeg's messages; `nil` leaves them to `MediaLog.logger`.
    public init(logger: Logger? = nil) { self.logger = logger }

    /// Decodes samples; see ``SampleVerifier``.
    public func decode(
        _ samples: [SampleBuffer],
        codec: VideoCodec,
        show: (PixelBuffer, MediaTime) throws(MediaError) -> Void
    ) throws(MediaError) {
        try SampleDecoder(codec, logger: logger).decode(samples, show: show)
    }
}
