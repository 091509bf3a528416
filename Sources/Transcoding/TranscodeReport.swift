// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaIO
public import MediaTypes
public import VAToolbox

/// The progress of a transcode.
public struct TranscodeProgress: Sendable, Hashable {
    /// The number of frames that were read and passed to the session.
    public var framesIn = 0
    /// The number of samples that were written.
    public var framesOut = 0
    /// The number of bytes of video that were written.
    public var bytesOut = 0
    /// The render node of the present encoder, from its creation on; `nil` before that, and on the CPU.
    public var device: String?
    /// The number of bytes of the file that were written, in all passes: it advances while a file is completed. 0 for
    /// presentations.
    public var bytesWritten: Int64 = 0
    /// The number of bytes of the input and of finished chunks that were read, before the first frame, to find what is
    /// missing; `nil` after that, and without chunks.
    public var examinedBytes: Int64?
    /// The time up to which the loudness of the input was measured, in the pass before the first frame; `nil` without such
    /// a pass.
    public var measuredTime: MediaTime?
    /// The search for a quality, before the first frame; `nil` without a ``QualityTarget``.
    public var search: Search?
    /// The time up to which the outputs were verified, on average, once that has begun.
    public var verifiedTime: MediaTime?
    /// The end of the latest frame that was read, on the timeline of the output.
    public var time = MediaTime.zero
    /// The expected duration of the output, if the input states it.
    public var expectedDuration: MediaTime?
    /// The expected number of frames, if the input states it.
    public var expectedFrames: Int?

    /// Makes the progress of a transcode that has not begun.
    public init() {}

    /// How far the search for a quality is.
    public struct Search: Sendable, Hashable {
        /// The number of the quality that is tried, from 1 on.
        public var attempt = 0
        /// That quality.
        public var quality = 0.0
        /// The duration of all pictures that were encoded, for all qualities together.
        public var time = MediaTime.zero
        /// The number of these pictures.
        public var encodedPictures = 0
        /// The number of pictures that were decoded again and measured.
        public var measuredPictures = 0
    }
}

/// The results of a transcode for one output.
public struct TranscodeReport: Sendable {
    /// The path of the output, as requested.
    public var path: String
    /// The video track that was read.
    public var video: VideoTrack
    /// The configuration of the encoder, with all defaults resolved.
    public var configuration: EncoderConfiguration
    /// The last encoder, and the reason for its selection.
    public var encoder: EncoderDescription
    /// How the video was decoded, the same for all outputs of a transcode.
    public var decoding: DecodingReport
    /// The summary of the written output.
    public var output: MediaSink.Summary
    /// The number of bytes of coded video, without container and other tracks.
    public var videoByteCount: Int
    /// The counters of the session.
    public var statistics: SessionStatistics
    /// All encoder switches, in order.
    public var switches: [EncoderSwitch]
    /// Problems of the input.
    public var problems: SourceProblems
    /// Settings that differ from the request.
    public var adjustments: [Adjustment]
    /// Tracks and other things that the output lacks.
    public var omissions: [String]
    /// The result of the verification, if it was requested.
    public var verification: OutputVerification?
    /// The audio tracks of the output.
    public var audio: [AudioOutcome]
    /// The presentation of which the output is a variant; `nil` for files.
    public var stream: StreamReport?
    /// How the quality was found; `nil` without a ``QualityTarget``.
    public var quality: QualityReport?
    /// How it was made of chunks; `nil` if it was encoded in one piece.
    public var chunks: ChunkSummary?
    /// Whether ``Transcoder/stop()`` ended the transcode before the end of the input.
    public var wasStopped: Bool

    /// The number of frames of the input that the output lacks because a driver failed: they could neither be decoded
    /// again, nor be read from the GPU on which they were left for an encoder.
    public var lostFrames: Int { statistics.lostFrames + (decoding.statistics?.lostFrames ?? 0) }

    /// The bitrate of the coded video in bits per second; `nil` if the duration is zero.
    public var deliveredBitRate: Double? {
        let seconds = output.duration.seconds
        return seconds > 0 ? Double(videoByteCount) * 8 / seconds : nil
    }
}
