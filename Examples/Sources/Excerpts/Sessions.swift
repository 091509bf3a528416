// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import VAToolbox

/// What the comment of `CompressionSession` shows.
func encodeOne(_ buffer: PixelBuffer, consume: @escaping @Sendable (SampleBuffer) -> Void) async throws {
    let session = try await CompressionSession(configuration: .init(width: 1920, height: 1080))
    let consumer = Task { [samples = session.samples] in for try await sample in samples { consume(sample) } }
    try await session.encode(buffer, presentationTime: MediaTime(value: 0, timescale: 30))
    try await session.finish()
    try await consumer.value
}

/// What the article that comes from VideoToolbox shows of callbacks.
func makeSession(
    _ configuration: EncoderConfiguration,
    send: @escaping @Sendable (SampleBuffer) -> Void
) async throws -> CompressionSession {
    let session = try await CompressionSession(configuration: configuration) { result in
        switch result {
        case .success(let sample): send(sample)
        case .failure(let error): print("the session is over: \(error)")
        }
    }
    return session
}

/// What the article about files and streams shows of losses on the way to a receiver.
func encode(
    _ buffer: PixelBuffer,
    at time: MediaTime,
    lost: ClosedRange<MediaTime>?,
    isJoined: Bool,
    by session: CompressionSession
) async throws {
    var options = FrameOptions()
    options.forceKeyFrame = isJoined
    options.lostFrames = lost
    try await session.encode(buffer, presentationTime: time, options: options)
}
