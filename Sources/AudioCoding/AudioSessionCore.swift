// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes
internal import Synchronization

/// The encoder of an ``AudioCompressionSession`` on a thread of its own, and the calls that wait for it.
///
/// A buffer is accepted when the encoder has consumed the previous one and the consumer of the samples is not behind. If the
/// consumer falls behind in the middle of a buffer, the rest of it stays in the encoder until the consumer has caught up.
actor AudioSessionCore {
    private typealias Outcome = Result<Void, MediaError>

    /// A call of `encode` that waits.
    private struct Waiting {
        var id: UInt64
        var buffer: AudioBuffer
        var continuation: CheckedContinuation<Outcome, Never>
    }

    private enum Phase {
        case running
        case finished
        case failed(MediaError)
    }

    nonisolated let queue: SampleQueue<AudioSample>
    private nonisolated let executor = ThreadExecutor(name: "vt-audio")
    private nonisolated let isCancelled = Atomic(false)
    private nonisolated let lastID = Atomic<UInt64>(0)
    private let encoder: AudioEncoder
    private var phase = Phase.running
    /// Whether the encoder still holds parts of an accepted buffer, or of the end.
    private var hasRest = false
    private var waiting: [Waiting] = []
    private var counters = (buffers: 0, frames: 0, samples: 0, bytes: 0)

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// - Parameter encoder: The encoder, which nothing else uses.
    init(_ encoder: sending AudioEncoder, marks: (low: Int, high: Int)) {
        let owner = WeakReference<AudioSessionCore>()
        self.encoder = encoder
        queue = SampleQueue(
            marks: marks,
            byteCount: { $0.data.count },
            onCaughtUp: { owner.object.map { core in _ = Task { await core.pump() } } },
            onAbandoned: { owner.object?.cancel() }
        )
        owner.object = self
    }

    // MARK: - Calls

    nonisolated func encode(_ buffer: AudioBuffer) async throws(MediaError) {
        let id = lastID.add(1, ordering: .relaxed).newValue
        let outcome = await withTaskCancellationHandler {
            await wait(id, buffer)
        } onCancel: {
            Task { await revoke(id) }
        }
        try outcome.get()
    }

    private func wait(_ id: UInt64, _ buffer: AudioBuffer) async -> Outcome {
        await withCheckedContinuation { continuation in
            // A cancellation after this check is handled after this call.
            if Task.isCancelled { return continuation.resume(returning: .failure(Self.callCancellation)) }
            waiting.append(Waiting(id: id, buffer: buffer, continuation: continuation))
            do throws(MediaError) {
                try checkRunning()
                pump()
            } catch {
                resumeAll(error)
            }
        }
    }

    private func revoke(_ id: UInt64) {
        guard let index = waiting.firstIndex(where: { $0.id == id }) else { return }
        waiting.remove(at: index).continuation.resume(returning: .failure(Self.callCancellation))
    }

    func flush() throws(MediaError) {
        try checkRunning()
        pump(ignoringMarks: true)
        try checkRunning()
    }

    func finish() throws(MediaError) {
        if case .finished = phase { return }
        try checkRunning()
        resumeAll(Self.finishedError)
        pump(ignoringMarks: true)
        encoder.sendEnd()
        hasRest = true
        pump(ignoringMarks: true)
        try checkRunning()
        phase = .finished
        queue.end(.finished)
    }

    /// Ends everything at once; safe on any thread, and without waiting for the encoder.
    nonisolated func cancel() {
        guard !isCancelled.exchange(true, ordering: .acquiringAndReleasing) else { return }
        queue.end(.cancelled(Self.cancellation))
        Task { await fail(Self.cancellation) }
    }

    var statistics: AudioCompressionSession.Statistics {
        AudioCompressionSession.Statistics(
            acceptedBuffers: counters.buffers,
            acceptedFrames: counters.frames,
            sampleCount: counters.samples,
            byteCount: counters.bytes,
            duration: encoder.duration,
            placement: encoder.placement
        )
    }

    // MARK: - Work

    /// Encodes what there is and accepts buffers, until the consumer is behind.
    ///
    /// - Parameter ignoringMarks: Whether the rest of the accepted buffer is encoded in any case. No buffer is accepted then.
    private func pump(ignoringMarks: Bool = false) {
        do throws(MediaError) {
            while case .running = phase, !isCancelled.load(ordering: .acquiring), ignoringMarks || !queue.isSlow {
                if hasRest {
                    try receive()
                } else if !waiting.isEmpty, !ignoringMarks {
                    try accept(waiting.removeFirst())
                } else {
                    return
                }
            }
        } catch {
            fail(error)
        }
    }

    private func receive() throws(MediaError) {
        guard let sample = try encoder.receive() else {
            hasRest = false
            return
        }
        counters.samples += 1
        counters.bytes += sample.data.count
        queue.append([sample])
    }

    private func accept(_ call: Waiting) throws(MediaError) {
        do throws(MediaError) {
            try encoder.send(call.buffer)
        } catch {
            call.continuation.resume(returning: .failure(error))
            // The encoder has refused the buffer before it has changed anything.
            if error.code == .invalidArgument || error.code == .unsupported { return }
            throw error
        }
        hasRest = true
        counters.buffers += 1
        counters.frames += call.buffer.frameCount
        call.continuation.resume(returning: .success(()))
    }

    private func fail(_ error: MediaError) {
        guard case .running = phase else { return }
        phase = .failed(error)
        queue.end(.failed(error))
        resumeAll(error)
    }

    private func resumeAll(_ error: MediaError) {
        let calls = waiting
        waiting = []
        for call in calls { call.continuation.resume(returning: .failure(error)) }
    }

    private func checkRunning() throws(MediaError) {
        switch phase {
        case .running: if isCancelled.load(ordering: .acquiring) { throw Self.cancellation }
        case .finished: throw Self.finishedError
        case .failed(let error): throw error
        }
    }

    private static let callCancellation = MediaError(.cancelled, "the call was cancelled")
    private static let cancellation = MediaError(.cancelled, "the audio session was cancelled")
    private static let finishedError = MediaError(.invalidState, "the audio session is finished")
}
