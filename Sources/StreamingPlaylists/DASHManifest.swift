// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaTypes

/// A media presentation description of MPEG-DASH (ISO/IEC 23009-1) for complete segments of fragmented MP4, as
/// ``MediaPlaylist`` lists them for HTTP Live Streaming.
public struct DASHManifest: Sendable, Hashable {
    /// A rendition.
    public struct Representation: Sendable, Hashable {
        /// The identifier, different from all others.
        public var id: String
        /// The codec in the form of RFC 6381.
        public var codec: String
        /// The peak bitrate in bits per second.
        public var bitRate: Int
        /// The path of the initialization section.
        public var initialization: String
        /// The path of the segments, in which `$Number%05d$` is the number, from 1.
        public var media: String
        /// The presentation time of the first sample.
        public var start = MediaTime.zero
        /// The durations of the segments.
        public var durations: [MediaTime]
        /// The width and the height in pixels; `nil` for audio.
        public var width: Int?
        /// The height in pixels; `nil` for audio.
        public var height: Int?
        /// The frame rate in frames per second; `nil` for audio.
        public var frameRate: Rational?
        /// The sample rate in Hz; `nil` for video.
        public var sampleRate: Int?
        /// The number of channels; `nil` for video.
        public var channelCount: Int?
        /// The language (RFC 5646), if it is known.
        public var language: String?

        /// Makes a rendition with the values that all have.
        public init(
            id: String,
            codec: String,
            bitRate: Int,
            initialization: String,
            media: String,
            durations: [MediaTime]
        ) {
            (self.id, self.codec, self.bitRate) = (id, codec, bitRate)
            (self.initialization, self.media, self.durations) = (initialization, media, durations)
        }
    }

    /// The renditions of the video, between which players switch.
    public var video: [Representation]
    /// The renditions of the audio, one of which is played.
    public var audio: [Representation]
    /// The target duration of the segments in seconds, for which players should buffer before they begin.
    public var bufferTime: Int

    /// Makes a description.
    public init(video: [Representation], audio: [Representation], bufferTime: Int) {
        self.video = video
        self.audio = audio
        self.bufferTime = bufferTime
    }

    /// The unit of times that have no common one, per second.
    private static let usualTimescale: Int32 = 1_000_000

    /// The description as text.
    public var text: String {
        let total = (video + audio).map { $0.durations.reduce($0.start) { $0 + $1 } }.max() ?? .zero
        let duration = PlaylistText.decimal(total.converted(to: 1000).value, places: 3)
        var lines = [
            "<?xml version=\"1.0\" encoding=\"utf-8\"?>",
            "<MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\" profiles=\"urn:mpeg:dash:profile:isoff-live:2011\" "
                + "type=\"static\" mediaPresentationDuration=\"PT\(duration)S\" minBufferTime=\"PT\(bufferTime)S\">",
            "  <Period id=\"1\" start=\"PT0S\">",
        ]
        if !video.isEmpty {
            lines.append(
                "    <AdaptationSet contentType=\"video\" mimeType=\"video/mp4\" segmentAlignment=\"true\" startWithSAP=\"1\">"
            )
            for representation in video { lines += self.lines(of: representation) }
            lines.append("    </AdaptationSet>")
        }
        // Renditions of audio are alternatives: players switch only within a set.
        for representation in audio {
            let language = representation.language.map { " lang=\"\(Self.escaped($0))\"" } ?? ""
            lines.append(
                "    <AdaptationSet contentType=\"audio\" mimeType=\"audio/mp4\" segmentAlignment=\"true\""
                    + " startWithSAP=\"1\"\(language)>"
            )
            lines += self.lines(of: representation)
            lines.append("    </AdaptationSet>")
        }
        lines += ["  </Period>", "</MPD>"]
        return lines.joined(separator: "\n") + "\n"
    }

    private func lines(of representation: Representation) -> [String] {
        var attributes = [
            ("id", representation.id), ("codecs", representation.codec), ("bandwidth", "\(representation.bitRate)"),
        ]
        if let width = representation.width, let height = representation.height {
            attributes += [("width", "\(width)"), ("height", "\(height)")]
        }
        if let rate = representation.frameRate?.reduced {
            attributes.append(
                ("frameRate", rate.denominator == 1 ? "\(rate.numerator)" : "\(rate.numerator)/\(rate.denominator)")
            )
        }
        if let rate = representation.sampleRate { attributes.append(("audioSamplingRate", "\(rate)")) }
        var lines = ["      <Representation \(Self.text(attributes))>"]
        if let count = representation.channelCount {
            lines.append(
                "        <AudioChannelConfiguration "
                    + "schemeIdUri=\"urn:mpeg:dash:23003:3:audio_channel_configuration:2011\" value=\"\(count)\"/>"
            )
        }
        let scales = Set(representation.durations.map(\.timescale))
        let timescale = scales.count == 1 ? scales.first ?? Self.usualTimescale : Self.usualTimescale
        let template = [
            ("timescale", "\(timescale)"), ("startNumber", "1"),
            ("initialization", PlaylistText.reference(to: representation.initialization)),
            ("media", Self.reference(toMedia: representation.media)),
        ]
        lines.append("        <SegmentTemplate \(Self.text(template))>")
        lines.append("          <SegmentTimeline>")
        lines += Self.timeline(representation, timescale).map { "            \($0)" }
        lines += ["          </SegmentTimeline>", "        </SegmentTemplate>", "      </Representation>"]
        return lines
    }

    /// Returns the elements `S` (5.3.9.6), each for as many successive segments of the same duration as possible.
    private static func timeline(_ representation: Representation, _ timescale: Int32) -> [String] {
        let first = representation.start.converted(to: timescale).value
        var (end, written) = (representation.start, first)
        var runs: [(ticks: Int64, count: Int)] = []
        for duration in representation.durations {
            end = end + duration
            let ticks = max(end.converted(to: timescale).value - written, 0)
            written += ticks
            if let last = runs.last, last.ticks == ticks {
                runs[runs.count - 1].count += 1
            } else {
                runs.append((ticks, 1))
            }
        }
        return runs.enumerated().map { index, run in
            let start = index == 0 ? " t=\"\(first)\"" : ""
            let repeats = run.count > 1 ? " r=\"\(run.count - 1)\"" : ""
            return "<S\(start) d=\"\(run.ticks)\"\(repeats)/>"
        }
    }

    private static func reference(toMedia path: String) -> String {
        let mark = "$Number%05d$"
        return path.split(separator: mark, omittingEmptySubsequences: false).map {
            PlaylistText.reference(to: String($0))
        }
        .joined(separator: mark)
    }

    private static func text(_ attributes: [(name: String, value: String)]) -> String {
        attributes.map { "\($0.name)=\"\(escaped($0.value))\"" }.joined(separator: " ")
    }

    private static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing("\"", with: "&quot;")
    }
}
