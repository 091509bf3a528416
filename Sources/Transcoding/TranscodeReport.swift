// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaIO
public import MediaTypes
public import VAToolbox

/// How far a transcode has come.
public struct TranscodeProgress: Sendable, Hashable {
    /// Frames that were read and given to the session.
    public var framesIn = 0
    /// Samples that were written.
    public var framesOut = 0
    /// Bytes of video that were written.
    public var bytesOut = 0
    /// The end of the newest frame that was read, on the output's time line.
    public var time = MediaTime.zero
    /// How long the output will be, if the input says so.
    public var expectedDuration: MediaTime?
    /// How many frames there will be, if the input says so.
    public var expectedFrames: Int?

    /// Nothing done yet.
    public init() {}
}

/// What a transcode did.
public struct TranscodeReport: Sendable {
    /// What was read.
    public var video: VideoTrack
    /// What was asked of the encoder, with everything resolved.
    public var configuration: EncoderConfiguration
    /// Which encoder did the work last, and why.
    public var encoder: EncoderDescription
    /// What was written.
    public var output: MediaSink.Summary
    /// Bytes of coded video, without container and other tracks.
    public var videoByteCount: Int
    /// What the session counted.
    public var statistics: SessionStatistics
    /// Every time that another encoder took over, in order.
    public var switches: [EncoderSwitch]
    /// What went wrong in the input.
    public var problems: SourceProblems
    /// What was asked for and done differently.
    public var adjustments: [Adjustment]
    /// Tracks and other things that the output does not have.
    public var omissions: [String]
    /// Whether ``Transcoder/stop()`` ended it before the end of the input.
    public var wasStopped: Bool

    /// The rate of the coded video in bits per second; `nil` for no duration.
    public var deliveredBitRate: Double? {
        let seconds = output.duration.seconds
        return seconds > 0 ? Double(videoByteCount) * 8 / seconds : nil
    }
}
