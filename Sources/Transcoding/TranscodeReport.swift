// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaIO
public import MediaTypes
public import VAToolbox

/// How far a transcode has come.
public struct TranscodeProgress: Sendable, Hashable {
    /// Frames that were read and passed to the session.
    public var framesIn = 0
    /// Samples that were written.
    public var framesOut = 0
    /// Bytes of video that were written.
    public var bytesOut = 0
    /// The end of the newest frame that was read, on the output's time line.
    public var time = MediaTime.zero
    /// The expected duration of the output, if the input states it.
    public var expectedDuration: MediaTime?
    /// The expected number of frames, if the input states it.
    public var expectedFrames: Int?

    /// Nothing done yet.
    public init() {}
}

/// What a transcode did.
public struct TranscodeReport: Sendable {
    /// What was read.
    public var video: VideoTrack
    /// The configuration of the encoder, with all defaults resolved.
    public var configuration: EncoderConfiguration
    /// The last encoder, and why it was selected.
    public var encoder: EncoderDescription
    /// What was written.
    public var output: MediaSink.Summary
    /// Bytes of coded video, without container and other tracks.
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
    /// Whether ``Transcoder/stop()`` ended it before the end of the input.
    public var wasStopped: Bool

    /// The rate of the coded video in bits per second; `nil` for no duration.
    public var deliveredBitRate: Double? {
        let seconds = output.duration.seconds
        return seconds > 0 ? Double(videoByteCount) * 8 / seconds : nil
    }
}
