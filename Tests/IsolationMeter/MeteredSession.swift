// SPDX-License-Identifier: GPL-2.0-or-later

import Glibc
import HelperIPC
import MediaTypes
import SoftwareEncoder
import TestSupport
import VAToolbox

extension MeterOptions {
    /// The encoder that is measured.
    func selection(_ isolation: EncoderIsolation, _ pool: HelperPool) -> EncoderSelection {
        EncoderSelection(candidates: [.init(factory: factory(isolation, pool), reason: "it is measured")])
    }

    func factory(_ isolation: EncoderIsolation, _ pool: HelperPool) -> any EncoderFactory {
        let local: any EncoderFactory = encoder == "null" ? NullFactory() : X264EncoderFactory()
        return isolation == .process ? RemoteEncoderFactory(local.identity, pool: pool) : local
    }
}

/// One session, with its encoder here or in a helper, that encodes the same pictures again and again.
final class MeteredSession {
    let session: CompressionSession
    private var samples: SampleSequence.Iterator
    private var pictures: [PixelBuffer] = []
    private var nextFrame: Int64 = 0
    private var codedBytes = 0

    /// What one stretch of frames took.
    struct Segment: Encodable {
        /// Microseconds of processor time for each frame, of this process and of helpers.
        var client: Double
        var helper: Double
        /// Microseconds from the first call to the last sample, for each frame.
        var wall: Double
        /// Bytes of a coded frame.
        var bytes: Double
        /// Microseconds from call to sample, if frames went one by one.
        var latencies: [Int] = []
    }

    init(_ options: MeterOptions, isolation: EncoderIsolation) async throws {
        var configuration = EncoderConfiguration(width: options.width, height: options.height)
        configuration.codec = .h264
        configuration.isLowLatency = true
        configuration.rateControl = .constantQuality(23)
        configuration.software.preset = .ultrafast
        configuration.software.threads = 1
        session = try await CompressionSession(
            configuration: configuration,
            selection: options.selection(isolation, try options.makePool())
        )
        samples = session.samples.makeAsyncIterator()
        for index in 0..<12 { pictures.append(try Self.picture(index, session.pixelBufferPool)) }
    }

    /// Meters a session that has been made, with pictures of it.
    init(_ session: CompressionSession, pictures: [PixelBuffer]) {
        self.session = session
        samples = session.samples.makeAsyncIterator()
        self.pictures = pictures
    }

    /// A pattern that moves to and fro, with noise.
    private static func picture(_ index: Int, _ pool: PixelBufferPool) throws -> PixelBuffer {
        let buffer = try pool.make()
        let shift = index < 6 ? index : 12 - index
        var random = UInt32(index + 1)
        try buffer.withPlanes { planes in
            for (number, plane) in planes.enumerated() {
                let (width, height) = (buffer.width, buffer.height >> number)
                for row in 0..<height {
                    let line = plane.baseAddress + row * plane.bytesPerRow
                    for column in 0..<width {
                        random = random &* 1_664_525 &+ 1_013_904_223
                        let wave = ((column + shift * 4) >> 3 ^ (row + shift * 2) >> 2) & 127
                        let value = UInt8(truncatingIfNeeded: 48 + wave + Int(random >> 30))
                        line.storeBytes(of: value, toByteOffset: column, as: UInt8.self)
                    }
                }
            }
        }
        return buffer
    }

    /// Gives one frame and waits for its sample, each at its time.
    ///
    /// - Parameter interval: Microseconds from frame to frame.
    func paced(_ frames: Int, interval: Int) async throws -> Segment {
        var latencies: [Int] = []
        var segment = try await measure(frames) {
            var next = Clocks.now
            for _ in 0..<frames {
                Clocks.sleep(until: next)
                let start = Clocks.now
                try await encode()
                try await take()
                latencies.append(Int(Clocks.now - start))
                next = max(next + Double(interval), Clocks.now)
            }
        }
        segment.latencies = latencies
        return segment
    }

    /// Gives frames as fast as they are taken.
    func full(_ frames: Int) async throws -> Segment {
        try await measure(frames) {
            let ahead = min(frames, 3)
            for _ in 0..<ahead { try await encode() }
            for _ in ahead..<frames {
                try await take()
                try await encode()
            }
            for _ in 0..<ahead { try await take() }
        }
    }

    private func measure(_ frames: Int, _ body: () async throws -> Void) async throws -> Segment {
        let helpers = ProcessState.children
        let before = try Self.processorTimes(helpers)
        let bytes = codedBytes
        let start = Clocks.now
        try await body()
        let wall = Clocks.now - start
        let after = try Self.processorTimes(helpers)
        return Segment(
            client: (after.client - before.client) / Double(frames),
            helper: (after.helper - before.helper) / Double(frames),
            wall: wall / Double(frames),
            bytes: Double(codedBytes - bytes) / Double(frames)
        )
    }

    private static func processorTimes(_ helpers: [pid_t]) throws -> (client: Double, helper: Double) {
        let times = try ([getpid()] + helpers).map { process in
            guard let time = Clocks.processorTime(of: process) else {
                throw MediaError(.invalidState, "a helper has gone while it was measured")
            }
            return time
        }
        return (times[0], times[1...].reduce(0, +))
    }

    private func encode() async throws {
        let time = MediaTime(value: nextFrame, timescale: 60)
        try await session.encode(pictures[Int(nextFrame) % pictures.count], presentationTime: time)
        nextFrame += 1
    }

    private func take() async throws {
        guard let sample = try await samples.next() else {
            throw MediaError(.invalidState, "the samples have ended")
        }
        codedBytes += sample.data.count
    }

    /// How often pictures were copied.
    var copies: Int { get async { await session.statistics.copiedPictures } }

    func finish() async throws { try await session.finish() }
}
