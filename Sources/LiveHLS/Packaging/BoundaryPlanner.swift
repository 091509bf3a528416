// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// Where a part of all tracks ends, and the next one begins.
struct Boundary: Hashable {
    /// What ends.
    enum Kind: Hashable {
        case part
        case segment
        /// A segment, and the next one does not continue it.
        case discontinuity
    }

    var kind: Kind
    /// The end of the part.
    var end: MediaTime
    /// The beginning of the next one, which is later only after a pause.
    var next: MediaTime
}

/// Decides at which samples of the leading track parts and segments begin.
///
/// The caller holds back one sample, because only the next one tells how long it lasts. All times are presentation
/// times for which decode times stand: those of decoding plus the distance of the first picture.
struct BoundaryPlanner {
    /// What a sample causes, in this order.
    struct Step: Hashable {
        /// A part ends before the sample that was held back.
        var before: Boundary?
        /// Parts end while that sample lasts.
        var during: [Boundary] = []
        /// A part or segment ends with it.
        var after: Boundary?
        /// Whether the new sample is left out: after a pause, the stream continues with a key frame.
        var isRefused = false
    }

    private let plan: PartPlan
    private let target: MediaTime
    private let interval: MediaTime?
    /// Whether every sample is independent, so that segments may begin with any part.
    private let isSound: Bool

    private var segmentStart: MediaTime
    private var partStart: MediaTime
    private var held: MediaTime
    private var keyFrame: MediaTime
    /// The distances of the last two key frames.
    private var distances: [MediaTime] = []
    /// After a pause: the end of what was before.
    private var pause: MediaTime?

    /// - Parameters:
    ///   - start: The time of the first sample, which is a key frame.
    init(_ options: HLSOptions, _ plan: PartPlan, isSound: Bool, start: MediaTime) {
        (self.plan, self.isSound) = (plan, isSound)
        (target, interval) = (options.target, options.keyFrameInterval)
        (segmentStart, partStart, held, keyFrame) = (start, start, start, start)
    }

    /// The time up to which it is decided where parts end.
    var horizon: MediaTime { held }

    /// The duration of segments may exceed the target by less than half a second; this leaves a margin for audio.
    private var limit: MediaTime { target + MediaTime(value: 2, timescale: 5) }
    private static let tolerance = MediaTime(value: 1, timescale: 4)
    private static let longestPause = MediaTime(value: 1, timescale: 1)

    /// Adds the next sample.
    ///
    /// - Parameters:
    ///   - time: Its time, after that of the sample before.
    ///   - isKeyFrame: Whether decoding can begin with it.
    ///   - isChange: Whether it needs another initialization section.
    /// - Throws: `unsupported` if key frames are further apart than segments may be long.
    mutating func add(_ time: MediaTime, isKeyFrame: Bool, isChange: Bool) throws(MediaError) -> Step {
        if let end = pause { return resume(at: time, after: end, isKeyFrame) }
        let isPause = time - held > max(plan.limit ?? .zero, Self.longestPause)
        if isPause, time - segmentStart > limit {
            let end = min(held + plan.step, segmentStart + limit)
            pause = end
            return resume(at: time, after: end, isKeyFrame)
        }
        var step = Step()
        if let longest = plan.limit, time - partStart > longest, held > partStart {
            step.before = part(at: held)
        }
        while let longest = plan.limit, time - partStart > longest { step.during.append(part(at: partStart + longest)) }
        let isPartEnd = plan.limit.map { time + plan.step - partStart > $0 } ?? isSound
        if isKeyFrame {
            if !isSound { note(keyFrame: time) }
            if isChange || (!isSound || isPartEnd) && needsSegment(at: time) {
                step.after = segment(isChange ? .discontinuity : .segment, end: time, next: time)
            } else if isPartEnd || isLongEnough(at: time) && !isSound {
                step.after = part(at: time)
            }
        } else if isPartEnd {
            step.after = part(at: time)
        }
        held = time
        guard time - segmentStart <= limit else { throw Self.refusal(time - segmentStart, target) }
        return step
    }

    private mutating func resume(at time: MediaTime, after end: MediaTime, _ isKeyFrame: Bool) -> Step {
        guard isKeyFrame else { return Step(isRefused: true) }
        pause = nil
        let step = Step(after: segment(.discontinuity, end: end, next: max(time, end)))
        (held, keyFrame) = (time, time)
        return step
    }

    private mutating func part(at time: MediaTime) -> Boundary {
        partStart = time
        return Boundary(kind: .part, end: time, next: time)
    }

    private mutating func segment(_ kind: Boundary.Kind, end: MediaTime, next: MediaTime) -> Boundary {
        (partStart, segmentStart) = (next, next)
        return Boundary(kind: kind, end: end, next: next)
    }

    private mutating func note(keyFrame time: MediaTime) {
        distances = Array((distances + [time - keyFrame]).suffix(2))
        keyFrame = time
    }

    /// Whether the next key frame may come too late for this segment.
    private func needsSegment(at time: MediaTime) -> Bool {
        (time - segmentStart) + expectedInterval > target + Self.tolerance
    }

    /// The distance of the next key frame: the stated one, or the last one if it was there twice, or else the worst.
    private var expectedInterval: MediaTime {
        if isSound { return plan.limit ?? plan.step }
        if let interval { return interval }
        guard distances.count == 2, abs(distances[0].seconds - distances[1].seconds) < 0.02 else { return target }
        return max(distances[0], distances[1])
    }

    /// Players begin with key frames, so one begins a part if the part before is not too short.
    private func isLongEnough(at time: MediaTime) -> Bool {
        guard let announced = plan.announced else { return false }
        return (time - partStart).seconds >= announced.seconds * 0.85
    }

    private static func refusal(_ duration: MediaTime, _ target: MediaTime) -> MediaError {
        MediaError(
            .unsupported,
            "key frames are further apart than a segment may be long",
            given: "none for \((duration.seconds * 100).rounded() / 100) s",
            allowed: "up to \(target.seconds) s",
            remedies: ["lower the key frame interval of the encoder", "make segments longer: segment="]
        )
    }
}
