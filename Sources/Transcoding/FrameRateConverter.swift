// SPDX-License-Identifier: GPL-2.0-or-later

import MediaIO
import MediaTypes

/// Turns frames of any timing into frames of a constant rate, by leaving frames out and repeating them.
///
/// Each frame moves to the nearest tick of the output rate. Of several frames on one tick the last is kept; a tick that
/// has none repeats the frame before. Pictures are not blended, and repeated ones share their memory.
struct FrameRateConverter {
    let frameRate: Rational
    private var held: (frame: VideoFrame, tick: Int64)?

    init(frameRate: Rational) { self.frameRate = frameRate }

    /// The output frames that are certain once `frame` is known.
    mutating func convert(_ frame: VideoFrame) -> [VideoFrame] {
        let tick = tick(frame.presentationTime)
        defer { held = (frame, max(tick, held?.tick ?? tick)) }
        return frames(upTo: tick)
    }

    /// The rest: the last frame, for as long as it is shown.
    mutating func finish() -> [VideoFrame] {
        guard let held else { return [] }
        let end = held.frame.presentationTime + held.frame.duration
        let last = end.isValid ? max(tick(end), held.tick + 1) : held.tick + 1
        defer { self.held = nil }
        return frames(upTo: last)
    }

    private func frames(upTo end: Int64) -> [VideoFrame] {
        guard let held, held.tick < end else { return [] }
        return (held.tick..<end).map { tick in
            VideoFrame(buffer: held.frame.buffer, presentationTime: time(tick), duration: time(1))
        }
    }

    private func tick(_ time: MediaTime) -> Int64 {
        // A tick of the output rate is `denominator / numerator` seconds.
        let scaled = time * Int64(frameRate.numerator)
        return MediaTime.rational(scaled.value, numerator: 1, denominator: Int64(scaled.timescale))
            .dividedRounding(by: Int64(frameRate.denominator))
    }

    private func time(_ tick: Int64) -> MediaTime {
        MediaTime(value: tick, timescale: frameRate.numerator) * Int64(frameRate.denominator)
    }
}

extension MediaTime {
    /// The time in seconds, divided and rounded to the nearest integer.
    fileprivate func dividedRounding(by divisor: Int64) -> Int64 {
        MediaTime.rational(value, numerator: 1, denominator: Int64(timescale) * divisor).converted(to: 1).value
    }
}
