// SPDX-License-Identifier: GPL-2.0-or-later

/// Finds the most streams that hold, by asking about as few counts as possible.
///
/// Counts are doubled until one does not hold, then the gap is halved. At the end the count found, and the one above it,
/// are tried until most of their trials say the same, so that one disturbed trial does not decide: what is found repeats.
package struct DensitySearch: Sendable {
    /// The most streams that are tried.
    private let maximum: Int
    /// How many trials of a count decide about it; odd.
    private let confirmations: Int
    private var trials: [Int: (kept: Int, broken: Int)] = [:]

    /// Begins a search.
    ///
    /// - Parameters:
    ///   - maximum: The most streams that are tried, at least 1.
    ///   - confirmations: How often the counts that matter are tried at most.
    package init(maximum: Int, confirmations: Int) {
        self.maximum = max(1, maximum)
        self.confirmations = max(1, confirmations | 1)
    }

    /// The count to try next; `nil` when the search is over.
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

    /// Takes what came of a trial.
    package mutating func record(_ streams: Int, isKept: Bool) {
        var trial = trials[streams] ?? (0, 0)
        if isKept { trial.kept += 1 } else { trial.broken += 1 }
        trials[streams] = trial
    }

    /// The most streams that hold, once ``next`` is `nil`.
    package var result: Int { highestKept }

    /// Whether even the most streams that are tried hold.
    package var isAtMaximum: Bool { result == maximum }

    /// The highest count below all that break, of those that hold.
    private var highestKept: Int {
        let limit = lowestBroken ?? .max
        return trials.filter { $0.key < limit && holds($0.value) }.keys.max() ?? 0
    }

    private var lowestBroken: Int? { trials.filter { !holds($0.value) }.keys.min() }

    /// Most of the trials. A draw is none: the count is tried again.
    private func holds(_ trial: (kept: Int, broken: Int)) -> Bool { trial.kept >= trial.broken }

    private func needsConfirmation(_ streams: Int) -> Bool {
        guard let trial = trials[streams] else { return true }
        return max(trial.kept, trial.broken) <= confirmations / 2
    }
}
