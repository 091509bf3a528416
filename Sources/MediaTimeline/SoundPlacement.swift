// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaTypes

/// Keeps a continuous stream of audio samples in step with the times of its buffers.
///
/// An encoder produces sample after sample, without gaps, so the number of samples is its clock. The times of buffers
/// come from a container or a device and differ from it: a track starts late, has holes, overlaps itself, or its device
/// runs at slightly another rate. For each buffer, this value decides what to do: insert silence, skip samples, or
/// change the rate for a while, too little to be heard. Differences that come from rounded times have no effect.
///
/// All positions count samples of the output from zero of the timeline.
public struct SoundPlacement: Sendable, Hashable {
    /// The limits of a placement.
    public struct Policy: Sendable, Hashable {
        /// The difference from one buffer to the next from which on it is a hole or an overlap, in seconds.
        public var jump = 0.05
        /// The mean difference from which on the rate is changed, in seconds.
        public var tolerance = 0.002
        /// The time over which differences are averaged, in seconds.
        public var averaging = 2.0
        /// The time in which a difference is corrected, in seconds.
        public var correction = 10.0
        /// The maximum change of the rate; 0.002 is a thirtieth of a semitone.
        public var largestChange = 0.002

        /// Makes the default limits.
        public init() {}
    }

    /// What to do before the samples of a buffer are used.
    public enum Step: Sendable, Hashable {
        /// Insert this number of silent samples.
        case insertSilence(Int)
        /// Do not use this number of samples at the beginning of the buffer.
        case skip(Int)
        /// Use only this number of samples of the buffer, counted after those that are skipped: the rest is after the
        /// end.
        case limit(Int)
        /// From now on, produce one sample more (less, if negative) per this number of samples; `nil` ends that.
        case stretch(samplesPerExtraSample: Int?)
    }

    /// The sample rate of the output in Hz.
    public let sampleRate: Int
    /// The limits.
    public let policy: Policy
    /// The end of the timeline; `nil` if it is open.
    public let end: Int64?
    /// The mean difference between the times of buffers and the position, in samples; positive if the sound is late.
    public private(set) var meanDifference = 0.0
    /// The number of inserted silent samples, other than at the start.
    public private(set) var inserted: Int64 = 0
    /// The number of skipped samples, other than those before zero and after the end.
    public private(set) var skipped: Int64 = 0
    /// The number of holes and overlaps.
    public private(set) var jumps = 0
    /// Whether the rate was ever changed.
    public private(set) var hasStretched = false

    private var hasStarted = false
    /// Whether the position matches the times: not before the first sample that is used, and not within an overlap.
    private var isInStep = false
    private var stretch: Int?

    /// Makes a placement that starts at zero.
    ///
    /// - Parameters:
    ///   - sampleRate: The sample rate of the output in Hz, at least 1.
    ///   - end: The end of the timeline, at which the sound is cut.
    ///   - policy: The limits.
    public init(sampleRate: Int, end: MediaTime? = nil, policy: Policy = Policy()) {
        self.sampleRate = max(sampleRate, 1)
        self.policy = policy
        self.end = end.flatMap { end in
            let ticks = end.converted(to: Int32(clamping: sampleRate))
            return ticks.isValid ? ticks.value : nil
        }
    }

    /// Decides about the next buffer.
    ///
    /// - Parameters:
    ///   - time: The time of its first sample; a buffer with an invalid time follows the previous one.
    ///   - count: Its number of samples, converted to the rate of the output.
    ///   - position: The number of samples that were produced before, including silence.
    /// - Returns: What to do, in order.
    public mutating func place(at time: MediaTime, count: Int, position: Int64) -> [Step] {
        var steps: [Step] = []
        var count = Int64(count)
        let ticks = time.converted(to: Int32(clamping: sampleRate))
        var next = position
        if ticks.isValid {
            let difference = ticks.value - position
            if isInStep, abs(Double(difference) - meanDifference) < policy.jump * Double(sampleRate) {
                follow(difference, count)
                steps += adjustRate()
            } else {
                if isInStep { jumps += 1 }
                next += jump(difference, &count, &steps, at: position)
            }
        }
        hasStarted = true
        if let end, next + count > end {
            steps.append(.limit(Int(max(end - next, 0))))
        }
        return steps
    }

    /// Closes a hole or an overlap.
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
            if silence > 0 { steps.append(.insertSilence(Int(silence))) }
            return silence
        }
        let surplus = min(-difference, count)
        if hasStarted { skipped += surplus }
        if surplus > 0 { steps.append(.skip(Int(surplus))) }
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
        let isNeeded = abs(meanDifference) > (stretch == nil ? tolerance : tolerance / 4)
        guard isNeeded else {
            guard stretch != nil else { return [] }
            stretch = nil
            return [.stretch(samplesPerExtraSample: nil)]
        }
        let change = meanDifference / (policy.correction * Double(sampleRate))
        let limited = max(-policy.largestChange, min(change, policy.largestChange))
        let wanted = Int((1 / limited).rounded())
        // A change by less than a tenth is not worth a new filter.
        if let stretch, (stretch > 0) == (wanted > 0), abs(wanted - stretch) * 10 < abs(stretch) { return [] }
        stretch = wanted
        hasStretched = true
        return [.stretch(samplesPerExtraSample: wanted)]
    }
}
