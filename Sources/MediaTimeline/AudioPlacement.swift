// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaTypes

/// Keeps a continuous stream of audio samples in step with the times of its buffers.
///
/// An encoder produces sample after sample, without gaps, so the number of samples is its clock. The times of buffers
/// come from a container or a device and differ from it: a track starts late, has gaps, overlaps itself, or its device
/// runs at slightly another rate. For each buffer, this value decides what to do: insert silence, skip samples, or
/// change the rate for a while, too little to be heard. Differences that come from rounded times have no effect.
///
/// All positions count samples of the output from zero of the timeline.
public struct AudioPlacement: Sendable, Hashable {
    /// The limits of a placement. Values that are negative, not finite or, for ``averaging`` and ``correction``, below 1 ms
    /// are replaced with the defaults; ``largestChange`` is at most 0.1.
    public struct Policy: Sendable, Hashable {
        /// The deviation from the mean time difference, in seconds, at which a buffer counts as a gap or an overlap.
        public var jump: Double
        /// The mean time difference, in seconds, above which silence is inserted or samples are cut, because a change of
        /// the rate does not suffice.
        public var largestDifference = 0.1
        /// The mean time difference, in seconds, above which the rate is changed.
        public var tolerance = 0.002
        /// The time over which differences are averaged, in seconds.
        public var averaging = 2.0
        /// The time in which a difference is corrected, in seconds.
        public var correction = 10.0
        /// The maximum change of the rate; 0.002 is a thirtieth of a semitone, and 0 disables changes.
        public var largestChange = 0.002
        /// The longest gap, in seconds. A time farther away is ignored, and the buffer follows the previous one.
        public var longestGap = 86400.0

        /// Makes limits for buffers of a device, whose times may vary by some milliseconds.
        public init() { jump = 0.05 }

        /// The limits for buffers of a device.
        public static let device = Policy()

        /// The limits for files, whose times are exact except for rounding.
        public static let file: Policy = {
            var policy = Policy()
            policy.jump = 0.015
            return policy
        }()
    }

    /// What to do before the samples of a buffer are used.
    public enum Step: Sendable, Hashable {
        /// Insert this number of silent samples.
        case insertSilence(Int)
        /// Do not use this number of samples at the beginning of the buffer.
        case skip(Int)
        /// Use at most this number of samples of the buffer, counted after those that are skipped: the rest is after the
        /// end.
        case limit(Int)
        /// From now on, insert one sample per this number of samples, or drop one if it is negative; `nil` stops that.
        case stretch(samplesPerExtraSample: Int?)
    }

    /// The sample rate of the output in Hz.
    public let sampleRate: Int
    /// The limits.
    public let policy: Policy
    /// The end of the timeline; `nil` if it is open.
    public private(set) var end: Int64?
    /// The mean difference of the times of buffers from their positions, in samples: positive if samples would be heard
    /// before their time.
    public private(set) var meanDifference = 0.0
    /// The number of inserted silent samples, other than at the start.
    public private(set) var inserted: Int64 = 0
    /// The number of skipped samples, other than those before zero and after the end.
    public private(set) var skipped: Int64 = 0
    /// The number of gaps and overlaps.
    public private(set) var jumps = 0
    /// Whether the rate was ever changed.
    public private(set) var hasStretched = false

    private var hasStarted = false
    /// Whether the position matches the times: not before the first sample that is used, and not within an overlap.
    private var isInStep = false
    /// The end of the latest buffer by its own time, which the next one has if it has no time.
    private var inputEnd: Int64 = 0
    private var stretch: Int?

    /// The largest position, at which no calculation can overflow; a thousand years.
    private static let farthest: Int64 = 1 << 50

    /// Makes a placement that starts at zero.
    ///
    /// - Parameters:
    ///   - sampleRate: The sample rate of the output in Hz, at least 1.
    ///   - end: The end of the timeline, at which the sound is cut.
    ///   - policy: The limits.
    public init(sampleRate: Int, end: MediaTime? = nil, policy: Policy = .device) {
        self.sampleRate = min(max(sampleRate, 1), Int(Int32.max))
        self.policy = policy.usable
        if let end { self.end(at: end) }
    }

    /// Ends the timeline, for buffers that are not placed yet; an invalid time has no effect.
    public mutating func end(at time: MediaTime) {
        if let ticks = ticks(time) { end = max(ticks, 0) }
    }

    /// Decides about the next buffer.
    ///
    /// - Parameters:
    ///   - time: The time of its first sample; a buffer with an invalid time follows the previous one.
    ///   - count: Its number of samples, converted to the rate of the output.
    ///   - position: The number of samples that were produced before, including silence.
    ///   - followsLoss: Whether samples before it are known to be missing, so that its time counts exactly.
    /// - Returns: What to do, in order.
    public mutating func place(
        at time: MediaTime,
        count: Int,
        position: Int64,
        followsLoss: Bool = false
    ) -> [Step] {
        let (position, count) = (min(max(position, 0), Self.farthest), min(max(Int64(count), 0), Self.farthest))
        if let end, position >= end { return [.limit(0)] }
        var steps: [Step] = []
        var (next, left) = (position, count)
        // Before the first time, samples follow each other from zero.
        if let ticks = meaningful(time) ?? (hasStarted ? inputEnd : nil) {
            inputEnd = ticks + count
            let difference = ticks - position
            let isNear = abs(Double(difference) - meanDifference) < policy.jump * Double(sampleRate)
            if isInStep, isNear, !followsLoss, abs(meanDifference) < policy.largestDifference * Double(sampleRate) {
                follow(difference, count)
                steps += adjustRate()
            } else {
                if isInStep, difference != 0 { jumps += 1 }
                next += jump(difference, &left, &steps, at: position)
            }
            hasStarted = true
        }
        if let end, next + left > end { steps.append(.limit(Int(clamping: max(end - next, 0)))) }
        return steps
    }

    private func ticks(_ time: MediaTime) -> Int64? {
        let ticks = time.converted(to: Int32(sampleRate))
        return ticks.isValid && ticks.value.magnitude < Self.farthest.magnitude ? ticks.value : nil
    }

    /// Returns a time in samples, unless it is missing or absurd.
    private func meaningful(_ time: MediaTime) -> Int64? {
        guard let ticks = ticks(time) else { return nil }
        return abs(Double(ticks - inputEnd)) <= policy.longestGap * Double(sampleRate) ? ticks : nil
    }

    /// Closes a gap or an overlap.
    ///
    /// - Returns: The number of samples that are inserted before the buffer.
    private mutating func jump(
        _ difference: Int64,
        _ count: inout Int64,
        _ steps: inout [Step],
        at position: Int64
    ) -> Int64 {
        meanDifference = 0
        isInStep = true
        if stretch != nil { steps.append(.stretch(samplesPerExtraSample: nil)) }
        stretch = nil
        if difference > 0 {
            let silence = end.map { min(difference, max($0 - position, 0)) } ?? difference
            if hasStarted { inserted += silence }
            if silence > 0 { steps.append(.insertSilence(Int(clamping: silence))) }
            return silence
        }
        let surplus = min(-difference, count)
        if hasStarted { skipped += surplus }
        if surplus > 0 { steps.append(.skip(Int(clamping: surplus))) }
        count -= surplus
        isInStep = count > 0
        return 0
    }

    /// Averages the differences, weighted by time.
    private mutating func follow(_ difference: Int64, _ count: Int64) {
        let weight = min(Double(count) / (policy.averaging * Double(sampleRate)), 1)
        meanDifference += (Double(difference) - meanDifference) * weight
    }

    /// Corrects a mean difference over time. The correction ends when the difference is a quarter of the tolerance, so
    /// that it does not begin and end all the time.
    private mutating func adjustRate() -> [Step] {
        let tolerance = policy.tolerance * Double(sampleRate)
        let change = meanDifference / (policy.correction * Double(sampleRate))
        let limited = max(-policy.largestChange, min(change, policy.largestChange))
        guard abs(meanDifference) > (stretch == nil ? tolerance : tolerance / 4),
            let wanted = Int(exactly: (1 / limited).rounded())
        else {
            guard stretch != nil else { return [] }
            stretch = nil
            return [.stretch(samplesPerExtraSample: nil)]
        }
        // A change by less than a tenth is not worth a new filter.
        if let stretch, (stretch > 0) == (wanted > 0), abs(wanted - stretch) < abs(stretch) / 10 { return [] }
        stretch = wanted
        hasStretched = true
        return [.stretch(samplesPerExtraSample: wanted)]
    }
}

extension AudioPlacement.Policy {
    /// The policy with defaults in place of values that are not usable.
    fileprivate var usable: Self {
        let standard = Self()
        func checked(_ path: KeyPath<Self, Double>, atLeast least: Double) -> Double {
            let value = self[keyPath: path]
            return value.isFinite && value >= least ? min(value, 1e9) : standard[keyPath: path]
        }
        var policy = self
        policy.jump = checked(\.jump, atLeast: 0)
        policy.largestDifference = checked(\.largestDifference, atLeast: 0)
        policy.tolerance = checked(\.tolerance, atLeast: 0)
        policy.averaging = checked(\.averaging, atLeast: 1e-3)
        policy.correction = checked(\.correction, atLeast: 1e-3)
        policy.largestChange = min(checked(\.largestChange, atLeast: 0), 0.1)
        policy.longestGap = checked(\.longestGap, atLeast: 0)
        return policy
    }
}
