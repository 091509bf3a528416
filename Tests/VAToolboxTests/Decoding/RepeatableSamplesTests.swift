// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import Testing

@testable import VAToolbox

/// Pictures that are decoded again from the samples of a session.
@Suite(.timeLimit(.minutes(5))) struct RepeatableSamplesTests {
    /// A stream of x264 with groups of four pictures.
    private func stream(isOpen: Bool) async throws -> [SampleBuffer] {
        var configuration = EncoderConfiguration(width: 64, height: 48)
        configuration.codec = .h264
        configuration.keyFrameInterval = KeyFrameInterval(frames: 4)
        configuration.allowsOpenGOP = isOpen
        configuration.bFrames = .maximum(2)
        var options = SessionOptions()
        options.policy = .requireSoftware
        let session = try await CompressionSession(configuration: configuration, options: options)
        let samples = Task { [samples = session.samples] in
            var list: [SampleBuffer] = []
            for try await sample in samples { list.append(sample) }
            return list
        }
        for number in 0..<30 {
            let picture = try session.pixelBufferPool.make()
            try picture.withPlanes { planes in
                for row in 0..<48 {
                    let line = planes[0].baseAddress + row * planes[0].bytesPerRow
                    for column in 0..<64 {
                        let value = UInt8(truncatingIfNeeded: (column + 3 * number) * (row + number))
                        line.storeBytes(of: value, toByteOffset: column, as: UInt8.self)
                    }
                }
            }
            try await session.encode(picture, presentationTime: MediaTime(value: Int64(number), timescale: 25))
        }
        try await session.finish()
        return try await samples.value
    }

    private func luma(_ picture: PixelBuffer) throws -> [UInt8] {
        try picture.withPlanes { planes in
            (0..<picture.height).flatMap { row in
                let line = planes[0].baseAddress + row * planes[0].bytesPerRow
                return (0..<picture.width).map { line.load(fromByteOffset: $0, as: UInt8.self) }
            }
        }
    }

    private func decode(_ stream: [SampleBuffer]) async throws -> [Int: PixelBuffer] {
        var options = DecompressionOptions()
        options.policy = .requireSoftware
        let session = try await DecompressionSession(
            formatDescription: stream[0].formatDescription,
            options: options
        )
        let frames = Task { [frames = session.frames] in
            var found: [Int: PixelBuffer] = [:]
            for try await frame in frames { found[frame.token as? Int ?? -1] = frame.buffer }
            return found
        }
        for (number, sample) in stream.enumerated() { try await session.decode(sample, token: number) }
        try await session.finish()
        return try await frames.value
    }

    /// A decoder is several groups of pictures behind, and the helper of its pictures is lost.
    @Test(arguments: [false, true]) func picturesComeBackHoweverLateTheyWere(isOpen: Bool) async throws {
        let stream = try await stream(isOpen: isOpen)
        let expected = try await decode(stream)
        #expect(expected.count == 30)
        let points = stream.filter { $0.randomAccess == (isOpen ? .open : .closed) }
        try #require(points.count >= 4)
        var samples = RepeatableSamples(mostBytes: 1 << 20, logger: nil)
        for (number, sample) in stream.enumerated() { samples.add(Int64(number), sample, oldest: 0) }
        for (number, picture) in expected {
            let recovery = try #require(samples.recovery(of: Int64(number)))
            #expect(try luma(recovery(picture.pictureDescription)) == luma(picture), "picture \(number)")
        }
    }

    @Test(arguments: [false, true]) func groupsAreReleasedWhenTheirPicturesHaveCome(isOpen: Bool) async throws {
        let stream = try await stream(isOpen: isOpen)
        var samples = RepeatableSamples(mostBytes: 1 << 20, logger: nil)
        for (number, sample) in stream.enumerated() {
            samples.add(Int64(number), sample, oldest: max(Int64(number) - 2, 0))
        }
        #expect(samples.recovery(of: 2) == nil)
        #expect(samples.recovery(of: 28) != nil)
    }
}
