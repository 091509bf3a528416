// SPDX-License-Identifier: GPL-2.0-or-later

import AudioCoding
import MediaTypes

/// What the comment of `AudioCompressionSession` shows.
func encodeOne(
    _ buffer: AudioBuffer,
    _ format: AudioFormat,
    consume: @escaping @Sendable (AudioSample) -> Void
) async throws {
    let session = try AudioCompressionSession(.voice, input: format)
    let consumer = Task { [samples = session.samples] in for try await sample in samples { consume(sample) } }
    try await session.encode(buffer)
    try await session.finish()
    try await consumer.value
}
