// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import Foundation
import Glibc
import Logging
import MediaTypes
import SoftwareEncoder
import Synchronization
import TestSupport
import Testing

@testable import HelperIPC

extension ProcessTests {
    /// Encoders in helper processes against the same encoders in this process.
    @Suite struct HelperTests {
        private let x264: RemoteEncoderFactory
        private let path: String

        init() throws {
            path = try BuiltProgram.path("vatoolbox-helper")
            x264 = RemoteEncoderFactory(Self.identity, pool: try HelperPrograms.pool("vatoolbox-helper"))
        }

        private static let identity = EncoderIdentity(name: "x264", codec: .h264)

        @Test(arguments: [PixelBufferPool.Memory.owned, .shared])
        func theSameBytesAsInThisProcess(memory: PixelBufferPool.Memory) throws {
            func play(_ factory: any EncoderFactory) throws -> (EncoderProperties, [[UInt8]], copies: Int?) {
                let take = try Take(factory, .small())
                var pictures = try Pictures(memory)
                for index in 0..<50 {
                    let options = FrameOptions(forceKeyFrame: index == 17, quantizer: index == 23 ? 28 : nil)
                    try take.encode(pictures.next(index), options)
                }
                try take.encoder.drain()
                #expect(take.outputs.errors.isEmpty)
                return (take.encoder.properties, take.outputs.bytes, take.remote?.copiedPictures)
            }
            let (here, expected, _) = try play(X264EncoderFactory())
            var (there, bytes, copies) = try play(x264)
            #expect(expected.count == 50)
            #expect(bytes == expected)
            #expect(copies == (memory == .owned ? 50 : 0))
            #expect(here.isFailureFinal && !there.isFailureFinal)
            there.isFailureFinal = true
            #expect(StoredProperties(there) == StoredProperties(here))
            Traces.expectNone()
        }

        @Test func updatesReachTheEncoder() throws {
            var configuration = EncoderConfiguration.small()
            configuration.rateControl = .constantQuality(20)
            let take = try Take(x264, configuration)
            configuration.rateControl = .constantQuality(30)
            #expect(try take.encoder.update(configuration) == .done())
            configuration.rateControl = .averageBitRate(1_000_000)
            #expect(try take.encoder.update(configuration) == .needsNewEncoder)
        }

        @Test func refusalsComeBackAsTheyAre() throws {
            var configuration = EncoderConfiguration.small()
            configuration.bitDepth = 10
            configuration.profile = .h264Main
            func error(_ factory: any EncoderFactory) -> MediaError? {
                #expect(throws: MediaError.self) { try Take(factory, configuration) }
            }
            let here = try #require(error(X264EncoderFactory()))
            #expect(error(x264)?.code == here.code)
            let other = RemoteEncoderFactory(EncoderIdentity(name: "x266", codec: .hevc), pool: x264.pool)
            let unknown = #expect(throws: MediaError.self) { try Take(other, .small()) }
            #expect(unknown?.description == "the helper has no such encoder: given x266, allowed x264, x265")
            Traces.expectNone()
        }

        @Test func logLinesArrive() throws {
            let lines = Mutex<[HelperLogLine]>([])
            var options = HelperPool.Options()
            options.path = path
            options.log = { line in lines.withLock { $0.append(line) } }
            _ = try Take(RemoteEncoderFactory(Self.identity, pool: try HelperPool(options)), .small())
            // Lines have a way of their own: the last may come after the encoder has answered.
            Traces.expectNone()
            let profile = lines.withLock { lines in lines.first { $0.text.contains("profile") } }
            #expect(profile?.level == "debug")
        }

        /// Lines of a helper that several encoders may share are the pool's.
        @Test(arguments: [1, 2]) func linesOfAnEncoderGoToItsLogger(connectionsPerHelper: Int) throws {
            let (ofPool, ofEncoder) = (LogRecorder(), LogRecorder())
            let poolLogger = ofPool.logger("pool")
            func run() throws {
                var options = HelperPool.Options()
                options.path = path
                options.connectionsPerHelper = connectionsPerHelper
                options.keepsSpare = true
                options.log = { poolLogger.info("\($0.text)") }
                let pool = try HelperPool(options)
                _ = try Take(
                    RemoteEncoderFactory(Self.identity, pool: pool, logger: ofEncoder.logger("encoder")),
                    .small()
                )
            }
            try run()
            Traces.expectNone()
            let (expected, other) = connectionsPerHelper == 1 ? (ofEncoder, ofPool) : (ofPool, ofEncoder)
            #expect(expected.lines.contains { $0.text.contains("profile") })
            #expect(!other.lines.contains { $0.text.contains("profile") })
        }

        @Test func aMissingProgramIsNamed() throws {
            func factory(_ path: String) throws -> RemoteEncoderFactory {
                var options = HelperPool.Options()
                options.path = path
                return RemoteEncoderFactory(Self.identity, pool: try HelperPool(options))
            }
            let missing = try factory("/nowhere/helper")
            let error = #expect(throws: MediaError.self) { try Take(missing, .small()) }
            #expect(error?.description == "the helper program (given) cannot be run: given /nowhere/helper")
            let folder = try factory("/etc")
            #expect(throws: MediaError.self) { try Take(folder, .small()) }
            Traces.expectNone()
        }

        /// 32 MiB of noise, coded without loss: the ring is used again and again, also beyond its end.
        @Test func manyLargeFramesFit() throws {
            var configuration = EncoderConfiguration.small(width: 640, height: 480)
            configuration.rateControl = .constantQuantizer(1)
            let take = try Take(x264, configuration)
            var pictures = try Pictures(.shared, width: 640, height: 480)
            let buffers = try (0..<4).map { try pictures.next($0) }
            for index in 0..<80 { try take.encode(buffers[index % 4], FrameOptions(forceKeyFrame: true)) }
            try take.encoder.drain()
            let sizes = take.outputs.frames.map(\.data.count)
            #expect(sizes.count == 80 && sizes.reduce(0, +) > 4 << 20)
        }

        /// The helper does not outlive this process's end of the socket, nor does it need to be asked.
        @Test func aHelperEndsWithItsClient() throws {
            let sockets = try DescriptorPair.sockets()
            let pipe = try DescriptorPair.pipe()
            let process = try HelperProcess(path: path, socket: sockets.far, log: pipe.far)
            let other = sockets.near.number
            #expect(process.reap() == nil)
            shutdown(other, Int32(SHUT_RDWR))
            let events = try waitForEvents([(process.handleNumber, POLLIN)], until: .after(.seconds(20)))
            #expect(events[0] != 0 && process.reap() == .exited(0))
        }
    }
}
