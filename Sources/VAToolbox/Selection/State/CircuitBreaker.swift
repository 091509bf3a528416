// SPDX-License-Identifier: GPL-2.0-or-later

/// Whether a device is used for a codec after it has failed: a value, with time coming in.
///
/// *Closed* it is used. When it has failed often enough within a while it *opens*: nobody uses it until a pause is over.
/// Then it is *half open*: one user tries it, and all others wait for what comes of that. A success closes it, a failure
/// opens it for twice as long. Time is that of the wall clock, since processes that come and go share the value.
struct CircuitBreaker: Sendable, Hashable {
    /// Seconds since 1970.
    typealias Time = Double

    /// Whether somebody may use the device.
    enum Admission: Sendable, Hashable {
        /// As any other.
        case allowed
        /// For a trial. Only one user at a time may run it; the caller ensures this.
        case trial
        /// Not before that time.
        case refused(until: Time)
    }

    /// What it looks like from outside.
    enum State: Sendable, Hashable {
        /// It is used; so many failures count at present.
        case closed(failures: Int)
        /// It is not used before that time.
        case open(until: Time)
        /// It may be tried.
        case halfOpen
    }

    /// When the failures came that count, the oldest first; none while it is not closed.
    private(set) var failures: [Time] = []
    /// How often it has opened since it last worked well.
    private(set) var openings = 0
    /// The pause: when it began and when it ends; `nil` while closed.
    private(set) var pause: ClosedRange<Time>?
    /// What the last failure was, in words.
    private(set) var reason = ""

    /// A device that has not failed.
    init() {}

    /// A breaker as it was kept.
    init(failures: [Time], openings: Int, pause: ClosedRange<Time>?, reason: String) {
        self.failures = failures
        self.openings = openings
        self.pause = pause
        self.reason = reason
    }

    /// Whether there is nothing to remember.
    var isBlank: Bool { failures.isEmpty && openings == 0 && pause == nil }

    func state(at now: Time, _ times: BreakerTimes) -> State {
        guard let pause else { return .closed(failures: failuresThatCount(at: now, times).count) }
        return isOver(pause, at: now, times) ? .halfOpen : .open(until: pause.upperBound)
    }

    func admission(at now: Time, _ times: BreakerTimes) -> Admission {
        switch state(at: now, times) {
        case .closed: .allowed
        case .open(let end): .refused(until: end)
        case .halfOpen: .trial
        }
    }

    /// The device failed.
    ///
    /// - Parameter isTrial: Whether that was the one who tried it. While it is not closed nobody else's failure counts: it
    ///   is of a user who began before.
    mutating func fail(at now: Time, isTrial: Bool, reason: String, _ times: BreakerTimes) {
        if pause != nil {
            guard isTrial else { return }
            self.reason = reason
            return open(at: now, times)
        }
        self.reason = reason
        failures = failuresThatCount(at: now, times) + [now]
        if failures.count >= times.failures { open(at: now, times) }
    }

    /// The device works. That of one who began before it opened says nothing.
    mutating func succeed(isTrial: Bool) {
        if isTrial { pause = nil }
    }

    /// The device has done all that somebody wanted of it, without a failure.
    mutating func complete(isTrial: Bool) {
        succeed(isTrial: isTrial)
        if pause == nil { self = CircuitBreaker() }
    }

    private mutating func open(at now: Time, _ times: BreakerTimes) {
        var length: Time = times.pause / .seconds(1)
        let longest: Time = times.longestPause / .seconds(1)
        for _ in 0..<min(openings, 64) where length < longest { length *= 2 }
        openings += 1
        failures = []
        pause = now...max(now, now + min(length, longest))
    }

    /// A clock that was set back must not make a pause endless.
    private func isOver(_ pause: ClosedRange<Time>, at now: Time, _ times: BreakerTimes) -> Bool {
        now >= pause.upperBound || now < pause.lowerBound
    }

    private func failuresThatCount(at now: Time, _ times: BreakerTimes) -> [Time] {
        failures.filter { $0 <= now && now - $0 < times.window / .seconds(1) }
    }
}

/// When a failing device is suspended, and for how long.
public struct BreakerTimes: Sendable, Hashable {
    /// The number of failures within ``window`` that suspend the device, 1...1000. Failures are encoders that could not
    /// be created or failed at work, drivers that hung, and processes that ended; unsupported requests and busy devices
    /// do not count.
    public var failures = 3
    /// How long a failure counts, 1 ms to 365 days, like the other durations.
    public var window = Duration.seconds(600)
    /// The first pause, long enough for the kernel to reset a GPU.
    public var pause = Duration.seconds(30)
    /// The longest pause. The pause doubles each time that the following trial fails.
    public var longestPause = Duration.seconds(3600)

    /// Times that are accepted.
    static let allowedTimes = Duration.milliseconds(1)...Duration.seconds(365 * 86400)

    /// Creates the defaults: 3 failures in 10 minutes, pauses of 30 seconds up to an hour.
    public init() {}

    /// Makes times.
    public init(failures: Int, window: Duration, pause: Duration, longestPause: Duration) {
        self.failures = failures
        self.window = window
        self.pause = pause
        self.longestPause = longestPause
    }
}
