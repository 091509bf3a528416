// SPDX-License-Identifier: GPL-2.0-or-later

public import AudioCoding
public import MediaTypes

/// A coded picture or a coded packet of audio on its way to a live output.
public enum LiveUnit: Sendable {
    /// A picture, in decoding order.
    case video(SampleBuffer)
    /// A packet of the audio track with an index in ``LiveTracks/audio``.
    case audio(AudioSample, track: Int)

    /// The time by which units of all tracks are ordered: the decode time of a picture, the time of a packet.
    public var decodeTime: MediaTime {
        switch self {
        case .video(let sample): sample.decodeTime
        case .audio(let sample, _): sample.presentationTime
        }
    }

    /// The number of coded bytes.
    public var byteCount: Int {
        switch self {
        case .video(let sample): sample.data.count
        case .audio(let sample, _): sample.data.count
        }
    }

    /// Returns the unit at another time.
    ///
    /// - Parameter distance: What is added to its times.
    func moved(by distance: MediaTime) -> LiveUnit {
        switch self {
        case .video(var sample):
            sample.presentationTime = sample.presentationTime + distance
            sample.decodeTime = sample.decodeTime + distance
            return .video(sample)
        case .audio(var sample, let track):
            sample.presentationTime = sample.presentationTime + distance
            return .audio(sample, track: track)
        }
    }

    /// Whether a receiver can begin with this picture.
    public var isKeyFrame: Bool {
        if case .video(let sample) = self { sample.isKeyFrame } else { false }
    }
}

/// The tracks of a live stream.
public struct LiveTracks: Sendable {
    /// The video: its size, and its parameter sets at the start; `nil` if there is sound alone.
    public var video: FormatDescription?
    /// The frame rate in frames per second, if it is constant.
    public var frameRate: Rational?
    /// The intended bitrate of the video in bit/s, if there is one.
    public var videoBitRate: Int?
    /// The audio tracks.
    public var audio: [AudioStreamDescription]

    /// Describes tracks.
    public init(
        video: FormatDescription?,
        frameRate: Rational? = nil,
        videoBitRate: Int? = nil,
        audio: [AudioStreamDescription] = []
    ) {
        (self.video, self.frameRate, self.videoBitRate, self.audio) = (video, frameRate, videoBitRate, audio)
    }
}

/// The token of a picture that is a key frame in every rendition of a stream, so that all of them can be cut there.
package struct CommonKeyFrame: Sendable {
    /// Makes a token.
    package init() {}
}
