// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import Synchronization
import TestSupport
import Testing

@testable import VAToolbox

/// Samples that are submitted without waiting: each gets its outcome once, and its frame comes out as if it had waited.
@Suite(.timeLimit(.minutes(60))) struct SubmittedSampleTests {
    /// What became of the samples, by their index.
    private final class Outcomes: Sendable {
        private let all = Mutex<[Int: [MediaError?]]>([:])

        func add(_ index: Int, _ outcome: Result<Void, MediaError>) {
            all.withLock { $0[index, default: []].append(outcome.error) }
        }

        var count: Int { all.withLock { $0.values.map(\.count).reduce(0, +) } }
        /// The error of each, or `nil`; only of those with one outcome.
        var single: [Int: MediaError?] { all.withLock { $0.filter { $0.value.count == 1 }.mapValues { $0[0] } } }
    }

    private func submit(_ sample: SampleBuffer, _ index: Int, to session: DecompressionSession, _ outcomes: Outcomes) {
        session.submit(sample, token: index) { outcomes.add(index, $0) }
    }

    @Test(arguments: 0..<UInt64(200)) func framesAreThoseOfSamplesThatWait(seed: UInt64) async throws {
        let stream = ModelStream(seed: seed)
        let script = DecoderScript { _, count in
            var random = SplitMix(seed &* 1000 &+ UInt64(count))
            return random.isOne(of: 15) ? [.refuses, .failsLater, .isOutdated][random.below(3)] : nil
        }
        var options = DecompressionOptions()
        options.waitingFrames = 1 + Int(seed % 3)
        let session = try await DecompressionSession.scripted(
            [script, DecoderScript()],
            options,
            usesThread: seed % 2 == 1
        )
        // The consumer is slow now and then, so that samples wait for it.
        let consumer = Task { [frames = session.frames] in
            var (taken, random) = ([DecodedFrame](), SplitMix(seed ^ 5))
            for try await frame in frames {
                taken.append(frame)
                for _ in 0..<random.below(20) { await Task.yield() }
            }
            return taken
        }
        let outcomes = Outcomes()
        var random = SplitMix(seed ^ 9)
        for (index, sample) in stream.samples.enumerated() {
            submit(sample, index, to: session, outcomes)
            if random.isOne(of: 4) { await Task.yield() }
        }
        try await eventually { outcomes.count == stream.samples.count }
        try await session.finish()
        let frames = try await consumer.value
        #expect(frames.map(\.presentationTime) == stream.times)
        #expect(
            frames.allSatisfy { frame in
                (frame.token as? Int).map { stream.samples[$0].presentationTime == frame.presentationTime } == true
            }
        )
        #expect(outcomes.single.count == stream.samples.count && outcomes.single.values.allSatisfy { $0 == nil })
        #expect(script.violations.isEmpty)
    }

    /// Nobody takes frames, so that samples wait until the session is cancelled.
    @Test func aCancellationEndsTheWaitOfEachOnce() async throws {
        var options = DecompressionOptions()
        options.waitingFrames = 2
        let session = try await DecompressionSession.scripted([DecoderScript()], options)
        let stream = ModelStream(seed: 4)
        let outcomes = Outcomes()
        for (index, sample) in stream.samples.enumerated() { submit(sample, index, to: session, outcomes) }
        try await eventually { await session.statistics.returnedFrames > 0 }
        #expect(outcomes.count < stream.samples.count)
        session.cancel()
        try await eventually { outcomes.count >= stream.samples.count }
        // One that comes later is answered as well.
        submit(try #require(stream.samples.first), -1, to: session, outcomes)
        try await eventually { outcomes.count > stream.samples.count }
        let single = outcomes.single
        #expect(single.count == stream.samples.count + 1)
        #expect(single[-1]??.code == .cancelled)
        #expect(single.values.contains { $0?.code == .cancelled })
        #expect(single.values.allSatisfy { $0 == nil || $0?.code == .cancelled })
    }

    @Test func aSampleThatIsRefusedLeavesTheOthersAlone() async throws {
        let session = try await DecompressionSession.scripted()
        let stream = ModelStream(seed: 2)
        var broken = try #require(stream.samples.first)
        broken.data = CodedData([0, 0, 0, 9, 1])
        let outcomes = Outcomes()
        let consumer = Task { [frames = session.frames] in
            var times: [MediaTime] = []
            for try await frame in frames { times.append(frame.presentationTime) }
            return times
        }
        submit(broken, -1, to: session, outcomes)
        for (index, sample) in stream.samples.enumerated() { submit(sample, index, to: session, outcomes) }
        try await eventually { outcomes.count == stream.samples.count + 1 }
        try await session.finish()
        #expect(try await consumer.value == stream.times)
        #expect(outcomes.single[-1]??.code == .malformedData)
        submit(try #require(stream.samples.first), -2, to: session, outcomes)
        try await eventually { outcomes.single[-2] != nil }
        #expect(outcomes.single[-2]??.code == .invalidState)
    }
}

extension Result<Void, MediaError> {
    fileprivate var error: MediaError? {
        if case .failure(let error) = self { error } else { nil }
    }
}
