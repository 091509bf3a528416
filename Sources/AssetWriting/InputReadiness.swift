// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// Decides which inputs are too far ahead of the others, so that interleaving them needs little memory.
struct InputReadiness {
    private struct Input {
        /// The end of the latest picture, buffer or packet, on the sources' clock.
        var end: MediaTime?
        var isFinished = false
        /// Whether others do not wait for it until it delivers something.
        var isExcused = false
    }

    /// By how much an input may be ahead.
    let largestLead: MediaTime
    private var inputs: [Input] = []

    init(largestLead: MediaTime) { self.largestLead = largestLead }

    /// The number of inputs.
    var count: Int { inputs.count }

    /// Adds an input and returns its number.
    mutating func add() -> Int {
        inputs.append(Input())
        return inputs.count - 1
    }

    /// Registers what an input has delivered.
    ///
    /// - Returns: Whether others may be ready because of it.
    mutating func note(_ input: Int, end: MediaTime) -> Bool {
        inputs[input].isExcused = false
        guard let previous = inputs[input].end else {
            inputs[input].end = end
            return true
        }
        inputs[input].end = max(previous, end)
        return end > previous
    }

    mutating func finish(_ input: Int) { inputs[input].isFinished = true }

    mutating func finishAll() { for input in inputs.indices { inputs[input].isFinished = true } }

    func isFinished(_ input: Int) -> Bool { inputs[input].isFinished }

    /// Whether an input is at most ``largestLead`` ahead of the slowest of the others that are not finished. An input
    /// that has delivered nothing is behind all others.
    func isReady(_ input: Int) -> Bool { !inputs[input].isFinished && laggards(of: input).isEmpty }

    /// Does not wait any more for the inputs that hold an input back, until they deliver something.
    mutating func excuseLaggards(of input: Int) {
        for other in laggards(of: input) { inputs[other].isExcused = true }
    }

    /// The inputs that hold an input back.
    private func laggards(of input: Int) -> [Int] {
        guard let own = inputs[input].end else { return [] }
        return inputs.indices.filter { other in
            guard other != input, !inputs[other].isFinished, !inputs[other].isExcused else { return false }
            return inputs[other].end.map { own - $0 > largestLead } ?? true
        }
    }
}
