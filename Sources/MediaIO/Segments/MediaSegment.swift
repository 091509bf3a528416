// SPDX-License-Identifier: GPL-2.0-or-later

public import AudioCoding
public import MediaTypes

/// The container of segments for HTTP streaming.
public enum SegmentFormat: String, Sendable, Hashable, CaseIterable {
    /// Fragmented MP4 with a separate initialization section: ISO/IEC 14496-12 8.8.
    case fmp4
    /// MPEG-2 transport stream: ISO/IEC 13818-1. Each segment begins with a PAT and a PMT.
    case ts

    /// The container whose track parameters apply.
    package var container: ContainerFormat {
        switch self {
        case .fmp4: .mp4
        case .ts: .ts
        }
    }
}

/// A segment of one track: the counterpart of a segment and its `AVAssetSegmentReport` from `AVAssetWriterDelegate`.
public struct MediaSegment: Sendable {
    /// The content of a segment.
    public enum Content: Sendable, Hashable {
        /// The initialization section, which the following media segments need.
        case initialization
        /// Samples.
        case media
    }

    /// A key frame in a segment.
    public struct KeyFrame: Sendable, Hashable {
        /// The presentation time.
        public var time: MediaTime
        /// The bytes of the segment from which this picture alone can be decoded, after the initialization section: its
        /// `moof` box and its sample, or its packets after a PAT and a PMT.
        public var bytes: Range<Int>
    }

    /// The track.
    public var track: SegmentedTrack
    /// The content.
    public var content: Content
    /// The number among the track's segments with the same content, from 1.
    public var number: Int
    /// The bytes.
    public var data: [UInt8]
    /// The presentation time of the first sample, not before zero; invalid for an initialization section.
    public var start = MediaTime.invalid
    /// The time from the start to the start of the next segment or, for the last one, to the end of the last sample.
    public var duration = MediaTime.invalid
    /// The key frames; none for audio.
    public var keyFrames: [KeyFrame] = []
}

/// A track of segments, with what playlists state about it.
public struct SegmentedTrack: Sendable, Hashable {
    /// The number: 0 for the video, then in the order in which tracks were added.
    public var number: Int
    /// The video; `nil` for audio.
    public var video: FormatDescription?
    /// The audio; `nil` for video.
    public var audio: AudioStreamDescription?
    /// The language as stored in the input (mostly ISO 639-2), if there is one.
    public var language: String?
    /// The title, if there is one.
    public var title: String?

    /// The codec in the form of RFC 6381; `nil` if it has no such name.
    public var codecName: String? { video?.codecName ?? audio?.mediaTypeCodec }
}
