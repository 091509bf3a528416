// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaTypes

/// A file, or a part of one, that a playlist refers to.
public struct PlaylistResource: Sendable, Hashable {
    /// The path relative to the playlist; it may contain any character.
    public var path: String
    /// The bytes of the file; `nil` for all.
    public var bytes: Range<Int>?

    /// Makes a reference.
    public init(path: String, bytes: Range<Int>? = nil) {
        self.path = path
        self.bytes = bytes
    }
}

/// A segment of a media playlist.
public struct PlaylistSegment: Sendable, Hashable {
    /// The file, or for I-frames a part of one.
    public var resource: PlaylistResource
    /// The duration.
    public var duration: MediaTime
    /// The media initialization section (`EXT-X-MAP`, RFC 8216 4.3.2.5); `nil` if the segment needs none.
    public var initialization: PlaylistResource?
    /// Whether its timestamps or its encoding do not continue those of the previous segment (`EXT-X-DISCONTINUITY`).
    public var isDiscontinuity = false
    /// The date and time of its start (`EXT-X-PROGRAM-DATE-TIME`).
    public var date: WallClockTime?

    /// Makes a segment.
    public init(
        resource: PlaylistResource,
        duration: MediaTime,
        initialization: PlaylistResource? = nil,
        isDiscontinuity: Bool = false,
        date: WallClockTime? = nil
    ) {
        self.resource = resource
        self.duration = duration
        self.initialization = initialization
        self.isDiscontinuity = isDiscontinuity
        self.date = date
    }
}

/// A media playlist of HTTP Live Streaming: RFC 8216 4.3.2 and 4.3.3.
///
/// It is a value: ``text`` is the file. A live playlist is a new value for each update.
public struct MediaPlaylist: Sendable, Hashable {
    /// Whether a playlist changes (`EXT-X-PLAYLIST-TYPE`).
    public enum Kind: String, Sendable, Hashable {
        /// It never changes.
        case onDemand = "VOD"
        /// Segments are only appended.
        case event = "EVENT"
        /// Segments are appended, and removed from the beginning.
        case live = ""
    }

    /// Whether and how it changes.
    public var kind: Kind
    /// The segments, in order.
    public var segments: [PlaylistSegment]
    /// The maximum duration of a segment in seconds, rounded to the nearest integer (`EXT-X-TARGETDURATION`). It must not
    /// change while a playlist is updated, and all playlists of a presentation should have the same.
    public var targetDuration: Int
    /// The number of the first segment (`EXT-X-MEDIA-SEQUENCE`).
    public var firstNumber = 0
    /// The number of discontinuities before the first segment (`EXT-X-DISCONTINUITY-SEQUENCE`).
    public var discontinuityNumber = 0
    /// Whether each segment consists of one I-frame (`EXT-X-I-FRAMES-ONLY`).
    public var isIFramesOnly = false
    /// Whether all samples of a segment can be decoded without other segments (`EXT-X-INDEPENDENT-SEGMENTS`).
    public var isIndependent = true
    /// Whether no segment will follow (`EXT-X-ENDLIST`).
    public var isComplete: Bool

    /// Makes a playlist.
    ///
    /// - Parameters:
    ///   - kind: Whether and how it changes.
    ///   - segments: The segments, in order.
    ///   - targetDuration: The target duration in seconds; `nil` for the smallest one that the segments allow.
    public init(kind: Kind, segments: [PlaylistSegment], targetDuration: Int? = nil) {
        self.kind = kind
        self.segments = segments
        self.targetDuration = targetDuration ?? Self.targetDuration(of: segments.map(\.duration))
        isComplete = kind == .onDemand
    }

    /// Returns the smallest target duration of segments, at least 1 s.
    public static func targetDuration(of durations: [MediaTime]) -> Int {
        durations.reduce(1) { max($0, Int($1.converted(to: 1).value)) }
    }

    /// The smallest version of the protocol that the playlist needs (RFC 8216 7); 7 for fragmented MP4, as in Apple's
    /// own tools.
    public var version: Int {
        let hasMap = segments.contains { $0.initialization != nil }
        if hasMap { return 7 }
        return isIFramesOnly || segments.contains { $0.resource.bytes != nil } ? 4 : 3
    }

    /// The playlist as text.
    public var text: String {
        var lines = ["#EXTM3U", "#EXT-X-VERSION:\(version)", "#EXT-X-TARGETDURATION:\(targetDuration)"]
        lines.append("#EXT-X-MEDIA-SEQUENCE:\(firstNumber)")
        if discontinuityNumber > 0 { lines.append("#EXT-X-DISCONTINUITY-SEQUENCE:\(discontinuityNumber)") }
        if kind != .live { lines.append("#EXT-X-PLAYLIST-TYPE:\(kind.rawValue)") }
        if isIFramesOnly { lines.append("#EXT-X-I-FRAMES-ONLY") }
        if isIndependent { lines.append("#EXT-X-INDEPENDENT-SEGMENTS") }
        var (initialization, end, written): (PlaylistResource?, MediaTime, Int64) = (nil, .zero, 0)
        for segment in segments {
            if segment.isDiscontinuity { lines.append("#EXT-X-DISCONTINUITY") }
            if let map = segment.initialization, map != initialization || segment.isDiscontinuity {
                var attributes = [PlaylistAttribute("URI", quoted: PlaylistText.reference(to: map.path))]
                if let bytes = map.bytes {
                    attributes.append(PlaylistAttribute("BYTERANGE", quoted: PlaylistText.range(bytes)))
                }
                lines.append(PlaylistText.tag("EXT-X-MAP", attributes))
                initialization = map
            }
            if let date = segment.date { lines.append("#EXT-X-PROGRAM-DATE-TIME:\(date)") }
            // The sum of the durations is exact to a microsecond, however many there are.
            end = end + segment.duration
            let microseconds = end.converted(to: 1_000_000).value
            lines.append("#EXTINF:\(PlaylistText.decimal(max(microseconds - written, 0), places: 6)),")
            written = microseconds
            if let bytes = segment.resource.bytes { lines.append("#EXT-X-BYTERANGE:\(PlaylistText.range(bytes))") }
            lines.append(PlaylistText.reference(to: segment.resource.path))
        }
        if isComplete { lines.append("#EXT-X-ENDLIST") }
        return lines.joined(separator: "\n") + "\n"
    }
}
