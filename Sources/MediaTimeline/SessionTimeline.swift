// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaTypes

/// The timeline of an output that begins and ends at times of its sources, as the sessions of `AVAssetWriter` do.
///
/// Sources have times of a common clock, such as `CLOCK_MONOTONIC`. Time zero of the output is the start of the session.
public struct SessionTimeline: Sendable, Hashable {
    /// The start of a session.
    public enum Start: Sendable, Hashable {
        /// A time of the sources.
        case at(MediaTime)
        /// The time of the first audio buffer. Pictures that are appended before it are dropped.
        case firstAudio
        /// The time of the first picture or audio buffer, whichever is appended first.
        case first
    }

    /// What becomes of a picture or an audio buffer.
    public enum Place: Sendable, Hashable {
        /// It is before the start, or the start is not known yet.
        case beforeStart
        /// It is at or after the end.
        case afterEnd
        /// It is used, at this time of the output. The time of audio may be before zero, if only its end is used.
        case at(MediaTime)
    }

    /// The start of the session, on the sources' timeline; `nil` as long as it is not known.
    public private(set) var origin: MediaTime?
    /// The end of the session, on the sources' timeline; `nil` as long as it is open.
    public private(set) var end: MediaTime?
    private let start: Start

    /// Makes a timeline without an end.
    public init(_ start: Start) {
        self.start = start
        if case .at(let time) = start { origin = time }
    }

    /// Ends the session at a time of the sources.
    public mutating func end(at time: MediaTime) { end = time }

    /// The end on the timeline of the output; `nil` if start or end are not known.
    public var duration: MediaTime? {
        guard let origin, let end else { return nil }
        return max(end - origin, .zero)
    }

    /// Places a picture by its presentation time.
    public mutating func placePicture(at time: MediaTime) -> Place {
        if origin == nil, start == .first { origin = time }
        return place(time, until: time, includesUntil: true)
    }

    /// Places an audio buffer by its time and duration.
    public mutating func placeAudio(at time: MediaTime, duration: MediaTime) -> Place {
        if origin == nil { origin = time }
        return place(time, until: time + duration, includesUntil: false)
    }

    private func place(_ time: MediaTime, until last: MediaTime, includesUntil: Bool) -> Place {
        guard let origin else { return .beforeStart }
        if let end, time >= end { return .afterEnd }
        guard last > origin || (includesUntil && last == origin) else { return .beforeStart }
        return .at(time - origin)
    }
}
