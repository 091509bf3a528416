// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaTypes

/// A media playlist of HTTP Live Streaming that grows, with or without the parts of Low-Latency HLS: rfc8216bis.
///
/// It is a value. ``startSegment(initialization:isDiscontinuity:date:)``, ``append(_:next:at:)`` and
/// ``completeSegment(path:duration:isMissing:next:at:)`` describe what the packager has made,
/// ``text(reports:skipping:)`` is the present file, ``edge`` answers blocking requests, and ``takeExpiredFiles(at:)``
/// says which files may be deleted. A call that throws changes nothing.
///
/// Times named `now` are of one clock that never goes back, such as `CLOCK_MONOTONIC`.
public struct LiveMediaPlaylist: Sendable, Hashable {
    /// What stays the same while the playlist is updated.
    public let options: Options
    /// The media sequence number of the first segment that is listed.
    public private(set) var firstNumber: Int
    /// The discontinuity sequence number of the first segment that is listed.
    public private(set) var discontinuityNumber: Int
    /// Where the next part will be; `nil` if that is not known.
    public private(set) var hint: Hint?
    /// Whether nothing will follow.
    public private(set) var isEnded = false

    /// The segments that are complete and listed.
    private(set) var segments: [Segment] = []
    /// The segment after them, if it has been started.
    private(set) var open: Segment?

    private var end = MediaTime.zero
    /// A date and the time in the playlist that it belongs to.
    private var (anchorDate, anchorStart): (WallClockTime, MediaTime)
    private var clock = MediaTime.zero
    /// The duration of the longest version of the playlist.
    private var longest = MediaTime.zero
    private var files = LiveFiles()

    /// A segment that is listed, or open.
    struct Segment: Sendable, Hashable {
        var start: MediaTime
        var end: MediaTime
        var date: WallClockTime
        var initialization: PlaylistResource?
        var isDiscontinuity: Bool
        /// Whether its initialization section is not that of the segment before it.
        var hasOwnMap: Bool
        /// The parts that are still listed: all, or none.
        var parts: [Part] = []
        /// The number of parts that are or were listed.
        var partCount = 0
        /// The path; empty while the segment is open.
        var path = ""
        var isMissing = false
        /// Its lines, once they do not change any more: most segments of a long playlist have them.
        var text: String?

        var duration: MediaTime { end - start }

        mutating func keepText() {
            text = LiveMediaPlaylist.lines(self, hasMap: hasOwnMap).joined(separator: "\n")
        }

        mutating func leaveOut(_ paths: Set<String>) {
            for index in parts.indices where paths.contains(parts[index].resource.path) {
                parts[index].isMissing = true
            }
            guard paths.contains(path) else { return }
            isMissing = true
            if text != nil { keepText() }
        }
    }

    /// Makes a playlist without segments.
    ///
    /// - Parameters:
    ///   - options: What stays the same.
    ///   - date: The date and time of the beginning of the first segment. Every segment is written with its date,
    ///     which is computed from the durations before it.
    /// - Throws: As ``Options/validate()``.
    public init(_ options: Options, date: WallClockTime) throws(MediaError) {
        try options.validate()
        self.options = options
        firstNumber = options.firstNumber
        discontinuityNumber = options.firstDiscontinuityNumber
        (anchorDate, anchorStart) = (date, .zero)
    }
}

// MARK: - Segments

extension LiveMediaPlaylist {
    /// Starts a segment that does not simply continue the previous one. Other segments start by themselves.
    ///
    /// - Parameters:
    ///   - initialization: The media initialization section of this segment and of those after it; `nil` for that of
    ///     the previous one. The first segment of fragmented MP4 needs one.
    ///   - isDiscontinuity: Whether encoding or timestamps do not continue those of the previous segment; `nil` for
    ///     exactly if it has another initialization section.
    ///   - date: The date and time of its beginning; `nil` for the end of the previous segment. It may be up to a
    ///     second before that (rfc8216bis 6.2.1).
    /// - Throws: `invalidState` if the segment has a part already, or the playlist has ended; `invalidArgument` if the
    ///   date is too early, or transport streams get an initialization section.
    public mutating func startSegment(
        initialization: PlaylistResource? = nil,
        isDiscontinuity: Bool? = nil,
        date: WallClockTime? = nil
    ) throws(MediaError) {
        try checkIsOpen()
        guard open?.partCount ?? 0 == 0 else {
            throw MediaError(.invalidState, "the segment has parts already: complete it first")
        }
        if let initialization {
            guard options.container == .fragmentedMP4, !initialization.path.isEmpty else {
                throw MediaError(
                    .invalidArgument,
                    "the segments take no such initialization section",
                    given: initialization.path,
                    allowed: options.container == .fragmentedMP4 ? "a path" : "none for transport streams"
                )
            }
        }
        if let date { try check(date) }
        var segment = open ?? next
        segment.initialization = initialization ?? segment.initialization
        segment.hasOwnMap = segment.initialization != segments.last?.initialization
        let isChange = segment.hasOwnMap && !segments.isEmpty
        segment.isDiscontinuity = isDiscontinuity ?? (segment.isDiscontinuity || isChange)
        if let date {
            (anchorDate, anchorStart) = (date, segment.start)
            segment.date = date
        }
        if let path = segment.initialization?.path { files.retain(path) }
        if let path = open?.initialization?.path { files.release(path, until: clock) }
        open = segment
    }

    /// Lists a part of the segment that is open, which starts if none is.
    ///
    /// - Parameters:
    ///   - part: The part. If there is a ``hint``, it is what was hinted.
    ///   - hint: Where the part after it will be; players of a playlist without a hint have a higher latency.
    ///   - now: The present time.
    /// - Returns: The previous part, if it is shorter than parts may be that are followed by another one of their
    ///   segment.
    /// - Throws: `invalidArgument` if the part is too long, not what was hinted, or at a place that is listed already;
    ///   `invalidState` if the options have no part target, an initialization section is missing, or the playlist has
    ///   ended.
    @discardableResult
    public mutating func append(
        _ part: Part,
        next hint: Hint? = nil,
        at now: MediaTime
    ) throws(MediaError) -> ShortPart? {
        try check(now)
        guard let partTarget = options.partTarget else {
            throw MediaError(.invalidState, "the playlist has no part target, so it has no parts")
        }
        guard part.duration.isValid, part.duration > .zero, part.duration <= partTarget else {
            throw MediaError(
                .invalidArgument,
                "the duration of a part is out of range",
                given: "\(part.duration.seconds) s",
                allowed: "above 0, up to the part target of \(partTarget.seconds) s"
            )
        }
        var segment = try opened()
        segment.end = segment.end + part.duration
        try checkDuration(of: segment)
        try check(part.resource, of: segment)
        try check(hint, after: part.resource)
        let short = shortPart(in: segment, before: part)
        segment.parts.append(part)
        segment.partCount += 1
        commit(segment, now)
        files.retain(part.resource.path)
        self.hint = hint
        retireParts()
        return short
    }

    /// Lists the segment that is open as a whole, and removes the oldest ones that the window does not hold.
    ///
    /// - Parameters:
    ///   - path: The path of the file relative to the playlist.
    ///   - duration: The duration; `nil` for the sum of its parts, which it is if there are any.
    ///   - isMissing: Whether the segment is lost and cannot be downloaded (`EXT-X-GAP`).
    ///   - hint: Where the next part will be; `nil` to leave the present hint, unless it is in the file that is
    ///     complete.
    ///   - now: The present time.
    /// - Throws: `invalidArgument` if the duration, rounded to the nearest second, exceeds the target duration, is not
    ///   that of the parts, or the path is that of another file that is listed; `invalidState` if an initialization
    ///   section is missing, or the playlist has ended.
    public mutating func completeSegment(
        path: String,
        duration: MediaTime? = nil,
        isMissing: Bool = false,
        next hint: Hint? = nil,
        at now: MediaTime
    ) throws(MediaError) {
        try check(now)
        var segment = try opened()
        let partial = segment.duration
        if let duration, segment.partCount == 0 { segment.end = segment.start + duration }
        guard duration ?? partial == segment.duration, segment.end.isValid, segment.end > segment.start else {
            throw MediaError(
                .invalidArgument,
                "the duration of a segment is not valid",
                given: duration.map { "\($0.seconds) s" },
                allowed: segment.partCount == 0 ? "above 0" : "\(partial.seconds) s, the sum of its parts"
            )
        }
        try checkDuration(of: segment)
        try check(hint, after: PlaylistResource(path: path))
        guard !path.isEmpty, !files.isListed(path) || segment.parts.contains(where: { $0.resource.path == path }) else {
            throw Self.reuse(path)
        }
        (segment.path, segment.isMissing) = (path, isMissing)
        commit(segment, now)
        if segment.parts.isEmpty { segment.keepText() }
        segments.append(segment)
        open = nil
        files.retain(path)
        if let hint { self.hint = hint } else if self.hint?.path == path { self.hint = nil }
        retireParts()
        removeSegments()
    }

    /// Replaces the hint, because the next part will be at another place than was hinted (rfc8216bis 6.2.6). The server
    /// answers requests for the old place with the status 404.
    ///
    /// - Throws: `invalidArgument` if that is listed already; `invalidState` if the playlist has no parts, or has ended.
    public mutating func replaceHint(_ hint: Hint?) throws(MediaError) {
        try checkIsOpen()
        try check(hint)
        self.hint = hint
    }

    /// Returns the playlist for a place that some files have never reached: it says that they are missing (`EXT-X-GAP`).
    ///
    /// - Parameter paths: The paths of segments and parts, relative to the playlist.
    public func withoutFiles(_ paths: Set<String>) -> LiveMediaPlaylist {
        var result = self
        for index in segments.indices { result.segments[index].leaveOut(paths) }
        result.open?.leaveOut(paths)
        return result
    }

    /// Ends the playlist (`EXT-X-ENDLIST`). Its segments stay listed.
    ///
    /// - Throws: `invalidState` if a segment has parts but is not complete, or the playlist has ended.
    public mutating func finish(at now: MediaTime) throws(MediaError) {
        try check(now)
        guard open?.partCount ?? 0 == 0 else {
            throw MediaError(.invalidState, "a segment has parts but is not complete")
        }
        clock = max(clock, now)
        if let path = open?.initialization?.path { files.release(path, until: clock) }
        (open, hint, isEnded) = (nil, nil, true)
    }

    /// Stops listing parts, for a playlist that has ended and is kept.
    ///
    /// - Throws: `invalidState` if the playlist has not ended.
    public mutating func removeParts(at now: MediaTime) throws(MediaError) {
        guard isEnded else { throw MediaError(.invalidState, "a playlist that grows lists its newest parts") }
        guard now.isValid else { throw Self.invalidTime }
        clock = max(clock, now)
        for index in segments.indices { retireParts(of: index) }
    }
}

// MARK: - State

extension LiveMediaPlaylist {
    /// The end of the playlist, from which blocking requests are answered.
    public var edge: Edge {
        Edge(
            lastNumber: firstNumber + segments.count - 1,
            lastPartCount: segments.last?.partCount ?? 0,
            openPartCount: open?.partCount ?? 0,
            isEnded: isEnded,
            options: options
        )
    }

    /// The report of this playlist in those of the other renditions; `nil` if nothing is listed yet.
    ///
    /// - Parameter path: The path of this playlist, relative to the one that contains the report.
    public func report(as path: String) -> Report? {
        let edge = edge
        if edge.openPartCount > 0 {
            return Report(path: path, number: edge.lastNumber + 1, part: edge.openPartCount - 1)
        }
        guard !segments.isEmpty else { return nil }
        return Report(
            path: path,
            number: edge.lastNumber,
            part: edge.lastPartCount > 0 ? edge.lastPartCount - 1 : nil
        )
    }

    /// The duration of everything that is listed.
    public var duration: MediaTime { end - (segments.first?.start ?? open?.start ?? end) }

    /// The number of segments that are listed.
    public var segmentCount: Int { segments.count }

    /// When ``takeExpiredFiles(at:)`` will return the next file; `nil` if it would return none however long it takes.
    public var nextExpiry: MediaTime? { files.nextEnd }

    /// Returns the paths of the files that are not listed any more and may be deleted, each once: a segment after its
    /// duration and that of the longest playlist, counted from its removal (RFC 8216 6.2.2; rfc8216bis counts from its
    /// first appearance, which is earlier), a part after three target durations, and an initialization section after
    /// its last segment.
    public mutating func takeExpiredFiles(at now: MediaTime) -> [String] {
        now.isValid ? files.takeExpired(at: now) : []
    }

    /// A new segment after the last one.
    private var next: Segment {
        Segment(
            start: end,
            end: end,
            date: anchorDate.advanced(by: end - anchorStart),
            initialization: segments.last?.initialization,
            isDiscontinuity: false,
            hasOwnMap: false
        )
    }

    /// The segment that is open, or a new one, if it can have parts.
    private func opened() throws(MediaError) -> Segment {
        let segment = open ?? next
        guard options.container == .transportStream || segment.initialization != nil else {
            throw MediaError(.invalidState, "the first segment has no initialization section: start it with one")
        }
        return segment
    }

    private mutating func commit(_ segment: Segment, _ now: MediaTime) {
        if open == nil, let path = segment.initialization?.path { files.retain(path) }
        open = segment
        end = segment.end
        clock = max(clock, now)
        longest = max(longest, duration)
    }

    // rfc8216bis 6.2.2: parts are listed up to three target durations from the end. The index of a part is its place in
    // its segment, so all parts of a segment go at once.
    private mutating func retireParts() {
        guard options.partTarget != nil else { return }
        for index in segments.indices.reversed() {
            if segments[index].partCount > 0, segments[index].parts.isEmpty { return }
            if end - segments[index].start > options.target * 3 { retireParts(of: index) }
        }
    }

    private mutating func retireParts(of index: Int) {
        for part in segments[index].parts { files.release(part.resource.path, until: clock + options.target * 3) }
        segments[index].parts = []
        segments[index].keepText()
    }

    private mutating func removeSegments() {
        while let first = segments.first, isBeyondWindow(first) {
            retireParts(of: 0)
            let available = clock + first.duration + longest
            files.release(first.path, until: available)
            if let initialization = first.initialization { files.release(initialization.path, until: available) }
            segments.removeFirst()
            firstNumber += 1
            if first.isDiscontinuity { discontinuityNumber += 1 }
        }
    }

    private func isBeyondWindow(_ first: Segment) -> Bool {
        // rfc8216bis 6.2.2, and rule 8.11 of Apple's authoring specification.
        guard segments.count > 6, let last = segments.last, last.end - first.end >= options.target * 3 else {
            return false
        }
        return switch options.window {
        case .segments(let count): segments.count > count
        case .duration(let duration): last.end - first.end >= duration
        case .event: false
        }
    }
}

// MARK: - Checks

extension LiveMediaPlaylist {
    private static let invalidTime = MediaError(.invalidArgument, "the present time is not valid")

    private func checkIsOpen() throws(MediaError) {
        guard !isEnded else { throw MediaError(.invalidState, "the playlist has ended") }
    }

    private func check(_ now: MediaTime) throws(MediaError) {
        try checkIsOpen()
        guard now.isValid else { throw Self.invalidTime }
    }

    /// rfc8216bis 6.2.1: dates are not ambiguous, but for overlaps below a second that correct the clock.
    private func check(_ date: WallClockTime) throws(MediaError) {
        guard let last = segments.last else { return }
        let lastEnd = last.date.advanced(by: last.duration)
        guard date.milliseconds > last.date.milliseconds, date.milliseconds > lastEnd.milliseconds - 1000 else {
            throw MediaError(
                .invalidArgument,
                "the date of a segment is before the end of the previous one",
                given: "\(date)",
                allowed: "less than a second before \(lastEnd)"
            )
        }
    }

    /// rfc8216bis 4.4.3.1, for the duration that is written.
    private func checkDuration(of segment: Segment) throws(MediaError) {
        let duration = segment.duration
        guard duration.isValid, duration.converted(to: 1_000_000, rounding: .up).isValid,
            duration.microseconds(.up) <= options.segmentLimit
        else {
            throw MediaError(
                .invalidArgument,
                "a segment is longer than the target duration",
                given: "\(duration.seconds) s",
                allowed: "below \(options.targetDuration).5 s"
            )
        }
    }

    private func check(_ resource: PlaylistResource, of segment: Segment) throws(MediaError) {
        if let hint {
            guard hint.path == resource.path, hint.firstByte ?? 0 == resource.bytes?.lowerBound ?? 0,
                (hint.firstByte == nil) == (resource.bytes == nil)
            else {
                throw MediaError(
                    .invalidArgument,
                    "a part is not where it was hinted",
                    given: "\(resource.path), \(resource.bytes.map { "bytes \($0)" } ?? "all bytes")",
                    allowed: "\(hint.path), \(hint.firstByte.map { "from byte \($0)" } ?? "all bytes")"
                )
            }
        }
        let isValid = !resource.path.isEmpty && resource.bytes.map { $0.lowerBound >= 0 && !$0.isEmpty } ?? true
        let before = segment.parts.last { $0.resource.path == resource.path }
        if let end = before?.resource.bytes?.upperBound, let bytes = resource.bytes, bytes.lowerBound >= end, isValid {
            return
        }
        guard isValid, !files.isListed(resource.path) else { throw Self.reuse(resource.path) }
    }

    /// rfc8216bis 4.4.5.3: a hint is for something that is not listed yet.
    private func check(_ hint: Hint?, after resource: PlaylistResource? = nil) throws(MediaError) {
        guard let hint else { return }
        guard options.partTarget != nil else {
            throw MediaError(.invalidState, "a playlist without parts has no hints")
        }
        let isNew: Bool
        if let first = hint.firstByte {
            isNew = first >= (hint.path == resource?.path ? resource?.bytes?.upperBound ?? .max : 0)
        } else {
            isNew = !files.isListed(hint.path) && hint.path != resource?.path
        }
        guard !hint.path.isEmpty, isNew else { throw Self.reuse(hint.path) }
    }

    private static func reuse(_ path: String) -> MediaError {
        MediaError(
            .invalidArgument,
            "a playlist cannot list a file again",
            given: path,
            allowed: "another path, or bytes behind those of the part before"
        )
    }

    /// rfc8216bis 4.4.4.9. The last part of a segment may be short, and so may one that is independent or beside a gap.
    private func shortPart(in segment: Segment, before part: Part) -> ShortPart? {
        guard let last = segment.parts.last, !last.isIndependent, !last.isMissing, !part.isMissing,
            last.duration * 100 < options.writtenPartTarget * 85
        else { return nil }
        return ShortPart(
            number: firstNumber + segments.count,
            part: segment.partCount - 1,
            duration: last.duration
        )
    }
}
