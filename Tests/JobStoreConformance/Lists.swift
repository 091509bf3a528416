// SPDX-License-Identifier: GPL-2.0-or-later

import JobStore

extension ConformanceCase {
    static let lists: [ConformanceCase] = [
        ConformanceCase("a list has the jobs of its filter, page by page") { rig in
            let store = try await rig.store
            try await store.setQueue(QueueSettings(name: "other"))
            var jobs: [JobID] = []
            for number in 0..<12 {
                var draft = JobDraft.simple(
                    queue: number % 2 == 0 ? "default" : "other",
                    share: number % 3 == 0 ? "a" : "b"
                )
                draft.labels = ["parity": "\(number % 2)", "third": "\(number % 3)"]
                jobs.append(try await store.submit(draft).job.id)
            }
            func list(_ filter: JobFilter) async throws -> [Int] {
                var (found, position): ([Job], Int64?) = ([], nil)
                while true {
                    let page = try await store.jobs(filter, before: position, limit: 5)
                    found += page
                    guard let last = page.last else { break }
                    position = last.position
                }
                return found.map { jobs.firstIndex(of: $0.id) ?? -1 }
            }
            try expectEqual(try await list(JobFilter()), Array((0..<12).reversed()))
            try expectEqual(try await list(JobFilter(queue: "other")), [11, 9, 7, 5, 3, 1])
            try expectEqual(try await list(JobFilter(share: "a")), [9, 6, 3, 0])
            try expectEqual(try await list(JobFilter(labels: ["parity": "1", "third": "0"])), [9, 3])
            try expectEqual(try await list(JobFilter(labels: ["parity' OR '1": "1"])), [])
            _ = try await store.cancel(jobs[4])
            try await store.complete(try await store.take())
            try expectEqual(try await list(JobFilter(states: [.cancelled, .succeeded])), [4, 0])
            for limit in [0, 1001] {
                try await expectError(.invalidArgument) {
                    _ = try await store.jobs(JobFilter(), before: nil, limit: limit)
                }
            }
        },
        ConformanceCase("the records of a list are those of its jobs") { rig in
            let store = try await rig.store
            for _ in 0..<2 { _ = try await store.submit(.simple()) }
            try await store.complete(try await store.take())
            let running = try await store.take()
            for _ in 0..<3 { _ = try await store.submit(.simple()) }
            try await store.setQueue(QueueSettings(name: "paused", isPaused: true))
            _ = try await store.submit(.simple(queue: "paused"))
            let jobs = try await store.jobs(JobFilter(), before: nil, limit: 10)
            var expected: [JobRecord] = []
            for job in jobs { expected.append(try await store.job(job.id)) }
            try expectEqual(expected.map(\.waiting).map { $0 == nil }, [false, false, false, false, true, true])
            try expectEqual(try await store.records(JobFilter(), before: nil, limit: 10), expected)
            let page = try await store.records(JobFilter(queue: "default"), before: jobs[2].position, limit: 2)
            try expectEqual(page, Array(expected[3...4]))
            try expectEqual(page.last?.job.id, running.task.job)
            try await expectError(.invalidArgument) {
                _ = try await store.records(JobFilter(), before: nil, limit: 1001)
            }
        },
        ConformanceCase("events tell what has happened, from any of them on") { rig in
            let store = try await rig.store
            let first = try await store.submit(.simple()).job.id
            let second = try await store.submit(.simple()).job.id
            let claim = try await store.take("w")
            try await store.fail(claim.token, .passing)
            let next = try await store.take("w")
            try await store.complete(next)
            _ = try await store.cancel(second)
            let all = try await store.events(after: 0, of: nil, limit: 100)
            try expectEqual(try await store.lastEventNumber(), all.last?.number ?? 0)
            try expectEqual(
                all.filter { $0.job == first }.map(\.kind),
                [
                    .job(.waiting), .started(task: 0, claim.token, worker: "w"), .job(.running),
                    .ended(task: 0, claim.token, .failed(.passing)), .job(.waiting),
                    .started(task: 0, next.token, worker: "w"), .job(.running), .ended(task: 0, next.token, .succeeded),
                    .job(.succeeded),
                ]
            )
            try expectEqual(
                all.filter { $0.job == second }.map(\.kind),
                [.job(.waiting), .cancelRequested, .job(.cancelled)]
            )
            try expect(zip(all, all.dropFirst()).allSatisfy { $0.number < $1.number }, "numbers do not increase")
            try expectEqual(try await store.events(after: 0, of: second, limit: 100), all.filter { $0.job == second })
            var (pages, number): ([JobEvent], Int64) = ([], 0)
            while true {
                let page = try await store.events(after: number, of: nil, limit: 3)
                guard let last = page.last else { break }
                pages += page
                number = last.number
            }
            try expectEqual(pages, all)
        },
    ]
}
