// SPDX-License-Identifier: GPL-2.0-or-later

/// Finds the largest number of streams that an encoder sustains, with as few trials as possible.
///
/// The number of streams is doubled until it is not sustained, then the gap is halved. At the end, the result and the
/// next higher number are repeated until a majority of trials agrees, so that a single disturbed trial does not decide
/// and the result is reproducible.
package struct DensitySearch: Sendable {
    /// The largest number of streams to try.
    private let maximum: Int
    /// The maximum number of trials per number of streams; odd.
    private let confirmations: Int
    private var trials: [Int: (kept: Int, broken: Int)] = [:]

    /// Creates a search.
    ///
    /// - Parameters:
    ///   - maximum: The largest number of streams to try, at least 1.
    ///   - confirmations: The maximum number of trials for the numbers that decide.
    package init(maximum: Int, confirmations: Int) {
        self.maximum = max(1, maximum)
        self.confirmations = max(1, confirmations | 1)
    }

    /// The number of streams to try next; `nil` when the search is complete.
    package var next: Int? {
        let (holds, breaks) = (highestKept, lowestBroken)
        guard let breaks else {
            if holds == maximum { return needsConfirmation(maximum) ? maximum : nil }
            return min(max(1, holds * 2), maximum)
        }
        if breaks - holds > 1 { return holds + (breaks - holds) / 2 }
        if needsConfirmation(breaks) { return breaks }
        if holds > 0, needsConfirmation(holds) { return holds }
        return nil
    }

    /// Records the result of a trial.
    package mutating func record(_ streams: Int, isKept: Bool) {
        var trial = trials[streams] ?? (0, 0)
        if isKept { trial.kept += 1 } else { trial.broken += 1 }
        trials[streams] = trial
    }

    /// The largest number of streams that is sustained, once ``next`` is `nil`.
    package var result: Int { highestKept }

    /// Whether even the largest number of streams to try is sustained.
    package var isAtMaximum: Bool { result == maximum }

    /// The largest sustained number below all numbers that are not sustained.
    private var highestKept: Int {
        let limit = lowestBroken ?? .max
        return trials.filter { $0.key < limit && holds($0.value) }.keys.max() ?? 0
    }

    private var lowestBroken: Int? { trials.filter { !holds($0.value) }.keys.min() }

    /// Returns the majority of the trials. A tie is undecided: the number is tried again.
    private func holds(_ trial: (kept: Int, broken: Int)) -> Bool { trial.kept >= trial.broken }

    private func needsConfirmation(_ streams: Int) -> Bool {
        guard let trial = trials[streams] else { return true }
        return max(trial.kept, trial.broken) <= confirmations / 2
    }
}
