// SPDX-License-Identifier: GPL-2.0-or-later

import JobStore

extension ConformanceCase {
    static let submissions: [ConformanceCase] = [
        ConformanceCase("a job is what was submitted") { rig in
            let store = try await rig.store
            var draft = JobDraft.simple(["probe", "encode"], priority: 70, share: "studio")
            draft.labels = ["title": "Näh\u{0301}e \"1\"", "reel": "7"]
            draft.tasks[1].dependencies = [0]
            draft.tasks[1].demand = Demand(abilities: ["encode:hevc", "decode:h264"], amounts: ["memory": 1e9])
            draft.tasks[1].cost = 2.5
            draft.retention = .seconds(86400)
            let (job, isNew) = try await store.submit(draft)
            try expect(isNew, "it is not new")
            let record = try await store.job(job.id)
            try expectEqual(record.job, job)
            try expectEqual(job.state, .waiting)
            try expectEqual(job.labels, draft.labels)
            try expectEqual(job.request, draft.request)
            try expectEqual(job.priority, 70)
            try expectEqual(job.share, "studio")
            try expectEqual(job.retention, draft.retention)
            try expectEqual(record.tasks.map(\.draft), draft.tasks)
            try expectEqual(record.tasks.map(\.state), [.ready(from: job.created), .blocked])
            try expect(record.attempts.isEmpty, "it has attempts")
        },
        ConformanceCase("what is out of range is refused, with the value and the range") { rig in
            let store = try await rig.store
            let changes: [(inout JobDraft) -> Void] = [
                { $0.priority = 101 }, { $0.priority = -1 }, { $0.tasks = [] }, { $0.retention = .seconds(-1) },
                { $0.tasks[0].kind = "" }, { $0.tasks[0].cost = 0 }, { $0.tasks[0].cost = .nan },
                { $0.tasks[0].dependencies = [0] }, { $0.tasks[0].dependencies = [-1] },
                { $0.tasks[0].retries.mostFailures = 0 }, { $0.tasks[0].retries.mostLosses = 101 },
                { $0.tasks[0].retries.pause = -1 }, { $0.tasks[0].retries.longestPause = .infinity },
                { $0.labels = ["": "x"] }, { $0.labels = ["x": String(repeating: "y", count: 257)] },
                { draft in for number in 0..<65 { draft.labels["\(number)"] = "" } },
                { $0.tasks[0].cost = 2e6 }, { $0.tasks[0].cost = 1e-4 }, { $0.timeLimit = .seconds(-1) },
                { $0.tasks[0].demand.amounts = ["memory": .nan] }, { $0.tasks[0].demand.amounts = ["": 1] },
                { $0.tasks[0].demand.amounts = ["memory": -1] }, { $0.tasks[0].demand.abilities = ["a\0b"] },
                { $0.request = "a\0b" }, { $0.labels = ["a": "b\0"] }, { $0.share = "\0" },
                { $0.tasks[0].payload = "\0" }, { $0.idempotency = .init(key: "a\0", hash: "1") },
                { $0.idempotency = .init(key: "", hash: "1") }, { $0.share = String(repeating: "s", count: 257) },
            ]
            for (index, change) in changes.enumerated() {
                var draft = JobDraft.simple()
                change(&draft)
                let refused = draft
                let error = try await expectError(.invalidArgument) { _ = try await store.submit(refused) }
                try expect(error.given != nil && error.allowed != nil, "\(index): \(error)")
            }
            try await expectError(.notFound) { _ = try await store.submit(.simple(queue: "none")) }
            try expect(try await store.jobs(JobFilter(), before: nil, limit: 10).isEmpty, "something was submitted")
        },
        ConformanceCase("a submission can be repeated by its key, as long as the job is kept") { rig in
            let store = try await rig.store
            var draft = JobDraft.simple()
            draft.idempotency = .init(key: "key", hash: "1")
            let first = try await store.submit(draft)
            let second = try await store.submit(draft)
            try expect(first.isNew && !second.isNew, "it was submitted twice")
            try expectEqual(first.job.id, second.job.id)
            var other = draft
            other.idempotency?.hash = "2"
            let changed = other
            try await expectError(.idempotencyConflict) { _ = try await store.submit(changed) }
            try await rig.advance(by: .seconds(40 * 86400))
            let third = try await rig.store.submit(draft)
            try expectEqual(third.job.id, first.job.id)
            _ = try await rig.store.cancel(first.job.id)
            try await rig.store.delete(first.job.id)
            try expect(try await rig.store.submit(changed).isNew, "the key is still in use")
        },
        ConformanceCase("a submission can be repeated when its queue is gone") { rig in
            let store = try await rig.store
            try await store.setQueue(QueueSettings(name: "old", hop: .init(after: 0, queue: "default")))
            var draft = JobDraft.simple(queue: "old")
            draft.idempotency = .init(key: "key", hash: "1")
            let job = try await store.submit(draft).job.id
            try await rig.advance(by: .seconds(1))
            _ = try await store.tend()
            try await store.removeQueue("old")
            try expectEqual(try await store.submit(draft).job.id, job)
        },
        ConformanceCase("one of many submissions with the same key is new") { rig in
            let store = try await rig.store
            var draft = JobDraft.simple()
            draft.idempotency = .init(key: "key", hash: "1")
            let same = draft
            let results = try await withThrowingTaskGroup(of: (JobID, Bool).self) { group in
                for _ in 0..<20 {
                    group.addTask {
                        let result = try await store.submit(same)
                        return (result.job.id, result.isNew)
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            try expectEqual(Set(results.map(\.0)).count, 1)
            try expectEqual(results.count { $0.1 }, 1)
        },
        ConformanceCase("what is submitted is there after a crash") { rig in
            let job = try await rig.store.submit(.simple()).job
            let other = try await rig.store.submit(.simple(["a", "b"])).job
            let claim = try await rig.store.take()
            try await rig.reopen()
            try expectEqual(try await rig.store.job(job.id).tasks[0].state, .running(claim.token))
            try expectEqual(try await rig.store.job(other.id).job, other)
            try await rig.store.complete(claim)
            try expectEqual(try await rig.store.state(job.id), .succeeded)
        },
        ConformanceCase("what does not exist is not found") { rig in
            let store = try await rig.store
            var generator = SystemRandomNumberGenerator()
            let id = JobID(at: StoreTime(milliseconds: 1), using: &generator)
            try await expectError(.notFound) { _ = try await store.job(id) }
            try await expectError(.notFound) { _ = try await store.cancel(id) }
            try await expectError(.notFound) { _ = try await store.retry(id) }
            try await expectError(.notFound) { try await store.delete(id) }
            try await expectError(.notFound) { _ = try await store.events(after: 0, of: id, limit: 1) }
            try await expectError(.notFound) { try await store.removeQueue("none") }
        },
    ]
}
