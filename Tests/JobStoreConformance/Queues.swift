// SPDX-License-Identifier: GPL-2.0-or-later

import JobStore

extension ConformanceCase {
    static let queues: [ConformanceCase] = [
        ConformanceCase("the default queue is there, and stays") { rig in
            let store = try await rig.store
            try expectEqual(try await store.queues().map(\.settings), [QueueSettings(name: "default")])
            try await expectError(.invalidState) { try await store.removeQueue("default") }
        },
        ConformanceCase("a paused queue drains") { rig in
            let store = try await rig.store
            let job = try await store.submit(.simple(["a", "b"])).job.id
            let claim = try await store.take()
            try await store.setQueue(QueueSettings(name: "default", isPaused: true))
            try expect(try await store.claim() == nil, "a task was given away")
            let status = try await store.queues()[0]
            try expect(status.running == 1 && status.ready == 1 && !status.isDrained, "\(status)")
            try await store.complete(claim)
            try expect(try await store.queues()[0].isDrained, "it is not drained")
            try expectEqual(try await store.job(job).waiting, .queuePaused)
            try expect(try await store.submit(.simple()).isNew, "nothing can be submitted")
            try await store.setQueue(QueueSettings(name: "default"))
            try expectEqual(try await store.take().task.job, job)
        },
        ConformanceCase("no more tasks of a queue run than may") { rig in
            let store = try await rig.store
            try await store.setQueue(QueueSettings(name: "two", mostRunning: 2))
            let job = try await store.submit(.simple(["a", "b", "c"], queue: "two")).job.id
            let other = try await store.submit(.simple(queue: "two")).job.id
            let first = try await store.take()
            _ = try await store.take()
            try expect(try await store.claim() == nil, "a third one runs")
            try expectEqual(try await store.job(other).waiting, .queueFull(most: 2))
            try expectEqual(try await store.job(job).waiting, nil)
            try await store.complete(first)
            try expectEqual(try await store.take().task.job, job)
        },
        ConformanceCase("a queue is open in its windows") { rig in
            let store = try await rig.store
            let job = try await store.submit(.simple()).job
            // The window begins in an hour.
            let minute = Int(job.created.milliseconds / 60_000 % 1440)
            let start = (minute + 60) % 1440
            let window = TimeWindow(days: [1, 2, 3, 4, 5, 6, 7], start: start, length: 120)
            try await store.setQueue(QueueSettings(name: "default", windows: [window]))
            try expect(try await store.claim() == nil, "it is open too early")
            try expectEqual(try await store.job(job.id).waiting, .queueClosed)
            try await rig.advance(by: .seconds(3600))
            try await rig.store.complete(try await rig.store.take())
            _ = try await rig.store.submit(.simple())
            try await rig.advance(by: .seconds(7200))
            try expect(try await rig.store.claim() == nil, "it is still open")
        },
        ConformanceCase("jobs that have waited too long move on") { rig in
            let store = try await rig.store
            try await store.setQueue(QueueSettings(name: "cpu"))
            let hop = QueueSettings.Hop(after: 60, queue: "cpu")
            try await store.setQueue(QueueSettings(name: "gpu", isPaused: true, hop: hop))
            let job = try await store.submit(.simple(["a", "b"], queue: "gpu")).job.id
            try await rig.advance(by: .seconds(59))
            try expect(try await store.tend().moved.isEmpty, "too early")
            try await rig.advance(by: .seconds(2))
            try expectEqual(try await store.tend().moved, [job])
            try expectEqual(try await store.job(job).job.queue, "cpu")
            try expectEqual(try await store.queues().map(\.ready), [2, 0, 0])
            try await rig.advance(by: .seconds(61))
            try expect(try await store.tend().moved.isEmpty, "it moved again")
            try expectEqual(try await store.take().task.job, job)
        },
        ConformanceCase("a job that has run does not move on at once") { rig in
            let store = try await rig.store
            try await store.setQueue(QueueSettings(name: "cpu"))
            try await store.setQueue(QueueSettings(name: "gpu", hop: .init(after: 60, queue: "cpu")))
            let job = try await store.submit(.simple(queue: "gpu")).job.id
            let claim = try await store.claim(ClaimRequest(worker: "w", lease: .seconds(7200)))
            try await rig.advance(by: .seconds(3600))
            try await store.release(try require(claim).token)
            try await rig.advance(by: .seconds(59))
            try expect(try await store.tend().moved.isEmpty, "too early")
            try await rig.advance(by: .seconds(2))
            try expectEqual(try await store.tend().moved, [job])
        },
        ConformanceCase("a limit holds among many workers at once") { rig in
            let store = try await rig.store
            try await store.setQueue(QueueSettings(name: "default", mostRunning: 3))
            for _ in 0..<20 { _ = try await store.submit(.simple()) }
            let taken = try await withThrowingTaskGroup(of: Bool.self) { group in
                for worker in 0..<16 { group.addTask { try await store.claim("w\(worker)") != nil } }
                return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            }
            try expectEqual(taken, 3)
        },
        ConformanceCase("a queue in use is not removed") { rig in
            let store = try await rig.store
            try await store.setQueue(QueueSettings(name: "cpu"))
            let hop = QueueSettings.Hop(after: 60, queue: "cpu")
            try await store.setQueue(QueueSettings(name: "gpu", hop: hop))
            try await expectError(.invalidState) { try await store.removeQueue("cpu") }
            let job = try await store.submit(.simple(queue: "gpu")).job.id
            try await expectError(.invalidState) { try await store.removeQueue("gpu") }
            _ = try await store.cancel(job)
            try await store.delete(job)
            try await store.removeQueue("gpu")
            try await store.removeQueue("cpu")
            try expectEqual(try await store.queues().map(\.settings.name), ["default"])
        },
        ConformanceCase("settings of a queue that cannot be are refused") { rig in
            let store = try await rig.store
            let wrong = [
                QueueSettings(name: ""), QueueSettings(name: "a b"), QueueSettings(name: "Ä"),
                QueueSettings(name: String(repeating: "q", count: 65)), QueueSettings(name: "q", mostRunning: -1),
                QueueSettings(name: "q", windows: [TimeWindow(days: [], start: 0, length: 1)]),
                QueueSettings(name: "q", windows: [TimeWindow(days: [8], start: 0, length: 1)]),
                QueueSettings(name: "q", windows: [TimeWindow(days: [1], start: 1440, length: 1)]),
                QueueSettings(name: "q", windows: [TimeWindow(days: [1], start: 0, length: 0)]),
                QueueSettings(name: "q", hop: .init(after: -1, queue: "default")),
                QueueSettings(name: "q", hop: .init(after: 1, queue: "q")),
                QueueSettings(name: "q", weights: ["a": 0]), QueueSettings(name: "q", weights: ["a": 1e-4]),
                QueueSettings(name: "q", weights: ["a": .nan]),
            ]
            for settings in wrong {
                let error = try await expectError(.invalidArgument) { try await store.setQueue(settings) }
                try expect(error.given != nil && error.allowed != nil, "\(error)")
            }
            let nowhere = QueueSettings(name: "q", hop: .init(after: 1, queue: "none"))
            try await expectError(.notFound) { try await store.setQueue(nowhere) }
            try expectEqual(try await store.queues().count, 1)
        },
        ConformanceCase("it is told why a job waits") { rig in
            let store = try await rig.store
            let demand = Demand(abilities: ["encode:hevc"])
            let first = try await store.submit(.simple(priority: 10)).job.id
            let second = try await store.submit(.simple(priority: 60)).job.id
            let third = try await store.submit(.simple(demand: demand)).job.id
            try expectEqual(try await store.job(first).waiting, .worker(tasksBefore: 2, Demand()))
            try expectEqual(try await store.job(second).waiting, .worker(tasksBefore: 0, Demand()))
            try expectEqual(try await store.job(third).waiting, .worker(tasksBefore: 1, demand))
            // Those of a paused queue are before nobody.
            try await store.setQueue(QueueSettings(name: "paused", isPaused: true))
            _ = try await store.submit(.simple(queue: "paused", priority: 90))
            try expectEqual(try await store.job(third).waiting, .worker(tasksBefore: 1, demand))
            let claim = try await store.take()
            try expectEqual(try await store.job(claim.task.job).waiting, nil)
            try await store.complete(claim)
            try expectEqual(try await store.job(claim.task.job).waiting, nil)
        },
    ]
}
