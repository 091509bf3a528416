// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import Foundation
import Glibc
import MediaTypes
import TestSupport
import Testing
import VAToolbox

@testable import HelperIPC

extension ProcessTests {
    /// Sessions whose encoders live in helper processes.
    @Suite struct IsolatedSessionTests {
        private static let frameCount = 90

        /// Encodes pictures and gathers the samples.
        ///
        /// - Parameter meanwhile: Called before each frame.
        private func play(
            _ isolation: EncoderIsolation,
            meanwhile: (Int) async throws -> Void = { _ in }
        ) async throws -> [SampleBuffer] {
            var configuration = EncoderConfiguration.small()
            configuration.keyFrameInterval = KeyFrameInterval(frames: 12)
            var options = SessionOptions()
            options.policy = .requireSoftware
            options.isolation = isolation
            options.helpers = try HelperPrograms.pool("vatoolbox-helper")
            options.limits.frameDeadline = .seconds(4)
            let session = try await CompressionSession(configuration: configuration, options: options)
            #expect(session.pixelBufferPool.memory == (isolation == .process ? .shared : .owned))
            let consumer = Task { [samples = session.samples] in
                var all: [SampleBuffer] = []
                for try await sample in samples { all.append(sample) }
                return all
            }
            var pictures = try Pictures(.owned)
            for index in 0..<Self.frameCount {
                try await meanwhile(index)
                let picture = try pictures.next(index)
                let time = MediaTime(value: Int64(index), timescale: 30)
                try await session.encode(picture, presentationTime: time, token: index)
            }
            try await session.finish()
            return try await consumer.value
        }

        @Test func theSameSamplesAsInThisProcess() async throws {
            let here = try await play(.inProcess)
            let there = try await play(.process)
            #expect(there.count == Self.frameCount && here.count == Self.frameCount)
            for (here, there) in zip(here, there) {
                let bytes = [here, there].map { sample in sample.data.withUnsafeBytes { Array($0) } }
                #expect(bytes[0] == bytes[1])
                #expect(here.presentationTime == there.presentationTime && here.decodeTime == there.decodeTime)
                #expect(here.isKeyFrame == there.isKeyFrame)
            }
            Traces.expectNone()
        }

        /// What the session's pool makes is read where it is; anything else is copied once, and that is told.
        @Test(arguments: [EncoderIsolation.inProcess, .process], [true, false])
        func copiesAreCounted(isolation: EncoderIsolation, isOfThePool: Bool) async throws {
            var options = SessionOptions()
            options.policy = .requireSoftware
            options.isolation = isolation
            options.helpers = try HelperPrograms.pool("vatoolbox-helper")
            let session = try await CompressionSession(configuration: .small(), options: options)
            let consumer = Task { [samples = session.samples] in for try await _ in samples {} }
            var pictures = try Pictures(.owned)
            for index in 0..<30 {
                let picture = isOfThePool ? try session.pixelBufferPool.make() : try pictures.next(index)
                try await session.encode(picture, presentationTime: MediaTime(value: Int64(index), timescale: 30))
            }
            try await session.finish()
            try await consumer.value
            let statistics = await session.statistics
            #expect(statistics.codedFrames == 30)
            #expect(statistics.copiedPictures == (isolation == .process && !isOfThePool ? 30 : 0))
        }

        /// Sessions that finish, are dropped, are cancelled, and whose helper is killed, some at a time.
        @Test(arguments: [(perHelper: 1, hasSpare: false), (3, false), (1, true)])
        func manySessionsLeaveNothingBehind(perHelper: Int, hasSpare: Bool) async throws {
            var poolOptions = HelperPool.Options()
            poolOptions.path = try BuiltProgram.path("vatoolbox-helper")
            poolOptions.connectionsPerHelper = perHelper
            poolOptions.keepsSpare = hasSpare
            var pool: HelperPool? = try HelperPool(poolOptions)
            for _ in 0..<5 {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for way in 0..<4 {
                        var options = SessionOptions()
                        options.policy = .requireSoftware
                        options.isolation = .process
                        if let pool { options.helpers = pool }
                        group.addTask { [options] in try await Self.live(way, options) }
                    }
                    try await group.waitForAll()
                }
            }
            pool = nil
            Traces.expectNone()
        }

        private static func live(_ way: Int, _ options: SessionOptions) async throws {
            let session = try await CompressionSession(configuration: .small(), options: options)
            let consumer = Task { [samples = session.samples] in
                var count = 0
                for try await _ in samples { count += 1 }
                return count
            }
            for index in 0..<6 {
                let picture = try session.pixelBufferPool.make()
                try await session.encode(picture, presentationTime: MediaTime(value: Int64(index), timescale: 30))
                guard index == 3, way == 3 else { continue }
                let helper = try #require(Traces.now.children.randomElement().flatMap { pid_t($0) })
                kill(helper, SIGKILL)
            }
            if way == 2 { session.cancel() }
            if way == 1 || way == 2 { return }
            try await session.finish()
            #expect(try await consumer.value == 6)
        }

        /// Whatever happens to the helper, every frame comes out once, and a decoder can go on where a new one begins.
        @Test(arguments: [SIGKILL, SIGKILL, SIGKILL, SIGSEGV, SIGSTOP], [3, 40])
        func noFrameIsLostWithTheHelper(signal: Int32, victim: Int) async throws {
            let samples = try await play(.process) { index in
                guard index == victim || index == victim + 30 else { return }
                let helper = try #require(Traces.now.children.first.flatMap { pid_t($0) })
                kill(helper, signal)
            }
            let tokens = samples.compactMap { $0.token as? Int }
            #expect(tokens.sorted() == Array(0..<Self.frameCount))
            var last = MediaTime(value: .min, timescale: 1)
            for sample in samples {
                #expect(sample.decodeTime > last && sample.decodeTime <= sample.presentationTime)
                last = sample.decodeTime
            }
            #expect(samples.first?.isKeyFrame == true)
            Traces.expectNone()
        }

        /// Each helper gives two frames and is silent from then on. The session takes it for stuck, and lets it go: its
        /// helper does not stay, and a new one goes on.
        @Test func aSilentEncoderIsLetGo() async throws {
            let identity = EncoderIdentity(name: "silence-encoding", codec: .h264)
            let factory = RemoteEncoderFactory(identity, pool: try HelperPrograms.pool("FaultyHelper"))
            var options = SessionOptions()
            options.limits.frameDeadline = .milliseconds(500)
            do {
                let session = try await CompressionSession(
                    configuration: .small(),
                    options: options,
                    selection: EncoderSelection(candidates: [.init(factory: factory, reason: "the test")])
                )
                let consumer = Task { [samples = session.samples] in
                    var tokens: [Int] = []
                    for try await sample in samples { tokens.append(sample.token as? Int ?? -1) }
                    return tokens
                }
                var pictures = try Pictures(.shared)
                for index in 0..<7 {
                    let time = MediaTime(value: Int64(index), timescale: 30)
                    try await session.encode(pictures.next(index), presentationTime: time, token: index)
                }
                try await session.finish()
                #expect(try await consumer.value == Array(0..<7))
                #expect(await session.statistics.failedEncoders == 3)
            }
            Traces.expectNone()
        }
    }
}
