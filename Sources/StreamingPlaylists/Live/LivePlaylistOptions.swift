// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaTypes

extension LiveMediaPlaylist {
    /// The container of the segments.
    public enum Container: Sendable, Hashable {
        /// Fragmented MP4, which needs a media initialization section (`EXT-X-MAP`).
        case fragmentedMP4
        /// MPEG-2 transport streams, which need none.
        case transportStream
    }

    /// How much of the past a playlist lists. It never lists fewer than six segments (rule 8.11 of Apple's authoring
    /// specification) or less than three target durations (rfc8216bis 6.2.2) once it had them.
    public enum Window: Sendable, Hashable {
        /// The newest segments, at least six.
        case segments(Int)
        /// The newest segments with at least this duration, at least six target durations. With minutes or hours,
        /// viewers can go back in time (DVR).
        case duration(MediaTime)
        /// All segments (`EXT-X-PLAYLIST-TYPE:EVENT`).
        case event
    }

    /// What stays the same while a playlist is updated. All playlists of a presentation have the same options, except
    /// the first numbers: their target duration and the attributes of `EXT-X-SERVER-CONTROL` must be equal (rfc8216bis
    /// 6.2.4).
    public struct Options: Sendable, Hashable {
        /// The maximum duration of a segment in seconds, rounded to the nearest integer: 1 to 3600.
        public var targetDuration: Int
        /// The maximum duration of a part, above 0 and no longer than the target duration; `nil` for a playlist without
        /// parts. Apple recommends 1 s. It is written rounded up to a microsecond.
        public var partTarget: MediaTime?
        /// How much of the past the playlist lists.
        public var window: Window
        /// The container of the segments.
        public var container = Container.fragmentedMP4
        /// The distance from the end at which players start (`HOLD-BACK`), at least three target durations; `nil` for
        /// three, which need no attribute.
        public var holdBack: MediaTime?
        /// The distance from the end at which players start if they use parts (`PART-HOLD-BACK`), at least three part
        /// targets (rule 14.3 of Apple's authoring specification); `nil` for three.
        public var partHoldBack: MediaTime?
        /// The distance from the end up to which delta updates list segments (`CAN-SKIP-UNTIL`), at least six target
        /// durations; `nil` for six.
        public var skipBoundary: MediaTime?
        /// Whether the server answers requests for delta updates.
        public var offersDeltaUpdates = true
        /// Whether the server holds back responses until the playlist has what was asked for (`CAN-BLOCK-RELOAD`).
        /// Parts need it.
        public var offersBlockingReload = true
        /// Whether all samples of a segment can be decoded without other segments (`EXT-X-INDEPENDENT-SEGMENTS`).
        public var isIndependent = true
        /// The media sequence number of the first segment, at least 0: for a stream that continues an earlier one.
        public var firstNumber = 0
        /// The discontinuity sequence number of the first segment, at least 0.
        public var firstDiscontinuityNumber = 0

        /// Makes options.
        ///
        /// - Parameters:
        ///   - targetDuration: The target duration in seconds.
        ///   - partTarget: The maximum duration of a part; `nil` for no parts.
        ///   - window: How much of the past the playlist lists.
        public init(targetDuration: Int, partTarget: MediaTime? = nil, window: Window) {
            (self.targetDuration, self.partTarget, self.window) = (targetDuration, partTarget, window)
        }
    }
}

// MARK: - Checks

extension LiveMediaPlaylist.Options {
    /// The largest number: MediaTime and playlists hold more, but players may use 32 bits.
    private static let numbers = 0...Int(Int32.max)

    /// Checks that the values are in their ranges.
    ///
    /// - Throws: `invalidArgument`.
    public func validate() throws(MediaError) {
        try MediaError.check(targetDuration, in: 1...3600, "the target duration in seconds")
        try MediaError.check(firstNumber, in: Self.numbers, "the first media sequence number")
        try MediaError.check(firstDiscontinuityNumber, in: Self.numbers, "the first discontinuity sequence number")
        let target = MediaTime(value: Int64(targetDuration), timescale: 1)
        if let partTarget {
            guard partTarget.isValid, partTarget > .zero, partTarget <= target else {
                throw Self.refusal("the part target", partTarget, "above 0, up to the target duration")
            }
            guard offersBlockingReload else {
                throw MediaError(.invalidArgument, "parts need blocking reloads of the playlist")
            }
            try check(partHoldBack, "the hold-back of parts", atLeast: writtenPartTarget * 3, "three part targets")
        }
        try check(holdBack, "the hold-back", atLeast: target * 3, "three target durations")
        try check(skipBoundary, "the skip boundary", atLeast: target * 6, "six target durations")
        switch window {
        case .segments(let count): try MediaError.check(count, in: 6...100_000, "the number of segments in the window")
        case .duration(let duration):
            try check(duration, "the duration of the window", atLeast: target * 6, "six target durations")
        case .event: break
        }
    }

    private func check(
        _ time: MediaTime?,
        _ name: String,
        atLeast limit: MediaTime,
        _ allowed: String
    ) throws(MediaError) {
        guard let time else { return }
        // More than this many seconds are a mistake, and sums of them could overflow.
        guard time.isValid, time >= limit, time <= MediaTime(value: 31_622_400, timescale: 1) else {
            throw Self.refusal(name, time, "at least \(allowed), at most a year")
        }
    }

    private static func refusal(_ name: String, _ time: MediaTime, _ allowed: String) -> MediaError {
        MediaError(.invalidArgument, "\(name) is out of range", given: "\(time.seconds) s", allowed: allowed)
    }
}

// MARK: - Values as they are written

extension LiveMediaPlaylist.Options {
    /// The part target, rounded up to a microsecond; zero without parts.
    var writtenPartTarget: MediaTime { partTarget?.converted(to: 1_000_000, rounding: .up) ?? .zero }

    /// The target duration as a time.
    var target: MediaTime { MediaTime(value: Int64(targetDuration), timescale: 1) }

    /// The skip boundary; `nil` without delta updates.
    var boundary: MediaTime? { offersDeltaUpdates ? skipBoundary ?? target * 6 : nil }

    /// The attributes of `EXT-X-SERVER-CONTROL`: rfc8216bis 4.4.3.8.
    var serverControl: [PlaylistAttribute] {
        var attributes: [PlaylistAttribute] = []
        if offersBlockingReload { attributes.append(PlaylistAttribute("CAN-BLOCK-RELOAD", "YES")) }
        if let boundary { attributes.append(PlaylistAttribute("CAN-SKIP-UNTIL", boundary.playlistText)) }
        if let holdBack { attributes.append(PlaylistAttribute("HOLD-BACK", holdBack.playlistText)) }
        if partTarget != nil {
            let distance = partHoldBack ?? writtenPartTarget * 3
            attributes.append(PlaylistAttribute("PART-HOLD-BACK", distance.playlistText))
        }
        return attributes
    }

    /// The smallest version of the protocol that the tags of a full playlist need (rfc8216bis 8): decimal durations
    /// need 3, `EXT-X-MAP` needs 6. No tag for low latency has a version but `EXT-X-SKIP`.
    var version: Int { container == .fragmentedMP4 ? 6 : 3 }

    /// The longest segment in microseconds: the target duration is the duration of a segment rounded to the nearest
    /// second.
    var segmentLimit: Int64 { Int64(targetDuration) * 1_000_000 + 499_999 }
}

extension MediaTime {
    /// The time in seconds, rounded up to a microsecond.
    var playlistText: String { PlaylistText.decimal(microseconds(.up), places: 6) }

    /// The time in microseconds.
    func microseconds(_ rounding: Rounding = .nearest) -> Int64 {
        converted(to: 1_000_000, rounding: rounding).value
    }
}
