// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import TestCard
import VAToolbox

/// Encodes pictures, and decodes the samples again: `DecodeFrames [NUMBER OF PICTURES]`.
@main struct DecodeFrames {
    static func main() async throws {
        let count = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 90
        let samples = try await encodedTestCards(count)
        guard let first = samples.first else { return }

        let session = try await DecompressionSession(formatDescription: first.formatDescription)
        let consumer = Task { [frames = session.frames] in for try await frame in frames { show(frame) } }
        for sample in samples { try await session.decode(sample) }
        try await session.finish()
        try await consumer.value

        let statistics = await session.statistics
        print("\(statistics.returnedFrames) frames of \(statistics.acceptedSamples) samples")
        if let decoder = await session.decoder { print("\(decoder.properties.name), because: \(decoder.reason)") }
    }

    private static func show(_ frame: DecodedFrame) {
        guard frame.isKeyFrame || frame.isDamaged else { return }
        let (buffer, time) = (frame.buffer, frame.presentationTime.seconds)
        print("\(time) s: \(buffer.width)x\(buffer.height) \(buffer.format)\(frame.isDamaged ? ", damaged" : "")")
    }

    private static func encodedTestCards(_ count: Int) async throws -> [SampleBuffer] {
        let session = try await CompressionSession(configuration: .init(width: 640, height: 360))
        let encoding = Task { [samples = session.samples] in
            var encoded: [SampleBuffer] = []
            for try await sample in samples { encoded.append(sample) }
            return encoded
        }
        for number in 0..<count {
            let buffer = try session.pixelBufferPool.make()
            try paintTestCard(number, into: buffer)
            try await session.encode(buffer, presentationTime: MediaTime(value: Int64(number), timescale: 30))
        }
        try await session.finish()
        return try await encoding.value
    }
}
