// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
public import MediaIO
public import MediaTypes
public import StreamingPlaylists

/// A presentation for HTTP Live Streaming: a multivariant playlist, and a folder with the playlists and segments of its
/// renditions.
///
/// The outputs of the request are the variants. Their ``OutputRequest/path`` is the name of the variant's folder, their
/// ``OutputRequest/sink`` is not used. The audio of the first output becomes renditions of its own, which all variants
/// share; the audio settings of the others are not used.
///
/// Video segments begin with key frames at the same pictures in all variants. Nothing appears under the final names
/// until everything is complete, and an older presentation stays until then: the folder is replaced in one step, and the
/// multivariant playlist after it. If one variant fails, there is no presentation.
public struct StreamOptions: Sendable, Hashable {
    /// The path of the multivariant playlist, which ends with `.m3u8`. The folder has the same path without it.
    public var path: String
    /// The container of the segments. HEVC requires fragmented MP4.
    public var format = SegmentFormat.fmp4
    /// The nominal duration of a segment, 0.5 to 60 s. A segment is longer by less than a frame, if its duration is no
    /// multiple of a frame. Apple recommends 6 s.
    public var segmentDuration = MediaTime(value: 6, timescale: 1)
    /// The distance of key frames in a segment, measured from its beginning; `nil` leaves them to the encoders'
    /// `keyFrameInterval`, which is not measured from there. Apple recommends 2 s.
    public var keyFrameDuration: MediaTime? = MediaTime(value: 2, timescale: 1)
    /// The date and time of the first picture (`EXT-X-PROGRAM-DATE-TIME`); `nil` for none.
    public var date: WallClockTime?
    /// Whether a description for MPEG-DASH of the same segments is written next to the multivariant playlist, with the
    /// extension `mpd`. Requires fragmented MP4.
    public var includesDASH = false
    /// Whether an existing presentation may be replaced.
    public var overwrite = false

    /// Makes options.
    ///
    /// - Parameter path: The path of the multivariant playlist.
    public init(path: String) { self.path = path }

    /// The extension of playlists.
    public static let fileExtension = "m3u8"

    /// Whether a path is that of a playlist.
    public static func isPlaylist(_ path: String) -> Bool {
        path.lowercased().hasSuffix(".\(fileExtension)") && path.split(separator: "/").last?.hasPrefix(".") == false
    }

    /// The path of the folder with the renditions.
    var folderPath: String { String(path.dropLast(Self.fileExtension.count + 1)) }
    /// The name of this folder.
    var folderName: String { folderPath.split(separator: "/").last.map(String.init) ?? "" }

    /// The path of the description for MPEG-DASH.
    var dashPath: String { folderPath + ".mpd" }

    /// The extensions of all files in the folder.
    static let fileExtensions: Set = [fileExtension, "mp4", "m4s", "ts"]

    /// Checks everything that can be checked without the input.
    ///
    /// - Throws: `invalidArgument` if a value is out of range, or something exists that may not be replaced;
    ///   `inputOutput` if a folder cannot be read.
    public func validate() throws(MediaError) {
        guard Self.isPlaylist(path) else {
            throw MediaError(
                .invalidArgument,
                "the path of a multivariant playlist has another extension",
                given: path,
                allowed: "a path that ends with .\(Self.fileExtension)"
            )
        }
        try SegmentSink.Options(format: format, duration: segmentDuration).validate()
        if let keyFrameDuration, !keyFrameDuration.isValid || keyFrameDuration <= .zero {
            throw MediaError(
                .invalidArgument,
                "the distance of key frames is not valid",
                given: "\(keyFrameDuration.seconds) s",
                allowed: "above 0"
            )
        }
        guard !includesDASH || format == .fmp4 else {
            throw MediaError(.invalidArgument, "DASH needs fragmented MP4", given: format.rawValue, allowed: "fmp4")
        }
        var sink = MediaSink.Options()
        // The playlist is a text, whatever its container is called.
        (sink.format, sink.overwrite) = (.h264, overwrite)
        try MediaSink.validate(path: path, options: sink)
        if includesDASH { try MediaSink.validate(path: dashPath, options: sink) }
        try OutputFolder.validate(path: folderPath, overwrite: overwrite, fileExtensions: Self.fileExtensions)
    }

    /// Checks the settings of the variants.
    func validate(_ outputs: [OutputRequest]) throws(MediaError) {
        for output in outputs {
            let name = output.path
            let isPlain = name.utf8.allSatisfy { byte in
                byte < 0x80 && (Character(Unicode.Scalar(byte)).isLetter || Character(Unicode.Scalar(byte)).isNumber)
                    || [0x2D, 0x2E, 0x5F].contains(byte)
            }
            guard !name.isEmpty, isPlain, !name.hasPrefix("."), !name.hasPrefix("audio-") else {
                throw MediaError(
                    .invalidArgument,
                    "the name of a variant is not valid",
                    given: name,
                    allowed: "letters, digits, hyphens, dots and underscores, beginning with none of . and audio-"
                )
            }
            let base = output.video.base
            if format == .ts, base.fixedCodec != .h264 {
                throw MediaError(
                    .invalidArgument,
                    "HTTP Live Streaming supports only H.264 in transport streams",
                    given: "\(base.codec.rawValue), \(format.rawValue)",
                    allowed: "h264, or segments of fmp4"
                )
            }
            guard !base.allowsOpenGOP, !base.usesIntraRefresh else {
                throw MediaError(
                    .invalidArgument,
                    "segments need key frames after which no picture refers to an earlier one",
                    given: base.allowsOpenGOP ? "open GOPs" : "intra refresh",
                    allowed: "closed GOPs"
                )
            }
        }
    }
}

/// The presentation that was written.
public struct StreamReport: Sendable, Hashable {
    /// A variant, or an audio rendition.
    public struct Rendition: Sendable, Hashable {
        /// The path of the media playlist, relative to the multivariant one.
        public var path: String
        /// The number of segments.
        public var segmentCount: Int
        /// The number of bytes of all segments.
        public var byteCount: Int
        /// The duration of all segments.
        public var duration: MediaTime
        /// The bitrates of this playlist alone.
        public var bitRates: MultivariantPlaylist.BitRates
        /// The codec in the form of RFC 6381; several, separated by commas, if another encoder took over.
        public var codec: String
    }

    /// The path of the multivariant playlist.
    public var path: String
    /// The path of the description for MPEG-DASH, if there is one.
    public var dashPath: String?
    /// The target duration of all playlists in seconds.
    public var targetDuration: Int
    /// The variants, in the order of the outputs.
    public var variants: [Rendition]
    /// The audio renditions.
    public var audio: [Rendition]
}
