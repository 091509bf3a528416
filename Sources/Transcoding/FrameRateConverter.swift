// SPDX-License-Identifier: GPL-2.0-or-later

import MediaIO
import MediaTypes

/// Converts frames with any timing to a constant frame rate by dropping and repeating frames.
///
/// Each frame moves to the nearest tick of the output rate; if two are equally near, to the earlier one. If several
/// frames have the same tick, the nearest one is kept; at a tick without a frame, the previous one is repeated.
/// Pictures are not blended, and repeated pictures share their memory.
///
/// Captions are a separate stream, and each frame carries a part of it: each part appears once, in order. Captions of
/// dropped frames move to the next kept frame, and repeated frames have none.
struct FrameRateConverter {
    /// The maximum repetition of one frame, in seconds: a day. A damaged time may be thousands of years ahead.
    static let longestRepetition: Int64 = 86_400

    /// The size of one caption triplet: `cc_data` of ATSC A/53 part 4.
    private static let captionBytes = 3

    /// One frame at a range of ticks, created lazily, because a gap in the input may be hours long.
    typealias Frames = LazyMapSequence<Range<Int64>, VideoFrame>

    let frameRate: Rational
    private var held: (frame: VideoFrame, tick: Int64, distance: MediaTime, captions: [UInt8])?
    /// The captions of the frames that were dropped since the frame that is held.
    private var waitingCaptions: [UInt8] = []
    /// The number of caption bytes that were lost because they exceed the captions that the kept frames may have.
    private(set) var lostCaptionBytes = 0
    private var hasGivenAny = false
    /// The end of the latest frame, kept or not; invalid if the frame has no duration.
    private var end = MediaTime.invalid

    init(frameRate: Rational) { self.frameRate = frameRate }

    /// Returns the output frames that are determined when `frame` is known.
    ///
    /// - Throws: `malformedData` if the time since the previous frame exceeds ``longestRepetition``.
    mutating func convert(_ frame: VideoFrame) throws(MediaError) -> Frames? {
        let (tick, distance) = nearestTick(to: frame.presentationTime)
        end = frame.presentationTime + frame.duration
        let captions = frame.buffer.attachments.captions
        guard let held, tick <= held.tick else {
            defer { self.held = (frame, tick, distance, takeWaitingCaptions(and: captions)) }
            return try frames(upTo: tick)
        }
        if distance < held.distance {
            waitingCaptions = held.captions + waitingCaptions
            self.held = (frame, held.tick, distance, takeWaitingCaptions(and: captions))
        } else {
            waitingCaptions += captions
            loseCaptions(beyond: PixelAttachments.maximumCaptionBytes)
        }
        return nil
    }

    /// Returns the remaining frames: the last frame, for its display duration. An input with a frame produces at least
    /// one.
    ///
    /// - Throws: `malformedData` if its duration exceeds ``longestRepetition``.
    mutating func finish() throws(MediaError) -> Frames? {
        guard var last = held else { return nil }
        let endTick = nearestTick(to: end).tick
        // No other frame follows that could take the waiting captions.
        waitingCaptions = last.captions + waitingCaptions
        last.captions = takeWaitingCaptions(and: [])
        held = last
        let frames = try frames(upTo: hasGivenAny && end.isValid ? endTick : max(endTick, last.tick &+ 1))
        held = nil
        if frames == nil { waitingCaptions = last.captions + waitingCaptions }
        loseCaptions(beyond: 0)
        return frames
    }

    private mutating func frames(upTo end: Int64) throws(MediaError) -> Frames? {
        guard let held, held.tick < end else { return nil }
        let gap = Self.time(end, frameRate) - Self.time(held.tick, frameRate)
        guard gap.isValid, gap <= MediaTime(value: Self.longestRepetition, timescale: 1) else {
            throw MediaError(
                .malformedData,
                "a gap between two pictures is too long to fill at a constant frame rate",
                given: "\(gap.seconds) s after the picture at \(held.frame.presentationTime.seconds) s",
                allowed: "at most \(Self.longestRepetition) s"
            )
        }
        hasGivenAny = true
        let (frameRate, first) = (frameRate, held.tick)
        let shown = try held.frame.buffer.withCaptions(held.captions)
        let repeated = end - first > 1 ? try shown.withCaptions([]) : shown
        return (first..<end).lazy.map { tick in
            VideoFrame(
                buffer: tick == first ? shown : repeated,
                presentationTime: Self.time(tick, frameRate),
                duration: Self.time(1, frameRate)
            )
        }
    }

    /// Returns the waiting captions, followed by those of the frame that takes them, up to the maximum of a frame; the
    /// others wait.
    private mutating func takeWaitingCaptions(and own: [UInt8]) -> [UInt8] {
        let most = PixelAttachments.maximumCaptionBytes
        waitingCaptions += own
        let count = waitingCaptions.count > most ? most - most % Self.captionBytes : waitingCaptions.count
        let taken = Array(waitingCaptions.prefix(count))
        waitingCaptions.removeFirst(count)
        loseCaptions(beyond: most)
        return taken
    }

    /// Drops waiting captions above a limit, the newest first.
    private mutating func loseCaptions(beyond most: Int) {
        let excess = waitingCaptions.count - (most - most % Self.captionBytes)
        guard excess > 0 else { return }
        let lost = waitingCaptions.suffix(excess)
        waitingCaptions.removeLast(excess)
        for start in stride(from: lost.startIndex, to: lost.endIndex, by: Self.captionBytes) {
            let piece = lost[start..<min(start + Self.captionBytes, lost.endIndex)]
            if !Self.isPadding(piece) { lostCaptionBytes += piece.count }
        }
    }

    /// Returns whether a triplet is padding: `cc_valid` is 0, or it is a line 21 pair of null characters, apart from
    /// their parity bits.
    private static func isPadding(_ piece: ArraySlice<UInt8>) -> Bool {
        guard let kind = piece.first, kind & 0x04 != 0 else { return true }
        return kind & 0x03 < 2 && piece.dropFirst().allSatisfy { $0 & 0x7F == 0 }
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

extension FrameRateConverter {
    /// Reports the captions that were lost; `nil` if none were.
    var adjustment: Adjustment? {
        guard lostCaptionBytes > 0 else { return nil }
        return Adjustment(
            property: "captions",
            requested: "all",
            used: "\(lostCaptionBytes) bytes fewer",
            reason:
                "too few pictures are kept; each holds at most \(PixelAttachments.maximumCaptionBytes) bytes of captions"
        )
    }
}

extension PixelBuffer {
    /// Returns the same picture with other captions, in the same memory; this picture if the captions are its own.
    fileprivate func withCaptions(_ captions: [UInt8]) throws(MediaError) -> PixelBuffer {
        guard captions != attachments.captions else { return self }
        var description = pictureDescription
        description.attachments.captions = captions
        let keep: @Sendable () -> Void = { withExtendedLifetime(self) {} }
        switch storage {
        case .file(let file): return try PixelBuffer(description, file: file, release: keep)
        case .dmaBuf(let memory): return try PixelBuffer(description, dmaBuf: memory, release: keep)
        case .deviceSurface(let surface): return try PixelBuffer(description, surface: surface)
        case .owned, .external, .sharedMemory:
            // These planes stay valid as long as the buffer exists.
            return try withPlanes { (planes) throws(MediaError) in
                try PixelBuffer(description, planes: planes, release: keep)
            }
        }
    }
}
