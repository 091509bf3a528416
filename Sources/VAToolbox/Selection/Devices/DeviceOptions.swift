// SPDX-License-Identifier: GPL-2.0-or-later

import CLinux
package import MediaTypes

/// How a session chooses among GPUs, and what it has to know of one before it uses it.
public struct DeviceOptions: Sendable {
    /// In which order GPUs come that the policy allows alike.
    public enum Placement: String, Sendable, Hashable, CaseIterable {
        /// As the policy lists them, else by the numbers of their nodes.
        case inOrder = "in-order"
        /// The one with the fewest sessions first, and of those the one that has the fewest samples to code each second:
        /// sessions of all processes that share ``DeviceOptions/state`` count.
        case spread
    }

    /// Whether a GPU has to prove that it encodes what is wanted before a session uses it.
    public enum Proof: String, Sendable, Hashable, CaseIterable {
        /// By a short encode in a helper process, with the size and settings of the session, which has to come out whole and
        /// to be what was encoded. What came of it is remembered.
        case required = "on"
        /// It is used without: a session sees by itself what fails, and loses no frame, but may begin on a GPU that does not
        /// do, and takes what is no picture for one.
        case skipped = "off"
    }

    /// In which order GPUs come.
    public var placement = Placement.inOrder
    /// The most sessions that a GPU works for at a time, 1...1000, counting those of all processes that share ``state``;
    /// `nil` for no limit. A GPU at its limit is `busy`, which is no failure of it.
    public var sessionsPerDevice: Int?
    /// Whether a GPU has to prove what it does. The variable `VATOOLBOX_PROOF` (`on`, `off`) is the default.
    public var proof = Self.environment("VATOOLBOX_PROOF").flatMap(Proof.init(rawValue:)) ?? .required
    /// How long a test encode may take, above 0.
    public var proofDeadline = Duration.seconds(15)
    /// Decodes what comes of test encodes; without one they are only read.
    public var verifier: (any SampleVerifier)?
    /// When a GPU that fails again and again is left alone. The variable `VATOOLBOX_BREAKER` is the default: four numbers
    /// divided by commas, which are the members of ``BreakerTimes`` in their order, times in seconds, or `off`.
    public var breaker: BreakerTimes? = Self.defaultBreaker
    /// Where proofs, failures and sessions in use are kept.
    public var state = SelectionState.standard

    /// Makes the defaults: GPUs in order, no limit, proofs of 15 seconds at most, in the user's state.
    public init() {}

    /// Finds what a program should refuse at its start, and the library takes for not set: variables whose values are none.
    ///
    /// - Throws: `invalidArgument` with the variable, its value and the values that are allowed.
    package static func checkEnvironment() throws(MediaError) {
        for (name, allowed, isUnderstood) in variables {
            // Empty is as good as not set.
            guard let text = environment(name), !text.isEmpty, !isUnderstood(text) else { continue }
            throw MediaError(.invalidArgument, "\(name) is not understood", given: text, allowed: allowed)
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
