// SPDX-License-Identifier: GPL-2.0-or-later

import MediaIO
import MediaTypes

/// Turns frames of any timing into frames of a constant rate, by leaving frames out and repeating them.
///
/// Each frame moves to the nearest tick of the output rate, the earlier of two that are as near. Of several frames on
/// one tick the nearest is kept; a tick that has none repeats the frame before. Pictures are not blended, and repeated
/// ones share their memory.
struct FrameRateConverter {
    /// How long one frame is repeated at most, in seconds: a day. A damaged time may be thousands of years ahead.
    static let longestRepetition: Int64 = 86_400

    /// One frame at the ticks of a range, made as they are asked for: a gap in the input may be hours long.
    typealias Frames = LazyMapSequence<Range<Int64>, VideoFrame>

    let frameRate: Rational
    private var held: (frame: VideoFrame, tick: Int64, distance: MediaTime)?
    private var hasGivenAny = false
    /// Where the newest frame ends, whether it was kept or not; invalid if it does not say.
    private var end = MediaTime.invalid

    init(frameRate: Rational) { self.frameRate = frameRate }

    /// The output frames that are certain once `frame` is known.
    ///
    /// - Throws: `malformedData` if the time to the frame before is longer than ``longestRepetition``.
    mutating func convert(_ frame: VideoFrame) throws(MediaError) -> Frames? {
        let (tick, distance) = nearestTick(to: frame.presentationTime)
        end = frame.presentationTime + frame.duration
        guard let held, tick <= held.tick else {
            defer { self.held = (frame, tick, distance) }
            return try frames(upTo: tick)
        }
        if distance < held.distance { self.held = (frame, held.tick, distance) }
        return nil
    }

    /// The rest: the last frame, for as long as it is shown. An input that has a frame gives at least one.
    ///
    /// - Throws: `malformedData` if it is shown for longer than ``longestRepetition``.
    mutating func finish() throws(MediaError) -> Frames? {
        guard let held else { return nil }
        let endTick = nearestTick(to: end).tick
        defer { self.held = nil }
        return try frames(upTo: hasGivenAny && end.isValid ? endTick : max(endTick, held.tick &+ 1))
    }

    private mutating func frames(upTo end: Int64) throws(MediaError) -> Frames? {
        guard let held, held.tick < end else { return nil }
        let gap = Self.time(end, frameRate) - Self.time(held.tick, frameRate)
        guard gap.isValid, gap <= MediaTime(value: Self.longestRepetition, timescale: 1) else {
            throw MediaError(
                .malformedData,
                "a gap between two pictures is too long to be filled at a constant rate",
                given: "\(gap.seconds) s after the picture at \(held.frame.presentationTime.seconds) s",
                allowed: "at most \(Self.longestRepetition) s"
            )
        }
        hasGivenAny = true
        let (buffer, frameRate) = (held.frame.buffer, frameRate)
        return (held.tick..<end).lazy.map { tick in
            VideoFrame(
                buffer: buffer,
                presentationTime: Self.time(tick, frameRate),
                duration: Self.time(1, frameRate)
            )
        }
    }

    private static func time(_ tick: Int64, _ frameRate: Rational) -> MediaTime {
        .rational(tick, numerator: Int64(frameRate.denominator), denominator: Int64(frameRate.numerator))
    }

    private func nearestTick(to time: MediaTime) -> (tick: Int64, distance: MediaTime) {
        guard time.isValid else { return (0, .invalid) }
        let inTicks = MediaTime.rational(
            (time * Int64(frameRate.numerator)).value,
            numerator: 1,
            denominator: Int64(time.timescale) * Int64(frameRate.denominator)
        )
        let tick = (inTicks - MediaTime(value: 1, timescale: 2)).converted(to: 1, rounding: .up)
        return (tick.value, tick > inTicks ? tick - inTicks : inTicks - tick)
    }
}
