// SPDX-License-Identifier: GPL-2.0-or-later

import JobStore
import Synchronization

/// Measures claims of a full queue: how long they take, and whether the shares get what their weights say.
struct Claims {
    let location: String
    let jobs: Int
    let shares: Int
    let workers: Int

    /// Weights 1 to 4.
    private func weight(_ share: Int) -> Double { Double(1 + share % 4) }

    func run() async throws {
        let store = try await PostgreSQLJobStore(location: location, mostConnections: workers + 2)
        var settings = QueueSettings(name: QueueSettings.defaultName)
        for share in 0..<shares { settings.weights["\(share)"] = weight(share) }
        try await store.setQueue(settings)
        try await submit(store)
        let total = (0..<shares).map(weight).reduce(0, +)
        // As long as no share is empty.
        let claims = Int(Double(jobs / shares) / 4 * total * 0.9)
        let tally = Tally(left: claims)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<workers {
                group.addTask {
                    while tally.begin() {
                        let begin = ContinuousClock.now
                        guard let claim = try await store.claim(ClaimRequest(worker: "worker \(worker)")) else {
                            return
                        }
                        let time = begin.duration(to: .now) / .milliseconds(1)
                        tally.add(time, share: try await store.job(claim.task.job).job.share)
                        try await store.complete(claim.token, result: "{}", intent: "{}") {}
                    }
                }
            }
            try await group.waitForAll()
        }
        let sorted = tally.times
        func part(_ share: Double) -> Double { sorted[min(Int(Double(sorted.count) * share), sorted.count - 1)] }
        // Claims are whole numbers.
        let deviation = (0..<shares).map { share in
            let expected = Double(sorted.count) * weight(share) / total
            return max(abs(Double(tally.served("\(share)")) - expected) - 1, 0) / expected
        }.max()
        print(
            "claims: \(sorted.count) of \(jobs) jobs in \(shares) shares by \(workers) workers,",
            "p50 \(rounded(part(0.5))) ms, p99 \(rounded(part(0.99))) ms, longest \(rounded(part(1))) ms,",
            "largest deviation from the weights \(rounded((deviation ?? 1) * 100)) %"
        )
    }

    private func submit(_ store: PostgreSQLJobStore) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<workers {
                group.addTask {
                    for number in stride(from: worker, to: jobs, by: workers) {
                        let draft = JobDraft(
                            share: "\(number % shares)",
                            request: "{}",
                            tasks: [TaskDraft(kind: "encode")]
                        )
                        _ = try await store.submit(draft)
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    private func rounded(_ value: Double) -> Double { (value * 100).rounded() / 100 }
}

/// What was measured.
private final class Tally: Sendable {
    private struct State {
        var left: Int
        var times: [Double] = []
        var served: [String: Int] = [:]
    }

    private let state: Mutex<State>

    init(left: Int) { state = Mutex(State(left: left)) }

    /// Whether there is another claim to be made.
    func begin() -> Bool {
        state.withLock { state in
            state.left -= 1
            return state.left >= 0
        }
    }

    func add(_ time: Double, share: String) {
        state.withLock { state in
            state.times.append(time)
            state.served[share, default: 0] += 1
        }
    }

    /// In milliseconds, in ascending order.
    var times: [Double] { state.withLock { $0.times.sorted() } }

    func served(_ share: String) -> Int { state.withLock { $0.served[share] ?? 0 } }
}
