// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaTypes

/// Decodes H.264 or HEVC to pictures: the counterpart of `VTDecompressionSession`.
///
/// Every sample that ``decode(_:isShown:token:)`` accepts is decoded once as far as the caller sees, and its frame comes
/// out of ``frames`` exactly once, in presentation order (but see ``DecompressionOptions/order``), with its times and the
/// caller's token, whichever decoder does the work, even if a decoder fails: another one begins at the last random access
/// point, and what it decodes again stays hidden.
///
/// Film grain that an SEI message describes (H.274) is not added, so that all decoders return the same samples.
///
/// ```swift
/// let session = try await DecompressionSession(formatDescription: first.formatDescription)
/// let consumer = Task { [frames = session.frames] in for try await frame in frames { show(frame) } }
/// for sample in samples { try await session.decode(sample) }
/// try await session.finish()
/// try await consumer.value
/// ```
///
/// Releasing a session without ``finish()`` cancels it, so a consumer should capture ``frames`` and not the session.
public final class DecompressionSession: Sendable {
    /// The decoded frames, in the order of ``DecompressionOptions/order``. They have one consumer, which is the output handler if there is one.
    /// Stopping before the end cancels the session; see ``MediaTypes/OutputSequence``.
    public let frames: FrameSequence
    /// Events of the session, for logs. The newest 1024 are kept until they are read. The stream ends with the session.
    public let events: AsyncStream<DecompressionEvent>

    private let core: DecodingCore
    private let delivery: SampleDelivery<DecodedFrame>?

    /// Receives the frames of a session, as an alternative to iterating ``frames``.
    ///
    /// It is called once for each frame in the same order, never concurrently, on a thread of Swift's concurrency
    /// pool. If the session fails or is cancelled, the last call reports that error. A slow handler slows `decode` down.
    /// It must not wait for a call of the session.
    public typealias OutputHandler = @Sendable (Result<DecodedFrame, MediaError>) -> Void

    /// Creates a session with the best available decoder that ``DecompressionOptions/policy`` allows.
    ///
    /// - Parameters:
    ///   - formatDescription: The format of the first sample.
    ///   - options: How the session behaves.
    ///   - outputHandler: Receives the frames instead of ``frames``.
    /// - Throws: `invalidArgument` for an invalid option, `malformedData` if the parameter sets cannot be parsed,
    ///   `unsupported` if no decoder supports the format, `unavailable` if none can be used, with the reasons.
    public convenience init(
        formatDescription: FormatDescription,
        options: DecompressionOptions = .init(),
        outputHandler: OutputHandler? = nil
    ) async throws(MediaError) {
        try await self.init(
            formatDescription: formatDescription,
            options: options,
            selection: try Self.selection(formatDescription, options),
            outputHandler: outputHandler
        )
    }

    /// Creates a session that may use these decoders, in this order.
    ///
    /// - Parameters:
    ///   - formatDescription: The format of the first sample.
    ///   - options: How the session behaves.
    ///   - candidates: The decoders, best first. Each gets as many attempts as the options say; a permanent refusal is
    ///     not repeated.
    ///   - outputHandler: Receives the frames instead of ``frames``.
    /// - Throws: `invalidArgument` for an invalid option, `unavailable` if there is no candidate, otherwise the error of
    ///   the last candidate.
    public convenience init(
        formatDescription: FormatDescription,
        options: DecompressionOptions = .init(),
        candidates: [DecoderCandidate],
        outputHandler: OutputHandler? = nil
    ) async throws(MediaError) {
        try await self.init(
            formatDescription: formatDescription,
            options: options,
            selection: DecoderSelection(candidates: candidates, rejected: []),
            outputHandler: outputHandler
        )
    }

    /// Creates a session that may use the decoders of a selection.
    init(
        formatDescription: FormatDescription,
        options: DecompressionOptions = .init(),
        selection: DecoderSelection,
        outputHandler: OutputHandler? = nil
    ) async throws(MediaError) {
        try options.validate()
        let (events, continuation) = AsyncStream.makeStream(
            of: DecompressionEvent.self,
            bufferingPolicy: .bufferingNewest(1024)
        )
        let core = DecodingCore(formatDescription, selection, options: options) { event in
            guard let event else { return continuation.finish() }
            continuation.yield(event)
        }
        self.core = core
        self.events = events
        frames = FrameSequence(queue: core.queue)
        delivery = outputHandler.map { SampleDelivery(core.queue, handler: $0) }
        try await core.start()
    }

    private static func selection(
        _ format: FormatDescription,
        _ options: DecompressionOptions
    ) throws(MediaError) -> DecoderSelection {
        try options.validate()
        return try DecoderSelector(options).select(format)
    }

    deinit { core.cancel() }

    /// The decoder in use, and the reason for its selection.
    public var decoder: DecoderDescription? { get async { await core.description } }

    /// The counters of the session.
    public var statistics: DecompressionStatistics { get async { core.statistics } }

    /// Submits a sample to the decoder.
    ///
    /// The call waits while the consumer of ``frames`` is behind (``DecompressionOptions/waitingFrames``), and while the
    /// decoder is busy. If it is cancelled while it waits, the sample is not accepted.
    ///
    /// - Parameters:
    ///   - sample: The next sample in decoding order. The format description may change at a random access point. Damaged
    ///     data is no error: see ``DecodedFrame/isDamaged``.
    ///   - isShown: Whether the frame is wanted. If it is not, it is decoded only if other samples refer to it.
    ///   - token: Any value; the frame carries it.
    /// - Throws: `malformedData` if the sample has no NAL units or wrong lengths (it was not accepted, the session
    ///   continues); `cancelled`; `invalidState` after ``finish()``; the error of the session when it has failed.
    public func decode(
        _ sample: SampleBuffer,
        isShown: Bool = true,
        token: (any Sendable)? = nil
    ) async throws(MediaError) {
        try await core.decode(sample, isShown: isShown, token: token)
    }

    /// Submits a sample like ``decode(_:isShown:token:)``, without waiting and from any thread. The caller limits how many
    /// samples wait, and may call ``finish()`` when all are accepted.
    ///
    /// - Parameter done: Receives the outcome, on any thread; must not block.
    package func submit(
        _ sample: SampleBuffer,
        token: (any Sendable)? = nil,
        done: @escaping @Sendable (Result<Void, MediaError>) -> Void
    ) {
        core.enqueue(sample, token: token, done: done)
    }

    /// Waits until the frame of every accepted sample is queued in ``frames``, regardless of how many wait; with an output
    /// handler, until it was called for them.
    ///
    /// Decoding continues with the next sample. If that is no IDR picture, the samples since the last random access point
    /// are decoded again, without showing their frames, because a decoder that has returned everything keeps nothing. If
    /// these were released (``DecompressionOptions/replayByteLimit``), frames are lost up to the next random access point.
    ///
    /// - Throws: The error of the session if it has failed; `invalidState` after ``finish()``.
    public func flush() async throws(MediaError) {
        try await core.flush()
        await delivery?.catchUp()
    }

    /// Waits until the frame of every accepted sample is queued in ``frames``, and ends them; with an output handler, until
    /// the handler was called for the last time. Calling it again does nothing.
    ///
    /// No more samples are accepted; waiting calls of `decode` throw `invalidState`.
    ///
    /// - Throws: The error of the session if it has failed.
    public func finish() async throws(MediaError) {
        try await core.finish()
        await core.settle()
        await delivery?.catchUp()
    }

    /// Ends the session. The iteration of ``frames`` throws `cancelled` immediately, and frames that were not consumed are
    /// discarded. Calls throw `cancelled`: at once if the decoder is in a helper process, even if it is stuck there;
    /// otherwise when it has returned from the call that it is in.
    public func cancel() { core.cancel() }
}
