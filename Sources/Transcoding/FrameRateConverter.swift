// SPDX-License-Identifier: GPL-2.0-or-later

import MediaIO
import MediaTypes

/// Turns frames of any timing into frames of a constant rate, by leaving frames out and repeating them.
///
/// Each frame moves to the nearest tick of the output rate, the earlier of two that are as near. Of several frames on
/// one tick the nearest is kept; a tick that has none repeats the frame before. Pictures are not blended, and repeated
/// ones share their memory.
struct FrameRateConverter {
    let frameRate: Rational
    private var held: (frame: VideoFrame, tick: Int64, distance: MediaTime)?

    init(frameRate: Rational) { self.frameRate = frameRate }

    /// The output frames that are certain once `frame` is known.
    mutating func convert(_ frame: VideoFrame) -> [VideoFrame] {
        let (tick, distance) = nearestTick(to: frame.presentationTime)
        guard let held, tick <= held.tick else {
            defer { self.held = (frame, tick, distance) }
            return frames(upTo: tick)
        }
        if distance < held.distance { self.held = (frame, held.tick, distance) }
        return []
    }

    /// The rest: the last frame, for as long as it is shown.
    mutating func finish() -> [VideoFrame] {
        guard let held else { return [] }
        defer { self.held = nil }
        let end = held.frame.presentationTime + held.frame.duration
        return frames(upTo: max(nearestTick(to: end).tick, held.tick + 1))
    }

    private func frames(upTo end: Int64) -> [VideoFrame] {
        guard let held, held.tick < end else { return [] }
        return (held.tick..<end).map { tick in
            VideoFrame(buffer: held.frame.buffer, presentationTime: time(tick), duration: time(1))
        }
    }

    private func time(_ tick: Int64) -> MediaTime {
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
