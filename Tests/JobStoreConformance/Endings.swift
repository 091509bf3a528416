// SPDX-License-Identifier: GPL-2.0-or-later

import JobStore

extension ConformanceCase {
    static let endings: [ConformanceCase] = [
        ConformanceCase("a failure is tried again after a pause, up to the limit") { rig in
            let store = try await rig.store
            let retries = RetryPolicy(mostFailures: 3, pause: 10, longestPause: 15)
            let job = try await store.submit(.simple(retries: retries)).job.id
            for (number, pause) in [(1, 10), (2, 15)] {
                let claim = try await store.take()
                try expectEqual(claim.number, number)
                try await store.fail(claim.token, .passing)
                try expect(try await store.claim() == nil, "it is given away at once")
                guard case .pause? = try await store.job(job).waiting else {
                    throw ConformanceFailure(description: "it does not wait for the pause")
                }
                try await rig.advance(by: .milliseconds(pause * 500 - 1))
                try expect(try await store.claim() == nil, "it is given away too early")
                try await rig.advance(by: .milliseconds(pause * 500 + 1))
            }
            let last = try await store.take()
            try expectEqual(last.lastFailure, .passing)
            try await store.fail(last.token, .passing)
            let record = try await store.job(job)
            try expectEqual(record.job.state, .failed)
            try expectEqual(record.job.failure, .passing)
            try expectEqual(record.tasks[0].failures, 3)
            try expectEqual(record.attempts.map(\.outcome), Array(repeating: .failed(.passing), count: 3))
        },
        ConformanceCase("a failure that nothing can change is final, and ends the other tasks") { rig in
            let store = try await rig.store
            var draft = JobDraft.simple(["a", "b", "c", "d"])
            draft.tasks[3].dependencies = [2]
            let job = try await store.submit(draft).job.id
            let (first, second) = (try await store.take(), try await store.take())
            try await store.fail(first.token, .final)
            try expectEqual(try await store.state(job), .running)
            try expect(try await store.claim() == nil, "a task of a failed job is given away")
            let renewals = try await store.renew([Heartbeat(second.token)], for: .seconds(15))
            try expectEqual(renewals, [second.token: .isCancelled])
            try await expectError(.cancelled) {
                try await store.complete(second.token, result: "{}", intent: "{}") {
                    throw ConformanceFailure(description: "a failed job has published")
                }
            }
            try await store.release(second.token)
            let record = try await store.job(job)
            try expectEqual(record.job.state, .failed)
            try expectEqual(record.job.failure, .final)
            try expectEqual(record.tasks.map(\.state), [.failed, .cancelled, .cancelled, .cancelled])
            try expect(record.job.ended != nil, "it has no end")
        },
        ConformanceCase("a task that is given back has not failed") { rig in
            let store = try await rig.store
            let job = try await store.submit(.simple(retries: RetryPolicy(mostFailures: 1, mostLosses: 1))).job.id
            for _ in 0..<20 { try await store.release(try await store.take().token) }
            try expectEqual(try await store.state(job), .waiting)
            try await store.complete(try await store.take())
            try expectEqual(try await store.state(job), .succeeded)
        },
        ConformanceCase("a job that waits is cancelled at once") { rig in
            let store = try await rig.store
            let job = try await store.submit(.simple(["a", "b"])).job.id
            try expectEqual(try await store.cancel(job).state, .cancelled)
            try expect(try await store.claim() == nil, "it is given away")
            let again = try await store.cancel(job)
            try expectEqual(again.state, .cancelled)
        },
        ConformanceCase("a job that runs is cancelled when its worker ends, and publishes nothing") { rig in
            let store = try await rig.store
            let job = try await store.submit(.simple(["a", "b"])).job.id
            let claim = try await store.take()
            let cancelled = try await store.cancel(job)
            try expect(cancelled.state == .running && cancelled.isCancelRequested, "\(cancelled)")
            try await expectError(.cancelled) {
                try await store.complete(claim.token, result: "{}", intent: "{}") {
                    throw ConformanceFailure(description: "a cancelled job has published")
                }
            }
            try await store.fail(claim.token, .passing)
            let record = try await store.job(job)
            try expectEqual(record.job.state, .cancelled)
            try expectEqual(record.tasks.map(\.state), [.cancelled, .cancelled])
            try await expectError(.staleAttempt) { try await store.release(claim.token) }
        },
        ConformanceCase("a cancelled job whose worker was lost ends") { rig in
            let store = try await rig.store
            let job = try await store.submit(.simple()).job.id
            _ = try await store.take()
            _ = try await store.cancel(job)
            try await rig.advance(by: .seconds(16))
            _ = try await store.tend()
            try expectEqual(try await store.state(job), .cancelled)
        },
        ConformanceCase("an ended job is not cancelled any more") { rig in
            let store = try await rig.store
            let job = try await store.submit(.simple()).job.id
            try await store.complete(try await store.take())
            let after = try await store.cancel(job)
            try expect(after.state == .succeeded && !after.isCancelRequested, "\(after)")
            try await expectError(.invalidState) { _ = try await store.retry(job) }
        },
        ConformanceCase("a retry does again what did not succeed") { rig in
            let store = try await rig.store
            var draft = JobDraft.simple(["a", "b", "c"])
            draft.tasks[1].dependencies = [0]
            draft.tasks[2].dependencies = [1]
            let job = try await store.submit(draft).job.id
            try await expectError(.invalidState) { _ = try await store.retry(job) }
            try await store.complete(try await store.take(), result: "1")
            try await store.fail(try await store.take().token, .final)
            try expectEqual(try await store.state(job), .failed)
            let retried = try await store.retry(job)
            try expect(!retried.state.isFinal && retried.failure == nil && retried.ended == nil, "\(retried)")
            let second = try await store.take()
            try expectEqual(second.task.index, 1)
            try expectEqual(second.results, [0: "1"])
            try await store.complete(second)
            try await store.complete(try await store.take())
            try expectEqual(try await store.state(job), .succeeded)
        },
        ConformanceCase("a job fails at its time limit") { rig in
            let store = try await rig.store
            var draft = JobDraft.simple(["a", "b"])
            draft.timeLimit = .seconds(100)
            let (running, waiting) = (try await store.submit(draft).job.id, try await store.submit(draft).job.id)
            let claim = try await store.take()
            try expectEqual(claim.task.job, running)
            try await rig.advance(by: .seconds(99))
            _ = try await store.renew([Heartbeat(claim.token)], for: .seconds(60))
            try expect(try await store.tend().late.isEmpty, "too early")
            try await rig.advance(by: .seconds(2))
            try expectEqual(Set(try await store.tend().late), [running, waiting])
            try expect(try await store.tend().late.isEmpty, "twice")
            try expectEqual(try await store.state(waiting), .failed)
            try expectEqual(
                try await store.renew([Heartbeat(claim.token)], for: .seconds(15)),
                [claim.token: .isCancelled]
            )
            try await store.release(claim.token)
            let job = try await store.job(running).job
            try expectEqual(job.state, .failed)
            try expectEqual(job.failure?.code, "time-limit-exceeded")
        },
        ConformanceCase("a cancelled job that still runs does not fail at its time limit") { rig in
            let store = try await rig.store
            var draft = JobDraft.simple()
            draft.timeLimit = .seconds(5)
            let job = try await store.submit(draft).job.id
            let claim = try await store.take()
            _ = try await store.cancel(job)
            try await rig.advance(by: .seconds(10))
            try expect(try await store.tend().late.isEmpty, "it is late")
            try await store.release(claim.token)
            try expectEqual(try await store.state(job), .cancelled)
        },
        ConformanceCase("a job is kept for its retention, and deleted with all that belongs to it") { rig in
            let store = try await rig.store
            var draft = JobDraft.simple()
            draft.retention = .seconds(100)
            draft.labels = ["a": "b"]
            let job = try await store.submit(draft).job.id
            try await expectError(.invalidState) { try await store.delete(job) }
            try await store.complete(try await store.take())
            try await rig.advance(by: .seconds(99))
            try expect(try await store.tend().expired.isEmpty, "too early")
            try await rig.advance(by: .seconds(2))
            try expectEqual(try await store.tend().expired, [job])
            try await store.delete(job)
            try await expectError(.notFound) { _ = try await store.job(job) }
            try expect(try await store.events(after: 0, of: nil, limit: 10).isEmpty, "its events are left")
            try expect(try await store.tend().expired.isEmpty, "it has expired again")
        },
    ]
}
