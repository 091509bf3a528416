// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaTypes

/// A multivariant playlist of HTTP Live Streaming, which lists the renditions of a presentation: RFC 8216 4.3.4.
public struct MultivariantPlaylist: Sendable, Hashable {
    /// The dynamic range of video (`VIDEO-RANGE`).
    public enum VideoRange: String, Sendable, Hashable {
        /// Standard dynamic range.
        case standard = "SDR"
        /// SMPTE ST 2084, as in HDR10.
        case perceptualQuantizer = "PQ"
        /// Hybrid log-gamma.
        case hybridLogGamma = "HLG"
    }

    /// An audio rendition (`EXT-X-MEDIA` with `TYPE=AUDIO`).
    public struct AudioRendition: Sendable, Hashable {
        /// The path of the media playlist.
        public var path: String
        /// The name for users, different within the group.
        public var name: String
        /// The language (RFC 5646); `nil` is written as `und`, because Apple's players require one.
        public var language: String?
        /// The number of channels.
        public var channelCount: Int
        /// Whether it is played if the user has no preference; at most one of a group.
        public var isDefault = false
        /// The codec in the form of RFC 6381.
        public var codec: String

        /// Makes a rendition.
        public init(path: String, name: String, language: String?, channelCount: Int, codec: String) {
            self.path = path
            self.name = name
            self.language = language
            self.channelCount = channelCount
            self.codec = codec
        }
    }

    /// The bitrates of a playlist, or of several that are played together.
    public struct BitRates: Sendable, Hashable {
        /// The peak bitrate of segments in bits per second (`BANDWIDTH`).
        public var peak: Int
        /// The average bitrate of segments in bits per second (`AVERAGE-BANDWIDTH`).
        public var average: Int

        /// Makes a pair of bitrates.
        public init(peak: Int, average: Int) {
            self.peak = peak
            self.average = average
        }
    }

    /// The video of a variant, or its I-frames.
    public struct Video: Sendable, Hashable {
        /// The path of the media playlist.
        public var path: String
        /// The bitrates of this playlist alone.
        public var bitRates: BitRates
        /// The codec in the form of RFC 6381. If the parameter sets change, there is one for each description.
        public var codecs: [String]
        /// The width and the height in pixels.
        public var width: Int
        /// The height in pixels.
        public var height: Int
        /// The maximum frame rate in frames per second; `nil` for I-frames.
        public var frameRate: Rational?
        /// The dynamic range.
        public var range = VideoRange.standard

        /// Makes the description of a playlist.
        public init(
            path: String,
            bitRates: BitRates,
            codec: String,
            width: Int,
            height: Int,
            frameRate: Rational? = nil,
            range: VideoRange = .standard
        ) {
            self.path = path
            self.bitRates = bitRates
            codecs = [codec]
            (self.width, self.height) = (width, height)
            self.frameRate = frameRate
            self.range = range
        }
    }

    /// The variants, the preferred one first.
    public var variants: [Video]
    /// The playlists of I-frames.
    public var iFrames: [Video]
    /// The audio renditions, one of which is played with every variant.
    public var audio: [AudioRendition]
    /// The highest bitrates of an audio rendition, which the variants' bitrates include.
    public var audioBitRates: BitRates
    /// The language of closed captions in the video (`EXT-X-MEDIA` with `INSTREAM-ID="CC1"`); `nil` if there are none.
    public var captionLanguage: String?
    /// Whether all segments can be decoded without others.
    public var isIndependent = true

    /// Makes a playlist.
    public init(
        variants: [Video],
        iFrames: [Video] = [],
        audio: [AudioRendition] = [],
        audioBitRates: BitRates = BitRates(peak: 0, average: 0)
    ) {
        self.variants = variants
        self.iFrames = iFrames
        self.audio = audio
        self.audioBitRates = audioBitRates
    }

    private static let audioGroup = "audio"
    private static let captionGroup = "captions"

    /// The playlist as text.
    public var text: String {
        // The smallest version in which Apple's tools describe fragmented MP4; no tag here needs a higher one.
        var lines = ["#EXTM3U", "#EXT-X-VERSION:6"]
        if isIndependent { lines.append("#EXT-X-INDEPENDENT-SEGMENTS") }
        for rendition in audio { lines.append(line(rendition)) }
        if let captionLanguage {
            let attributes = [
                PlaylistAttribute("TYPE", "CLOSED-CAPTIONS"), PlaylistAttribute("GROUP-ID", quoted: Self.captionGroup),
                PlaylistAttribute("NAME", quoted: "CC1"), PlaylistAttribute("LANGUAGE", quoted: captionLanguage),
                PlaylistAttribute("DEFAULT", "NO"), PlaylistAttribute("AUTOSELECT", "YES"),
                PlaylistAttribute("INSTREAM-ID", quoted: "CC1"),
            ]
            lines.append(PlaylistText.tag("EXT-X-MEDIA", attributes))
        }
        for variant in variants { lines += variantLines(variant) }
        for frames in iFrames { lines.append(iFrameLine(frames)) }
        return lines.joined(separator: "\n") + "\n"
    }

    private func line(_ rendition: AudioRendition) -> String {
        PlaylistText.tag(
            "EXT-X-MEDIA",
            [
                PlaylistAttribute("TYPE", "AUDIO"), PlaylistAttribute("GROUP-ID", quoted: Self.audioGroup),
                PlaylistAttribute("NAME", quoted: rendition.name),
                PlaylistAttribute("LANGUAGE", quoted: rendition.language ?? "und"),
                PlaylistAttribute("DEFAULT", rendition.isDefault ? "YES" : "NO"),
                PlaylistAttribute("AUTOSELECT", "YES"),
                PlaylistAttribute("CHANNELS", quoted: "\(rendition.channelCount)"),
                PlaylistAttribute("URI", quoted: PlaylistText.reference(to: rendition.path)),
            ]
        )
    }

    /// The different codecs, those of audio after that of the video.
    private func codecs(_ video: Video) -> String {
        var codecs = video.codecs
        for codec in audio.map(\.codec) where !codecs.contains(codec) { codecs.append(codec) }
        return codecs.joined(separator: ",")
    }

    private func variantLines(_ variant: Video) -> [String] {
        var attributes = [
            PlaylistAttribute("BANDWIDTH", variant.bitRates.peak + audioBitRates.peak),
            PlaylistAttribute("AVERAGE-BANDWIDTH", variant.bitRates.average + audioBitRates.average),
            PlaylistAttribute("CODECS", quoted: codecs(variant)),
            PlaylistAttribute("RESOLUTION", "\(variant.width)x\(variant.height)"),
        ]
        if let rate = variant.frameRate {
            let thousandths = Int64((rate.doubleValue * 1000).rounded())
            attributes.append(PlaylistAttribute("FRAME-RATE", PlaylistText.decimal(thousandths, places: 3)))
        }
        attributes.append(PlaylistAttribute("VIDEO-RANGE", variant.range.rawValue))
        if !audio.isEmpty { attributes.append(PlaylistAttribute("AUDIO", quoted: Self.audioGroup)) }
        attributes.append(
            captionLanguage == nil
                ? PlaylistAttribute("CLOSED-CAPTIONS", "NONE")
                : PlaylistAttribute("CLOSED-CAPTIONS", quoted: Self.captionGroup)
        )
        return [PlaylistText.tag("EXT-X-STREAM-INF", attributes), PlaylistText.reference(to: variant.path)]
    }

    private func iFrameLine(_ frames: Video) -> String {
        PlaylistText.tag(
            "EXT-X-I-FRAME-STREAM-INF",
            [
                PlaylistAttribute("BANDWIDTH", frames.bitRates.peak),
                PlaylistAttribute("AVERAGE-BANDWIDTH", frames.bitRates.average),
                PlaylistAttribute("CODECS", quoted: frames.codecs.joined(separator: ",")),
                PlaylistAttribute("RESOLUTION", "\(frames.width)x\(frames.height)"),
                PlaylistAttribute("VIDEO-RANGE", frames.range.rawValue),
                PlaylistAttribute("URI", quoted: PlaylistText.reference(to: frames.path)),
            ]
        )
    }
}

extension MultivariantPlaylist.BitRates {
    /// Measures segments: the peak is the highest bitrate of successive segments with a total duration of 0.5 to 1.5
    /// target durations (RFC 8216 4.1), or of all segments if they are shorter together.
    ///
    /// - Parameters:
    ///   - segments: The durations, and the sizes in bytes.
    ///   - targetDuration: The target duration in seconds.
    public init(of segments: [(duration: MediaTime, byteCount: Int)], targetDuration: Int) {
        let durations = segments.map { max($0.duration.seconds, 0) }
        let (shortest, longest) = (Double(targetDuration) * 0.5, Double(targetDuration) * 1.5)
        func rate(_ bytes: Int, _ seconds: Double) -> Int {
            seconds > 0 ? Int(clamping: Int64((Double(bytes) * 8 / seconds).rounded(.up))) : 0
        }
        let total = durations.reduce(0, +)
        average = rate(segments.reduce(0) { $0 + $1.byteCount }, total)
        var highest = 0
        for start in segments.indices {
            var (seconds, bytes) = (0.0, 0)
            for index in start..<segments.count {
                seconds += durations[index]
                bytes += segments[index].byteCount
                // A single segment may exceed its target by the rounding.
                if seconds > longest, index > start { break }
                if seconds >= shortest { highest = max(highest, rate(bytes, seconds)) }
            }
        }
        peak = max(highest, average)
    }
}
