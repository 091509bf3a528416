// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import VAToolbox

/// A session of small cost whose samples are taken and counted while it goes on.
struct CountedSession: Sendable {
    let session: CompressionSession
    private let consumer: Task<Int, any Error>

    /// Makes it.
    ///
    /// - Parameter selection: Its one encoder.
    init(width: Int, height: Int, _ selection: EncoderSelection) async throws {
        var configuration = EncoderConfiguration(width: width, height: height)
        configuration.codec = .h264
        configuration.isLowLatency = true
        configuration.software.preset = .ultrafast
        configuration.software.threads = 1
        session = try await CompressionSession(configuration: configuration, selection: selection)
        consumer = Task { [samples = session.samples] in
            var count = 0
            for try await _ in samples { count += 1 }
            return count
        }
    }

    /// Encodes buffers of the session's pool as they are.
    ///
    /// - Parameter afterEach: Called with the number of each frame when it is accepted.
    func encode(_ frames: Int, afterEach: (Int) -> Void = { _ in }) async throws {
        for number in 0..<frames {
            let buffer = try session.pixelBufferPool.make()
            try await session.encode(buffer, presentationTime: MediaTime(value: Int64(number), timescale: 30))
            afterEach(number)
        }
    }

    /// Ends it.
    ///
    /// - Throws: What the session throws; `invalidState` unless there was a sample for each of so many frames.
    func finish(expecting frames: Int) async throws {
        try await session.finish()
        let count = try await consumer.value
        guard count == frames else {
            throw MediaError(.invalidState, "frames were lost", given: "\(count)", allowed: "\(frames)")
        }
    }
}
