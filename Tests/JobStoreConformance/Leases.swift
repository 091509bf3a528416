// SPDX-License-Identifier: GPL-2.0-or-later

import JobStore

extension ConformanceCase {
    static let leases: [ConformanceCase] = [
        ConformanceCase("a worker that is not heard of loses its task, and can do nothing any more") { rig in
            let store = try await rig.store
            let job = try await store.submit(.simple()).job.id
            let zombie = try await store.take("zombie")
            try await rig.advance(by: .seconds(14))
            try expect(try await store.tend().lost.isEmpty, "it was lost too early")
            try await rig.advance(by: .seconds(2))
            try expectEqual(try await store.tend().lost, [zombie.token])
            let heir = try await store.take("heir")
            try expectEqual(heir.task, zombie.task)
            try expect(heir.token > zombie.token && heir.number == 2, "\(heir)")
            try expectEqual(
                try await store.renew([Heartbeat(zombie.token)], for: .seconds(15)),
                [zombie.token: .isLost]
            )
            try await expectError(.staleAttempt) {
                try await store.complete(zombie.token, result: "{}", intent: "{}") {
                    throw ConformanceFailure(description: "a zombie has published")
                }
            }
            try await expectError(.staleAttempt) { try await store.fail(zombie.token, .final) }
            try await expectError(.staleAttempt) { try await store.release(zombie.token) }
            try await expectError(.staleAttempt) { try await store.settle(zombie.token, wasPublished: true) }
            try await store.complete(heir)
            let record = try await store.job(job)
            try expectEqual(record.job.state, .succeeded)
            try expectEqual(record.attempts.map(\.outcome), [.lost, .succeeded])
        },
        ConformanceCase("a worker that is heard of keeps its task, and its progress is known") { rig in
            let store = try await rig.store
            let job = try await store.submit(.simple()).job.id
            let claim = try await store.take()
            for second in 1...30 {
                try await rig.advance(by: .seconds(10))
                let progress: String? = second % 2 == 0 ? nil : "{\"frames\":\(second)}"
                let renewals = try await store.renew([Heartbeat(claim.token, progress: progress)], for: .seconds(15))
                try expectEqual(renewals, [claim.token: .continues])
                try expect(try await store.tend().lost.isEmpty, "it was lost")
                let told = try await store.job(job).attempts[0].progress
                try expectEqual(told, "{\"frames\":\(second - (second + 1) % 2)}")
            }
            try await store.complete(claim)
            try expectEqual(try await store.job(job).attempts[0].progress, #"{"frames":29}"#)
        },
        ConformanceCase("a lease that has ended goes on if nobody has taken the task away") { rig in
            let store = try await rig.store
            _ = try await store.submit(.simple())
            let claim = try await store.take()
            try await rig.advance(by: .seconds(60))
            try expectEqual(
                try await store.renew([Heartbeat(claim.token)], for: .seconds(15)),
                [claim.token: .continues]
            )
            try expect(try await store.tend().lost.isEmpty, "it was lost")
            try await store.complete(claim)
        },
        ConformanceCase("a task that loses its workers is given up") { rig in
            let store = try await rig.store
            let job = try await store.submit(.simple(retries: RetryPolicy(mostLosses: 3))).job.id
            for number in 1...3 {
                try expectEqual(try await store.take().number, number)
                try await rig.advance(by: .seconds(16))
                try expectEqual(try await store.tend().lost.count, 1)
            }
            let record = try await store.job(job)
            try expectEqual(record.job.state, .failed)
            try expectEqual(record.job.failure?.code, "worker-lost")
            try expect(try await store.claim() == nil, "it is given away again")
        },
        ConformanceCase("jumps of the system's clock have no effect") { rig in
            let store = try await rig.store
            let job = try await store.submit(.simple()).job
            let claim = try await store.take()
            for jump in [86400, -2 * 86400, 40 * 86400] {
                try await rig.jump(by: .seconds(jump))
                let report = try await rig.store.tend()
                try expect(report.lost.isEmpty && report.late.isEmpty && report.expired.isEmpty, "\(jump): \(report)")
            }
            try await rig.advance(by: .seconds(5))
            let other = try await store.submit(.simple()).job
            try expectEqual(other.created - job.created, .seconds(5))
            try await store.complete(claim)
        },
        ConformanceCase("time does not go back, whatever the system's clock does meanwhile") { rig in
            let first = try await rig.store.submit(.simple()).job
            let claim = try await rig.store.take()
            try await rig.jump(by: .seconds(-365 * 86400))
            try await rig.reopen()
            let second = try await rig.store.submit(.simple()).job
            try expect(second.created >= first.created, "\(second.created) before \(first.created)")
            try await rig.advance(by: .seconds(16))
            try expectEqual(try await rig.store.tend().lost, [claim.token])
        },
        ConformanceCase("time does not go back if all jobs are deleted") { rig in
            let first = try await rig.store.submit(.simple()).job
            _ = try await rig.store.cancel(first.id)
            try await rig.store.delete(first.id)
            _ = try await rig.store.tend()
            try await rig.jump(by: .seconds(-86400))
            try await rig.reopen()
            let second = try await rig.store.submit(.simple()).job
            try expect(second.created >= first.created, "\(second.created) before \(first.created)")
        },
        ConformanceCase("the tasks of workers that are gone are given back") { rig in
            let store = try await rig.store
            let job = try await store.submit(.simple(["a", "b", "c"], retries: RetryPolicy(mostLosses: 1))).job.id
            for worker in ["node_1/1", "node_1/2", "node%1/1"] { _ = try await store.take(worker) }
            try expectEqual(try await store.releaseAll(ofWorkersNamed: "node_1/"), 2)
            let record = try await store.job(job)
            try expectEqual(record.attempts.map(\.outcome), [.released, .released, nil])
            try expectEqual(try await store.take().task.index, 0)
            try expectEqual(try await store.take().number, 2)
        },
    ]
}
