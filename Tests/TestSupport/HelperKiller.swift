// SPDX-License-Identifier: GPL-2.0-or-later

internal import Dispatch
internal import Glibc
package import MediaTypes
internal import Synchronization

/// Kills and stops the helpers of a process, each once, at random times after they have appeared.
package final class HelperKiller: Sendable {
    /// What is done to a helper.
    package enum Blow: String, Sendable, CaseIterable {
        case kill = "SIGKILL"
        case stop = "SIGSTOP"
        /// Stopped, and after a while continued.
        case pause = "SIGSTOP, SIGCONT"
    }

    /// How much is done, and when.
    package struct Plan: Sendable {
        /// How many helpers are hit.
        package var count: Int
        /// What is done to them, in turn.
        package var blows: [Blow]
        /// A helper is hit at most so long after it was seen, in microseconds. Half of the moments are spread evenly up to
        /// that, the others over its orders of magnitude.
        package var longestDelay: UInt32
        package var seed: UInt64

        package init(count: Int, blows: [Blow], longestDelay: UInt32, seed: UInt64) {
            self.count = count
            self.blows = blows
            self.longestDelay = longestDelay
            self.seed = seed
        }
    }

    private struct State {
        var dealt: [Blow] = []
        var isStopped = false
    }

    private let process: Int32
    private let plan: Plan
    private let state = Mutex(State())
    private let isOver = DispatchSemaphore(value: 0)

    /// Begins at once.
    ///
    /// - Parameter process: Whose helpers are hit.
    package init(_ process: Int32, _ plan: Plan) throws(MediaError) {
        self.process = process
        self.plan = plan
        try PlainThread.start(name: "killer") { self.run() }
    }

    /// What was done so far.
    package var dealt: [Blow] { state.withLock { $0.dealt } }
    package var isDone: Bool { dealt.count >= plan.count }

    /// Ends it, and waits until no helper will be hit any more.
    package func stop() {
        state.withLock { $0.isStopped = true }
        isOver.wait()
        isOver.signal()
    }

    private func run() {
        var random = SplitMix(plan.seed)
        var seen: Set<Int32> = []
        while !isDone, !state.withLock({ $0.isStopped }) {
            let new = Self.helpers(of: process).filter { !seen.contains($0) }
            guard let victim = new.isEmpty ? nil : new[random.below(new.count)] else {
                usleep(300)
                continue
            }
            seen.insert(victim)
            usleep(delay(&random))
            // It may have ended meanwhile.
            guard Self.helpers(of: process).contains(victim) else { continue }
            strike(victim, plan.blows[dealt.count % plan.blows.count], &random)
        }
        isOver.signal()
    }

    private func strike(_ victim: Int32, _ blow: Blow, _ random: inout SplitMix) {
        guard kill(victim, blow == .kill ? SIGKILL : SIGSTOP) == 0 else { return }
        if blow == .pause {
            usleep(UInt32(random.below(100_000)))
            kill(victim, SIGCONT)
        }
        state.withLock { $0.dealt.append(blow) }
    }

    private func delay(_ random: inout SplitMix) -> UInt32 {
        guard random.isOne(of: 2) else { return UInt32(random.below(Int(plan.longestDelay))) }
        let share = Double(random.below(1_000_000)) / 1_000_000
        return UInt32(pow(Double(plan.longestDelay), share))
    }

    /// The processes that run, or have ended and were not waited for, under the name of a helper program, as long as the
    /// kernel keeps names.
    package static func helpers(of process: Int32) -> [Int32] {
        ProcessFiles.children(of: process).filter { child in
            ["vatoolbox-helpe\n", "vatoolbox-decod\n"].contains(ProcessFiles.text("/proc/\(child)/comm"))
        }
    }
}

/// What a test of that kind has counted, for its summary.
package struct KillReport: Sendable {
    package var part: String
    package var figures: [(name: String, value: Int)] = []

    package init(_ part: String) { self.part = part }

    package mutating func add(_ name: String, _ value: Int) {
        if let index = figures.firstIndex(where: { $0.name == name }) {
            figures[index].value += value
        } else {
            figures.append((name, value))
        }
    }

    package mutating func add(_ blows: [HelperKiller.Blow]) {
        add("kills", blows.count)
        for blow in HelperKiller.Blow.allCases { add(blow.rawValue, blows.count { $0 == blow }) }
    }

    package subscript(_ name: String) -> Int { figures.first { $0.name == name }?.value ?? 0 }

    /// Appends a line for each figure to the file that `VATOOLBOX_KILL_REPORT` names.
    package func write() {
        guard let path = getenv("VATOOLBOX_KILL_REPORT"), let file = fopen(path, "a") else { return }
        defer { fclose(file) }
        for figure in figures { fputs("\(part)\t\(figure.name)\t\(figure.value)\n", file) }
    }
}

/// How often helpers are killed in a row, and from which seed: `VATOOLBOX_KILLS` and `VATOOLBOX_KILL_SEED`.
package enum KillSettings {
    /// - Parameter sample: What is enough where it is a test among others.
    package static func count(sample: Int) -> Int { number("VATOOLBOX_KILLS").map { Int($0) } ?? sample }
    package static var seed: UInt64 { number("VATOOLBOX_KILL_SEED") ?? 1 }

    private static func number(_ variable: String) -> UInt64? {
        getenv(variable).flatMap { UInt64(String(cString: $0)) }
    }
}
