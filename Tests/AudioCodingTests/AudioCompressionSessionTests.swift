// SPDX-License-Identifier: GPL-2.0-or-later

import AudioCoding
import MediaTypes
import TestSupport
import Testing

/// The promises of the session: everything that it accepts comes out once, in order, however its calls end.
@Suite struct AudioCompressionSessionTests {
    private let format = AudioFormat(sampleType: .float32, sampleRate: 48000, layout: .mono)

    /// Buffers of noise of 20 ms each.
    private func noise(_ count: Int, seed: UInt64 = 1) -> [AudioBuffer] {
        var state = seed
        return (0..<count).map { number in
            let time = MediaTime(value: Int64(number * 960), timescale: 48000)
            return AudioBuffer(format: format, frameCount: 960, presentationTime: time) { _, memory in
                let samples = memory.bindMemory(to: Float.self)
                for index in samples.indices {
                    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                    samples[index] = Float(Int64(bitPattern: state) >> 40) / Float(1 << 25)
                }
            }
        }
    }

    private func bytes(_ samples: [AudioSample]) -> [[UInt8]] { samples.map { $0.data.withUnsafeBytes(Array.init) } }

    private func collect(_ session: AudioCompressionSession) -> Task<[AudioSample], any Error> {
        Task { [samples = session.samples] in
            var all: [AudioSample] = []
            for try await sample in samples { all.append(sample) }
            return all
        }
    }

    private func code(_ body: () async throws -> Void) async -> MediaError.Code? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? MediaError)?.code
        }
    }

    /// The same samples as the encoder makes, with the same times; several sessions at once.
    @Test(arguments: AudioCodec.allCases)
    func samplesAreThoseOfTheEncoder(codec: AudioCodec) async throws {
        let buffers = noise(60)
        let encoder = try AudioEncoder(AudioEncoderSettings(codec), input: format)
        var expected: [AudioSample] = []
        for buffer in buffers { expected += try encoder.encode(buffer) }
        expected += try encoder.finish()

        let description = encoder.description
        let wanted = (bytes(expected), expected.map(\.presentationTime), expected.map(\.trimAtEnd))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    let session = try AudioCompressionSession(AudioEncoderSettings(codec), input: format)
                    let consumer = collect(session)
                    for buffer in buffers { try await session.encode(buffer) }
                    try await session.finish()
                    try await session.finish()
                    let samples = try await consumer.value
                    #expect(bytes(samples) == wanted.0)
                    #expect(samples.map(\.presentationTime) == wanted.1 && samples.map(\.trimAtEnd) == wanted.2)
                    let statistics = await session.statistics
                    #expect(statistics.acceptedBuffers == 60 && statistics.acceptedFrames == 57600)
                    #expect(statistics.sampleCount == samples.count)
                    #expect(statistics.byteCount == samples.reduce(0) { $0 + $1.data.count })
                    #expect(statistics.duration == MediaTime(value: 57600, timescale: 48000))
                    #expect(session.description == description)
                }
            }
            try await group.waitForAll()
        }
    }

    /// Nothing is accepted while the consumer is behind; what waits is accepted when it has caught up.
    @Test func slowConsumersAreWaitedFor() async throws {
        var options = AudioCompressionSession.Options()
        (options.lowWaterMark, options.highWaterMark) = (1, 2000)
        let session = try AudioCompressionSession(AudioEncoderSettings(.pcm), input: format, options: options)
        let buffers = noise(40)
        // One packet of PCM has 4096 bytes, so that the first is too much already. It comes when the next one has begun.
        for buffer in buffers[..<3] { try await session.encode(buffer) }
        #expect(await Patience.wait { await session.statistics.byteCount > 2000 })
        let (starts, start) = AsyncStream.makeStream(of: Void.self)
        let producer = Task {
            start.finish()
            for buffer in buffers[3...] { try await session.encode(buffer) }
            try await session.finish()
        }
        for await _ in starts {}
        for _ in 0..<100 {
            let statistics = await session.statistics
            #expect(statistics.sampleCount == 1 && statistics.acceptedBuffers == 3, "\(statistics)")
            await Task.yield()
        }
        let samples = try await collect(session).value
        try await producer.value
        #expect(samples.reduce(0) { $0 + $1.data.count } == 40 * 960 * 4)
    }

    /// The silence of a long gap does not pile up either.
    @Test func longGapsAreEncodedInPieces() async throws {
        var options = AudioCompressionSession.Options()
        (options.lowWaterMark, options.highWaterMark) = (500, 1000)
        let session = try AudioCompressionSession(AudioEncoderSettings(.aac), input: format, options: options)
        var buffers = noise(2)
        buffers[1].presentationTime = MediaTime(value: 200, timescale: 1)
        for buffer in buffers { try await session.encode(buffer) }
        let statistics = await session.statistics
        #expect(statistics.byteCount < 3000, "\(statistics)")
        let consumer = collect(session)
        // The call waits until the silence is encoded.
        try await session.encode(noise(1, seed: 2)[0].at(MediaTime(value: 201, timescale: 1)))
        try await session.finish()
        let samples = try await consumer.value
        let last = try #require(samples.last)
        let end = (last.presentationTime + last.duration).seconds - Double(last.trimAtEnd) / 48000
        #expect(abs(end - 201.02) < 0.001, "\(end)")
    }

    /// A call that is cancelled while it waits is not accepted, and the session goes on.
    @Test func cancelledCallsAreNotAccepted() async throws {
        var options = AudioCompressionSession.Options()
        (options.lowWaterMark, options.highWaterMark) = (1, 1)
        let session = try AudioCompressionSession(AudioEncoderSettings(.pcm), input: format, options: options)
        let buffers = noise(3)
        try await session.encode(buffers[0])
        try await session.encode(buffers[1])
        let waiting = Task { await code { try await session.encode(buffers[2]) } }
        waiting.cancel()
        #expect(await waiting.value == .cancelled)
        let late = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await code { try await session.encode(buffers[2]) }
        }
        #expect(await late.value == .cancelled)
        try await session.finish()
        let samples = try await collect(session).value
        #expect(samples.reduce(0) { $0 + $1.data.count } == 2 * 960 * 4)
    }

    @Test func nothingIsAcceptedAfterTheEnd() async throws {
        var options = AudioCompressionSession.Options()
        (options.lowWaterMark, options.highWaterMark) = (1, 1)
        let session = try AudioCompressionSession(AudioEncoderSettings(.pcm), input: format, options: options)
        let buffers = noise(4)
        for buffer in buffers[..<3] { try await session.encode(buffer) }
        let waiting = Task { await code { try await session.encode(buffers[2]) } }
        // It is not accepted, whether it waits already or comes later.
        try await session.finish()
        #expect(await waiting.value == .invalidState)
        #expect(await code { try await session.encode(buffers[3]) } == .invalidState)
        #expect(await code { try await session.flush() } == .invalidState)
        #expect(try await collect(session).value.reduce(0) { $0 + $1.data.count } == 3 * 960 * 4)
    }

    /// After a flush, everything that fills a packet is there.
    @Test func flushing() async throws {
        let session = try AudioCompressionSession(AudioEncoderSettings(.pcm), input: format)
        for buffer in noise(5) { try await session.encode(buffer) }
        try await session.flush()
        // 4800 frames are four packets of 1024 and a rest; the last packet shows its successor how it ends.
        #expect(await session.statistics.sampleCount == 3)
        for buffer in noise(1) { try await session.encode(buffer.at(MediaTime(value: 4800, timescale: 48000))) }
        try await session.finish()
        #expect(try await collect(session).value.count == 6)
    }

    @Test func cancelling() async throws {
        var options = AudioCompressionSession.Options()
        (options.lowWaterMark, options.highWaterMark) = (1, 1)
        let session = try AudioCompressionSession(AudioEncoderSettings(.pcm), input: format, options: options)
        let buffers = noise(3)
        for buffer in buffers[..<3] { try await session.encode(buffer) }
        let waiting = Task { await code { try await session.encode(buffers[2]) } }
        session.cancel()
        session.cancel()
        #expect(await waiting.value == .cancelled)
        #expect(await code { _ = try await collect(session).value } == .cancelled)
        #expect(await code { try await session.finish() } == .cancelled)
        #expect(await code { try await session.flush() } == .cancelled)
        #expect(await code { try await session.encode(buffers[2]) } == .cancelled)
    }

    /// A released session ends its consumer.
    @Test func releasing() async throws {
        var session: AudioCompressionSession? = try AudioCompressionSession(.voice, input: format)
        let consumer = try collect(#require(session))
        try await session?.encode(noise(1)[0])
        session = nil
        #expect(await code { _ = try await consumer.value } == .cancelled)
    }

    /// A refused buffer leaves no trace.
    @Test func refusedBuffers() async throws {
        let session = try AudioCompressionSession(AudioEncoderSettings(.pcm), input: format)
        let buffers = noise(2)
        try await session.encode(buffers[0])
        let odd = AudioFormat(sampleType: .int16, sampleRate: 999, layout: .mono)
        #expect(await code { try await session.encode(AudioBuffer(format: odd, frameCount: 10)) } == .invalidArgument)
        try await session.encode(buffers[1])
        try await session.finish()
        #expect(await session.statistics.acceptedBuffers == 2)
        #expect(try await collect(session).value.reduce(0) { $0 + $1.data.count } == 2 * 960 * 4)
    }

    /// There is one consumer; if it stops early, the session ends.
    @Test func consumers() async throws {
        let session = try AudioCompressionSession(AudioEncoderSettings(.pcm), input: format)
        for buffer in noise(8) { try await session.encode(buffer) }
        try await session.flush()
        for try await _ in session.samples { break }
        #expect(await code { for try await _ in session.samples {} } == .invalidState)
        #expect(await code { try await session.encode(noise(1)[0]) } == .cancelled)
    }

    @Test(arguments: [(0, 1), (2, 1), (-1, -1)])
    func waterMarksOutOfRange(low: Int, high: Int) async {
        var options = AudioCompressionSession.Options()
        (options.lowWaterMark, options.highWaterMark) = (low, high)
        let code = await code { _ = try AudioCompressionSession(.voice, input: format, options: options) }
        #expect(code == .invalidArgument)
    }
}

extension AudioBuffer {
    /// The buffer at another time.
    fileprivate func at(_ time: MediaTime) -> AudioBuffer {
        var buffer = self
        buffer.presentationTime = time
        return buffer
    }
}
