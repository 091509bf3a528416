// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes
internal import Synchronization
internal import VAToolbox

/// A decoder to measure.
struct DecodingSubject: Sendable, Hashable {
    /// The render node; `nil` for the CPU.
    var device: String?
    /// How the pictures are used; `nil` for the CPU.
    var transfer: DecodersReport.Transfer?
    /// The threads of the software decoder; 0 for one per processor.
    var threadCount = 0

    /// As in a report.
    var id: String { DecodersReport.Decoder.id(device: device, transfer: transfer) }

    /// The options of its sessions, which never continue with another decoder.
    var options: DecompressionOptions {
        var options = DecompressionOptions()
        options.policy = device.map { .devices([$0], software: false) } ?? .requireSoftware
        options.threadCount = threadCount
        if transfer == .zeroCopy { options.devicePictureLimit = DecompressionOptions.encoderPictureLimit }
        return options
    }
}

/// The session that is decoding, so that another thread can end it.
final class CurrentSession: Sendable {
    private struct State {
        var session: DecompressionSession?
        var isStopped = false
    }

    private let state = Mutex(State())

    /// Whether ``stop()`` was called.
    var isStopped: Bool { state.withLock { $0.isStopped } }

    /// Notes the session that begins; `nil` when it has ended.
    ///
    /// - Throws: `cancelled` after ``stop()``.
    func set(_ session: DecompressionSession?) throws(MediaError) {
        let isStopped = state.withLock { state in
            state.session = session
            return state.isStopped
        }
        if isStopped { throw Self.error }
    }

    /// Cancels the session, and refuses any further one. Safe on any thread.
    func stop() {
        state.withLock { state in
            state.isStopped = true
            return state.session
        }?.cancel()
    }

    static var error: MediaError { MediaError(.cancelled, "the benchmark was interrupted") }
}

/// Decodes samples with one session, from its creation to its end.
struct DecodingPass: Sendable {
    /// The decoder of the session.
    let decoder: DecoderDescription

    private let subject: DecodingSubject
    private let loaded: LoadedSamples
    private let current: CurrentSession
    private let session: DecompressionSession
    private let creationTime: Double

    /// Creates the session.
    ///
    /// - Throws: As the initializer of `DecompressionSession`; `cancelled`.
    init(_ subject: DecodingSubject, _ loaded: LoadedSamples, _ current: CurrentSession) async throws(MediaError) {
        (self.subject, self.loaded, self.current) = (subject, loaded, current)
        await Self.waitForHelpers()
        try current.set(nil)
        let begin = monotonicSeconds()
        session = try await DecompressionSession(formatDescription: loaded.format, options: subject.options)
        creationTime = monotonicSeconds() - begin
        guard let decoder = await session.decoder else {
            throw MediaError(.invalidState, "the session has no decoder")
        }
        self.decoder = decoder
    }

    /// Waits until the helper of the session before has ended, so that its end does not count for this one; at most a
    /// second.
    private static func waitForHelpers() async {
        let last = monotonicSeconds() + 1
        while !ProcessUsage.children.isEmpty, monotonicSeconds() < last {
            try? await Task.sleep(for: .milliseconds(2))
        }
    }

    /// Decodes every sample. Frames are released at once.
    ///
    /// - Parameter take: Receives each frame; what it does is part of the measured time.
    /// - Throws: The error of the session, or of `take`; `cancelled`.
    func run(
        _ take: @escaping @Sendable (DecodedFrame) throws(MediaError) -> Void = { _ in }
    ) async throws(MediaError) -> DecodersReport.Measurement {
        do throws(MediaError) {
            try current.set(session)
            let measurement = try await measure(take)
            try current.set(nil)
            return measurement
        } catch {
            session.cancel()
            throw current.isStopped ? CurrentSession.error : error
        }
    }

    private func measure(
        _ take: @escaping @Sendable (DecodedFrame) throws(MediaError) -> Void
    ) async throws(MediaError) -> DecodersReport.Measurement {
        let before = ProcessUsage.now
        let start = monotonicSeconds()
        let consumer = Task { [frames = session.frames, isOnDevice = subject.device != nil] in
            await Self.consume(frames, countingCopies: isOnDevice, take)
        }
        do throws(MediaError) {
            for sample in loaded.samples { try await session.decode(sample) }
            try await session.finish()
        } catch {
            session.cancel()
            // An error of the consumer has cancelled the session.
            throw await consumer.value.error ?? error
        }
        let consumed = await consumer.value
        let after = ProcessUsage.now
        if let error = consumed.error { throw error }
        guard let (first, last) = consumed.arrivals else {
            throw MediaError(.malformedData, "no picture could be decoded", given: loaded.input.path)
        }
        return DecodersReport.Measurement(
            wallTime: last - start,
            frames: consumed.frames,
            timeToFirstFrame: creationTime + (first - start),
            processorTime: after.time.total - before.time.total,
            copiedFrames: consumed.copies,
            failures: await session.statistics.failedDecoders
        )
    }

    private struct Consumed: Sendable {
        var frames = 0
        var copies = 0
        /// When the first and the last frame came.
        var arrivals: (first: Double, last: Double)?
        var error: MediaError?
    }

    private static func consume(
        _ frames: FrameSequence,
        countingCopies: Bool,
        _ take: @Sendable (DecodedFrame) throws(MediaError) -> Void
    ) async -> Consumed {
        var consumed = Consumed()
        do throws(MediaError) {
            for try await frame in frames {
                let now = monotonicSeconds()
                consumed.arrivals = (consumed.arrivals?.first ?? now, now)
                consumed.frames += 1
                if countingCopies, !frame.buffer.isOnDevice { consumed.copies += 1 }
                try take(frame)
            }
        } catch {
            consumed.error = error
        }
        return consumed
    }
}

extension PixelBuffer {
    /// Whether the picture was not copied to memory.
    fileprivate var isOnDevice: Bool {
        if case .deviceSurface = storage { true } else { false }
    }
}
