// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import Glibc
import HelperIPC
import MediaTypes
import Synchronization
import TestSupport
import Testing

@testable import VAToolbox

/// Decoders in helper processes in a session: every frame comes out once and bit for bit, whatever happens to the helper.
@Suite(.usesHelpers, .timeLimit(.minutes(60))) struct HelperDecoderTests {
    private static let faults = ["crash", "abort", "exit", "fail", "hang"]

    /// Only calls that hang need a deadline, so only those have a short one.
    private func deadlines(_ fault: String, _ moment: DecoderPlan.Moment)
        -> (inout RemoteDecoderFactory.Deadlines) -> Void
    {
        { deadlines in
            guard fault == "hang" else { return }
            if moment == .creating { deadlines.creation = .seconds(2) } else { deadlines.call = .seconds(2) }
        }
    }

    /// The only candidate continues in a new helper.
    @Test(arguments: faults, DecoderPlan.Moment.allCases)
    func aFaultCostsNoFrame(fault: String, moment: DecoderPlan.Moment) async throws {
        let stream = try HelperDecoding.short.get()
        let file = try FaultFile()
        let plan = DecoderPlan(fault, moment, sample: 33, file: file.path)
        let played = try await stream.play(on: [try .planned(plan, pictures: 4, deadlines(fault, moment))])
        #expect(file.hasStruck && played.error == nil)
        #expect(try await stream.expected() == played.frames)
        #expect(played.statistics.failedDecoders >= 1 && played.statistics.lostFrames == 0)
        #expect(played.statistics.returnedFrames == stream.samples.count)
        // From the last random access point and not from the beginning, which is more than 33 samples away.
        if moment != .creating, fault != "hang" { #expect((1...33).contains(played.statistics.repeatedSamples)) }
        #expect(played.decoder?.identity == plan.identity())
        if fault == "crash" { #expect(played.failures.first?.status == Int(SIGSEGV)) }
        if fault == "abort" { #expect(played.failures.first?.status == Int(SIGABRT)) }
        if fault == "hang" { #expect(played.failures.first?.code == .deadlineExceeded) }
    }

    /// A helper that always fails at the same place gives way to the CPU.
    @Test(arguments: faults, DecoderPlan.Moment.allCases)
    func theCPUTakesOver(fault: String, moment: DecoderPlan.Moment) async throws {
        let stream = try HelperDecoding.short.get()
        let plan = DecoderPlan(fault, moment, sample: 33)
        let bad = try DecoderCandidate.planned(plan, pictures: 4, deadlines(fault, moment))
        let played = try await stream.play(on: [bad, .software(.h264)]) { options in
            (options.creationAttempts, options.consecutiveFailures) = (2, 3)
        }
        #expect(played.error == nil && played.decoder?.identity.device == nil)
        #expect(try await stream.expected() == played.frames)
        #expect(played.statistics.lostFrames == 0)
        let verdict = try #require(played.failures.last)
        #expect(verdict.isPermanent && verdict.message.contains("is given up after"))
        #expect(played.failures.count >= 2)
    }

    // MARK: - Memory for pictures

    /// More pictures leave in one call than there is memory for, while their consumer takes them.
    @Test func aDrainReturnsMoreThanThereIsMemoryFor() async throws {
        let stream = try HelperDecoding.short.get()
        let played = try await stream.play(on: [try .planned(DecoderPlan(delay: 30), pictures: 2)])
        #expect(try await stream.expected() == played.frames)
        #expect(played.statistics.failedDecoders == 0 && played.failures.isEmpty)
    }

    /// What is decoded again is released at once: nobody else does it.
    @Test func aReplayReturnsMoreThanThereIsMemoryFor() async throws {
        let stream = try HelperDecoding.long.get()
        let file = try FaultFile()
        let plan = DecoderPlan("crash", .decoding, sample: 50, file: file.path)
        let played = try await stream.play(on: [try .planned(plan, pictures: 1)])
        #expect(try await stream.expected() == played.frames)
        #expect(played.statistics.failedDecoders == 1 && played.statistics.repeatedSamples >= 40)
    }

    /// The consumer holds everything for a while.
    @Test func starvationIsToldAndEnds() async throws {
        let stream = try HelperDecoding.short.get()
        let candidate = try DecoderCandidate.planned(DecoderPlan(), pictures: 3)
        let session = try await stream.session(on: [candidate])
        let producer = Task {
            for sample in stream.samples { try await session.decode(sample) }
            try await session.finish()
        }
        var events = session.events.makeAsyncIterator()
        func nextStarvation() async -> DecoderStarvation? {
            while let event = await events.next() { if case .starvation(let starvation) = event { return starvation } }
            return nil
        }
        var frames = session.frames.makeAsyncIterator()
        var held: [DecodedFrame] = []
        for _ in 0..<3 { held.append(try #require(try await frames.next())) }
        #expect(await nextStarvation() == .began(pictures: 3))
        var plain = try held.map { try PlainFrame($0) }
        held = []
        while let frame = try await frames.next() { plain.append(try PlainFrame(frame)) }
        try await producer.value
        guard case .ended? = await nextStarvation() else {
            Issue.record("the end of the wait was not told")
            return
        }
        #expect(try await stream.expected() == plain)
        #expect(await session.statistics.failedDecoders == 0)
    }

    /// The consumer never releases anything: the CPU has memory for that.
    @Test(arguments: [0, 20]) func aConsumerThatHoldsEverythingGetsEverything(delay: Int) async throws {
        let stream = try HelperDecoding.short.get()
        let bad = try DecoderCandidate.planned(DecoderPlan(delay: delay), pictures: 5) { deadlines in
            deadlines.release = .milliseconds(500)
        }
        let played = try await stream.play(on: [bad, .software(.h264)], hold: { _ in true })
        #expect(try await stream.expected() == played.frames)
        #expect(played.starvations.contains(.began(pictures: 5)))
        #expect(played.failures.count == 1 && played.failures.first?.code == .unavailable)
        #expect(played.statistics.failedDecoders == 1 && played.decoder?.identity.device == nil)
    }

    // MARK: - Cancelling

    /// Nobody waits for a decoder that is stuck; its deadline is far away.
    @Test(arguments: [DecoderPlan.Moment.decoding, .draining])
    func cancellingEndsACallThatHangs(moment: DecoderPlan.Moment) async throws {
        let stream = try HelperDecoding.short.get()
        let file = try FaultFile()
        let plan = DecoderPlan("hang", moment, sample: 5, file: file.path)
        let session = try await stream.session(on: [try .planned(plan)])
        let producer = Task {
            do throws(MediaError) {
                for sample in stream.samples { try await session.decode(sample) }
                try await session.finish()
                return nil as MediaError?
            } catch {
                return error
            }
        }
        let consumer = Task { [frames = session.frames] in
            do throws(MediaError) { for try await _ in frames {} } catch { return error as MediaError? }
            return nil
        }
        #expect(await Patience.wait { file.hasStruck })
        session.cancel()
        #expect(await consumer.value?.code == .cancelled)
        #expect(await producer.value?.code == .cancelled)
        var failures = 0
        for await event in session.events { if case .decoderFailed = event { failures += 1 } }
        #expect(failures == 0)
    }

    // MARK: - What is too long for a message

    /// H.264 allows 256 picture parameter sets.
    @Test func manyParameterSetsAreDecodedInAHelper() async throws {
        let stream = try HelperDecoding.short.get().withParameterSets(250)
        let played = try await stream.play(on: [try .planned(DecoderPlan())])
        #expect(try await stream.expected() == played.frames && played.failures.isEmpty)
    }

    /// In the first sample, or at a random access point in the middle.
    @Test(arguments: [0, 20]) func tooManyParameterSetsAreDecodedByTheCPU(first: Int) async throws {
        let stream = try HelperDecoding(
            .hevc,
            "-x265-params log-level=none:keyint=20:min-keyint=20:scenecut=0:no-open-gop=1"
        ).withParameterSets(600, from: first)
        let candidates = [try DecoderCandidate.planned(DecoderPlan(), codec: .hevc), .software(.hevc)]
        let played = try await stream.play(on: candidates)
        #expect(try await stream.expected() == played.frames)
        let failure = try #require(played.failures.first)
        #expect(failure.code == .unsupported && played.failures.count == 1)
        #expect(failure.message.contains("parameter sets are too many or too long"))
        #expect(failure.given?.hasPrefix("603 with ") == true)
    }

    /// Far more captions than a picture may have, and a message that is longer than any between processes.
    @Test func longMessagesInSamplesAreDecodedInAHelper() async throws {
        var stream = try HelperDecoding.short.get()
        let captions = (0..<3000).flatMap { [UInt8(0xFC), UInt8($0 & 0x7F), UInt8($0 >> 7)] }
        stream.samples[3].insert(CaptionMessage.messages(captions))
        stream.samples[4].insert([
            SEIMessage(type: .unregisteredUserData, payload: Array(repeating: 7, count: 300_000))
        ])
        let played = try await stream.play(on: [try .planned(DecoderPlan())])
        let expected = try await stream.expected()
        #expect(expected == played.frames && played.failures.isEmpty)
        #expect(played.frames.map(\.captions.count).filter { $0 > 0 } == [4095])
        #expect(played.frames.first { !$0.captions.isEmpty }?.captions == Array(captions.prefix(4095)))
    }
}

/// The helper program of the product. One test at a time: the helpers are found by their name.
@Suite(.usesHelpers, .serialized, .timeLimit(.minutes(60))) struct DecodingHelperTests {
    private func candidate(deadline: Duration) throws -> DecoderCandidate {
        var pool = HelperPool.Options(.decoding)
        pool.path = try BuiltProgram.path("vatoolbox-decoding-helper")
        let identity = DecoderIdentity(name: "libavcodec", codec: .h264)
        return .remote(identity, in: try HelperPool(pool), pictures: 3) { $0.call = deadline }
    }

    /// Kills and stops the helpers of the product while they decode.
    @Test(arguments: [SIGKILL, SIGSTOP]) func helpersThatAreKilledCostNoFrame(signal: Int32) async throws {
        let stream = try HelperDecoding.short.get()
        let struck = Mutex<Set<Int32>>([])
        let candidates = [try candidate(deadline: .seconds(3)), .software(.h264)]
        let played = try await stream.play(on: candidates) {
            $0.waitingFrames = 2
        } hold: { frame in
            // At some frames, with the decoder in mid-stream.
            if frame.presentationTime.value % 14 == 9 {
                for process in ProcessFiles.children(of: "self")
                where ProcessFiles.text("/proc/\(process)/comm") == "vatoolbox-decod\n" {
                    if struck.withLock({ $0.insert(process).inserted }) { kill(process, signal) }
                }
            }
            return false
        }
        #expect(try await stream.expected() == played.frames)
        #expect(played.error == nil && played.statistics.lostFrames == 0)
        #expect(struck.withLock { $0.count } >= 2 && played.statistics.failedDecoders >= 1)
    }

    @Test func theRealHelperDecodesAsThisProcessDoes() async throws {
        for stream in [try HelperDecoding.short.get(), try HelperDecoding.long.get()] {
            let played = try await stream.play(on: [try candidate(deadline: .seconds(600))])
            #expect(try await stream.expected() == played.frames)
            #expect(played.failures.isEmpty)
        }
    }
}

extension HelperDecoding {
    /// Adds copies of the last parameter set to the formats of samples.
    fileprivate func withParameterSets(_ count: Int, from first: Int = 0) -> HelperDecoding {
        var stream = self
        for index in stream.samples.indices.dropFirst(first) {
            let format = samples[index].formatDescription
            let copies = Array(repeating: format.parameterSets.last ?? [], count: count)
            stream.samples[index].formatDescription = FormatDescription(
                codec: format.codec,
                width: format.width,
                height: format.height,
                parameterSets: format.parameterSets + copies
            )
        }
        return stream
    }
}

extension SampleBuffer {
    /// Inserts messages before the first NAL unit.
    fileprivate mutating func insert(_ messages: [SEIMessage]) {
        let unit = SEIMessage.nalUnit(messages, codec: formatDescription.codec)
        let length = withUnsafeBytes(of: UInt32(unit.count).bigEndian) { Array($0) }
        data = CodedData(length + unit + data.withUnsafeBytes { Array($0) })
    }
}
