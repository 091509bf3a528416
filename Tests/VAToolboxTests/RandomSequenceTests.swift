// SPDX-License-Identifier: GPL-2.0-or-later

import Dispatch
import Foundation
import MediaTypes
import Synchronization
import TestSupport
import Testing

@testable import VAToolbox

/// Random calls, from several tasks, on random encoders that fail and hang: no call stays without an answer and the
/// contract holds.
///
/// `VATOOLBOX_SEED` plays one sequence again; `VATOOLBOX_SEQUENCES` sets how many are played in this process, and a
/// hundredth of them in helpers.
@Suite(.timeLimit(.minutes(60)), .usesHelpers) struct RandomSequenceTests {
    @Test(arguments: Place.allCases) func noSequenceOfCallsBreaksTheContract(_ place: Place) async throws {
        let environment = ProcessInfo.processInfo.environment
        let stagehand = try Stagehand(place)
        if let seed = environment["VATOOLBOX_SEED"].flatMap(UInt64.init) { return await play(seed, stagehand) }
        let count = environment["VATOOLBOX_SEQUENCES"].flatMap(UInt64.init) ?? 10_000
        let atOnce: UInt64 = place.isInProcess ? 24 : 8
        await withTaskGroup(of: Void.self) { group in
            for seed in 0..<(place.isInProcess ? count : count / 100) {
                if seed >= atOnce { await group.next() }
                group.addTask { await play(seed, stagehand) }
            }
        }
    }

    private func play(_ seed: UInt64, _ stagehand: Stagehand) async {
        for violation in await watched(RandomSequence(seed: seed, stagehand).play) {
            Issue.record("\(violation) (VATOOLBOX_SEED=\(seed))")
        }
    }

    /// Says so when a sequence does not end; it is then left behind.
    private func watched(_ body: @escaping @Sendable () async -> [String]) async -> [String] {
        await withCheckedContinuation { continuation in
            let waiting = Mutex(Optional(continuation))
            let answer = Answer { result in
                let continuation = waiting.withLock { $0.take() }
                continuation?.resume(returning: result)
            }
            Task { answer.give(await body()) }
            DispatchQueue.global().asyncAfter(deadline: .now() + 120) { answer.give(["it does not end"]) }
        }
    }

    private final class Answer: Sendable {
        let give: @Sendable ([String]) -> Void
        init(_ give: @escaping @Sendable ([String]) -> Void) { self.give = give }
    }
}

/// One session with its calls, all chosen by a seed.
struct RandomSequence: Sendable {
    private let seed: UInt64
    private let stagehand: Stagehand
    private let shape: Shape
    private let options: SessionOptions
    private let candidateCount: Int
    private let canHang: Bool
    private let hasHandler: Bool

    /// - Parameter stagehand: Where it is played.
    init(seed: UInt64, _ stagehand: Stagehand) {
        var random = SplitMix(seed)
        self.seed = seed
        self.stagehand = stagehand
        shape = Shape(reorderDepth: random.below(3), isVariable: random.isOne(of: 2), place: stagehand.place)
        candidateCount = 1 + random.below(3)
        canHang = random.isOne(of: 25)
        hasHandler = random.isOne(of: 6)
        var options = SessionOptions()
        options.limits.framesAhead = random.below(4)
        options.limits.creationAttempts = 1 + random.below(3)
        options.limits.consecutiveFailedFrames = 1 + random.below(4)
        options.limits.missedDeadlines = 1 + random.below(3)
        if canHang {
            // In a helper some encoders that do not hang will miss them too: what then happens must be right as well.
            options.limits.creationDeadline = stagehand.place.isInProcess ? .milliseconds(20) : .seconds(2)
            options.limits.frameDeadline = .milliseconds(stagehand.place.isInProcess ? 20 : 200)
        }
        if random.isOne(of: 2) { options.waterMarks = WaterMarks(low: 1 + random.below(100), high: 200) }
        if random.isOne(of: 5) {
            options.realTime = RealTimeMode(
                drop: random.isOne(of: 2) ? .oldest : .newest,
                maximumWaiting: 1 + random.below(4)
            )
        }
        self.options = options
    }

    /// Plays it and says what was not as it should be.
    func play() async -> [String] {
        let stage = Stage()
        let recorder = OutputHandlerTests.Recorder()
        let log = CallLog()
        let bank: BufferBank
        let consumer: Task<Consumed, Never>?
        let isFinished: Bool
        do {
            let rig = try await SessionRig(
                shape,
                (0..<candidateCount).map { candidate in { script(candidate, $0) } },
                options: options,
                stage: stage,
                stagehand: stagehand,
                outputHandler: hasHandler ? recorder.take : nil
            )
            bank = rig.bank
            consumer = hasHandler ? nil : consume(rig.session.samples)
            isFinished = await play(rig, log)
        } catch {
            stage.release()
            return []  // no encoder could be made, and the call said so
        }
        // Here the session is gone, if it was not finished or cancelled before.
        if hasHandler, !isFinished { await recorder.waitForError() }
        let consumed = await consumer?.value ?? recorder.consumed
        stage.release()
        return check(consumed, isFinished: isFinished, log) + (await checkRelease(stage, bank))
    }

    /// Plays the calls.
    ///
    /// - Returns: Whether the session was finished; if not, it has failed, was cancelled, or is to be released.
    private func play(_ rig: SessionRig, _ log: CallLog) async -> Bool {
        var random = SplitMix(seed &+ 1)
        let events = Task { [events = rig.session.events] in
            for await event in events {
                if case .frameDropped(let time, _) = event { log.note(dropped: time) }
            }
        }
        let callers = (0...random.below(3)).map { _ in
            let callerSeed = random.next()
            return Task { await call(rig, log, SplitMix(callerSeed)) }
        }
        for caller in callers { await caller.value }
        if options.realTime == nil, random.isOne(of: 8) {
            return if case .finished = await rig.session.engine.machine.phase { true } else { false }
        }
        if random.isOne(of: 8) { rig.session.cancel() }
        let isFinished = await MediaError.of { try await rig.session.finish() } == nil
        await events.value
        return isFinished
    }

    /// One task of the session's user.
    private func call(_ rig: SessionRig, _ log: CallLog, _ generator: SplitMix) async {
        var random = generator
        for _ in 0..<random.below(25) {
            let chance = random.below(40)
            switch chance {
            case 0: _ = await MediaError.of { try await rig.session.flush() }
            case 1:
                let flush = Task { await MediaError.of { try await rig.session.flush() } }
                if random.isOne(of: 2) { await Task.yield() }
                flush.cancel()
            case 2: rig.session.refresh()
            case 3, 4:
                let rate = random.isOne(of: 5) ? -1 : 1_000_000 + random.below(1_000_000)
                let update = Task { await MediaError.of { try await rig.session.update(.init(bitRate: rate)) } }
                if random.isOne(of: 3) { update.cancel() } else { _ = await update.value }
            case 5: if random.isOne(of: 20) { rig.session.cancel() }
            case 6: if random.isOne(of: 10) { _ = await MediaError.of { try await rig.session.finish() } }
            case 7: try? await Task.sleep(for: .microseconds(random.below(2000)))
            default: await encode(rig, log, isCancelled: chance < 12, forceKeyFrame: random.isOne(of: 10))
            }
        }
    }

    private func encode(_ rig: SessionRig, _ log: CallLog, isCancelled: Bool, forceKeyFrame: Bool) async {
        let index = log.nextIndex()
        let call = Task { () -> FrameDisposition? in
            try? await rig.encode(index, options: .init(forceKeyFrame: forceKeyFrame))
        }
        if isCancelled {
            await Task.yield()
            call.cancel()
        }
        if let disposition = await call.value {
            log.note(rig.feeds([index])[0], disposition)
        }
    }

    /// A consumer that pauses now and then.
    private func consume(_ samples: SampleSequence) -> Task<Consumed, Never> {
        Task {
            var random = SplitMix(seed &+ 2)
            var consumed = Consumed()
            var iterator = samples.makeAsyncIterator()
            do throws(MediaError) {
                while let sample = try await iterator.next() {
                    consumed.samples.append(sample)
                    if random.isOne(of: 20) { try? await Task.sleep(for: .microseconds(random.below(3000))) }
                }
            } catch {
                consumed.error = error
            }
            return consumed
        }
    }

    // MARK: - Encoders

    private func script(_ candidate: Int, _ attempt: Int) -> InstanceScript {
        var random = SplitMix(seed &+ UInt64(candidate * 1000 + attempt) &* 7919)
        return shape.with { script in
            script.formatID = UInt8(random.below(3))
            script.isFailureFinal = random.isOne(of: 6)
            script.bytesPerFrame = 24 + random.below(60)
            script.keyFrameInterval = random.isOne(of: 3) ? 1 + random.below(12) : nil
            if attempt > 0 || candidate > 0 { script.reorderDepth = random.below(shape.reorderDepth + 1) }
            if random.isOne(of: 2) { return }
            script.creation = random.pick(
                [.succeed, .succeed, .succeed, .fail, .failPermanently],
                hang: canHang ? .hang : nil
            )
            script.drain = random.pick([.normal, .normal, .normal, .fail, .keepFrames], hang: canHang ? .hang : nil)
            script.update = random.pick(
                [.inPlace, .onlyByNewEncoder, .refuse, .fail],
                hang: canHang ? .hang : nil
            )
            let faults: [InstanceScript.Step] = [
                .fail, .failPermanently, .failLater, .empty, .leaveOut, .leaveOut, .duplicate, .unknownNumber, .notKey,
                .hastyKey,
            ]
            script.steps[random.below(12)] = random.pick(faults, hang: canHang ? .hang : nil)
            if canHang, random.isOne(of: 4) { script.steps[random.below(12)] = .fallSilent }
        }
    }

    // MARK: - What has to hold

    private func check(_ consumed: Consumed, isFinished: Bool, _ log: CallLog) -> [String] {
        let dropped = log.dropped
        let accepted = log.frames.filter { !dropped.contains($0.time) }.sorted { $0.index < $1.index }
        let extent: Extent = isFinished ? .all : consumed.error?.code == .cancelled ? .some : .groups
        return contractViolations(consumed, accepted: accepted, extent: extent)
    }

    /// Without hangs nothing may be left: no encoder, no buffer. Nor with them, where they end with their process.
    private func checkRelease(_ stage: Stage, _ bank: BufferBank) async -> [String] {
        if !canHang || !stagehand.place.isInProcess,
            await !Patience.wait(until: { stage.alive == 0 && bank.areAllBack })
        {
            return ["\(stage.alive) encoders are left, and all buffers are back: \(bank.areAllBack)"]
        }
        return bank.counts.contains { $0 > 1 } ? ["a buffer was given back twice"] : []
    }
}

/// What the callers of a sequence did.
private final class CallLog: Sendable {
    private struct State {
        var index = 0
        var frames: [Feed] = []
        var dropped: Set<MediaTime> = []
    }
    private let state = Mutex(State())

    func nextIndex() -> Int {
        state.withLock { state in
            defer { state.index += 1 }
            return state.index
        }
    }

    func note(_ feed: Feed, _ disposition: FrameDisposition) {
        if disposition != .dropped { state.withLock { $0.frames.append(feed) } }
    }

    func note(dropped time: MediaTime) { state.withLock { _ = $0.dropped.insert(time) } }
    var frames: [Feed] { state.withLock { $0.frames } }
    var dropped: Set<MediaTime> { state.withLock { $0.dropped } }
}

extension SplitMix {
    fileprivate mutating func pick<Value>(_ values: [Value], hang: Value?) -> Value {
        if let hang, isOne(of: 4) { return hang }
        return values[below(values.count)]
    }
}
