// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import MediaIO
import MediaTypes
import Testing
import VAToolbox

@Suite struct SampleDecoderTests {
    /// Callers may give each time in a timescale of its own.
    @Test func picturesHaveTheTimesOfTheirSamples() async throws {
        var configuration = EncoderConfiguration(width: 32, height: 32)
        configuration.codec = .h264
        configuration.isFrameRateVariable = true
        var options = SessionOptions()
        options.policy = .requireSoftware
        let session = try await CompressionSession(configuration: configuration, options: options)
        let times = [
            MediaTime.zero, MediaTime(value: 1001, timescale: 30000), MediaTime(value: 1, timescale: 10),
            MediaTime(value: 13000, timescale: 90000), MediaTime(value: 1, timescale: 2),
        ]
        let collecting = Task { [samples = session.samples] in
            var all: [SampleBuffer] = []
            for try await sample in samples { all.append(sample) }
            return all
        }
        for time in times {
            try await session.encode(try session.pixelBufferPool.make(), presentationTime: time)
        }
        try await session.finish()
        let pictures = try SampleDecoder(.h264).decode(try await collecting.value)
        #expect(pictures.map(\.presentationTime) == times)
    }
}
