// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaTypes
import Synchronization

/// Encodes pictures to H.264 or HEVC: the counterpart of `VTCompressionSession`.
///
/// Every frame that ``encode(_:presentationTime:duration:options:token:)`` accepts comes out of ``samples`` exactly
/// once, in decoding order, with its times and the caller's token, whichever encoder does the work, even if an encoder
/// fails.
///
/// ```swift
/// let session = try await CompressionSession(configuration: .init(width: 1920, height: 1080))
/// let consumer = Task { [samples = session.samples] in for try await sample in samples { consume(sample) } }
/// try await session.encode(buffer, presentationTime: MediaTime(value: 0, timescale: 30))
/// try await session.finish()
/// try await consumer.value
/// ```
///
/// Releasing a session without ``finish()`` cancels it, so a consumer should capture ``samples`` and not the session.
public final class CompressionSession: Sendable {
    /// The coded samples, in decoding order. They have one consumer, which is the output handler if there is one; a
    /// second iteration throws. Stopping before the end cancels the session; see ``SampleSequence``.
    public let samples: SampleSequence
    /// Events of the session, for logs. The newest 1024 are kept until they are read. The stream ends with the session.
    public let events: AsyncStream<SessionEvent>
    /// Buffers of the configured size, in the pixel format and the type of memory that the encoder prefers.
    public let pixelBufferPool: PixelBufferPool
    /// Settings that differ from the request, as determined before an encoder was chosen.
    public let adjustments: [Adjustment]

    let engine: SessionEngine
    private let delivery: SampleDelivery<SampleBuffer>?
    let mailbox: SessionMailbox
    private let current: CurrentEncoder
    private let first: EncoderDescription
    /// Posts a refresh after a system suspend; `nil` if that affects no encoder of this session.
    private let sleepListener: SystemSleep.Listener?

    /// Creates a session with the best available encoder for a configuration.
    ///
    /// - Parameters:
    ///   - configuration: The settings of the session, such as size, codec and rate control.
    ///   - options: How the session behaves.
    ///   - outputHandler: Receives the samples instead of ``samples``.
    /// - Throws: `invalidArgument` for an invalid value, `unavailable` or `unsupported` if no encoder that the policy
    ///   allows supports the configuration, otherwise the last error of the last candidate.
    public convenience init(
        configuration: EncoderConfiguration,
        options: SessionOptions = .init(),
        outputHandler: OutputHandler? = nil
    ) async throws(MediaError) {
        try options.validate()
        try await self.init(
            configuration: configuration,
            options: options,
            selection: try await Self.selection(for: configuration, options),
            outputHandler: outputHandler
        )
    }

    /// Selects encoders on a separate thread, so that other tasks of the program continue meanwhile. With GPUs, this
    /// opens render nodes, which may wake the GPUs, and takes locks that other processes may hold.
    private static func selection(
        for configuration: EncoderConfiguration,
        _ options: SessionOptions
    ) async throws(MediaError) -> EncoderSelection {
        let select = { @Sendable () throws(MediaError) -> EncoderSelection in
            try EncoderSelector(logger: options.logger).select(for: configuration, policy: options.policy)
                .isolated(options.isolation, in: options.helpers, limits: options.limits, logger: options.logger)
                .guarded(options.devices, in: options.helpers, for: configuration, logger: options.logger)
        }
        if options.policy == .requireSoftware { return try select() }
        return try await PlainThread.result(name: "vt-select", select)
    }

    /// Creates a session that may use these encoders, in this order.
    ///
    /// - Parameters:
    ///   - configuration: The settings of the session, such as size, codec and rate control.
    ///   - options: How the session behaves.
    ///   - selection: The encoders.
    ///   - outputHandler: Receives the samples instead of ``samples``.
    /// - Throws: `invalidArgument` for an invalid value, `unavailable` if there is no candidate, otherwise the last
    ///   error of the last candidate.
    public init(
        configuration: EncoderConfiguration,
        options: SessionOptions = .init(),
        selection: EncoderSelection,
        outputHandler: OutputHandler? = nil
    ) async throws(MediaError) {
        try options.validate()
        guard let best = selection.candidates.first else { throw selection.emptyError }
        let valid = try configuration.validated(for: best.codec)
        let mailbox = SessionMailbox()
        let queue = SampleQueue<SampleBuffer>(
            marks: (options.waterMarks.low, options.waterMarks.high),
            byteCount: { $0.data.count },
            onCaughtUp: { mailbox.post(.consumer(isSlow: false)) },
            onAbandoned: { mailbox.post(.samplesAbandoned) }
        )
        let current = CurrentEncoder()
        let (events, continuation) = AsyncStream.makeStream(
            of: SessionEvent.self,
            bufferingPolicy: .bufferingNewest(1024)
        )
        for adjustment in valid.adjustments { continuation.yield(.adjusted(adjustment)) }
        let machine = SessionMachine(
            configuration: valid.configuration,
            selection: selection,
            options: options,
            now: .now
        )
        let engine = SessionEngine(machine: machine, mailbox: mailbox, queue: queue) { event in
            guard let event else { return continuation.finish() }
            if case .encoderCreated(let description) = event { current.description.withLock { $0 = description } }
            continuation.yield(event)
        }
        mailbox.connect(engine)
        _ = try await engine.call { .start($0) }
        guard let encoder = current.description.withLock({ $0 }) else {
            throw MediaError(.creationFailed, "no encoder was created")
        }

        pixelBufferPool = try PixelBufferPool(
            PixelBuffer.Description(
                format: encoder.properties.pixelFormats.first ?? .nv12,
                width: valid.configuration.width,
                height: valid.configuration.height,
                color: valid.configuration.color ?? .unspecified,
                pixelAspectRatio: valid.configuration.pixelAspectRatio ?? .one
            ),
            memory: encoder.preferredMemory
        )
        self.engine = engine
        delivery = outputHandler.map { SampleDelivery(queue, handler: $0) }
        self.mailbox = mailbox
        self.current = current
        first = encoder
        sleepListener = Self.sleepListener(options, selection, mailbox)
        self.events = events
        samples = SampleSequence(queue: queue)
        adjustments = valid.adjustments
    }

    deinit { mailbox.post(.cancel) }

    private static func sleepListener(
        _ options: SessionOptions,
        _ selection: EncoderSelection,
        _ mailbox: SessionMailbox
    ) -> SystemSleep.Listener? {
        guard options.refreshesOnResume, selection.candidates.contains(where: \.identity.isHardware) else { return nil }
        return options.systemSleep.listen { mailbox.post(.refresh(.resume)) }
    }

    /// The encoder in use, with its codec, profile and level, and the reason for its selection.
    public var encoder: EncoderDescription {
        current.description.withLock { $0 } ?? first
    }

    /// The options of a configuration that the encoder in use supports.
    public var supportedProperties: Set<EncoderOption> { encoder.properties.supportedProperties }

    /// Counters of the session.
    public var statistics: SessionStatistics {
        get async { await engine.statistics }
    }

    /// Submits a picture to the encoder.
    ///
    /// Without real-time mode, the call waits while the encoder is busy or the consumer of ``samples`` is behind. If
    /// the call is cancelled while it waits, the frame is not accepted. In real-time mode, the call never waits.
    ///
    /// - Parameters:
    ///   - buffer: The picture, which must not change afterwards. Other sizes and pixel formats are converted.
    ///   - presentationTime: The presentation time, later than that of the previous frame.
    ///   - duration: The display duration, if known; the sample carries it.
    ///   - options: Key frame, quantizer, references. An option that the encoder does not support
    ///     (``supportedProperties``) is refused. If the encoder is later replaced by one without the option, the option
    ///     is dropped and reported.
    ///   - token: Any value; the sample carries it.
    /// - Returns: `accepted`, or what real-time mode did with the frame.
    /// - Throws: `invalidArgument`, `unsupported` (the frame was not accepted, the session continues); `cancelled`;
    ///   `invalidState` after ``finish()``; the error of the session when it has failed.
    @discardableResult
    public func encode(
        _ buffer: PixelBuffer,
        presentationTime: MediaTime,
        duration: MediaTime = .invalid,
        options: FrameOptions = .init(),
        token: (any Sendable)? = nil
    ) async throws(MediaError) -> FrameDisposition {
        try buffer.attachments.validate()
        sleepListener?.look()
        let frame = EncoderFrame(
            number: 0,
            buffer: buffer,
            presentationTime: presentationTime,
            duration: duration,
            options: options
        )
        return try await engine.call { .encode(frame, token: token, $0) }
    }

    /// Waits until every accepted frame is queued in ``samples``, regardless of the water marks; with an output
    /// handler, until it was called for them.
    ///
    /// In real-time mode, waiting frames are accepted first. Frames whose `encode` call is suspended are not included.
    ///
    /// Flushing costs bits if the encoder uses lookahead or reorders frames: it is drained and starts again with an IDR
    /// picture. An encoder that holds no frames back, as with ``MediaTypes/EncoderConfiguration/isLowLatency``, simply
    /// continues.
    ///
    /// - Throws: The error of the session if it has failed; `cancelled`, in which case the frames are still delivered.
    public func flush() async throws(MediaError) {
        try await complete { .flush($0) }
    }

    /// Changes bitrate, peak, quality, quantizer or frame rate for the frames that are accepted from now on.
    ///
    /// Returns when the encoder uses the new settings. An encoder that cannot change them while it runs is replaced at
    /// the next group boundary; the call does not wait for the new one.
    ///
    /// - Throws: `invalidArgument` for an invalid value or one of another rate control mode.
    public func update(_ update: EncoderUpdate) async throws(MediaError) {
        _ = try await engine.call { .update(update, $0) }
    }

    /// Replaces the encoder by a new one of the same kind at the next group boundary. No frame is lost.
    public func refresh() { mailbox.post(.refresh(.requested)) }

    /// Waits until every accepted frame is queued in ``samples`` and ends them; with an output handler, until the
    /// handler was called for the last time. Calling it again does nothing.
    ///
    /// No more frames are accepted; suspended `encode` calls throw `invalidState`. When this call returns, the session
    /// has released its encoders and their devices, unless one hangs.
    ///
    /// - Throws: The error of the session if it has failed; `cancelled`, in which case the session still finishes.
    public func finish() async throws(MediaError) {
        do {
            try await complete { .finish($0) }
        } catch {
            // A cancelled caller does not wait for the release.
            if error.code != .cancelled || !Task.isCancelled { await engine.waitForRelease() }
            throw error
        }
        await engine.waitForRelease()
    }

    private func complete(
        _ input: sending (SessionMachine.WaiterID) -> SessionMachine.Input
    ) async throws(MediaError) {
        do {
            _ = try await engine.call(input)
        } catch {
            await delivery?.catchUp()
            throw error
        }
        await delivery?.catchUp()
    }

    /// Ends the session immediately. Suspended calls and the iteration of ``samples`` throw `cancelled`; samples that
    /// were not consumed are discarded.
    public func cancel() { mailbox.post(.cancel) }
}

/// The encoder in use, readable from any thread.
private final class CurrentEncoder: Sendable {
    let description = Mutex<EncoderDescription?>(nil)
}
