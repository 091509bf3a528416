// SPDX-License-Identifier: GPL-2.0-or-later

internal import AudioCoding
internal import MediaTypes
internal import Streaming

/// A sample of the track that decides where all tracks are cut: the video, or the first audio if there is none.
enum LeadSample {
    case picture(SampleBuffer)
    case packet(AudioSample)

    /// - Returns: `nil` for a unit of another track.
    init?(_ unit: LiveUnit, hasVideo: Bool) {
        switch unit {
        case .video(let sample):
            guard hasVideo, !sample.isDropped else { return nil }
            self = .picture(sample)
        case .audio(let sample, let track):
            guard !hasVideo, track == 0 else { return nil }
            self = .packet(sample)
        }
    }

    var decodeTime: MediaTime {
        switch self {
        case .picture(let sample): sample.decodeTime
        case .packet(let sample): sample.presentationTime
        }
    }

    var presentationTime: MediaTime {
        switch self {
        case .picture(let sample): sample.presentationTime
        case .packet(let sample): sample.presentationTime
        }
    }

    var isKeyFrame: Bool {
        if case .picture(let sample) = self { sample.isKeyFrame } else { true }
    }

    var format: FormatDescription? {
        if case .picture(let sample) = self { sample.formatDescription } else { nil }
    }

    /// Whether it is a key frame in all renditions.
    var isCommon: Bool {
        if case .picture(let sample) = self { sample.token is CommonKeyFrame } else { true }
    }

    /// Whether it needs another initialization section than a sample with this format.
    func needsOther(than format: FormatDescription?) -> Bool { self.format?.needsOther(than: format) ?? false }
}

extension FormatDescription {
    /// Whether it needs another initialization section.
    func needsOther(than format: FormatDescription?) -> Bool {
        guard let format, self !== format else { return false }
        return parameterSets != format.parameterSets || codec != format.codec
    }
}

/// The leading track of a connection. It holds back one sample, because the next one tells how long it lasts.
struct LeadTrack {
    /// The sample that is held back; `nil` after a pause.
    var held: LeadSample?
    /// The format of the last sample.
    var format: FormatDescription?
    /// The distance from decode times to presentation times.
    private let offset: MediaTime

    init(first: LeadSample) {
        (held, format) = (first, first.format)
        offset = first.presentationTime - first.decodeTime
    }

    /// The time of a sample for which its decode time stands: its presentation time, if it is not reordered.
    func time(of sample: LeadSample) -> MediaTime { sample.decodeTime + offset }
}
