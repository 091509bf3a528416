// SPDX-License-Identifier: GPL-2.0-or-later

internal import NIOCore
internal import NIOPosix
internal import Synchronization

/// Calls that wait for the disk of the data folder, on threads that may wait. A call is completed even if its task is
/// cancelled: what a cancelled task has written can still be removed.
enum FileWork {
    /// Runs a call to its end, even if the calling task is cancelled: cleaning up is most needed then.
    static func run<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await WaitingThreads.dataFolder.run(body)
    }
}

/// Threads of their own for calls that others can make wait for long: only calls of the same kind wait behind them.
struct WaitingThreads: Sendable {
    private let pool: NIOThreadPool

    /// - Parameter count: How many calls may wait at the same time.
    init(count: Int) {
        pool = NIOThreadPool(numberOfThreads: count)
        pool.start()
    }

    /// Work on the data folder: some calls wait until the disk has written, and most must not wait for these.
    static let dataFolder = WaitingThreads(count: max(8, 2 * System.coreCount))
    /// Looks at what the kernel counts, which may wait for a driver.
    static let load = WaitingThreads(count: 1)
    /// Look-ups of host names.
    static let names = WaitingThreads(count: 4)
    /// Work on media roots, which may be on a network file system.
    static let mediaRoots = WaitingThreads(count: 4)

    /// Runs a call to its end, even if the calling task is cancelled.
    func run<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await Task { [pool] in try await pool.runIfActive(body) }.value
    }

    /// Runs a call, and gives up waiting for it after a time or when the calling task is cancelled; the call itself may
    /// stay on its thread. A call that no thread has begun by then is not made.
    ///
    /// - Returns: `nil` if the time has passed.
    /// - Throws: `CancellationError`.
    func run<Value: Sendable>(
        within seconds: Double,
        _ body: @escaping @Sendable () -> Value
    ) async throws -> Value? {
        let (outcomes, outcome) = AsyncStream.makeStream(of: Value?.self, bufferingPolicy: .bufferingOldest(1))
        let isGivenUp = Shared(Mutex(false))
        pool.submit { state in
            guard case .active = state, !isGivenUp.value.withLock({ $0 }) else { return outcome.finish() }
            outcome.yield(body())
        }
        let limit = Task {
            try await Task.sleep(for: .seconds(seconds))
            outcome.yield(nil)
        }
        defer {
            limit.cancel()
            isGivenUp.value.withLock { $0 = true }
        }
        for await value in outcomes { return value }
        throw CancellationError()
    }

    private final class Shared<Value: ~Copyable & Sendable>: Sendable {
        let value: Value
        init(_ value: consuming Value) { self.value = value }
    }
}
