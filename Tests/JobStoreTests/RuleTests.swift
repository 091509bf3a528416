// SPDX-License-Identifier: GPL-2.0-or-later

import Testing

@testable import JobStore

/// The decisions of a store, which are pure values.
@Suite struct RuleTests {
    private static let epoch = StoreTime(milliseconds: 0)

    /// Each share that has something to do gets what its weight says, within one task of each, at every moment.
    @Test(arguments: 0..<UInt64(50)) func sharesAreFairAtEveryMoment(seed: UInt64) {
        var random = Numbers(seed)
        let weights = (0..<(2 + random.below(6))).map { _ in Double(1 + random.below(9)) }
        let keys = weights.indices.map { FairShares.Key(queue: "q", share: "\($0)") }
        var shares = FairShares(present: Double(random.below(1000)))
        shares.note(waiting: Set(keys))
        var charged = weights.map { _ in 0.0 }
        var largest = 0.0
        for _ in 0..<2000 {
            guard let next = keys.indices.min(by: { shares.time(of: keys[$0]) < shares.time(of: keys[$1]) }) else {
                return
            }
            let cost = Double(1 + random.below(5))
            shares.charge(keys[next], cost: cost, weight: weights[next])
            charged[next] += cost
            largest = max(largest, cost)
            let times = zip(charged, weights).map { $0 / $1 }
            let spread = (times.max() ?? 0) - (times.min() ?? 0)
            #expect(spread <= largest / (weights.min() ?? 1) + largest / (weights.max() ?? 1) + 1e-6)
        }
    }

    @Test func anIdleShareBeginsAtThePresent() {
        var shares = FairShares()
        let (busy, idle) = (FairShares.Key(queue: "q", share: "busy"), FairShares.Key(queue: "q", share: "idle"))
        shares.note(waiting: [busy, idle])
        shares.charge(idle, cost: 1, weight: 1)
        for _ in 0..<100 {
            shares.note(waiting: [busy])
            shares.charge(busy, cost: 1, weight: 1)
        }
        shares.note(waiting: [busy, idle])
        #expect(shares.time(of: idle) == 99 && shares.time(of: busy) == 100)
    }

    /// One that waits all the time stays behind, up to the limit.
    @Test func aShareThatNobodyServesStaysBehind() {
        var shares = FairShares()
        let (busy, stuck) = (FairShares.Key(queue: "q", share: "busy"), FairShares.Key(queue: "q", share: "stuck"))
        for _ in 0..<100 {
            shares.note(waiting: [busy, stuck])
            shares.charge(busy, cost: 1, weight: 1)
        }
        #expect(shares.time(of: stuck) == 0 && shares.time(of: busy) == 100)
        for _ in 0..<2000 {
            shares.note(waiting: [busy, stuck])
            shares.charge(busy, cost: 1, weight: 1)
        }
        #expect(shares.time(of: stuck) == 2098 - FairShares.mostLag)
    }

    @Test(arguments: [
        // 2026-11-23 is a Monday.
        (day: 23, hour: 19, minute: 59, isOpen: false), (day: 23, hour: 20, minute: 0, isOpen: true),
        (day: 24, hour: 5, minute: 59, isOpen: true), (day: 24, hour: 6, minute: 0, isOpen: false),
        (day: 29, hour: 23, minute: 0, isOpen: true), (day: 30, hour: 3, minute: 0, isOpen: true),
        (day: 28, hour: 23, minute: 0, isOpen: false), (day: 29, hour: 3, minute: 0, isOpen: false),
    ])
    func windowsReachIntoTheNextDayAndWeek(day: Int, hour: Int, minute: Int, isOpen: Bool) {
        // 2026-11-01T00:00Z
        let start: Int64 = 1_793_491_200_000
        let time = StoreTime(milliseconds: start + Int64(((day - 1) * 1440 + hour * 60 + minute) * 60_000))
        let nights = TimeWindow(days: [1, 2, 3, 4, 7], start: 20 * 60, length: 600)
        #expect(nights.contains(time) == isOpen)
    }

    @Test func aWindowOfAWeekIsAlwaysOpen() {
        let window = TimeWindow(days: [3], start: 700, length: TimeWindow.minutesPerWeek)
        for hour in -500..<500 { #expect(window.contains(StoreTime(milliseconds: Int64(hour) * 3_600_000))) }
    }

    @Test func pausesDoubleUpToTheLimit() {
        let policy = RetryPolicy(pause: 2, longestPause: 10)
        #expect((1...5).map { policy.pause(after: $0, jitter: 1) } == [2, 4, 8, 10, 10].map { .seconds($0) })
        #expect(policy.pause(after: 1, jitter: 0) == .seconds(1))
        #expect(RetryPolicy(pause: 0).pause(after: 9, jitter: 1) == .zero)
        #expect(RetryPolicy(pause: 86400, longestPause: 86400).pause(after: .max, jitter: 1) == .seconds(86400))
    }

    /// Whatever happens in whatever order: what is final stays, a task begins after those that it depends on, and the job
    /// ends when its tasks have.
    @Test(arguments: 0..<UInt64(500)) func jobsProgressWhateverHappens(seed: UInt64) {
        var random = Numbers(seed)
        let id = JobID(at: Self.epoch, using: &random)
        let tasks = (0..<(1 + random.below(6))).map { index in
            let dependencies = (0..<index).filter { _ in random.below(3) == 0 }
            let retries = RetryPolicy(mostFailures: 1 + random.below(4), mostLosses: 1 + random.below(4), pause: 0)
            let draft = TaskDraft(kind: "k", dependencies: dependencies, retries: retries)
            return JobTask(TaskID(job: id, index: index), draft, at: Self.epoch)
        }
        var job = JobProgression(tasks: tasks)
        var (token, steps) = (Int64(0), 0)
        while !job.state.isFinal, steps < 1000 {
            steps += 1
            let before = job
            let ready = job.tasks.indices.filter { if case .ready = job.tasks[$0].state { true } else { false } }
            let running = job.tasks.indices.filter { job.tasks[$0].state.isRunning }
            #expect(!ready.isEmpty || !running.isEmpty, "nothing can go on")
            if let index = ready.first, random.below(2) == 0 || running.isEmpty {
                token += 1
                #expect(job.tasks[index].draft.dependencies.allSatisfy { job.tasks[$0].state == .succeeded })
                job.start(index, AttemptToken(rawValue: token))
            } else if let index = running.last {
                let failure = Failure(code: "x", message: "x", isRetriable: random.below(3) > 0)
                let outcomes: [AttemptOutcome] = [.succeeded, .succeeded, .failed(failure), .lost, .released]
                let outcome = outcomes[random.below(outcomes.count)]
                job.end(index, outcome, result: "{}", at: Self.epoch, jitter: 0)
                #expect(!job.tasks[index].state.isRunning)
            }
            if random.below(40) == 0 { job.cancel() }
            if random.below(40) == 0 { job.fail(Failure(code: "late", message: "late", isRetriable: false)) }
            for (old, new) in zip(before.tasks, job.tasks) where old.state.isFinal { #expect(old == new) }
        }
        #expect(job.state.isFinal)
        switch job.state {
        case .succeeded: #expect(job.tasks.allSatisfy { $0.state == .succeeded })
        case .failed: #expect(job.failure != nil)
        case .cancelled: #expect(job.isCancelRequested && job.failure == nil)
        case .waiting, .running: break
        }
        let ended = job
        job.cancel()
        job.fail(Failure(code: "late", message: "late", isRetriable: false))
        #expect(job == ended)
        guard job.state != .succeeded else { return }
        job.retry(at: Self.epoch)
        #expect(!job.state.isFinal && !job.isEnding)
        #expect(zip(ended.tasks, job.tasks).allSatisfy { ($0.state == .succeeded) == ($1.state == .succeeded) })
    }

    @Test func timesAreLimitedAndNotWrong() {
        let time = StoreTime(milliseconds: .max - 5)
        #expect((time + .seconds(1)).milliseconds == .max)
        #expect((StoreTime(milliseconds: .min + 5) + .seconds(-1)).milliseconds == .min)
        #expect((StoreTime(milliseconds: 7) + .seconds(Int64.max)).milliseconds == .max)
        #expect(StoreTime(milliseconds: 3000) - StoreTime(milliseconds: 4500) == .milliseconds(-1500))
    }

    @Test func identifiersSortByTimeAndAreChecked() throws {
        var random = Numbers(1)
        let times = [0, 1, 31, 32, 1_800_000_000_000, 1_800_000_000_001].map { StoreTime(milliseconds: $0) }
        let ids = times.map { JobID(at: $0, using: &random) }
        #expect(ids.map(\.rawValue) == ids.map(\.rawValue).sorted())
        for id in ids { #expect(JobID(rawValue: id.rawValue) == id && id.rawValue.count == 26) }
        let text = try #require(ids.first?.rawValue)
        for wrong in [
            "", String(text.dropLast()), text + "0", text.uppercased(), "u" + text.dropFirst(), "ä" + text.dropFirst(2),
        ]
        where wrong != text {
            #expect(JobID(rawValue: wrong) == nil, "\(wrong)")
        }
    }
}

/// Numbers that a seed determines (SplitMix64).
struct Numbers: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    mutating func below(_ limit: Int) -> Int { Int(next() % UInt64(limit)) }
}
