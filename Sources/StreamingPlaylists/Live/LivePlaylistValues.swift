// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaTypes

extension LiveMediaPlaylist {
    /// A partial segment (`EXT-X-PART`): rfc8216bis 4.4.4.9.
    public struct Part: Sendable, Hashable {
        /// The file, or the bytes of the segment's file.
        public var resource: PlaylistResource
        /// The duration, above 0 and no longer than the part target.
        public var duration: MediaTime
        /// Whether it contains a picture that can be decoded without others (`INDEPENDENT`).
        public var isIndependent: Bool
        /// Whether it is lost and cannot be downloaded (`GAP`).
        public var isMissing: Bool

        /// Makes a part.
        public init(
            resource: PlaylistResource,
            duration: MediaTime,
            isIndependent: Bool = false,
            isMissing: Bool = false
        ) {
            (self.resource, self.duration) = (resource, duration)
            (self.isIndependent, self.isMissing) = (isIndependent, isMissing)
        }
    }

    /// Where the next part will be (`EXT-X-PRELOAD-HINT`): rfc8216bis 4.4.5.3.
    ///
    /// Players ask for it before it exists, and the server answers when it does. The next part may belong to the
    /// segment that is open, or to the one after it, so the names of parts should not depend on their segment.
    public struct Hint: Sendable, Hashable {
        /// The path of the file relative to the playlist.
        public var path: String
        /// The offset of the first byte in the file, for parts that are bytes of their segment's file.
        public var firstByte: Int?

        /// Makes a hint.
        public init(path: String, firstByte: Int? = nil) { (self.path, self.firstByte) = (path, firstByte) }
    }

    /// How far another playlist of the presentation is (`EXT-X-RENDITION-REPORT`): rfc8216bis 4.4.5.4.
    public struct Report: Sendable, Hashable {
        /// The path of the other playlist, relative to the one that contains the report.
        public var path: String
        /// The media sequence number of the last part, or of the last segment if there are no parts.
        public var number: Int
        /// The index of the last part in its segment; `nil` without parts.
        public var part: Int?

        /// Makes a report.
        public init(path: String, number: Int, part: Int? = nil) {
            (self.path, self.number, self.part) = (path, number, part)
        }
    }

    /// A part that is shorter than 85 % of the part target, although another part of its segment follows (rfc8216bis
    /// 4.4.4.9). Players that wait for parts at a steady pace can stall.
    public struct ShortPart: Sendable, Hashable {
        /// The media sequence number of the segment.
        public var number: Int
        /// The index of the part in its segment.
        public var part: Int
        /// The duration.
        public var duration: MediaTime

        /// Makes a report about a part.
        public init(number: Int, part: Int, duration: MediaTime) {
            (self.number, self.part, self.duration) = (number, part, duration)
        }
    }

    /// What a delta update leaves out.
    public enum DeltaUpdate: Sendable, Hashable {
        /// Segments (`_HLS_skip=YES`).
        case segments
        /// Segments and date ranges (`_HLS_skip=v2`).
        case segmentsAndDateRanges
    }

    /// The end of a playlist at some moment, from which a ``BlockingRequest`` is answered.
    public struct Edge: Sendable, Hashable {
        /// The media sequence number of the last complete segment; one less than that of the first segment if none is
        /// complete.
        public var lastNumber: Int
        /// The number of parts that the last complete segment has or had.
        public var lastPartCount: Int
        /// The number of parts of the segment after it.
        public var openPartCount: Int
        /// Whether nothing will follow.
        public var isEnded: Bool
        /// The options of the playlist.
        public var options: Options

        /// Makes an edge.
        public init(lastNumber: Int, lastPartCount: Int, openPartCount: Int, isEnded: Bool, options: Options) {
            (self.lastNumber, self.lastPartCount, self.openPartCount) = (lastNumber, lastPartCount, openPartCount)
            (self.isEnded, self.options) = (isEnded, options)
        }
    }
}
