// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaTypes

/// Maps the clock of a capture device to a clock of the system, such as `CLOCK_MONOTONIC`.
///
/// A device counts samples, or ticks, at a rate that differs from the nominal one by up to some hundred parts per
/// million. Its buffers arrive when the system gets to them: never early, and late by a varying delay. This value
/// estimates rate and offset of the device's clock by a regression over the least delayed buffer of each second of a
/// sliding window, and returns times without the jitter, for ``AudioPlacement`` or an encoder. They include the delay of
/// the least delayed buffers, which arrival times cannot show; subtract it if the device states it.
///
/// Corrections are spread over time, so that successive times have no steps. A lasting difference above
/// ``Policy/jump``, such as a suspended system, lost samples that the device did not count, or a wall clock that was
/// set, restarts the offset and keeps the rate. A delay that ends, such as a stalled process, has no effect.
///
/// ```swift
/// var clock = DeviceClock(ticksPerSecond: 48000)
/// ```
///
/// ```swift
/// let time = clock.place(position: framesBefore, count: frames, arrival: now)
/// ```
public struct DeviceClock: Sendable, Hashable {
    /// The limits of an estimate, in seconds unless stated. Values that are not usable are replaced with the defaults.
    public struct Policy: Sendable, Hashable {
        /// The window of the regression, 5 to 600 s.
        public var window = 45.0
        /// The difference from the estimate that counts as a jump if it lasts, at least 1 ms.
        public var jump = 0.01
        /// The time after which a lasting difference is a jump, 0.1 to 60 s.
        public var confirmation = 2.0
        /// The largest correction in seconds per second, 0.00001 to 0.1.
        public var largestCorrection = 0.001

        /// Makes the default limits.
        public init() {}
    }

    /// The nominal number of ticks per second, such as the sample rate.
    public let ticksPerSecond: Int32
    /// The limits.
    public let policy: Policy
    /// The number of jumps since the first buffer.
    public private(set) var restarts = 0

    /// The first position and arrival since the latest restart; all other times count from it.
    private var base: (position: Int64, arrival: MediaTime)? {
        get { basePosition.flatMap { position in baseArrival.map { (position, $0) } } }
        set { (basePosition, baseArrival) = (newValue?.position, newValue?.arrival) }
    }
    private var basePosition: Int64?
    private var baseArrival: MediaTime?
    /// The least delayed buffer of each complete second of the window, and that of the present second.
    private var seconds: [Sample] = []
    private var present: Sample?
    private var fit = Line()
    /// The slope that is known from before the latest restart.
    private var knownSlope = 0.0
    /// What ``place(position:count:arrival:)`` returns: the estimate, with corrections spread over time.
    private var output: Line?
    private var doubt: Doubt?

    /// The end of a buffer.
    private struct Sample: Hashable {
        /// The device's time in seconds at the nominal rate.
        var time: Double
        /// The arrival minus this time.
        var delay: Double
    }

    /// The delay as a function of the device's time.
    private struct Line: Hashable {
        var time = 0.0
        var delay = 0.0
        var slope = 0.0

        func delay(at time: Double) -> Double { delay + slope * (time - self.time) }
    }

    /// A difference from the estimate that may be a jump.
    private struct Doubt: Hashable {
        var first: Sample
        var position: Int64
        var arrival: MediaTime
        var leastDelay: Double
    }

    /// The number of complete seconds after which an estimate is settled.
    private static let settling = 10
    /// The number of complete seconds from which on the rate is estimated.
    private static let fewest = 3
    /// A delay above the regression, in seconds, at which a second does not count: its buffers were all late.
    private static let late = 0.001
    /// The squared ratio of the scatter of a second to the usual drift, in s²: (1 ms / 300 ppm)². It keeps the rate near
    /// the one that is known until the window is long enough to tell.
    private static let stiffness = 11.0
    /// The largest drift, as a fraction.
    private static let largestDrift = 0.003
    private static let timescale: Int32 = 1_000_000

    /// Makes a clock of which nothing is known.
    ///
    /// - Parameters:
    ///   - ticksPerSecond: The nominal rate, at least 1.
    ///   - policy: The limits.
    public init(ticksPerSecond: Int32, policy: Policy = Policy()) {
        self.ticksPerSecond = max(ticksPerSecond, 1)
        self.policy = policy.usable
    }

    /// By how much the device is faster than its nominal rate, in parts per million; `nil` before the estimate is settled
    /// for the first time.
    public var drift: Double? { hasSettled ? -fit.slope / (1 + fit.slope) * 1e6 : nil }

    /// Whether the estimate has seen ten seconds since the start and the latest restart.
    public var isSettled: Bool { seconds.count >= Self.settling }

    private var hasSettled = false

    /// Forgets the offset, but not the rate, after an interruption that the caller knows of.
    public mutating func restart() {
        guard base != nil else { return }
        if isSettled { knownSlope = fit.slope }
        base = nil
        (seconds, present, output, doubt) = ([], nil, nil, nil)
        restarts += 1
    }

    /// Registers a buffer and returns the time of its first tick on the system's clock.
    ///
    /// - Parameters:
    ///   - position: The device's count at the beginning of the buffer. Ticks that are known to be lost count. If it goes
    ///     back, the device was reset, and the estimate restarts.
    ///   - count: The number of ticks of the buffer; the arrival is that of its end.
    ///   - arrival: When the buffer arrived; invalid if it is not known.
    /// - Returns: The time; invalid if no arrival is known yet.
    public mutating func place(position: Int64, count: Int, arrival: MediaTime) -> MediaTime {
        let (end, isTooFar) = position.addingReportingOverflow(Int64(max(count, 0)))
        guard !isTooFar, position.magnitude < Self.farthest.magnitude else { return .invalid }
        if let output, let base, deviceTime(end, since: base.position) < output.time { restart() }
        if arrival.isValid { note(end, arrival) }
        guard let base else { return .invalid }
        follow(deviceTime(end, since: base.position))
        guard let output else { return .invalid }
        let time = deviceTime(position, since: base.position)
        let sinceBase = MediaTime(seconds: time + output.delay(at: time), preferredTimescale: Self.timescale)
        return (base.arrival + sinceBase).converted(to: Self.timescale)
    }

    /// The largest position, which keeps sums from overflowing.
    private static let farthest: Int64 = 1 << 50

    private func deviceTime(_ position: Int64, since first: Int64) -> Double {
        Double(position &- first) / Double(ticksPerSecond)
    }
}

// MARK: - Estimate

extension DeviceClock {
    private mutating func note(_ end: Int64, _ arrival: MediaTime) {
        guard let base else {
            start(end, arrival)
            return
        }
        let time = deviceTime(end, since: base.position)
        let sinceBase = (arrival - base.arrival).seconds
        guard sinceBase.isFinite else { return }
        let sample = Sample(time: time, delay: sinceBase - time)
        if abs(sample.delay - fit.delay(at: time)) > policy.jump {
            consider(sample, end, arrival)
        } else {
            doubt = nil
            add(sample)
        }
    }

    private mutating func start(_ end: Int64, _ arrival: MediaTime) {
        base = (end, arrival)
        fit = Line(slope: knownSlope)
        add(Sample(time: 0, delay: 0))
    }

    /// Restarts when a difference lasts. A delay that shrinks is that of a queue which empties.
    private mutating func consider(_ sample: Sample, _ end: Int64, _ arrival: MediaTime) {
        guard var doubt, sample.delay >= doubt.leastDelay - policy.jump / 2 else {
            doubt = Doubt(first: sample, position: end, arrival: arrival, leastDelay: sample.delay)
            return
        }
        doubt.leastDelay = min(doubt.leastDelay, sample.delay)
        self.doubt = doubt
        let elapsed = sample.time - doubt.first.time
        let waited = elapsed + sample.delay - doubt.first.delay
        guard min(elapsed, waited) >= policy.confirmation else { return }
        let least = doubt.leastDelay - doubt.first.delay
        restart()
        start(doubt.position, doubt.arrival)
        add(Sample(time: 0, delay: least))
    }

    private mutating func add(_ sample: Sample) {
        guard let best = present else {
            present = sample
            return estimate()
        }
        let isBefore = seconds.count < Self.fewest
        if sample.time.rounded(.down) > best.time.rounded(.down) {
            seconds.append(best)
            let start = sample.time - policy.window
            seconds.removeAll { $0.time < start }
            present = sample
            hasSettled = hasSettled || isSettled
            estimate()
        } else if sample.delay - fit.slope * (sample.time - best.time) < best.delay {
            present = sample
            if isBefore { estimate() }
        }
    }

    /// Fits a line to the least delayed buffers.
    private mutating func estimate() {
        guard seconds.count >= Self.fewest else {
            // Too early for a rate: the line below all buffers.
            let all = seconds + (present.map { [$0] } ?? [])
            guard let lowest = all.min(by: { $0.delay - fit.slope * $0.time < $1.delay - fit.slope * $1.time })
            else { return }
            fit = Line(time: lowest.time, delay: lowest.delay, slope: fit.slope)
            return
        }
        let first = regression(seconds)
        let prompt = seconds.filter { $0.delay - first.delay(at: $0.time) <= Self.late }
        fit = prompt.count * 2 >= seconds.count ? regression(prompt) : first
    }

    /// Returns the line of least squares, whose slope tends to the known one if there are few samples.
    private func regression(_ samples: [Sample]) -> Line {
        let count = Double(max(samples.count, 1))
        let time = samples.reduce(0) { $0 + $1.time } / count
        let delay = samples.reduce(0) { $0 + $1.delay } / count
        var (squares, products) = (Self.stiffness, Self.stiffness * knownSlope)
        for sample in samples {
            squares += (sample.time - time) * (sample.time - time)
            products += (sample.time - time) * (sample.delay - delay)
        }
        let slope = min(max(products / squares, -Self.largestDrift), Self.largestDrift)
        return Line(time: time, delay: delay, slope: slope)
    }

    /// Moves the output towards the estimate.
    private mutating func follow(_ time: Double) {
        let wanted = fit.delay(at: time)
        guard let previous = output else {
            output = Line(time: time, delay: wanted, slope: fit.slope)
            return
        }
        let largest = policy.largestCorrection * max(time - previous.time, 0)
        let kept = previous.delay + fit.slope * (time - previous.time)
        let delay = kept + min(max(wanted - kept, -largest), largest)
        output = Line(time: time, delay: delay, slope: fit.slope)
    }
}

extension DeviceClock.Policy {
    /// The policy with defaults in place of values that are not usable.
    fileprivate var usable: Self {
        let standard = Self()
        func checked(_ path: KeyPath<Self, Double>, _ allowed: ClosedRange<Double>) -> Double {
            allowed.contains(self[keyPath: path]) ? self[keyPath: path] : standard[keyPath: path]
        }
        var policy = self
        policy.window = checked(\.window, 5...600)
        policy.jump = checked(\.jump, 0.001...1e6)
        policy.confirmation = checked(\.confirmation, 0.1...60)
        policy.largestCorrection = checked(\.largestCorrection, 0.00001...0.1)
        return policy
    }
}
