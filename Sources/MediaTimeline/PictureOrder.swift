// SPDX-License-Identifier: GPL-2.0-or-later

/// Finds the presentation times of pictures in a stream without times: each is shown for its duration, in the order of
/// their counts (`PicOrderCnt` of H.264, `PicOrderCntVal` of HEVC).
///
/// Counts are comparable within a sequence, which a picture such as an IDR picture begins. All values are in ticks.
package struct PictureOrder: Sendable {
    /// The maximum number of pictures that are decoded after a picture and shown before it: the largest decoded picture
    /// buffer of both codecs.
    package static let largestDepth = 16

    /// The times of a picture, counted from the first picture that is shown.
    package struct Times: Sendable, Hashable {
        /// When it is shown.
        package var presentation: Int64
        /// The durations of all pictures that precede it in decoding order.
        package var decode: Int64
        /// How long it is shown.
        package var duration: Int64
    }

    private struct Picture {
        var number: Int
        var count: Int
        var duration: Int64
    }

    private var waiting: [Picture] = []
    /// The times of pictures that are known, in decoding order; `nil` while the presentation time is not.
    private var times: [Times?] = []
    private var decode: [Int64] = []
    private var first = 0
    private var shown: Int64 = 0
    private var decoded: Int64 = 0

    /// Makes a value that has seen no picture.
    package init() {}

    /// Registers the next picture in decoding order.
    ///
    /// - Parameters:
    ///   - count: Its picture order count.
    ///   - beginsSequence: Whether counts begin anew with it.
    ///   - duration: How long it is shown, above zero.
    /// - Returns: The times of the next pictures in decoding order, as far as they are known now.
    package mutating func add(count: Int, beginsSequence: Bool, duration: Int64) -> [Times] {
        if beginsSequence { showAll() }
        waiting.append(Picture(number: first + times.count, count: count, duration: duration))
        times.append(nil)
        decode.append(decoded)
        decoded += duration
        if waiting.count > Self.largestDepth { showNext() }
        return take()
    }

    /// Returns the times of all remaining pictures.
    package mutating func finish() -> [Times] {
        showAll()
        return take()
    }

    private mutating func showAll() { while !waiting.isEmpty { showNext() } }

    private mutating func showNext() {
        guard let index = waiting.indices.min(by: { waiting[$0].count < waiting[$1].count }) else { return }
        let picture = waiting.remove(at: index)
        let place = picture.number - first
        times[place] = Times(presentation: shown, decode: decode[place], duration: picture.duration)
        shown += picture.duration
    }

    private mutating func take() -> [Times] {
        let known = times.prefix { $0 != nil }.compactMap { $0 }
        times.removeFirst(known.count)
        decode.removeFirst(known.count)
        first += known.count
        return known
    }
}

/// Derives the decode times of a track that has only presentation times, as in Matroska.
///
/// A picture is decoded when the picture is shown that is as many places before it as pictures are reordered; the first
/// ones are decoded as much earlier. All values are in ticks.
package struct DecodeTimes: Sendable {
    private let depth: Int
    /// The presentation times that are no decode time yet, in ascending order.
    private var later: [Int64] = []
    private var count = 0
    private var last: Int64?
    /// The shortest duration of a picture so far; zero if none is stated.
    private var duration: Int64 = 0

    /// Makes a value that has seen no picture.
    ///
    /// - Parameter depth: The maximum number of pictures that are decoded after a picture and shown before it.
    package init(depth: Int) { self.depth = max(depth, 0) }

    /// Registers the presentation time of the next picture in decoding order.
    ///
    /// - Parameters:
    ///   - time: The presentation time.
    ///   - duration: How long the picture is shown; zero if that is not known.
    /// - Returns: The decode times that are known now: none for the first pictures, then those of all of them, then one
    ///   for each picture.
    package mutating func add(_ time: Int64, duration: Int64 = 0) -> [Int64] {
        if duration > 0 { self.duration = self.duration > 0 ? min(self.duration, duration) : duration }
        later.insert(time, at: later.firstIndex { $0 > time } ?? later.count)
        count += 1
        if count <= depth { return [] }
        let times = count == depth + 1 ? beginning(depth, before: later[0]) : []
        return times + [next(later.removeFirst())]
    }

    /// Returns the decode times of pictures that still have none, at the end of a short track.
    package mutating func finish() -> [Int64] {
        guard count <= depth, let first = later.first else { return [] }
        let times = beginning(count - 1, before: first) + [next(first)]
        later = []
        return times
    }

    /// The decode times before the first presentation time. Times of a damaged file may be any numbers.
    private mutating func beginning(_ number: Int, before first: Int64) -> [Int64] {
        let steps = zip(later, later.dropFirst()).map { $1 &- $0 } + [duration]
        let step = steps.filter { $0 > 0 }.min() ?? 1
        return (0..<number).map { next(first &- Int64(number - $0) &* step) }
    }

    /// Decode times increase, even if more pictures are reordered than stated.
    private mutating func next(_ time: Int64) -> Int64 {
        let placed = last.map { max(time, $0 &+ 1) } ?? time
        last = placed
        return placed
    }
}
