// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import Synchronization
import TestSupport
import Testing

@testable import VAToolbox

/// The end of a session, in order and otherwise, and its consumer.
@Suite(.timeLimit(.minutes(60)), .usesHelpers) struct SessionLifeTests {
    static func rig(
        _ place: Place,
        stage: Stage = Stage(),
        outputHandler: CompressionSession.OutputHandler? = nil
    ) async throws -> SessionRig {
        let shape = Shape(reorderDepth: 1, isVariable: false, place: place)
        return try await SessionRig(shape, [{ _ in shape.script }], stage: stage, outputHandler: outputHandler)
    }

    @Test(arguments: Place.all) func finishingTwiceDoesNothingMore(_ place: Place) async throws {
        let rig = try await Self.rig(place)
        let accepted = try await rig.encode(0..<4)
        async let first: Void = rig.session.finish()
        async let second: Void = rig.session.finish()
        _ = try await (first, second)
        try await rig.session.finish()
        #expect(await MediaError.of { try await rig.encode(9) }?.code == .invalidState)
        #expect(await MediaError.of { try await rig.session.flush() }?.code == .invalidState)
        #expect(await MediaError.of { try await rig.session.update(.init()) }?.code == .invalidState)
        rig.session.refresh()
        rig.session.cancel()
        try await rig.session.finish()
        expectContract(await rig.consume().value, accepted: accepted)
        try await eventually { rig.stage.alive == 0 && rig.bank.areAllBack }
    }

    @Test func whenFinishReturnsTheEncoderHasLetGoOfItsDevice() async throws {
        for _ in 0..<50 {
            let rig = try await Self.rig(.inProcess)
            _ = try await rig.encode(0..<2)
            try await rig.session.finish()
            #expect(rig.stage.alive == 0)
        }
    }

    @Test(arguments: Place.all) func aSessionWithoutFramesFinishes(_ place: Place) async throws {
        let rig = try await Self.rig(place)
        try await rig.session.flush()
        try await rig.session.finish()
        let consumed = await rig.consume().value
        #expect(consumed.samples.isEmpty && consumed.error == nil)
    }

    @Test(arguments: Place.all) func cancelEndsEverythingAtOnceAndDiscardsWhatIsQueued(_ place: Place) async throws {
        let rig = try await Self.rig(place)
        _ = try await rig.encode(0..<9)
        try await rig.session.flush()
        rig.session.cancel()
        rig.session.cancel()
        #expect(await MediaError.of { try await rig.session.finish() }?.code == .cancelled)
        #expect(await MediaError.of { try await rig.encode(9) }?.code == .cancelled)
        let consumed = await rig.consume().value
        #expect(consumed.samples.isEmpty)
        #expect(consumed.error?.code == .cancelled)
        _ = await rig.events()  // they end
        try await eventually { rig.stage.alive == 0 && rig.bank.areAllBack }
    }

    @Test(arguments: Place.all) func aSessionThatIsReleasedIsCancelled(_ place: Place) async throws {
        let stage = Stage()
        let (consumer, bank) = try await {
            let rig = try await Self.rig(place, stage: stage)
            let consumer = rig.consume()
            _ = try await rig.encode(0..<8)
            return (consumer, rig.bank)
        }()
        #expect(await consumer.value.error?.code == .cancelled)
        try await eventually { stage.alive == 0 && bank.areAllBack }
    }

    @Test(arguments: Place.all) func theEngineGoesWithTheSession(_ place: Place) async throws {
        let engine = try await {
            let rig = try await Self.rig(place)
            _ = try await rig.encode(0..<8)
            return WeakReference(rig.session.engine)
        }()
        try await eventually { engine.isGone }
    }

    @Test(arguments: Place.all) func tokensAndDataDoNotOutliveTheirSample(_ place: Place) async throws {
        final class Token: Sendable {}
        let rig = try await Self.rig(place)
        var tokens: [WeakReference<Token>] = []
        for index in 0..<9 {
            let token = Token()
            tokens.append(WeakReference(token))
            let time = rig.shape.time(index)
            try await rig.session.encode(rig.bank.make(), presentationTime: time.presentation, token: token)
        }
        try await rig.session.flush()
        var iterator = rig.session.samples.makeAsyncIterator()
        for taken in 1...4 {
            _ = try await iterator.next()
            #expect(tokens.filter(\.isGone).count == taken)
        }
        try await rig.session.finish()
        withExtendedLifetime(iterator) {}
    }

    /// Whoever gives pictures would wait for ever for room that nobody makes.
    @Test(arguments: Place.all) func aConsumerThatStopsCancelsTheSession(_ place: Place) async throws {
        struct DiskIsFull: Error {}
        let shape = Shape(reorderDepth: 1, isVariable: false, place: place)
        var options = SessionOptions()
        options.waterMarks = WaterMarks(low: 1, high: 100)
        let rig = try await SessionRig(shape, [{ _ in shape.script }], options: options)
        let writing = Task { [samples = rig.session.samples] in
            for try await _ in samples { throw DiskIsFull() }
        }
        let error = await MediaError.of { for index in 0..<1000 { try await rig.encode(index) } }
        #expect(
            error?.code == .cancelled
                && error?.message.contains("the consumer of the session's samples has ended") == true
        )
        await #expect(throws: DiskIsFull.self) { try await writing.value }
        #expect(await MediaError.of { try await rig.session.finish() }?.code == .cancelled)
        _ = await rig.events()  // they end
        try await eventually { rig.stage.alive == 0 && rig.bank.areAllBack }
    }

    /// What is queued then is lost, which is told even if no frame comes any more.
    @Test(arguments: Place.all) func aConsumerThatStopsBeforeTheLastSampleIsTold(_ place: Place) async throws {
        let rig = try await Self.rig(place)
        _ = try await rig.encode(0..<9)
        try await rig.session.flush()
        for try await _ in rig.session.samples { break }
        #expect(await MediaError.of { try await rig.session.finish() }?.code == .cancelled)
    }

    /// Who counts does not have to ask for the end.
    @Test(arguments: Place.all) func aConsumerThatHasEverythingMayStop(_ place: Place) async throws {
        let rig = try await Self.rig(place)
        _ = try await rig.encode(0..<9)
        try await rig.session.flush()
        var count = 0
        for try await _ in rig.session.samples {
            count += 1
            if count == 9 { break }
        }
        try await rig.session.finish()
    }

    /// As long as a copy of the iterator is there, somebody may ask.
    @Test(arguments: Place.all) func copiesOfAnIteratorAreOneConsumer(_ place: Place) async throws {
        let rig = try await Self.rig(place)
        _ = try await rig.encode(0..<9)
        try await rig.session.flush()
        var copy = try await {
            var iterator = rig.session.samples.makeAsyncIterator()
            _ = try await iterator.next()
            return iterator
        }()
        try await rig.session.finish()
        var count = 1
        while try await copy.next() != nil { count += 1 }
        #expect(count == 9)
    }

    @Test(arguments: Place.all) func aSecondConsumerIsAnError(_ place: Place) async throws {
        let rig = try await Self.rig(place)
        let accepted = try await rig.encode(0..<3)
        var iterator = rig.session.samples.makeAsyncIterator()
        let second = await rig.consume().value
        #expect(second.error?.code == .invalidState && second.samples.isEmpty)
        try await rig.session.finish()
        var first = Consumed()
        while let sample = try await iterator.next() { first.samples.append(sample) }
        expectContract(first, accepted: accepted)
    }

    @Test(arguments: Place.all) func oneIteratorInTwoTasksIsAnErrorForTheLaterOne(_ place: Place) async throws {
        let rig = try await Self.rig(place)
        let queue = rig.session.samples.queue
        await withTaskGroup(of: MediaError?.self) { group in
            for _ in 0..<2 { group.addTask { await MediaError.of { _ = try await queue.next() } } }
            #expect(await group.next()??.code == .invalidState)
            _ = await MediaError.of { try await rig.session.finish() }
            #expect(await group.next() == .some(nil))
        }
    }

    @Test(arguments: Place.all) func aCancelledConsumerLeavesTheSamplesQueued(_ place: Place) async throws {
        let rig = try await Self.rig(place)
        let queue = rig.session.samples.queue
        for round in 0..<50 {
            let waiting = Task { await MediaError.of { _ = try await queue.next() } }
            if round % 2 == 0 { await Task.yield() }
            waiting.cancel()
            #expect(await waiting.value?.code == .cancelled)
        }
        let accepted = try await rig.encode(0..<5)
        try await rig.session.finish()
        let cancelled = Task { await MediaError.of { _ = try await queue.next() } }
        cancelled.cancel()
        let sawOne = await cancelled.value == nil
        let consumed = await rig.consume().value
        if !sawOne { expectContract(consumed, accepted: accepted) }
        #expect(consumed.samples.count == (sawOne ? 4 : 5))
    }

    @Test(arguments: Place.all) func cancelledCallsAreAnsweredAndTheirWorkGoesOn(_ place: Place) async throws {
        let rig = try await BackPressureTests.stuck(place, .init())
        try await rig.encode(0)
        try await eventually { rig.stage.stuck == 1 }
        let flush = Task { await MediaError.of { try await rig.session.flush() } }
        let finish = Task { await MediaError.of { try await rig.session.finish() } }
        try await eventually { await rig.session.engine.machine.suspendedCalls.count == 2 }
        flush.cancel()
        finish.cancel()
        #expect(await flush.value?.code == .cancelled)
        #expect(await finish.value?.code == .cancelled)
        rig.stage.release()
        let consumed = await rig.consume().value
        #expect(consumed.error == nil)
        expectContract(consumed, accepted: rig.feeds(0..<1))
    }
}

/// The callback form.
@Suite(.timeLimit(.minutes(60)), .usesHelpers) struct OutputHandlerTests {
    /// Notes what a handler was called with, and whether two calls overlapped.
    final class Recorder: Sendable {
        struct State {
            var consumed = Consumed()
            var isBusy = false
            var didOverlap = false
            var waiting: [CheckedContinuation<Void, Never>] = []
        }
        let state = Mutex(State())

        /// Waits until the session has told its error.
        func waitForError() async {
            await withCheckedContinuation { continuation in
                let isThere = state.withLock { state in
                    if state.consumed.error == nil { state.waiting.append(continuation) }
                    return state.consumed.error != nil
                }
                if isThere { continuation.resume() }
            }
        }

        func take(_ result: Result<SampleBuffer, MediaError>) {
            state.withLock { state in
                state.didOverlap = state.didOverlap || state.isBusy || state.consumed.error != nil
                state.isBusy = true
            }
            let waiting = state.withLock { state in
                state.isBusy = false
                switch result {
                case .success(let sample):
                    state.consumed.samples.append(sample)
                    return [CheckedContinuation<Void, Never>]()
                case .failure(let error):
                    state.consumed.error = error
                    defer { state.waiting = [] }
                    return state.waiting
                }
            }
            for continuation in waiting { continuation.resume() }
        }
        var consumed: Consumed { state.withLock { $0.consumed } }
    }

    @Test(arguments: Shape.all)
    func flushAndFinishReturnAfterTheHandlerHasAll(_ shape: Shape) async throws {
        let recorder = Recorder()
        let rig = try await SessionRig(
            shape,
            [{ attempt in shape.with { $0.steps = attempt == 0 ? [7: .fail] : [:] } }],
            outputHandler: recorder.take
        )
        for round in 1...5 {
            _ = try await rig.encode((round - 1) * 5..<round * 5)
            try await rig.session.flush()
            #expect(recorder.consumed.samples.count == round * 5)
        }
        let accepted = try await rig.encode(25..<31)
        try await rig.session.finish()
        #expect(recorder.consumed.samples.count == 31)
        expectContract(recorder.consumed, accepted: rig.feeds(0..<25) + accepted)
        #expect(recorder.consumed.error == nil)
        #expect(!recorder.state.withLock { $0.didOverlap })
        #expect(await rig.consume().value.error?.code == .invalidState)
    }

    @Test(arguments: Place.all) func theErrorOfTheSessionIsTheLastCall(_ place: Place) async throws {
        let recorder = Recorder()
        let shape = Shape(reorderDepth: 0, isVariable: false, place: place)
        let rig = try await SessionRig(
            shape,
            [{ _ in shape.with { $0.steps = [3: .failPermanently] } }],
            outputHandler: recorder.take
        )
        for index in 0..<4 { _ = await MediaError.of { try await rig.encode(index) } }
        let error = await MediaError.of { try await rig.session.finish() }
        #expect(error?.message == "scripted refusal")
        #expect(recorder.consumed.error == error)
        #expect(recorder.consumed.samples.count == 3)
        #expect(!recorder.state.withLock { $0.didOverlap })
    }

    @Test(arguments: Place.all) func releasingTheSessionEndsTheCalls(_ place: Place) async throws {
        let recorder = Recorder()
        do {
            let rig = try await SessionLifeTests.rig(place, outputHandler: recorder.take)
            _ = try await rig.encode(0..<3)
        }
        await recorder.waitForError()
        #expect(recorder.consumed.error?.code == .cancelled)
    }
}

/// Refers to an object without keeping it.
struct WeakReference<Object: AnyObject & Sendable>: Sendable {
    private final class Box: @unchecked Sendable {
        weak var object: Object?
        init(_ object: Object) { self.object = object }
    }
    private let box: Box
    init(_ object: Object) { box = Box(object) }
    var isGone: Bool { box.object == nil }
}
