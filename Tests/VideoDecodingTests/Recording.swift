// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import MediaTypes
import Synchronization
import TestSupport
import Testing
import VideoDecoding

/// What a decoder has returned.
final class Recording: Sendable {
    private let state = Mutex<[DecoderOutput]>([])

    func add(_ output: DecoderOutput) { state.withLock { $0.append(output) } }

    var pictures: [DecodedPicture] {
        state.withLock { $0 }.compactMap { if case .picture(let picture) = $0 { picture } else { nil } }
    }
    var damaged: [(number: Int64, error: MediaError)] {
        state.withLock { $0 }.compactMap {
            if case .damaged(let number, let error) = $0 { (number, error) } else { nil }
        }
    }
    var numbers: [Int64] { pictures.map(\.number) }
}

extension Recording {
    /// Decodes a stream to its end.
    static func decode(
        _ stream: CodedStream,
        isLowLatency: Bool = false,
        threads: Int = 0
    ) throws -> Recording {
        let recording = Recording()
        let decoder = try recording.decoder(stream, isLowLatency: isLowLatency, threads: threads)
        try decoder.decode(stream.samples)
        try decoder.drain()
        return recording
    }

    /// Makes a decoder for a stream.
    func decoder(_ stream: CodedStream, isLowLatency: Bool = false, threads: Int = 0) throws -> any DecoderBackend {
        let format = try #require(stream.samples.first).formatDescription
        return try SoftwareDecoderFactory(codec: stream.codec).makeDecoder(
            DecoderRequest(formatDescription: format, isLowLatency: isLowLatency, threadCount: threads) {
                self.add($0)
            }
        )
    }
}

extension DecoderBackend {
    func decode(_ samples: [SampleBuffer], from first: Int64 = 0) throws {
        for (index, sample) in samples.enumerated() {
            try decode(DecoderSample(number: first + Int64(index), sample: sample))
        }
    }
}
