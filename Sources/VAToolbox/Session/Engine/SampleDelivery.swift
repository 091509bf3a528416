// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaTypes
import Synchronization

extension CompressionSession {
    /// Receives the output of a session, as an alternative to iterating ``CompressionSession/samples``.
    ///
    /// It is called once for each sample in decoding order, never concurrently, on a thread of Swift's concurrency
    /// pool. If the session fails or is cancelled, the last call reports that error. While the handler runs, no other
    /// sample is taken, so a slow handler slows `encode` down. It must not wait for a call of the session. A handler
    /// that refers to the session keeps it alive until the session is over.
    public typealias OutputHandler = @Sendable (Result<SampleBuffer, MediaError>) -> Void
}

/// The only consumer of a session's output if there is an output handler.
final class SampleDelivery<Output: Sendable>: Sendable {
    typealias Handler = @Sendable (Result<Output, MediaError>) -> Void

    private struct State {
        var delivered = 0
        var isOver = false
        var waiting: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let queue: SampleQueue<Output>
    private let state = Mutex(State())

    /// Starts to call the handler, until the samples end.
    init(_ queue: SampleQueue<Output>, handler: @escaping Handler) {
        self.queue = queue
        guard queue.claim() else { return }
        Task.detached { await self.run(handler) }
    }

    /// Waits until the handler was called for everything that is in the queue now, including its end.
    func catchUp() async {
        let (appended, hasEnded) = queue.position
        let count = hasEnded ? .max : appended
        await withCheckedContinuation { continuation in
            let isDone = state.withLock { state in
                if state.isOver || state.delivered >= count { return true }
                state.waiting.append((count, continuation))
                return false
            }
            if isDone { continuation.resume() }
        }
    }

    private func run(_ handler: Handler) async {
        do {
            while let sample = try await queue.next() {
                handler(.success(sample))
                note { $0.delivered += 1 }
            }
        } catch {
            handler(.failure(error))
        }
        note { $0.isOver = true }
    }

    private func note(_ change: (inout State) -> Void) {
        let reached = state.withLock { state in
            change(&state)
            let (isOver, delivered) = (state.isOver, state.delivered)
            defer { state.waiting.removeAll { isOver || $0.count <= delivered } }
            return state.waiting.filter { isOver || $0.count <= delivered }
        }
        for waiting in reached { waiting.continuation.resume() }
    }
}
