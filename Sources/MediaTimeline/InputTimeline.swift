// SPDX-License-Identifier: GPL-2.0-or-later

package import MediaTypes

/// The timeline of an input, the part of it that is read, and its place on the timeline of the output.
///
/// Time zero of the output is the earliest start of the streams that are used, plus the start of the part. All streams
/// are moved by the same distance, so they keep their offsets: a track that starts later stays later, and the priming of
/// an audio encoder may have times before zero.
package struct InputTimeline: Sendable, Hashable {
    /// The earliest start of the streams that are used, on the input's timeline.
    package let beginning: MediaTime
    /// Time zero of the output, on the input's timeline.
    package private(set) var origin: MediaTime
    /// Where the part to read begins, from the beginning; `nil` for the beginning itself.
    package let start: MediaTime?
    /// The duration of the part to read; `nil` if it reaches the end of the input.
    package let duration: MediaTime?

    /// Makes a timeline.
    ///
    /// - Parameters:
    ///   - starts: The starts of the streams that are used, as far as they are known.
    ///   - start: Where the part to read begins, from the beginning of the input.
    ///   - duration: The duration of the part.
    package init(starts: [MediaTime], start: MediaTime? = nil, duration: MediaTime? = nil) {
        // In lowest terms, because it affects every time: the time base of the audio must not influence the times of
        // pictures.
        beginning = starts.min()?.inLowestTerms ?? .zero
        self.start = start.flatMap { $0 > .zero ? $0 : nil }
        self.duration = duration
        origin = self.start.map { [beginning] in beginning + $0 } ?? beginning
    }

    /// Corrects the origin of a part without a start by the first picture, which may precede the start that the
    /// container states.
    ///
    /// - Parameters:
    ///   - time: The time of the first picture, on the input's timeline.
    ///   - isOnlyStart: Whether the container states no start of any stream.
    package mutating func begin(atPicture time: MediaTime, isOnlyStart: Bool) {
        guard start == nil else { return }
        origin = isOnlyStart ? time : min(beginning, time)
    }

    /// The end of the part, on the input's timeline; `nil` for the end of the input.
    package var end: MediaTime? { duration.map { origin + $0 } }

    /// The distance from the beginning of the input to time zero of the output.
    package var offset: MediaTime { origin - beginning }

    /// Returns a time of the input on the timeline of the output.
    package func place(_ time: MediaTime) -> MediaTime { time - origin }

    /// Returns the duration of the output, for an input of the given duration; `nil` if neither is known.
    package func remaining(of whole: MediaTime?) -> MediaTime? {
        guard var remaining = whole else { return duration }
        if let start { remaining = max(remaining - start, .zero) }
        return duration.map { min($0, remaining) } ?? remaining
    }

    /// Returns the part of a range that is read, on the timeline of the output; `nil` if there is none.
    package func place(_ first: MediaTime, _ last: MediaTime) -> (start: MediaTime, end: MediaTime)? {
        let (from, to) = (max(place(first), .zero), place(last))
        let until = duration.map { min(to, $0) } ?? to
        return from.isValid && until.isValid && from < until ? (from, until) : nil
    }

    /// Returns a duration that does not reach beyond the end of the part.
    ///
    /// - Parameter time: Its start on the timeline of the output.
    package func clip(_ length: MediaTime, from time: MediaTime) -> MediaTime {
        guard let duration, length.isValid else { return length }
        return min(length, max(duration - time, .zero))
    }
}
