// SPDX-License-Identifier: GPL-2.0-or-later

import JobStore

extension ConformanceCase {
    static let claims: [ConformanceCase] = [
        ConformanceCase("higher priorities come first, then earlier jobs") { rig in
            let store = try await rig.store
            var jobs: [JobID] = []
            for priority in [50, 10, 90, 50, 90] {
                jobs.append(try await store.submit(.simple(priority: priority)).job.id)
            }
            var order: [JobID] = []
            while let claim = try await store.claim() { order.append(claim.task.job) }
            try expectEqual(order, [2, 4, 0, 3, 1].map { jobs[$0] })
        },
        ConformanceCase("a claim has what its task needs") { rig in
            let store = try await rig.store
            var draft = JobDraft.simple(["probe", "cut", "join"])
            draft.tasks[2].dependencies = [0, 1]
            draft.tasks[2].payload = #"{"gap":0}"#
            let job = try await store.submit(draft).job
            let (first, second) = (try await store.take("a"), try await store.take("b"))
            try expectEqual([first.draft.kind, second.draft.kind], ["probe", "cut"])
            try expect(first.token < second.token, "tokens do not increase")
            try expect(try await store.claim() == nil, "a blocked task was given away")
            try expectEqual(try await store.state(job.id), .running)
            try await store.complete(first, result: "1")
            try expect(try await store.claim() == nil, "a blocked task was given away")
            try await store.complete(second, result: "2")
            let last = try await store.take("c")
            try expectEqual(last.task, TaskID(job: job.id, index: 2))
            try expectEqual(last.results, [0: "1", 1: "2"])
            try expectEqual(last.draft, draft.tasks[2])
            try expectEqual(last.request, draft.request)
            try expectEqual(last.number, 1)
            try await store.complete(last, result: "3")
            let record = try await store.job(job.id)
            try expectEqual(record.job.state, .succeeded)
            try expectEqual(record.tasks.map(\.result), ["1", "2", "3"])
            try expectEqual(record.attempts.map(\.worker), ["a", "b", "c"])
            try expectEqual(record.attempts.map(\.outcome), [.succeeded, .succeeded, .succeeded])
        },
        ConformanceCase("a worker gets only what it can do") { rig in
            let store = try await rig.store
            let pair = Demand(abilities: ["encode:hevc", "decode:h264"])
            let hardware = try await store.submit(.simple(demand: pair)).job.id
            let large = try await store.submit(.simple(demand: Demand(amounts: ["memory": 8e9]))).job.id
            let any = try await store.submit(.simple()).job.id
            let small = Demand(abilities: ["encode:hevc"], amounts: ["memory": 7e9])
            try expectEqual(try await store.job(claimedWith: small), any)
            try expectEqual(try await store.job(claimedWith: small), nil)
            let enough = Demand(abilities: ["encode:hevc"], amounts: ["memory": 8e9])
            try expectEqual(try await store.job(claimedWith: enough), large)
            let able = Demand(abilities: ["decode:h264", "encode:hevc", "x"])
            try expectEqual(try await store.job(claimedWith: able), hardware)
        },
        ConformanceCase("shares get workers by their weights, and save nothing up") { rig in
            let store = try await rig.store
            let weights = ["a": 1.0, "b": 2, "c": 5]
            try await store.setQueue(QueueSettings(name: "fair", weights: weights))
            for _ in 0..<160 {
                for share in weights.keys.sorted() {
                    _ = try await store.submit(.simple(queue: "fair", share: share))
                }
            }
            func shares(of count: Int) async throws -> [String: Int] {
                var taken: [String: Int] = [:]
                for _ in 0..<count {
                    let claim = try await store.take()
                    taken[try await store.job(claim.task.job).job.share, default: 0] += 1
                }
                return taken
            }
            let taken = try await shares(of: 160)
            try expectEqual(taken, ["a": 20, "b": 40, "c": 100])
            // One that comes later neither catches up nor waits.
            for _ in 0..<40 { _ = try await store.submit(.simple(queue: "fair", share: "late")) }
            let later = try await shares(of: 90)
            for (share, weight) in ["a": 1.0, "b": 2, "c": 5, "late": 1] {
                let count = Double(later[share] ?? 0)
                try expect(abs(count - 10 * weight) <= 1, "\(later)")
            }
        },
        ConformanceCase("claims from other queues take no turns from the shares of a queue") { rig in
            let store = try await rig.store
            let weights = ["a": 1.0, "b": 2, "c": 5]
            try await store.setQueue(QueueSettings(name: "fair", weights: weights))
            try await store.setQueue(QueueSettings(name: "other"))
            for _ in 0..<60 {
                for share in weights.keys.sorted() {
                    _ = try await store.submit(.simple(queue: "fair", share: share))
                }
                _ = try await store.submit(.simple(queue: "other", share: "x"))
            }
            var taken: [String: Int] = [:]
            for _ in 0..<40 {
                let claim = try require(try await store.claim(ClaimRequest(worker: "w", queues: ["fair"])))
                taken[try await store.job(claim.task.job).job.share, default: 0] += 1
                _ = try require(try await store.claim(ClaimRequest(worker: "w", queues: ["other"])))
            }
            try expectEqual(taken, ["a": 5, "b": 10, "c": 25])
        },
        ConformanceCase("a share is charged with the cost of its tasks") { rig in
            let store = try await rig.store
            for _ in 0..<30 {
                var long = JobDraft.simple(share: "long")
                long.tasks[0].cost = 3
                _ = try await store.submit(long)
                _ = try await store.submit(.simple(share: "short"))
            }
            var taken: [String: Int] = [:]
            for _ in 0..<40 {
                let claim = try await store.take()
                taken[try await store.job(claim.task.job).job.share, default: 0] += 1
            }
            try expectEqual(taken, ["long": 10, "short": 30])
        },
        ConformanceCase("a share that few workers can serve is not forgotten for the others") { rig in
            let store = try await rig.store
            let gpu = Demand(abilities: ["gpu"])
            for _ in 0..<60 {
                for share in ["a", "b", "c"] { _ = try await store.submit(.simple(share: share)) }
            }
            for _ in 0..<60 { _ = try await store.submit(.simple(share: "gpu", demand: gpu)) }
            var taken: [String: Int] = [:]
            for number in 0..<160 {
                // One of four workers has a GPU, and can do everything.
                let offer = number % 4 == 0 ? gpu : Demand()
                let claim = try require(try await store.claim(ClaimRequest(worker: "w", offer: offer)))
                taken[try await store.job(claim.task.job).job.share, default: 0] += 1
            }
            try expect(abs((taken["gpu"] ?? 0) - 40) <= 1, "\(taken)")
        },
        ConformanceCase("a worker may choose among queues") { rig in
            let store = try await rig.store
            try await store.setQueue(QueueSettings(name: "night"))
            let night = try await store.submit(.simple(queue: "night")).job.id
            let usual = try await store.submit(.simple()).job.id
            try expectEqual(try await store.job(claimedFrom: ["default"]), usual)
            try expectEqual(try await store.job(claimedFrom: ["default"]), nil)
            try expectEqual(try await store.job(claimedFrom: []), night)
        },
        ConformanceCase("a claim that cannot be is refused") { rig in
            let store = try await rig.store
            for lease in [Duration.zero, .seconds(-1), .seconds(86401)] {
                try await expectError(.invalidArgument) {
                    _ = try await store.claim(ClaimRequest(worker: "w", lease: lease))
                }
                try await expectError(.invalidArgument) { _ = try await store.renew([], for: lease) }
            }
            try await expectError(.invalidArgument) { _ = try await store.claim(ClaimRequest(worker: "")) }
        },
    ]
}

extension JobStore {
    fileprivate func job(claimedWith offer: Demand) async throws -> JobID? {
        try await claim(ClaimRequest(worker: "w", offer: offer))?.task.job
    }

    fileprivate func job(claimedFrom queues: Set<String>) async throws -> JobID? {
        try await claim(ClaimRequest(worker: "w", queues: queues))?.task.job
    }
}
