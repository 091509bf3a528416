// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import VAToolbox

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
