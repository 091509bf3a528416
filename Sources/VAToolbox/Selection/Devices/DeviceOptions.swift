// SPDX-License-Identifier: GPL-2.0-or-later

import CLinux
package import MediaTypes

/// How a session selects a GPU, and which test it must pass first.
public struct DeviceOptions: Sendable {
    /// The order of GPUs that the policy ranks equally.
    public enum Placement: String, Sendable, Hashable, CaseIterable {
        /// In the order of the policy, otherwise by node number.
        case inOrder = "in-order"
        /// By the number of sessions, then by the samples to encode per second, lowest first. Sessions of all processes
        /// that share ``DeviceOptions/state`` count.
        case spread
    }

    /// Whether a GPU must pass a test before a session uses it.
    public enum Proof: String, Sendable, Hashable, CaseIterable {
        /// A short encode in a helper process, with the size and settings of the session, must be complete and decode
        /// to the source pictures; a decoder must decode a short known stream of the session's codec, profile and depth
        /// to the right pictures. The result is stored.
        case required = "on"
        /// No test. The session detects failures and loses no frame, but it may start on a GPU that does not work and
        /// cannot detect wrong pictures.
        case skipped = "off"
    }

    /// The order of GPUs.
    public var placement = Placement.inOrder
    /// Maximum number of simultaneous sessions per GPU, 1...1000, including those of all processes that share
    /// ``state``; `nil` for no limit. Sessions that encode and those that decode are counted separately. A GPU at its
    /// limit is `busy`, which does not count as a failure.
    public var sessionsPerDevice: Int?
    /// Whether a GPU must pass a test. The variable `VATOOLBOX_PROOF` (`on`, `off`) is the default.
    public var proof = Self.environment("VATOOLBOX_PROOF").flatMap(Proof.init(rawValue:)) ?? .required
    /// Deadline of a test encode or decode, above 0.
    public var proofDeadline = Duration.seconds(15)
    /// Decodes the output of test encodes; without a verifier, it is only parsed.
    public var verifier: (any SampleVerifier)?
    /// When a GPU that fails repeatedly is suspended. The variable `VATOOLBOX_BREAKER` sets the default: the four
    /// members of ``BreakerTimes`` in order, separated by commas, with times in seconds; or `off`.
    public var breaker: BreakerTimes? = Self.defaultBreaker
    /// Where results of tests, failures and active sessions are stored.
    public var state = SelectionState.standard

    /// Creates the defaults: GPUs in order, no limit, test encodes of at most 15 seconds, stored in the user's state.
    public init() {}

    /// - Throws: `invalidArgument` with the value given and the values allowed.
    func validate() throws(MediaError) {
        let durations = Duration.milliseconds(1)...Duration.seconds(86400)
        try MediaError.check(proofDeadline, in: durations, "deadline for tests of a device")
        if let breaker {
            try MediaError.check(breaker.failures, in: 1...1000, "number of failures that suspend a device")
            try MediaError.check(breaker.window, in: BreakerTimes.allowedTimes, "time window of device failures")
            try MediaError.check(breaker.pause, in: BreakerTimes.allowedTimes, "pause of a device")
            try MediaError.check(breaker.longestPause, in: BreakerTimes.allowedTimes, "longest pause of a device")
        }
        if let sessionsPerDevice {
            try MediaError.check(sessionsPerDevice, in: 1...1000, "number of sessions of a device")
        }
    }

    /// Reports environment variables with invalid values, which the library ignores and a program should reject at its
    /// start.
    ///
    /// - Throws: `invalidArgument` with the variable, its value and the values that are allowed.
    package static func checkEnvironment() throws(MediaError) {
        for (name, allowed, isUnderstood) in variables {
            // An empty variable counts as not set.
            guard let text = environment(name), !text.isEmpty, !isUnderstood(text) else { continue }
            throw MediaError(.invalidArgument, "\(name) is not valid", given: text, allowed: allowed)
        }
    }

    private static let variables: [(name: String, allowed: String, isUnderstood: @Sendable (String) -> Bool)] = [
        ("VATOOLBOX_PROOF", "on, off", { Proof(rawValue: $0) != nil }),
        ("VATOOLBOX_SANDBOX", "on, off", { ["on", "off"].contains($0) }),
        (
            "VATOOLBOX_BREAKER", "off, or failures,window,pause,longest pause, as in 3,600,60,3600",
            { $0 == "off" || breaker($0) != nil }
        ),
    ]

    private static var defaultBreaker: BreakerTimes? {
        guard let text = environment("VATOOLBOX_BREAKER") else { return BreakerTimes() }
        return text == "off" ? nil : breaker(text) ?? BreakerTimes()
    }

    private static func breaker(_ text: String) -> BreakerTimes? {
        let words = text.split(separator: ",", omittingEmptySubsequences: false)
        let numbers = words.compactMap { Double($0) }
        let allowed = BreakerTimes.allowedTimes
        let seconds = allowed.lowerBound / .seconds(1)...allowed.upperBound / .seconds(1)
        guard words.count == 4, numbers.count == 4, (1...1000).contains(numbers[0]),
            numbers[1...].allSatisfy(seconds.contains)
        else { return nil }
        return BreakerTimes(
            failures: Int(numbers[0]),
            window: .seconds(numbers[1]),
            pause: .seconds(numbers[2]),
            longestPause: .seconds(max(numbers[2], numbers[3]))
        )
    }

    private static func environment(_ name: String) -> String? {
        linux_environment(name).map { String(cString: $0) }
    }
}
