// SPDX-License-Identifier: GPL-2.0-or-later

import MediaIO
import MediaTypes
import TestCard
import VAToolbox

/// Paints pictures, encodes them, and writes them to a file: `EncodeFrames OUTPUT.mp4 [NUMBER OF PICTURES]`.
@main struct EncodeFrames {
    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        let path = arguments.first ?? "frames.mp4"
        let count = arguments.dropFirst().first.flatMap { Int($0) } ?? 90

        var configuration = EncoderConfiguration(width: 640, height: 360)
        configuration.frameRate = 30
        configuration.rateControl = .averageBitRate(1_000_000)
        configuration.color = .bt709
        let session = try await CompressionSession(configuration: configuration)
        print("\(session.encoder.identity), because: \(session.encoder.reason)")

        let writing = Task { [samples = session.samples] in
            var options = MediaSink.Options()
            options.overwrite = true
            options.frameRate = 30
            let sink = try MediaSink(path: path, options: options)
            for try await sample in samples {
                try sink.write(sample)
            }
            return try sink.finish()
        }

        do {
            for number in 0..<count {
                let buffer = try session.pixelBufferPool.make()
                try paintTestCard(number, into: buffer)
                try await session.encode(buffer, presentationTime: MediaTime(value: Int64(number), timescale: 30))
            }
            try await session.finish()
        } catch {
            // The consumer of the samples may have failed: the error of the writer says why.
            _ = try await writing.value
            throw error
        }
        let summary = try await writing.value
        print("\(summary.sampleCount) samples, \(summary.byteCount) bytes, \(summary.duration.seconds) s")
    }
}
