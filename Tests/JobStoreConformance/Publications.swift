// SPDX-License-Identifier: GPL-2.0-or-later

import JobStore
import Synchronization

extension ConformanceCase {
    static let publications: [ConformanceCase] = [
        ConformanceCase("what is published is completed, once") { rig in
            let store = try await rig.store
            let job = try await store.submit(.simple()).job.id
            let claim = try await store.take()
            let published = PublicationCount()
            try await store.complete(claim.token, result: "7", intent: "{}") { published.add() }
            try expectEqual(published.value, 1)
            try await expectError(.staleAttempt) {
                try await store.complete(claim.token, result: "8", intent: "{}") { published.add() }
            }
            try expectEqual(published.value, 1)
            try expectEqual(try await store.job(job).tasks[0].result, "7")
            try expect(try await store.unsettledAttempts().isEmpty, "it is unsettled")
        },
        ConformanceCase("an attempt that fails while it publishes is settled by who knows what came of it") { rig in
            let job = try await rig.store.submit(.simple(retries: RetryPolicy(mostFailures: 1, mostLosses: 1))).job.id
            for wasPublished in [false, true] {
                let claim = try await rig.store.take("node/1")
                try await expectError(.publishFailed) {
                    try await rig.store.complete(claim.token, result: "5", intent: #"{"hash":"x"}"#) { throw Refusal() }
                }
                // Nobody else gets the task.
                try await rig.advance(by: .seconds(3600))
                try expect(try await rig.store.tend().lost.isEmpty, "it was lost")
                try expectEqual(try await rig.store.releaseAll(ofWorkersNamed: "node"), 0)
                try expect(try await rig.store.claim() == nil, "it was given away")
                try await rig.reopen()
                let unsettled = try await rig.store.unsettledAttempts()
                try expectEqual(unsettled.map(\.token), [claim.token])
                try expectEqual(unsettled[0].task, claim.task)
                try expectEqual(
                    [unsettled[0].worker, unsettled[0].result, unsettled[0].intent],
                    ["node/1", "5", #"{"hash":"x"}"#]
                )
                try await rig.store.settle(claim.token, wasPublished: wasPublished)
                try expect(try await rig.store.unsettledAttempts().isEmpty, "it is still unsettled")
                try expectEqual(try await rig.store.state(job), wasPublished ? .succeeded : .waiting)
                let token = claim.token
                try await expectError(.staleAttempt) { try await rig.store.settle(token, wasPublished: true) }
            }
            try expectEqual(try await rig.store.job(job).tasks[0].result, "5")
        },
        ConformanceCase("an attempt that has begun to publish ends only by being settled") { rig in
            let store = try await rig.store
            let job = try await store.submit(.simple()).job.id
            let claim = try await store.take()
            try await expectError(.publishFailed) {
                try await store.complete(claim.token, result: "5", intent: "{}") { throw Refusal() }
            }
            try await expectError(.unsettled) { try await store.complete(claim, result: "6") }
            try await expectError(.unsettled) { try await store.fail(claim.token, .passing) }
            try await expectError(.unsettled) { try await store.release(claim.token) }
            try expect(try await store.claim() == nil, "it was given away")
            try await store.settle(claim.token, wasPublished: true)
            try expectEqual(try await store.job(job).tasks[0].result, "5")
            try expectEqual(try await store.state(job), .succeeded)
        },
        ConformanceCase("what was published before its job was cancelled has succeeded") { rig in
            let store = try await rig.store
            for isLast in [true, false] {
                let job = try await store.submit(.simple(isLast ? ["a"] : ["a", "b"])).job.id
                let claim = try await store.take()
                try await expectError(.publishFailed) {
                    try await store.complete(claim.token, result: "5", intent: "{}") { throw Refusal() }
                }
                _ = try await store.cancel(job)
                try await store.settle(claim.token, wasPublished: true)
                let record = try await store.job(job)
                try expectEqual(record.tasks[0].state, .succeeded)
                try expectEqual(record.tasks[0].result, "5")
                try expectEqual(record.job.state, isLast ? .succeeded : .cancelled)
                guard !isLast else { continue }
                // A retry does the rest, and not that again.
                _ = try await store.retry(job)
                try expectEqual(try await store.take().task.index, 1)
            }
        },
        ConformanceCase("a job that is cancelled while it publishes is published or cancelled") { rig in
            let store = try await rig.store
            for _ in 0..<50 {
                let job = try await store.submit(.simple()).job.id
                let claim = try await store.take()
                let published = PublicationCount()
                async let cancellation = store.cancel(job)
                do {
                    try await store.complete(claim.token, result: "1", intent: "{}") { published.add() }
                } catch let error as StoreError where error.code == .cancelled {
                    try expectEqual(published.value, 0)
                    try await store.release(claim.token)
                }
                _ = try await cancellation
                let state = try await store.state(job)
                try expectEqual(state, published.value == 1 ? .succeeded : .cancelled)
                try expect(try await store.unsettledAttempts().isEmpty, "it is unsettled")
            }
        },
        ConformanceCase("an attempt that has not begun to publish is not settled") { rig in
            let store = try await rig.store
            _ = try await store.submit(.simple())
            let claim = try await store.take()
            try await expectError(.staleAttempt) { try await store.settle(claim.token, wasPublished: true) }
            try await store.complete(claim)
        },
        ConformanceCase("a call whose task is cancelled is completed") { rig in
            let store = try await rig.store
            let job = try await store.submit(.simple()).job.id
            let claim = try await store.take()
            let task = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                try await store.complete(claim, result: "1")
            }
            try await task.value
            try expectEqual(try await store.state(job), .succeeded)
        },
    ]

    private struct Refusal: Error {}
}

private final class PublicationCount: Sendable {
    private let count = Mutex(0)
    var value: Int { count.withLock { $0 } }
    func add() { count.withLock { $0 += 1 } }
}
