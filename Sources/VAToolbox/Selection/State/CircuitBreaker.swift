// SPDX-License-Identifier: GPL-2.0-or-later

/// Decides whether a device is used for a codec after failures. It is a value that receives the time from its caller.
///
/// While it is *closed*, the device is used. After too many failures within a window, it *opens*: the device is
/// suspended until a pause is over. Then it is *half open*: one session tries the device, and all others wait for the
/// result. A success closes it; a failure opens it for twice as long. It uses wall-clock time, because processes share
/// the value.
struct CircuitBreaker: Sendable, Hashable {
    /// Seconds since 1970.
    typealias Time = Double

    /// The answer to a request to use the device.
    enum Admission: Sendable, Hashable {
        /// Normal use.
        case allowed
        /// For a trial. Only one user at a time may run it; the caller ensures this.
        case trial
        /// Not before this time.
        case refused(until: Time)
    }

    /// The state as reported to others.
    enum State: Sendable, Hashable {
        /// The device is in use; this number of failures counts.
        case closed(failures: Int)
        /// The device is suspended until this time.
        case open(until: Time)
        /// The device may be tried.
        case halfOpen
    }

    /// The times of the failures that count, oldest first; empty unless closed.
    private(set) var failures: [Time] = []
    /// The number of times that it has opened since the device last worked well.
    private(set) var openings = 0
    /// The start and end of the pause; `nil` while closed.
    private(set) var pause: ClosedRange<Time>?
    /// The description of the last failure.
    private(set) var reason = ""

    /// Creates the breaker of a device that has not failed.
    init() {}

    /// Restores a stored breaker.
    init(failures: [Time], openings: Int, pause: ClosedRange<Time>?, reason: String) {
        self.failures = failures
        self.openings = openings
        self.pause = pause
        self.reason = reason
    }

    /// Whether there is nothing to store.
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

    /// Records a failure of the device.
    ///
    /// - Parameter isTrial: Whether the failure occurred in a trial. Unless closed, other failures do not count,
    ///   because they belong to users that began earlier.
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

    /// Records a success of the device. The success of a user that began before the breaker opened does not count.
    mutating func succeed(isTrial: Bool) {
        if isTrial { pause = nil }
    }

    /// Records that a user has finished its work on the device without a failure.
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

    /// Whether the pause is over. A clock that was set back does not extend it indefinitely.
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

    /// The accepted times.
    static let allowedTimes = Duration.milliseconds(1)...Duration.seconds(365 * 86400)

    /// Creates the defaults: 3 failures in 10 minutes, pauses of 30 seconds up to an hour.
    public init() {}

    /// Creates times.
    public init(failures: Int, window: Duration, pause: Duration, longestPause: Duration) {
        self.failures = failures
        self.window = window
        self.pause = pause
        self.longestPause = longestPause
    }
}
