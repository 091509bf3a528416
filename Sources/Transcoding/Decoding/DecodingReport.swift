// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaTypes
public import VAToolbox

/// A failure of a decoder.
public struct DecoderFailure: Sendable {
    /// The decoder.
    public var decoder: DecoderIdentity
    /// The error.
    public var error: MediaError
}

/// How the video of a transcode was decoded.
public struct DecodingReport: Sendable {
    /// The name and version of the decoder that was used last.
    public var name: String
    /// Its render node; `nil` for the CPU.
    public var device: String?
    /// The reason for its selection, as text for users.
    public var reason: String
    /// The decoder of the session that was used last; `nil` if libavcodec has decoded in this process, without a session.
    public var description: DecoderDescription?
    /// The counters of the session.
    public var statistics: DecompressionStatistics?
    /// The number of pictures that were copied because the job held too many of them.
    public var copiedPictures = 0
    /// The failures of decoders, in order. The number of pictures that were lost with them is in ``statistics``.
    public var failures: [DecoderFailure] = []
}
