// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaTypes

/// The times at which thumbnails are taken.
public enum ThumbnailSchedule: Sendable, Hashable {
    /// One at the beginning, and one whenever this time has passed.
    case every(MediaTime)
    /// This many, each from the middle of one of as many equal parts.
    case count(Int)
    /// One at the beginning.
    case first

    /// A part of the video and the time of its thumbnail, from the start of the input.
    package struct Interval: Sendable, Hashable {
        package var start: MediaTime
        /// `nil` for the end of the input, which is not known.
        package var end: MediaTime?
        package var time: MediaTime
    }

    /// Returns an interval; `nil` after the last one.
    ///
    /// - Parameters:
    ///   - index: Its number, from 0.
    ///   - start: The start of the part of the input that is shown.
    ///   - end: Its end; `nil` if not known. Equal parts need it.
    package func interval(_ index: Int, from start: MediaTime, to end: MediaTime?) -> Interval? {
        switch self {
        case .first:
            return index == 0 ? Interval(start: start, end: end, time: start) : nil
        case .every(let distance):
            let from = start + distance * Int64(index)
            let to = start + distance * Int64(index + 1)
            guard from.isValid, to.isValid, end.map({ from < $0 }) ?? true else { return nil }
            return Interval(start: from, end: end.map { min($0, to) } ?? to, time: from)
        case .count(let count):
            guard let end, index < count, start < end else { return nil }
            let length = end - start
            func part(_ halves: Int) -> MediaTime {
                .rational(
                    length.value,
                    numerator: Int64(halves),
                    denominator: Int64(length.timescale) * 2 * Int64(count)
                )
            }
            return Interval(
                start: start + part(2 * index),
                end: index == count - 1 ? end : start + part(2 * index + 2),
                time: start + part(2 * index + 1)
            )
        }
    }

    /// The number of thumbnails in a part of this length; `nil` if not known.
    package func count(in length: MediaTime?) -> Int? {
        switch self {
        case .first: return 1
        case .count(let count): return count
        case .every(let distance):
            guard let length, distance.seconds > 0 else { return nil }
            return Int(exactly: (length.seconds / distance.seconds).rounded(.up))
        }
    }
}
