// SPDX-License-Identifier: GPL-2.0-or-later

public import AudioCoding
public import MediaIO
public import MediaTimeline
public import MediaTypes
public import VAToolbox

/// The video of an ``AssetWriter``: the counterpart of `AVAssetWriterInputPixelBufferAdaptor`.
public struct VideoInput: Sendable {
    let writer: AssetWriter
    let index: Int
    /// The session that encodes the pictures: its encoder, events, statistics and pool of buffers. Only the writer
    /// encodes with it and finishes it.
    public let session: CompressionSession

    /// Appends a picture of any size and format; the session converts and scales it.
    ///
    /// - Parameters:
    ///   - picture: The picture. It is retained until it is encoded.
    ///   - time: The presentation time on the sources' clock, after that of the previous picture.
    ///   - duration: The duration; invalid means until the next picture.
    ///   - options: The options of the frame, such as a forced key frame.
    ///   - token: Any value; the sample carries it to the sink of the writer.
    /// - Returns: What became of the picture: accepted, or dropped in real-time mode; `nil` if it is outside the session.
    /// - Throws: `invalidArgument` for a picture or a time that is not valid, without which the writer continues;
    ///   `invalidState` if no session is running or the input is finished; `cancelled` if the task is cancelled while it waits; the error
    ///   with which the writer failed.
    @discardableResult
    public func append(
        _ picture: PixelBuffer,
        at time: MediaTime,
        duration: MediaTime = .invalid,
        options: FrameOptions = .init(),
        token: (any Sendable)? = nil
    ) async throws(MediaError) -> FrameDisposition? {
        try await writer.append(
            picture,
            at: time,
            duration: duration,
            options: options,
            token: token,
            input: index
        )
    }

    /// Whether the input is at most ``AssetWriter/Options/interleaving`` ahead of the others.
    public var isReadyForMoreMediaData: Bool { get async { await writer.isReady(index) } }

    /// Waits until the input is ready, at most for ``AssetWriter/Options/patience``, so that an input that delivers nothing
    /// does not block the others.
    ///
    /// - Throws: `cancelled`; `invalidState` if no session is running; the error with which the writer failed.
    public func waitUntilReady() async throws(MediaError) { try await writer.waitUntilReady(index) }

    /// Ends the input, so that others do not wait for it.
    public func markAsFinished() async { await writer.markAsFinished(index) }
}

/// The audio of an ``AssetWriter``, encoded from uncompressed buffers.
public struct AudioInput: Sendable {
    let writer: AssetWriter
    let index: Int
    /// The settings that the encoder could not use as given.
    public let adjustments: [Adjustment]

    /// Appends a buffer of any format. A buffer without a valid time follows the previous one. Audio outside the session
    /// is dropped.
    ///
    /// - Throws: `invalidState` if no session is running or the input is finished; the error with which the writer failed,
    ///   which may be that of this buffer: `invalidArgument` for its sample rate, `unsupported` for its format.
    public func append(_ buffer: AudioBuffer) async throws(MediaError) { try await writer.append(buffer, input: index) }

    /// Appends the next buffer of a capture device by its time of arrival, instead of its own time, which is ignored.
    ///
    /// A device's clock drifts from that of the system, and buffers arrive late by a varying delay. A `DeviceClock` of the
    /// input removes both; see ``deviceClock``. Read the arrival from the clock whose times the pictures have, as soon as
    /// the buffer is there, and subtract the latency of the device if it is known. Append all buffers of an input
    /// this way, or none.
    ///
    /// - Parameters:
    ///   - buffer: The buffer.
    ///   - arrival: When its last frame arrived, on the clock that all inputs share, such as `CLOCK_MONOTONIC`; invalid if it
    ///     is not known.
    ///   - lostFrames: The number of frames before the buffer that the device reports as lost.
    /// - Throws: As ``append(_:)``.
    public func append(
        _ buffer: AudioBuffer,
        arrival: MediaTime,
        lostFrames: Int = 0
    ) async throws(MediaError) {
        try await writer.append(buffer, arrival: arrival, lostFrames: lostFrames, input: index)
    }

    /// The estimate of the device's clock, with its drift; `nil` before the first buffer with an arrival.
    public var deviceClock: DeviceClock? { get async { await writer.clock(index) } }

    /// Whether the input is at most ``AssetWriter/Options/interleaving`` ahead of the others.
    public var isReadyForMoreMediaData: Bool { get async { await writer.isReady(index) } }

    /// Waits until the input is ready; see ``VideoInput/waitUntilReady()``.
    ///
    /// - Throws: As ``VideoInput/waitUntilReady()``.
    public func waitUntilReady() async throws(MediaError) { try await writer.waitUntilReady(index) }

    /// Ends the input, so that others do not wait for it.
    public func markAsFinished() async { await writer.markAsFinished(index) }
}

/// The video of an ``AssetWriter`` that is coded already, as by a camera.
public struct CodedVideoInput: Sendable {
    let writer: AssetWriter
    let index: Int

    /// Appends a sample, in decoding order, with times on the sources' clock. A session that splits its files can do so at
    /// key frames.
    ///
    /// - Throws: `invalidArgument` for a time that is not valid, without which the writer continues; `invalidState` if no
    ///   session is running or the input is finished; the error with which the writer failed.
    public func append(_ sample: SampleBuffer) async throws(MediaError) {
        try await writer.append(sample, input: index)
    }

    /// Ends the input, so that others do not wait for it.
    public func markAsFinished() async { await writer.markAsFinished(index) }
}

/// A track of an ``AssetWriter`` whose packets are written as they are. Unlike those of other inputs, their times count from
/// the start of the session.
public struct PacketInput: Sendable {
    let writer: AssetWriter
    let index: Int
    /// The track.
    public let track: MediaTrack

    /// Appends a packet of the track, in decoding order.
    ///
    /// - Throws: `malformedData` for a damaged packet, without which the writer continues; `invalidArgument` for a packet of
    ///   another track; `invalidState` if no session is running or the input is finished; the error with which the
    ///   writer failed.
    public func append(_ packet: MediaPacket) async throws(MediaError) {
        try await writer.append(packet, of: track, input: index)
    }

    /// Whether the input is at most ``AssetWriter/Options/interleaving`` ahead of the others.
    public var isReadyForMoreMediaData: Bool { get async { await writer.isReady(index) } }

    /// Waits until the input is ready; see ``VideoInput/waitUntilReady()``.
    ///
    /// - Throws: As ``VideoInput/waitUntilReady()``.
    public func waitUntilReady() async throws(MediaError) { try await writer.waitUntilReady(index) }

    /// Ends the input, so that others do not wait for it.
    public func markAsFinished() async { await writer.markAsFinished(index) }
}
