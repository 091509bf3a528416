// SPDX-License-Identifier: GPL-2.0-or-later

public import AudioCoding
public import MediaIO
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
    ///   - duration: The duration; invalid if the next picture ends it.
    ///   - options: The options of the frame, such as a forced key frame.
    /// - Returns: Whether the encoder accepted the picture or, in real-time mode, it was dropped; `nil` if it is before
    ///   the start or after the end of the session.
    /// - Throws: `invalidArgument` for a picture or a time that is not valid, which is then not used; `invalidState` if
    ///   no session is running or the input is finished; `cancelled` if the task is cancelled while it waits; the error
    ///   with which the writer failed.
    @discardableResult
    public func append(
        _ picture: PixelBuffer,
        at time: MediaTime,
        duration: MediaTime = .invalid,
        options: FrameOptions = .init()
    ) async throws(MediaError) -> FrameDisposition? {
        try await writer.append(picture, at: time, duration: duration, options: options, input: index)
    }

    /// Whether the input is not too far ahead of the others.
    public var isReadyForMoreMediaData: Bool { get async { await writer.isReady(index) } }

    /// Waits until the input is ready, the other inputs are finished, or ``AssetWriter/Options/patience`` has passed: an
    /// input that delivers nothing does not stop the others.
    ///
    /// - Throws: `cancelled`; `invalidState` if no session is running; the error with which the writer failed.
    public func waitUntilReady() async throws(MediaError) { try await writer.waitUntilReady(index) }

    /// Ends the input, so that others do not wait for it.
    public func markAsFinished() async { await writer.markAsFinished(index) }
}

/// The sound of an ``AssetWriter``, encoded from uncompressed buffers.
public struct AudioInput: Sendable {
    let writer: AssetWriter
    let index: Int
    /// The settings that the encoder could not use as given.
    public let adjustments: [Adjustment]

    /// Appends a buffer of any format. A buffer without a valid time follows the previous one.
    ///
    /// - Throws: `invalidState` if no session is running or the input is finished; the error with which the writer
    ///   failed.
    public func append(_ buffer: AudioBuffer) async throws(MediaError) { try await writer.append(buffer, input: index) }

    /// Whether the input is not too far ahead of the others.
    public var isReadyForMoreMediaData: Bool { get async { await writer.isReady(index) } }

    /// Waits until the input is ready; see ``VideoInput/waitUntilReady()``.
    ///
    /// - Throws: As ``VideoInput/waitUntilReady()``.
    public func waitUntilReady() async throws(MediaError) { try await writer.waitUntilReady(index) }

    /// Ends the input, so that others do not wait for it.
    public func markAsFinished() async { await writer.markAsFinished(index) }
}

/// A track of an ``AssetWriter`` whose packets are written as they are. Their times count from the start of the session.
public struct PacketInput: Sendable {
    let writer: AssetWriter
    let index: Int
    /// The track.
    public let track: MediaTrack

    /// Appends a packet of the track, in decoding order.
    ///
    /// - Throws: `malformedData` for a packet that is damaged, which is then not used; `invalidArgument` for a packet of
    ///   another track; `invalidState` if no session is running or the input is finished; the error with which the
    ///   writer failed.
    public func append(_ packet: MediaPacket) async throws(MediaError) { try await writer.append(packet, input: index) }

    /// Whether the input is not too far ahead of the others.
    public var isReadyForMoreMediaData: Bool { get async { await writer.isReady(index) } }

    /// Waits until the input is ready; see ``VideoInput/waitUntilReady()``.
    ///
    /// - Throws: As ``VideoInput/waitUntilReady()``.
    public func waitUntilReady() async throws(MediaError) { try await writer.waitUntilReady(index) }

    /// Ends the input, so that others do not wait for it.
    public func markAsFinished() async { await writer.markAsFinished(index) }
}
