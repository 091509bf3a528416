// SPDX-License-Identifier: GPL-2.0-or-later

internal import JobStore
internal import ServiceAPI
internal import Synchronization

/// How far the tasks are that run here, as of now.
final class LiveProgress: Sendable {
    struct Entry: Sendable, Hashable {
        var task: TaskID
        var progress: Progress
    }
    private let state = Mutex<[AttemptToken: Entry]>([:])

    func set(_ token: AttemptToken, of task: TaskID, _ progress: Progress) {
        state.withLock { $0[token] = Entry(task: task, progress: progress) }
    }
    func remove(_ token: AttemptToken) { state.withLock { $0[token] = nil } }
    func progress(of token: AttemptToken) -> Progress? { state.withLock { $0[token]?.progress } }
    var all: [AttemptToken: Entry] { state.withLock { $0 } }
}

/// Tells those who watch that something has changed.
final class ChangeSignal: Sendable {
    private struct State {
        var next = 0
        var watchers: [Int: AsyncStream<Void>.Continuation] = [:]
    }
    private let state = Mutex(State())

    /// Wakes all watchers.
    func send() {
        for watcher in state.withLock({ Array($0.watchers.values) }) { watcher.yield() }
    }

    /// Changes from now on, the present state first. Several before the watcher looks again are one.
    func changes() -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let number = state.withLock { state in
            state.next += 1
            state.watchers[state.next] = continuation
            return state.next
        }
        continuation.yield()
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { _ = $0.watchers.removeValue(forKey: number) }
        }
        return stream
    }
}

extension ChangeSignal {
    /// The same, and at least so often.
    func changes(orEvery interval: Duration) -> AsyncStream<Void> {
        let changes = changes()
        let (stream, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let forwarding = Task { for await _ in changes { continuation.yield() } }
        let timer = Task {
            while (try? await Task.sleep(for: interval)) != nil { continuation.yield() }
        }
        continuation.onTermination = { _ in
            forwarding.cancel()
            timer.cancel()
        }
        return stream
    }
}
