// SPDX-License-Identifier: GPL-2.0-or-later

/// Plays every sequence of moves up to a length, and from each state that comes of one every ending.
///
/// Sequences that lead to the same state are played on once: ``SessionState`` says when two states are the same. So
/// millions of sequences take as long as thousands; ``sequences`` counts what they stand for.
struct SessionExplorer {
    /// What was found wrong, and after which moves.
    struct Finding: CustomStringConvertible {
        var violations: [String]
        var moves: [SessionMove]
        var ending: SessionSimulation.Ending?

        var description: String {
            let path = moves.map(\.description).joined(separator: ", ")
            return violations.prefix(3).joined(separator: "; ") + " after: " + path
                + (ending.map { "; then an end that is \($0)" } ?? "")
        }
    }

    private(set) var findings: [Finding] = []
    /// How many sequences of the full length, and shorter ones that cannot be continued, were played or stand for others.
    private(set) var sequences = 0.0
    private(set) var inputs = 0
    var states: Int { found.count }

    private var found: [SessionState: Int] = [:]
    /// For each state by which move from which other one it was found first.
    private var origins: [(state: Int, move: SessionMove)?] = []
    /// For each state that was played on, where each move leads; `nil` for states that were not.
    private var successors: [[Int]?] = []
    /// From which states each ending was played, and nothing was wrong.
    private var good: [SessionSimulation.Ending: Set<SessionState>] = [:]
    private let prefix: [SessionMove]

    /// - Parameters:
    ///   - prefix: Moves that lead to where the sequences begin.
    ///   - length: Of the sequences.
    init(_ world: SessionWorld, after prefix: [SessionMove], length: Int) {
        self.prefix = prefix
        var start = SessionSimulation(world)
        for move in prefix { start.play(move) }
        var level = [(add(start, from: nil), start)]
        for played in 0..<length where findings.isEmpty {
            var next: [(Int, SessionSimulation)] = []
            for (index, simulation) in level {
                let reached = playOn(index, simulation)
                if played + 1 < length { next += reached }
            }
            level = next
        }
        sequences = count(length)
    }

    private mutating func playOn(_ index: Int, _ simulation: SessionSimulation) -> [(Int, SessionSimulation)] {
        var fresh: [(Int, SessionSimulation)] = []
        var reached: [Int] = []
        for move in simulation.possibleMoves {
            var after = simulation
            after.play(move)
            inputs += 1
            let before = origins.count
            let index = add(after, from: (index, move))
            reached.append(index)
            if index == before, after.violations.isEmpty { fresh.append((index, after)) }
        }
        successors[index] = reached
        return fresh
    }

    /// Finds or adds a state, and plays its endings if it is new.
    private mutating func add(_ simulation: SessionSimulation, from origin: (state: Int, move: SessionMove)?) -> Int {
        let state = SessionState(simulation)
        if simulation.violations.isEmpty, let index = found[state] { return index }
        let index = origins.count
        found[state] = index
        origins.append(origin)
        successors.append(nil)
        if !simulation.violations.isEmpty {
            let finding = Finding(violations: simulation.violations, moves: path(to: index))
            if findings.count < 3 { findings.append(finding) }
            return index
        }
        for ending in SessionSimulation.Ending.allCases { play(ending, of: simulation, state, index) }
        return index
    }

    private mutating func play(
        _ ending: SessionSimulation.Ending,
        of simulation: SessionSimulation,
        _ start: SessionState,
        _ index: Int
    ) {
        var last = simulation
        var state = start
        var passed: [SessionState] = []
        let couldFail = simulation.promise.isOver || simulation.encoder?.isDisorderly == true
        while good[ending]?.contains(state) != true, passed.count < 300 {
            passed.append(state)
            guard let move = last.nextMove(to: ending) else {
                if last.violations.isEmpty { last.checkEnd(of: ending, couldFail: couldFail) }
                break
            }
            last.play(move)
            inputs += 1
            state = SessionState(last)
        }
        if passed.count == 300 { last.fail("the session does not end") }
        guard last.violations.isEmpty else {
            guard findings.count < 3 else { return }
            let finding = Finding(violations: last.violations, moves: path(to: index), ending: ending)
            return findings.append(finding)
        }
        good[ending, default: []].formUnion(passed)
    }

    private func path(to index: Int) -> [SessionMove] {
        var moves: [SessionMove] = []
        var next = origins[index]
        while let origin = next {
            moves.append(origin.move)
            next = origins[origin.state]
        }
        return prefix + moves.reversed()
    }

    /// The number of sequences of a length from the first state.
    private func count(_ length: Int) -> Double {
        var ways = [0: 1.0]
        for _ in 0..<length {
            var next: [Int: Double] = [:]
            for (state, count) in ways {
                let reached = successors[state] ?? []
                for index in reached { next[index, default: 0] += count }
            }
            ways = next
        }
        return ways.values.reduce(0, +)
    }
}
