// SPDX-License-Identifier: GPL-2.0-or-later

internal import CFFmpeg
public import MediaTypes

/// A track beside the encoded video: audio, subtitles, or timed data. It is copied from an input, or encoded audio. If a
/// file is copied without encoding, its video tracks and attachments are such tracks as well.
public final class MediaTrack: @unchecked Sendable {
    /// The content of a track.
    public enum Kind: String, Sendable, Hashable {
        /// Video that is copied.
        case video
        /// Audio.
        case audio
        /// Subtitles, as text or as pictures.
        case subtitles
        /// Other data, such as timed metadata.
        case data
        /// An attached file, such as a font, which has no packets.
        case attachment
    }

    /// The index of the stream in the input.
    public let index: Int
    /// The kind of content.
    public let kind: Kind
    /// FFmpeg's name of the codec, for example `aac`.
    public let codecName: String
    /// The language as stored in the input (mostly ISO 639-2), if there is one.
    public let language: String?
    /// The title as stored in the input, for example `Commentary`, if there is one.
    public let title: String?

    /// An owned copy of the stream's parameters. It does not change after `init`, so any thread can read it.
    let parameters: UnsafeMutablePointer<AVCodecParameters>
    /// The time base of the packets.
    let timeBase: AVRational
    /// The disposition flags, such as "default".
    let disposition: Int32
    /// The other properties of a stream that is copied as a whole; `nil` for a track beside encoded video.
    let details: StreamDetails?

    init(stream: UnsafePointer<AVStream>, details: StreamDetails? = nil) throws(MediaError) {
        guard let parameters = avcodec_parameters_alloc() else {
            throw MediaError(.outOfMemory, "no memory for stream parameters", call: "avcodec_parameters_alloc")
        }
        let source = stream.pointee
        let status = avcodec_parameters_copy(parameters, source.codecpar)
        guard status >= 0 else {
            var unowned: UnsafeMutablePointer<AVCodecParameters>? = parameters
            avcodec_parameters_free(&unowned)
            throw MediaError(
                .outOfMemory,
                "no memory for stream parameters",
                call: "avcodec_parameters_copy",
                status: Int(status)
            )
        }
        self.parameters = parameters
        self.details = details
        index = Int(source.index)
        (language, title) = (source.text("language"), source.text("title"))
        timeBase = details?.timeBase ?? source.time_base
        disposition = details?.contents == nil ? source.disposition : 0
        codecName = avcodec_get_name(parameters.pointee.codec_id).map { String(cString: $0) } ?? "unknown"
        kind = Kind(details?.contents == nil ? parameters.pointee.codec_type : AVMEDIA_TYPE_ATTACHMENT)
        try details?.apply(to: parameters)
    }

    /// Takes ownership of the parameters of an audio stream, which may be modified until the track is used.
    init(
        taking parameters: UnsafeMutablePointer<AVCodecParameters>,
        codecName: String,
        timeBase: AVRational,
        replacing track: MediaTrack?
    ) {
        self.parameters = parameters
        self.codecName = codecName
        self.timeBase = timeBase
        kind = .audio
        index = track?.index ?? 0
        (language, title) = (track?.language, track?.title)
        disposition = track?.disposition ?? 0
        details = nil
    }

    deinit {
        var parameters: UnsafeMutablePointer<AVCodecParameters>? = parameters
        avcodec_parameters_free(&parameters)
    }
}

/// One coded packet of a track beside the video. It owns its data; a writer takes a reference instead of copying it.
public final class MediaPacket: @unchecked Sendable {
    /// The track of the packet.
    public let track: MediaTrack
    /// The presentation time, on the timeline of the output; invalid if the input does not specify it.
    public let presentationTime: MediaTime

    /// The packet, with times in the track's ``MediaTrack/timeBase`` on the timeline of the output. It does not change
    /// after `init`.
    let packet: UnsafeMutablePointer<AVPacket>

    /// The duration; invalid if the input does not specify it.
    public var duration: MediaTime {
        packet.pointee.duration <= 0
            ? .invalid
            : .rational(
                packet.pointee.duration,
                numerator: Int64(track.timeBase.num),
                denominator: Int64(track.timeBase.den)
            )
    }

    /// The size of the data in bytes.
    public var byteCount: Int { Int(packet.pointee.size) }

    /// Returns the packet at another time, with a reference to the same data.
    ///
    /// - Parameter distance: What is added to its times, rounded to the track's time base.
    package func moved(by distance: MediaTime) throws(MediaError) -> MediaPacket {
        guard let ticks = distance.ticks(in: track.timeBase, AV_ROUND_NEAR_INF), let copy = av_packet_clone(packet)
        else { throw MediaError(.outOfMemory, "no memory for a packet", call: "av_packet_clone") }
        copy.shift(by: ticks)
        return MediaPacket(track: track, taking: copy)
    }

    /// Takes ownership of a packet, which is freed with this object.
    init(track: MediaTrack, taking packet: UnsafeMutablePointer<AVPacket>) {
        self.track = track
        self.packet = packet
        let time = packet.pointee.pts
        presentationTime =
            time == ffmpeg_no_pts
            ? .invalid
            : .rational(time, numerator: Int64(track.timeBase.num), denominator: Int64(track.timeBase.den))
    }

    deinit {
        var packet: UnsafeMutablePointer<AVPacket>? = packet
        av_packet_free(&packet)
    }
}

/// A chapter of a file.
public struct Chapter: Sendable, Hashable {
    /// The start time.
    public var start: MediaTime
    /// The end time.
    public var end: MediaTime
    /// The title, if there is one.
    public var title: String?

    /// Makes a chapter.
    public init(start: MediaTime, end: MediaTime, title: String?) {
        self.start = start
        self.end = end
        self.title = title
    }
}

extension MediaTrack.Kind {
    init(_ type: AVMediaType) {
        switch type {
        case AVMEDIA_TYPE_VIDEO: self = .video
        case AVMEDIA_TYPE_AUDIO: self = .audio
        case AVMEDIA_TYPE_SUBTITLE: self = .subtitles
        case AVMEDIA_TYPE_ATTACHMENT: self = .attachment
        default: self = .data
        }
    }
}

extension AVStream {
    /// Returns a metadata text of the stream.
    func text(_ key: String) -> String? {
        av_dict_get(metadata, key, nil, 0).map { String(cString: $0.pointee.value) }
    }
}
