// SPDX-License-Identifier: GPL-2.0-or-later

public import Logging
public import MediaTimeline
public import MediaTypes

/// Encodes audio without blocking the caller's thread: the counterpart of `CompressionSession` for sound.
///
/// Everything that ``encode(_:)`` accepts comes out of ``samples`` exactly once, in order and with its time, as
/// ``AudioEncoder`` describes. The work is done on a thread of the session.
///
/// ```swift
/// let session = try AudioCompressionSession(.voice, input: format)
/// let consumer = Task { [samples = session.samples] in for try await sample in samples { consume(sample) } }
/// try await session.encode(buffer)
/// try await session.finish()
/// try await consumer.value
/// ```
///
/// Releasing a session without ``finish()`` cancels it, so a consumer should capture ``samples`` and not the session.
public final class AudioCompressionSession: Sendable {
    /// How a session behaves.
    public struct Options: Sendable {
        /// The time at which the audio is cut; `nil` for none.
        public var end: MediaTime?
        /// The thresholds for gaps and drift.
        public var policy = AudioPlacement.Policy.device
        /// `encode` waits when more bytes than this are queued for the consumer; at least 1.
        public var highWaterMark = 1 << 20
        /// It continues when fewer bytes than this are queued; 1...``highWaterMark``.
        public var lowWaterMark = 1 << 19
        /// Receives FFmpeg's messages, like `MediaLog.logger`; `nil` leaves them to that logger.
        public var logger: Logger?

        /// Makes the defaults.
        public init() {}
    }

    /// The counters of a session.
    public struct Statistics: Sendable, Hashable {
        /// The number of buffers that were accepted.
        public var acceptedBuffers = 0
        /// The number of frames in them.
        public var acceptedFrames = 0
        /// The number of samples that were queued for the consumer.
        public var sampleCount = 0
        /// The number of bytes in them.
        public var byteCount = 0
        /// The duration of the audio that was encoded, from zero and without priming.
        public var duration = MediaTime.zero
        /// What was inserted, skipped and corrected.
        public var placement: AudioPlacement
    }

    /// The coded samples, in order. They have one consumer; a second iteration throws. Stopping before the end cancels the
    /// session; see ``AudioSampleSequence``.
    public let samples: AudioSampleSequence
    /// The description of the output.
    public let description: AudioStreamDescription
    /// The differences between the settings and the output.
    public let adjustments: [Adjustment]

    private let core: AudioSessionCore

    /// Creates a session.
    ///
    /// - Parameters:
    ///   - settings: The codec, bitrate, rate, channels and gain.
    ///   - input: The format of the first buffer. It supplies the values that the settings leave `nil`.
    ///   - options: How the session behaves.
    /// - Throws: `invalidArgument` if a setting is out of range; `unavailable` if FFmpeg was built without the encoder;
    ///   `unsupported` if the encoder or the conversion does not support a value; `outOfMemory`.
    public init(
        _ settings: AudioEncoderSettings,
        input: AudioFormat,
        options: Options = .init()
    ) throws(MediaError) {
        guard options.lowWaterMark >= 1, options.lowWaterMark <= options.highWaterMark else {
            throw MediaError(
                .invalidArgument,
                "the water marks are out of range",
                given: "\(options.lowWaterMark) and \(options.highWaterMark) bytes",
                allowed: "at least 1 byte, and the low one not above the high one"
            )
        }
        let encoder = try AudioEncoder(
            settings,
            input: input,
            end: options.end,
            policy: options.policy,
            logger: options.logger
        )
        (description, adjustments) = (encoder.description, encoder.adjustments)
        core = AudioSessionCore(encoder, marks: (options.lowWaterMark, options.highWaterMark))
        samples = AudioSampleSequence(queue: core.queue)
    }

    deinit { core.cancel() }

    /// Encodes a buffer.
    ///
    /// The call waits while the consumer of ``samples`` is behind, or while the silence of a long gap is encoded. If it is
    /// cancelled while it waits, the buffer is not accepted. Buffers of concurrent calls are accepted in the order of the
    /// calls.
    ///
    /// - Parameter buffer: The audio, of any format.
    /// - Throws: `invalidArgument` for a sample rate out of range, `unsupported` if the format cannot be converted (the
    ///   buffer was not accepted, the session continues); `cancelled`; `invalidState` after ``finish()``; the error of the
    ///   session when it has failed.
    public func encode(_ buffer: AudioBuffer) async throws(MediaError) { try await core.encode(buffer) }

    /// Waits until the samples of everything that was accepted are queued in ``samples``, regardless of the water marks.
    ///
    /// Frames that do not fill a packet yet, and the last packet, stay in the encoder: only more audio or ``finish()`` shows
    /// how they continue. At 48 kHz, this is up to 64 ms of AAC. Calls of ``encode(_:)`` that wait are not included.
    ///
    /// - Throws: The error of the session if it has failed; `cancelled`; `invalidState` after ``finish()``.
    public func flush() async throws(MediaError) { try await core.flush() }

    /// Waits until everything that was accepted is queued in ``samples``, and ends them. Calling it again does nothing.
    ///
    /// No more buffers are accepted; waiting calls of ``encode(_:)`` throw `invalidState`.
    ///
    /// - Throws: The error of the session if it has failed; `cancelled` if the session was cancelled.
    public func finish() async throws(MediaError) { try await core.finish() }

    /// Ends the session immediately. Waiting calls and the iteration of ``samples`` throw `cancelled`; samples that were not
    /// consumed are discarded.
    public func cancel() { core.cancel() }

    /// The counters of the session.
    public var statistics: Statistics { get async { await core.statistics } }
}

/// The coded samples of an ``AudioCompressionSession``, in order.
public typealias AudioSampleSequence = OutputSequence<AudioSample>
