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
    /// Helpers that are killed and stopped at random times, many in a row. `scripts/verify isolation` runs it with more.
    @Suite(.timeLimit(.minutes(60))) struct HelperKillTests {
        /// How encoders share helpers.
        struct Sharing: Sendable, CustomTestStringConvertible {
            var testDescription: String
            var connectionsPerHelper = 1
            var keepsSpare = false
            var sessionsAtOnce = 1

            static let all = [
                Sharing(testDescription: "a helper for each"),
                Sharing(testDescription: "with a spare helper", keepsSpare: true, sessionsAtOnce: 2),
                Sharing(testDescription: "three in a helper", connectionsPerHelper: 3, sessionsAtOnce: 3),
            ]
        }

        /// x264 in helpers, behind sessions: every accepted frame comes out once, in order, as the picture that it was.
        @Test(arguments: Sharing.all) func noSessionLosesAFrame(_ sharing: Sharing) async throws {
            let count = KillSettings.count(sample: 6)
            var report = KillReport("sessions, \(sharing.testDescription)")
            try await play(sharing, count, &report)
            report.addLeftovers()
            report.write()
            #expect(report["kills"] == count)
            #expect(report["frames lost"] == 0 && report["frames doubled"] == 0 && report["frames unlike"] == 0)
            #expect(report["failures told otherwise"] == 0)
        }

        private func play(_ sharing: Sharing, _ count: Int, _ report: inout KillReport) async throws {
            let seed = KillSettings.seed
            let pool = try HelperPrograms.pool("vatoolbox-helper") { options in
                options.connectionsPerHelper = sharing.connectionsPerHelper
                options.keepsSpare = sharing.keepsSpare
                options.log = { _ in }
            }
            let plan = HelperKiller.Plan(
                count: count,
                blows: HelperKiller.Blow.allCases,
                longestDelay: 400_000,
                seed: seed
            )
            let killer = try HelperKiller(getpid(), plan)
            defer { killer.stop() }
            while !killer.isDone {
                let rounds = try await withThrowingTaskGroup { group in
                    for number in 0..<sharing.sessionsAtOnce {
                        let sessionSeed = seed &+ UInt64(report["sessions"] + number)
                        group.addTask { try await KilledSession(pool, sessionSeed).play() }
                    }
                    return try await group.reduce(into: [KilledSession.Result]()) { $0.append($1) }
                }
                for round in rounds { round.count(into: &report) }
            }
            killer.stop()
            report.add(killer.dealt)
        }

        /// One encoder, and nothing that tries again: what had come out and what had not is known to the frame.
        @Test func theEncoderKnowsWhichFramesHaveComeOut() throws {
            let count = KillSettings.count(sample: 8)
            var deadlines = RemoteEncoderFactory.Deadlines()
            deadlines.start = .milliseconds(1500)
            deadlines.creation = .milliseconds(1500)
            deadlines.call = .milliseconds(700)
            let pool = try HelperPrograms.pool("vatoolbox-helper") { $0.log = { _ in } }
            let factory = RemoteEncoderFactory(
                EncoderIdentity(name: "x264", codec: .h264),
                pool: pool,
                deadlines: deadlines
            )
            var report = KillReport("encoders alone")
            var random = SplitMix(KillSettings.seed)
            while report["kills"] < count {
                let plan = HelperKiller.Plan(
                    count: 1,
                    blows: [HelperKiller.Blow.allCases[report["kills"] % 3]],
                    longestDelay: 400_000,
                    seed: random.next()
                )
                let killer = try HelperKiller(getpid(), plan)
                defer { killer.stop() }
                try playUntilTheEnd(factory, killer, &report)
                killer.stop()
                report.add(killer.dealt)
                // The next one is not to hit this one.
                Traces.expectNone()
            }
            report.addLeftovers()
            report.write()
            #expect(report["frames in both"] == 0 && report["frames in neither"] == 0)
        }

        /// Encodes until the encoder fails, or has outlived what was done to it; says what became of each frame.
        private func playUntilTheEnd(
            _ factory: RemoteEncoderFactory,
            _ killer: HelperKiller,
            _ report: inout KillReport
        ) throws {
            report.add("encoders", 1)
            let take: Take
            do {
                take = try Take(factory, .small())
            } catch {
                return report.add("not created", 1)
            }
            let remote = try #require(take.remote)
            var pictures = try Pictures(.shared)
            let buffers = try (0..<8).map { try pictures.next($0) }
            var given: Set<Int64> = []
            var failure: MediaError?
            do throws(MediaError) {
                var afterwards = 0
                while afterwards < 10 {
                    if killer.isDone { afterwards += 1 }
                    given.insert(Int64(given.count))
                    try take.encode(buffers[given.count % 8])
                }
                try take.encoder.drain()
            } catch {
                failure = error
            }
            let (out, missing) = (take.outputs.frames.map(\.number), remote.framesNotOut)
            report.add("frames given", given.count)
            report.add("frames out", out.count)
            report.add("frames not out", missing.count)
            report.add("frames in both", missing.intersection(out).count + out.count - Set(out).count)
            report.add("frames in neither", given.subtracting(missing).subtracting(out).count)
            report.add("encoders that outlived it", failure == nil ? 1 : 0)
            if failure == nil { #expect(missing.isEmpty) }
            // Final means final.
            let isGone = failure == nil || Patience.block { remote.processID == nil }
            #expect(isGone)
            #expect(take.outputs.frames.map(\.number) == out && remote.framesNotOut == missing)
        }
    }
}

extension KillReport {
    /// What helpers have left behind in this process, after a while.
    fileprivate mutating func addLeftovers() {
        Traces.expectNone()
        let traces = Traces.now
        add("stray processes", traces.children.count)
        add("stray descriptors", traces.descriptors.count)
        add("stray threads", traces.threads)
    }
}

/// A session on x264 in helpers, whose pictures tell which they are.
struct KilledSession: Sendable {
    struct Result: Sendable {
        var accepted = 0
        /// Which frames came out, in the order of presentation.
        var tokens: [Int] = []
        /// What a decoder makes of them, as the mean luma of each picture.
        var decoded: [Double] = []
        /// Encoders that failed, in creation or later: those whose process was killed, and those that took too long.
        var killed = 0
        var late = 0
        var failedOtherwise = 0
        /// Encoders that took over from others, and frames that they had to encode again.
        var restarts = 0
        var repeated = 0
        var violations: [String] = []

        func count(into report: inout KillReport) {
            report.add("sessions", 1)
            report.add("frames accepted", accepted)
            report.add("frames out", tokens.count)
            report.add("frames lost", Set(0..<accepted).subtracting(tokens).count)
            report.add("frames doubled", tokens.count - Set(tokens).count)
            let unlike = zip(decoded, tokens).filter { abs($0 - KilledSession.luma($1)) > 2 }.count
            report.add("frames unlike", unlike + abs(decoded.count - tokens.count))
            report.add("failures told as killed", killed)
            report.add("failures told as late", late)
            report.add("failures told otherwise", failedOtherwise)
            report.add("restarts", restarts)
            report.add("frames repeated", repeated)
            for violation in violations { Issue.record("\(violation)") }
        }
    }

    private static let (width, height) = (96, 64)
    private let pool: HelperPool
    private let seed: UInt64

    init(_ pool: HelperPool, _ seed: UInt64) {
        self.pool = pool
        self.seed = seed
    }

    /// Neighbours differ by more than the coding does.
    private static func luma(_ index: Int) -> Double { Double(40 + index * 37 % 160) }

    func play() async throws -> Result {
        var random = SplitMix(seed)
        var configuration = EncoderConfiguration.small(width: Self.width, height: Self.height)
        configuration.keyFrameInterval = KeyFrameInterval(frames: 5 + random.below(40))
        var options = SessionOptions()
        options.policy = .requireSoftware
        options.isolation = .process
        options.helpers = pool
        // Short for stopped helpers. Others that miss them, on a slow machine, are replaced as well, as often as it takes.
        options.limits.creationDeadline = .seconds(5)
        options.limits.frameDeadline = .seconds(1)
        options.limits.creationAttempts = 1000
        options.limits.consecutiveFailedFrames = 1_000_000
        options.limits.missedDeadlines = 1000
        let session = try await CompressionSession(configuration: configuration, options: options)
        let consumer = Task { [samples = session.samples] in
            var all: [SampleBuffer] = []
            for try await sample in samples { all.append(sample) }
            return all
        }
        var result = Result()
        for index in 0..<60 + random.below(60) {
            let picture = try picture(index, session.pixelBufferPool)
            let time = MediaTime(value: Int64(index), timescale: 30)
            try await session.encode(picture, presentationTime: time, token: index)
            result.accepted += 1
            if random.isOne(of: 2) { try await Task.sleep(for: .microseconds(random.below(6000))) }
            if random.isOne(of: 40) { try await session.flush() }
        }
        try await session.finish()
        let samples = try await consumer.value
        let statistics = await session.statistics
        result.restarts = statistics.createdEncoders - 1
        result.repeated = statistics.repeatedFrames
        await count(session.events, &result)
        check(samples, &result)
        result.decoded = try decode(samples)
        return result
    }

    /// Counts what the session told of failures, and holds it against the frames that it encoded again.
    private func count(_ events: some AsyncSequence<SessionEvent, Never>, _ result: inout Result) async {
        var (announced, pending) = (0, 0)
        for await event in events {
            switch event {
            case .encoderFailed(_, let error, let frames):
                pending = frames
                if error.status == Int(SIGKILL) {
                    result.killed += 1
                } else if error.code == .deadlineExceeded {
                    result.late += 1
                } else {
                    result.failedOtherwise += 1
                    result.violations.append("failed otherwise: \(error)")
                }
            case .encoderCreated:
                announced += pending
                pending = 0
            default: break
            }
        }
        if announced != result.repeated { result.violations.append("\(announced) frames were to be repeated") }
    }

    private func picture(_ index: Int, _ pool: PixelBufferPool) throws -> PixelBuffer {
        let buffer = try pool.make()
        try buffer.withPlanes { planes in
            for (plane, value) in zip(planes, [UInt8(Self.luma(index)), 128]) {
                let rows = plane.baseAddress == planes[0].baseAddress ? Self.height : Self.height / 2
                for row in 0..<rows {
                    (plane.baseAddress + row * plane.bytesPerRow)
                        .initializeMemory(as: UInt8.self, repeating: value, count: Self.width)
                }
            }
        }
        return buffer
    }

    private func check(_ samples: [SampleBuffer], _ result: inout Result) {
        var last: SampleBuffer?
        for sample in samples {
            if sample.decodeTime > sample.presentationTime { result.violations.append("decoded after it is shown") }
            if let last, last.decodeTime >= sample.decodeTime { result.violations.append("decode times do not rise") }
            last = sample
        }
        if samples.first?.isKeyFrame == false { result.violations.append("the first sample is no key frame") }
        result.tokens = samples.sorted { $0.presentationTime < $1.presentationTime }.map { $0.token as? Int ?? -1 }
        if result.tokens != result.tokens.sorted() { result.violations.append("frames are out of order") }
    }

    /// Decodes with ffmpeg, which must find no fault.
    private func decode(_ samples: [SampleBuffer]) throws -> [Double] {
        var stream: [UInt8] = []
        for sample in samples {
            if sample.formatDescriptionChanged || sample.isKeyFrame {
                for set in sample.formatDescription.parameterSets { stream += [0, 0, 0, 1] + set }
            }
            let bytes = sample.data.withUnsafeBytes { Array($0) }
            var position = 0
            while position + 4 <= bytes.count {
                let length = bytes[position..<position + 4].reduce(0) { $0 << 8 | Int($1) }
                stream += [0, 0, 0, 1] + bytes[position + 4..<position + 4 + length]
                position += 4 + length
            }
        }
        let file = NSTemporaryDirectory() + "vatoolbox-killed-\(UUID().uuidString).h264"
        try Data(stream).write(to: URL(fileURLWithPath: file))
        defer { try? FileManager.default.removeItem(atPath: file) }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [
            "ffmpeg", "-v", "error", "-xerror", "-err_detect", "explode", "-f", "h264", "-i", file,
            "-vsync", "passthrough", "-pix_fmt", "yuv420p", "-f", "rawvideo", "-",
        ]
        let (output, errors) = (Pipe(), Pipe())
        (process.standardOutput, process.standardError, process.standardInput) = (output, errors, nil)
        try process.run()
        let pixels = output.fileHandleForReading.readDataToEndOfFile()
        let complaint = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0, complaint.isEmpty else {
            throw MediaError(.malformedData, "ffmpeg cannot decode it: \(complaint)")
        }
        let size = Self.width * Self.height
        return stride(from: 0, to: pixels.count, by: size * 3 / 2).map { start in
            Double(pixels[start..<start + size].reduce(0) { $0 + Int($1) }) / Double(size)
        }
    }
}
