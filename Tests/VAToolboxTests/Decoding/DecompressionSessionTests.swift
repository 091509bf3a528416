// SPDX-License-Identifier: GPL-2.0-or-later

import HelperIPC
import MediaTypes
import TestSupport
import Testing

@testable import VAToolbox

/// Sessions with decoders that follow scripts: each frame comes out once and in order, whatever fails.
@Suite(.timeLimit(.minutes(60))) struct DecompressionSessionTests {
    private struct Played {
        var frames: [DecodedFrame] = []
        var events: [DecompressionEvent] = []
        var statistics = DecompressionStatistics()
        var error: MediaError?
    }

    private func play(
        _ stream: ModelStream,
        on scripts: [DecoderScript],
        _ options: DecompressionOptions = .init(),
        flushingAfter flushes: Set<Int> = [],
        usesThread: Bool = false
    ) async throws -> Played {
        let session = try await DecompressionSession.scripted(scripts, options, usesThread: usesThread)
        let consumer = Task { [frames = session.frames] in
            var played = Played()
            do throws(MediaError) { for try await frame in frames { played.frames.append(frame) } } catch {
                played.error = error
            }
            return played
        }
        do throws(MediaError) {
            for (index, sample) in stream.samples.enumerated() {
                try await session.decode(sample, token: index)
                if flushes.contains(index) { try await session.flush() }
            }
            try await session.finish()
        } catch {
            session.cancel()
        }
        var played = await consumer.value
        played.statistics = await session.statistics
        for await event in session.events { played.events.append(event) }
        return played
    }

    @Test(arguments: 0..<UInt64(1000)) func everyFrameComesOutOnceWhateverFails(seed: UInt64) async throws {
        let stream = ModelStream(seed: seed)
        let script = DecoderScript { call, count in
            var random = SplitMix(seed &* 1000 &+ UInt64(count))
            guard random.isOne(of: 12) else { return nil }
            return [.refuses, .failsLater, .isOutdated][random.below(3)]
        }
        var random = SplitMix(seed ^ 77)
        let flushes = Set((0..<random.below(3)).map { _ in random.below(stream.samples.count) })
        let played = try await play(
            stream,
            on: [script, DecoderScript()],
            flushingAfter: flushes,
            usesThread: seed % 2 == 1
        )
        #expect(played.error == nil)
        #expect(played.frames.map(\.presentationTime) == stream.times(flushingAfter: flushes))
        #expect(script.violations.isEmpty)
        #expect(played.frames.allSatisfy { !$0.isDamaged })
        for frame in played.frames {
            let index = try #require(frame.token as? Int)
            #expect(stream.samples[index].presentationTime == frame.presentationTime)
        }
        #expect(played.statistics.returnedFrames == stream.samples.count)
        #expect(played.statistics.samplesWithoutFrame == 0 && played.statistics.lostFrames == 0)
    }

    @Test func theNextCandidateContinuesAfterTheLimit() async throws {
        let stream = ModelStream(seed: 3)
        let bad = DecoderScript { call, _ in if case .decode(7...) = call { .refuses } else { nil } }
        var options = DecompressionOptions()
        options.consecutiveFailures = 4
        let played = try await play(stream, on: [bad, DecoderScript()], options)
        #expect(played.frames.map(\.presentationTime) == stream.times)
        let failures = played.events.compactMap { event -> MediaError? in
            if case .decoderFailed(_, let error, _) = event { error } else { nil }
        }
        // Frames in between forget failures, so a decoder gets further before it is given up.
        #expect(failures.last?.message.contains("given up after 4 failures in a row") == true)
        #expect(failures.count == played.statistics.failedDecoders)
        #expect(played.statistics.repeatedSamples > 0)
    }

    /// A decoder that always hangs would otherwise cost twenty deadlines.
    @Test func twoMissedDeadlinesAreEnough() async throws {
        let stream = ModelStream(seed: 3)
        let bad = DecoderScript { call, _ in if case .decode(7) = call { .missesDeadline } else { nil } }
        let played = try await play(stream, on: [bad, DecoderScript()])
        #expect(played.frames.map(\.presentationTime) == stream.times)
        #expect(played.statistics.failedDecoders == 2)
        let verdict = played.events.compactMap { event -> String? in
            if case .decoderFailed(_, let error, _) = event { error.message } else { nil }
        }.last
        #expect(verdict?.contains("given up after 2 missed deadlines with few or no frames in between") == true)
    }

    /// Such a decoder returns everything, and the next one begins without decoding anything again.
    @Test func anOutdatedDecoderGivesWayAtAnIDRPicture() async throws {
        var stream = ModelStream()
        for _ in 0..<3 {
            stream.add(.closed)
            for _ in 0..<4 { stream.add(.none, leading: 2) }
        }
        let script = DecoderScript { call, _ in if case .decode(3) = call { .isOutdated } else { nil } }
        let played = try await play(stream, on: [script])
        #expect(played.frames.map(\.presentationTime) == stream.times)
        #expect(played.statistics.createdDecoders == 2 && played.statistics.failedDecoders == 0)
        #expect(played.statistics.repeatedSamples == 0)
        let next = try #require(stream.samples.dropFirst().firstIndex { $0.randomAccess == .closed })
        let creations = script.calls.enumerated().filter { $0.element == .create }.map(\.offset)
        #expect(script.calls[creations[1] + 1] == .decode(Int64(next)) && script.violations.isEmpty)
    }

    @Test func aPermanentRefusalIsNotRepeated() async throws {
        let refusing = DecoderScript { _, _ in .refusesForGood }
        let played = try await play(ModelStream(seed: 1), on: [refusing, DecoderScript()])
        #expect(refusing.calls == [.create])
        #expect(played.frames.map(\.presentationTime) == ModelStream(seed: 1).times)
    }

    @Test func theLastCandidatesErrorEndsTheSession() async throws {
        let script = DecoderScript { call, _ in if case .decode(5...) = call { .refuses } else { nil } }
        let played = try await play(ModelStream(seed: 1), on: [script])
        let message = try #require(played.error?.message)
        #expect(message.contains("model 0 is given up after 20 failures in a row; last error: the model fails"))
        let never = DecoderScript { _, _ in .refuses }
        await #expect(throws: MediaError.self) { _ = try await DecompressionSession.scripted([never]) }
        #expect(never.calls.count == 5)
        let error = await #expect(throws: MediaError.self) { _ = try await DecompressionSession.scripted([]) }
        #expect(error?.code == .unavailable)
    }

    @Test func damageIsToldUntilTheNextRandomAccessPoint() async throws {
        var stream = ModelStream()
        stream.add(.closed)
        for _ in 0..<3 { stream.add(.none) }
        stream.add(.open, leading: 2)
        stream.add(.none)
        let script = DecoderScript { call, _ in call == .decode(2) ? .isDamaged : nil }
        let played = try await play(stream, on: [script])
        #expect(played.frames.map(\.presentationTime) == stream.times)
        // Pictures that are presented before an open random access point may refer to the damaged ones.
        #expect(played.frames.map(\.isDamaged) == [false, false, true, true, true, true, false, false])
        #expect(played.statistics.damagedFrames == 4)
        let damaged = played.events.compactMap { event -> MediaTime? in
            if case .damaged(let time, _) = event { time } else { nil }
        }
        #expect(damaged == [MediaTime(value: 2, timescale: 25)])
    }

    @Test func aSampleWithoutPictureIsTold() async throws {
        let stream = ModelStream(seed: 5)
        let script = DecoderScript { call, _ in call == .decode(1) ? .hasNoPicture : nil }
        let played = try await play(stream, on: [script])
        let missing = stream.samples[1].presentationTime
        #expect(played.frames.map(\.presentationTime) == stream.times.filter { $0 != missing })
        #expect(played.statistics.samplesWithoutFrame == 1)
    }

    @Test func aSampleThatCannotBeReadIsRefusedAndWhatFollowsIsDamaged() async throws {
        var stream = ModelStream()
        stream.add(.closed)
        stream.add(.none)
        stream.add(.none)
        stream.add(.closed)
        let session = try await DecompressionSession.scripted([DecoderScript()])
        try await session.decode(stream.samples[0])
        let broken = stream.samples[1].with(data: [0, 0, 9, 9, 1])
        let error = await #expect(throws: MediaError.self) { try await session.decode(broken) }
        #expect(error?.code == .malformedData)
        try await session.decode(stream.samples[2])
        try await session.decode(stream.samples[3])
        try await session.finish()
        var damaged: [Bool] = []
        for try await frame in session.frames { damaged.append(frame.isDamaged) }
        #expect(damaged == [false, true, false])
    }

    @Test func droppedSamplesAreNoDamage() async throws {
        var stream = ModelStream()
        stream.add(.closed)
        stream.add(.none)
        stream.add(.none)
        let session = try await DecompressionSession.scripted([DecoderScript()])
        try await session.decode(stream.samples[0])
        var dropped = stream.samples[1].with(data: [])
        dropped.isDropped = true
        try await session.decode(dropped)
        try await session.decode(stream.samples[2])
        try await session.finish()
        var damaged: [Bool] = []
        for try await frame in session.frames { damaged.append(frame.isDamaged) }
        #expect(damaged == [false, false])
        #expect(await session.statistics.skippedSamples == 1)
    }

    @Test func decodingThatBeginsInTheMiddleSaysSo() async throws {
        var stream = ModelStream()
        stream.add(.open, leading: 3)
        stream.add(.none)
        let played = try await play(stream, on: [DecoderScript()])
        #expect(played.frames.map(\.presentationTime.value) == [3, 4])
        #expect(played.frames.allSatisfy { !$0.isDamaged })
        #expect(played.statistics.samplesWithoutFrame == 3)
    }

    @Test func framesBeforeTheStartAreDecodedOnlyForOthers() async throws {
        var stream = ModelStream()
        stream.add(.closed)
        for _ in 0..<4 { stream.add(.none, leading: 3) }
        var options = DecompressionOptions()
        options.start = MediaTime(value: 10, timescale: 25)
        let script = DecoderScript()
        let played = try await play(stream, on: [script], options)
        #expect(played.frames.map(\.presentationTime.value) == Array(10...16))
        #expect(played.statistics.skippedSamples > 0)
        #expect(
            played.statistics.hiddenFrames + played.statistics.skippedSamples + played.frames.count
                == stream.samples.count
        )
        options.start = nil
        options.skipsDisposableSamples = true
        let overview = try await play(stream, on: [DecoderScript()], options)
        #expect(overview.frames.count + overview.statistics.skippedSamples == stream.samples.count)
        #expect(overview.statistics.skippedSamples == 8)
    }

    @Test func decodingWaitsForTheConsumer() async throws {
        var stream = ModelStream()
        stream.add(.closed)
        for _ in 0..<40 { stream.add(.none) }
        var options = DecompressionOptions()
        options.waitingFrames = 3
        let session = try await DecompressionSession.scripted([DecoderScript()], options)
        let producer = Task { [stream] in
            for sample in stream.samples { try await session.decode(sample) }
            try await session.finish()
        }
        // Five pictures stay in the model, three wait, and one more is decoded before the call waits.
        #expect(await Patience.wait { await session.statistics.returnedFrames == 3 })
        #expect(await session.statistics.acceptedSamples == 8)
        var count = 0
        for try await _ in session.frames { count += 1 }
        #expect(count == 41)
        try await producer.value
    }

    @Test func whatIsReleasedIsLostWithTheDecoder() async throws {
        var stream = ModelStream()
        stream.add(.closed)
        for _ in 0..<9 { stream.add(.none) }
        stream.add(.closed)
        stream.add(.none)
        var options = DecompressionOptions()
        options.replayByteLimit = 20
        let script = DecoderScript { call, count in call == .decode(7) && count < 10 ? .refuses : nil }
        let played = try await play(stream, on: [script], options)
        let (lost, frames) = (played.statistics.lostFrames, played.frames)
        #expect(lost > 0 && lost + frames.count == stream.samples.count)
        #expect(frames.suffix(2).map(\.presentationTime.value) == [10, 11])
        #expect(script.violations.isEmpty)
    }

    @Test func callsAfterTheEndAreRefused() async throws {
        let session = try await DecompressionSession.scripted([DecoderScript()])
        try await session.finish()
        try await session.finish()
        let sample = ModelStream(seed: 1).samples[0]
        let finished = await #expect(throws: MediaError.self) { try await session.decode(sample) }
        #expect(finished?.code == .invalidState)
        let other = try await DecompressionSession.scripted([DecoderScript()])
        other.cancel()
        let cancelled = await #expect(throws: MediaError.self) { try await other.decode(sample) }
        #expect(cancelled?.code == .cancelled)
        let end = await #expect(throws: MediaError.self) { for try await _ in other.frames {} }
        #expect(end?.code == .cancelled)
    }

    @Test func theHandlerGetsEveryFrameBeforeFinishReturns() async throws {
        let stream = ModelStream(seed: 9)
        let times = Recorded<MediaTime>()
        let session = try await DecompressionSession(
            formatDescription: ModelStream.format,
            candidates: [DecoderCandidate(factory: ModelDecoderFactory(script: DecoderScript()), reason: "a test")]
        ) { result in
            if case .success(let frame) = result { times.add(frame.presentationTime) }
        }
        for sample in stream.samples { try await session.decode(sample) }
        try await session.finish()
        #expect(times.all == stream.times)
        #expect(await session.decoder?.identity.name == "model")
    }

    @Test func wrongOptionsAreRefused() async throws {
        let changes: [(name: String, change: (inout DecompressionOptions) -> Void)] = [
            ("deadline for the copy", { $0.copyDeadline = .zero }),
            ("deadline for the copy", { $0.copyDeadline = .seconds(86401) }),
            ("number of threads", { $0.threadCount = 65 }),
            ("number of waiting frames", { $0.waitingFrames = 0 }),
            ("number of waiting frames", { $0.waitingFrames = 33 }),
            ("number of held frames", { $0.heldFrames = 0 }),
            ("number of held frames", { $0.heldFrames = 65 }),
            ("number of attempts", { $0.creationAttempts = 0 }),
            ("number of failures", { $0.consecutiveFailures = 1001 }),
            ("size of the samples", { $0.replayByteLimit = -1 }),
            ("start", { $0.start = .invalid }),
            ("must be able to decode", { $0.helpers = .standard }),
        ]
        for (name, change) in changes {
            var changed = DecompressionOptions()
            change(&changed)
            let options = changed
            let error = #expect(throws: MediaError.self) { try options.validate() }
            #expect(error?.code == .invalidArgument)
            #expect(error?.message.contains(name) == true)
        }
    }
}

extension SampleBuffer {
    fileprivate func with(data bytes: [UInt8]) -> SampleBuffer {
        var sample = self
        sample.data = CodedData(bytes)
        return sample
    }
}
