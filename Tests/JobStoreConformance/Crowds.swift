// SPDX-License-Identifier: GPL-2.0-or-later

import JobStore
import Synchronization

extension ConformanceCase {
    static let crowds: [ConformanceCase] = [
        ConformanceCase("many workers at once get each task once") { rig in
            let store = try await rig.store
            for _ in 0..<20 { _ = try await store.submit(.simple(Array(repeating: "encode", count: 15))) }
            let taken = Ledger()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for worker in 0..<16 {
                    group.addTask {
                        while let claim = try await store.claim("worker \(worker)") {
                            taken.add(claim.task)
                            try await store.complete(claim)
                        }
                    }
                }
                try await group.waitForAll()
            }
            try expectEqual(taken.counts.count, 300)
            try expect(taken.counts.values.allSatisfy { $0 == 1 }, "a task was given away twice")
            let states = try await store.jobs(JobFilter(), before: nil, limit: 1000).map(\.state)
            try expect(states.allSatisfy { $0 == .succeeded }, "\(states)")
        },
        ConformanceCase("workers that freeze, wake up and restart publish each task once") { rig in
            for seed in 0..<UInt64(20) { try await playZombies(rig, seed: seed) }
        },
        ConformanceCase("of a thousand workers that wake after their leases, none publishes") { rig in
            for _ in 0..<10 { _ = try await rig.store.submit(.simple(Array(repeating: "encode", count: 100))) }
            let zombies = try await claimAll(rig, "frozen")
            try expectEqual(zombies.count, 1000)
            try await rig.advance(by: .seconds(16))
            try expectEqual(Set(try await rig.store.tend().lost), Set(zombies.map(\.token)))
            let heirs = try await claimAll(rig, "heir")
            let published = Ledger()
            // Half of them wake when the heir is done, half while it works.
            for heir in heirs.prefix(500) { try await complete(heir, in: rig, published) }
            var refusals = 0
            let store = try await rig.store
            for zombie in zombies {
                do throws(StoreError) {
                    try await store.complete(zombie.token, result: "{}", intent: "{}") {
                        published.add(zombie.task)
                    }
                } catch {
                    refusals += error.code == .staleAttempt ? 1 : 0
                }
            }
            for heir in heirs.dropFirst(500) { try await complete(heir, in: rig, published) }
            try expectEqual(refusals, 1000)
            try expectEqual(published.counts.count, 1000)
            try expect(published.counts.values.allSatisfy { $0 == 1 }, "a zombie has published")
        },
    ]

    /// Claims until there is nothing left.
    private static func claimAll(_ rig: any StoreRig, _ worker: String) async throws -> [Claim] {
        var claims: [Claim] = []
        while let claim = try await rig.store.claim("\(worker) \(claims.count)") { claims.append(claim) }
        return claims
    }

    private static func complete(_ claim: Claim, in rig: any StoreRig, _ published: Ledger) async throws {
        try await rig.store.complete(claim.token, result: "{}", intent: "{}") { published.add(claim.task) }
    }

    /// Workers that are frozen at random until their tasks are lost, and go on as if nothing had happened.
    private static func playZombies(_ rig: any StoreRig, seed: UInt64) async throws {
        var random = Sequence64(seed)
        let retries = RetryPolicy(mostFailures: 100, mostLosses: 100, pause: 0)
        var jobs: [JobID] = []
        for _ in 0..<5 {
            var draft = JobDraft.simple(["a", "b", "c"], retries: retries)
            draft.tasks[2].dependencies = [0, 1]
            jobs.append(try await rig.store.submit(draft).job.id)
        }
        let published = Ledger()
        let failing = random.below(2) == 0
        var attempts: [Claim] = []
        var steps = 0
        while true {
            steps += 1
            try expect(steps < 5000, "seed \(seed): there is no end")
            if let claim = try await rig.store.claim("w\(random.below(4))/") { attempts.append(claim) }
            guard !attempts.isEmpty else { break }
            let claim = attempts[random.below(attempts.count)]
            switch random.below(9) {
            case 0: try await rig.advance(by: .seconds(random.below(20)))
            case 2: _ = try await rig.store.tend()
            case 3: _ = try await rig.store.renew([Heartbeat(claim.token)], for: .seconds(15))
            case 4: try await forgiving { try await rig.store.fail(claim.token, .passing) }
            case 5 where random.below(5) == 0: try await rig.reopen()
            case 5: _ = try await rig.store.releaseAll(ofWorkersNamed: "w\(random.below(4))/")
            default:
                // Whether or not it still has the task.
                let task = claim.task
                // Some publish, and the commit fails; some fail to publish.
                let fails = failing ? random.below(4) : 9
                try await forgiving {
                    try await rig.store.complete(claim.token, result: "{}", intent: "{}") {
                        if fails == 1 { throw Refusal() }
                        published.add(task)
                        if fails == 2 { throw Refusal() }
                    }
                }
                for unsettled in try await rig.store.unsettledAttempts() {
                    try await rig.store.settle(unsettled.token, wasPublished: published.counts[unsettled.task] != nil)
                }
                attempts.removeAll { $0.token == claim.token }
            }
        }
        for id in jobs {
            let job = try await rig.store.job(id).job
            try expect(job.state == .succeeded, "seed \(seed): \(job.state), \(job.failure?.message ?? "")")
        }
        try expectEqual(published.counts.count, 15)
        try expect(published.counts.values.allSatisfy { $0 == 1 }, "seed \(seed): \(published.counts)")
    }

    /// Lets those who have lost their task go.
    private static func forgiving(_ body: () async throws -> Void) async throws {
        do {
            try await body()
        } catch let error as StoreError where [.staleAttempt, .publishFailed].contains(error.code) {}
    }

    private struct Refusal: Error {}
}

/// How many times something was done for a task.
private final class Ledger: Sendable {
    private let known = Mutex<[TaskID: Int]>([:])
    var counts: [TaskID: Int] { known.withLock { $0 } }
    func add(_ task: TaskID) { known.withLock { $0[task, default: 0] += 1 } }
}

/// A sequence of numbers that a seed determines (SplitMix64).
private struct Sequence64 {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed }

    mutating func below(_ limit: Int) -> Int {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return Int((mixed ^ (mixed >> 31)) % UInt64(limit))
    }
}
