// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import VAToolbox

/// A program of someone who depends on VAToolbox: encodes ten pictures that it paints itself. Fails when what comes out
/// is not what should.
@main struct Consumer {
    struct Failure: Error {
        var reason: String
    }

    static func main() async throws {
        var configuration = EncoderConfiguration(width: 320, height: 180)
        configuration.rateControl = .averageBitRate(500_000)
        let session = try await CompressionSession(configuration: configuration)
        print("encoding with \(session.encoder.properties.name), because: \(session.encoder.reason)")

        let consumer = Task {
            var samples: [SampleBuffer] = []
            for try await sample in session.samples { samples.append(sample) }
            return samples
        }
        for number in 0..<10 {
            let buffer = try session.pixelBufferPool.make()
            try paint(buffer, luma: UInt8(16 + 20 * number))
            let time = MediaTime(value: Int64(number), timescale: 30)
            try await session.encode(buffer, presentationTime: time, token: number)
        }
        try await session.finish()

        let samples = try await consumer.value
        guard Set(samples.compactMap { $0.token as? Int }) == Set(0..<10), samples.count == 10 else {
            throw Failure(reason: "ten frames went in, \(samples.count) samples came out")
        }
        guard samples[0].isKeyFrame, samples.allSatisfy({ $0.decodeTime <= $0.presentationTime && $0.data.count > 0 })
        else { throw Failure(reason: "the samples do not keep the session's contract") }
        print("\(samples.count) samples, \(samples.reduce(0) { $0 + $1.data.count }) bytes")
    }

    private static func paint(_ buffer: PixelBuffer, luma: UInt8) throws {
        try buffer.withPlanes { planes throws(MediaError) in
            for (index, plane) in planes.enumerated() {
                guard let extent = buffer.format.planeExtent(index, width: buffer.width, height: buffer.height) else {
                    continue
                }
                let value = index == 0 ? luma : 128
                plane.baseAddress.initializeMemory(
                    as: UInt8.self,
                    repeating: value,
                    count: plane.bytesPerRow * extent.rows
                )
            }
        }
    }
}
