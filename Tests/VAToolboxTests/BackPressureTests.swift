// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import TestSupport
import Testing

@testable import VAToolbox

/// When `encode` waits, what that means for other calls, and what real-time mode does instead.
@Suite(.timeLimit(.minutes(60)), .usesHelpers) struct BackPressureTests {
    static func shape(_ place: Place) -> Shape { Shape(reorderDepth: 0, isVariable: false, place: place) }

    static func options(high: Int? = nil, framesAhead: Int = 3, realTime: RealTimeMode? = nil) -> SessionOptions {
        var options = SessionOptions()
        if let high { options.waterMarks = WaterMarks(low: high / 2, high: high) }
        options.limits.framesAhead = framesAhead
        options.realTime = realTime
        return options
    }

    /// An encoder that is stuck in its first frame until it is released.
    static func stuck(_ place: Place, _ options: SessionOptions) async throws -> SessionRig {
        let shape = shape(place)
        return try await SessionRig(shape, [{ _ in shape.with { $0.steps = [0: .hang] } }], options: options)
    }

    @Test(arguments: [0, 3], Place.all)
    func encodeWaitsWhileTheEncoderIsBusy(_ framesAhead: Int, _ place: Place) async throws {
        let rig = try await Self.stuck(place, Self.options(framesAhead: framesAhead))
        let accepted = try await rig.encode(0..<framesAhead + 1)
        let first = try await rig.encodeWaiting(framesAhead + 1)
        let second = try await rig.encodeWaiting(framesAhead + 2)
        #expect(await rig.session.statistics.acceptedFrames == accepted.count)
        rig.stage.release()
        #expect(await first.value == nil)
        #expect(await second.value == nil)
        try await rig.session.finish()
        expectContract(await rig.consume().value, accepted: rig.feeds(0..<framesAhead + 3))
    }

    @Test(arguments: Place.all) func aCallThatIsCancelledWhileItWaitsLeavesNoFrame(_ place: Place) async throws {
        let rig = try await Self.stuck(place, Self.options(framesAhead: 0))
        try await rig.encode(0)
        let calls = [
            try await rig.encodeWaiting(1), try await rig.encodeWaiting(2), try await rig.encodeWaiting(3),
        ]
        calls[1].cancel()
        #expect(await calls[1].value?.code == .cancelled)
        #expect(await rig.waiting == 2)
        rig.stage.release()
        #expect(await calls[0].value == nil)
        #expect(await calls[2].value == nil)
        try await rig.session.finish()
        expectContract(await rig.consume().value, accepted: rig.feeds([0, 1, 3]))
        #expect(rig.bank.counts[2] == 1)
    }

    @Test(arguments: Shape.all)
    func encodeWaitsWhileTheConsumerIsSlow(_ shape: Shape) async throws {
        let rig = try await SessionRig(
            shape,
            [{ _ in shape.with { $0.bytesPerFrame = 100 } }],
            options: Self.options(high: 1000)
        )
        let producer = Task { try await rig.encode(0..<100) }
        try await eventually {
            let machine = await rig.session.engine.machine
            return machine.isConsumerSlow && machine.waiting.count == 1
        }
        // Above the mark, and by no more than what the encoder had in hand.
        let queued = await rig.session.statistics.codedBytes
        #expect(queued > 1000 && queued <= 1000 + 100 * (4 + shape.script.lookahead + 4))
        let before = await rig.session.statistics.acceptedFrames
        #expect(before < 100)

        let consumer = rig.consume()
        let accepted = try await producer.value
        try await rig.session.finish()
        expectContract(await consumer.value, accepted: accepted)
    }

    @Test(arguments: Shape.all)
    func flushAndFinishIgnoreTheWaterMarks(_ shape: Shape) async throws {
        let rig = try await SessionRig(
            shape,
            [{ _ in shape.with { $0.bytesPerFrame = 400 } }],
            options: Self.options(high: 1000)
        )
        var accepted = 0
        var waiting: Task<MediaError?, Never>?
        while waiting == nil {
            let index = accepted
            let call = Task { await MediaError.of { try await rig.encode(index) } }
            try await eventually {
                // A call may also wait, for a moment, because the encoder has enough.
                let machine = await rig.session.engine.machine
                return machine.statistics.acceptedFrames > index
                    || machine.isConsumerSlow && machine.waiting.count == 1
            }
            if await rig.session.statistics.acceptedFrames > index { accepted += 1 } else { waiting = call }
        }
        try await rig.session.flush()
        #expect(await rig.session.statistics.codedFrames == accepted)
        #expect(await rig.waiting == 1)
        try await rig.session.finish()
        #expect(await waiting?.value?.code == .invalidState)
        expectContract(await rig.consume().value, accepted: rig.feeds(0..<accepted))
    }

    @Test(arguments: Place.all) func aConsumerThatStopsAgainIsNoticedEachTime(_ place: Place) async throws {
        let shape = Self.shape(place)
        let rig = try await SessionRig(
            shape,
            [{ _ in shape.with { $0.bytesPerFrame = 100 } }],
            options: Self.options(high: 300)
        )
        let producer = Task { try await rig.encode(0..<200) }
        var consumed = Consumed()
        var iterator = rig.session.samples.makeAsyncIterator()
        for _ in 0..<20 {
            try await eventually {
                let machine = await rig.session.engine.machine
                return machine.isConsumerSlow && machine.waiting.count == 1
            }
            let statistics = await rig.session.statistics
            #expect(statistics.codedBytes - consumed.samples.count * 100 <= 300 + 10 * 100)
            for _ in 0..<4 {
                if let sample = try await iterator.next() { consumed.samples.append(sample) }
            }
        }
        while consumed.samples.count < 200, let sample = try await iterator.next() { consumed.samples.append(sample) }
        let accepted = try await producer.value
        try await rig.session.finish()
        #expect(try await iterator.next() == nil)
        expectContract(consumed, accepted: accepted)
    }

    @Test(arguments: Place.all) func oldNewsThatTheConsumerCaughtUpChangesNothing(_ place: Place) async throws {
        let shape = Self.shape(place)
        let rig = try await SessionRig(
            shape,
            [{ _ in shape.with { $0.bytesPerFrame = 100 } }],
            options: Self.options(high: 300)
        )
        let producer = Task { try await rig.encode(0..<100) }
        for _ in 0..<3 {
            try await eventually {
                let machine = await rig.session.engine.machine
                return machine.isConsumerSlow && machine.waiting.count == 1
            }
            rig.session.mailbox.post(.consumer(isSlow: false))
            try await rig.session.flush()
        }
        try await eventually { await rig.session.engine.machine.isConsumerSlow }
        #expect(await rig.session.statistics.acceptedFrames < 40)
        let consumer = rig.consume()
        let accepted = try await producer.value
        try await rig.session.finish()
        expectContract(await consumer.value, accepted: accepted)
    }

    @Test(arguments: Place.all) func anEncoderThatKeepsFramesIsGivenNoMore(_ place: Place) async throws {
        let shape = Self.shape(place)
        let rig = try await SessionRig(shape, [{ _ in shape.with { $0.steps = [0: .fallSilent] } }])
        let producer = Task { await MediaError.of { _ = try await rig.encode(0..<1000) } }
        try await eventually { await rig.waiting == 1 }
        #expect(await rig.session.statistics.acceptedFrames < 10)
        rig.session.cancel()
        #expect(await producer.value?.code == .cancelled)
    }
}

@Suite(.timeLimit(.minutes(60)), .usesHelpers) struct RealTimeTests {
    @Test(arguments: [RealTimeMode.DropPolicy.oldest, .newest], Place.all)
    func framesThatFindNoRoomAreDroppedAndReported(
        _ policy: RealTimeMode.DropPolicy,
        _ place: Place
    ) async throws {
        let options = BackPressureTests.options(
            framesAhead: 1,
            realTime: RealTimeMode(drop: policy, maximumWaiting: 2)
        )
        let rig = try await BackPressureTests.stuck(place, options)
        var dispositions: [FrameDisposition] = []
        for index in 0..<7 { dispositions.append(try await rig.encode(index)) }
        let last: FrameDisposition = policy == .newest ? .dropped : .waiting
        #expect(dispositions == [.accepted, .accepted, .waiting, .waiting, last, last, last])
        let flush = Task { try await rig.session.flush() }
        try await eventually { await rig.session.engine.machine.flushes.count == 1 }
        rig.stage.release()
        try await flush.value
        let coded = await rig.session.statistics.codedFrames
        #expect(coded == 4)
        try await rig.session.finish()
        let kept = policy == .newest ? [0, 1, 2, 3] : [0, 1, 5, 6]
        expectContract(await rig.consume().value, accepted: rig.feeds(kept))
        let dropped = await rig.events().compactMap { event -> (Int64, Int?)? in
            if case .frameDropped(let time, let token) = event { (time.value, token as? Int) } else { nil }
        }
        #expect(dropped.map(\.0) == (policy == .newest ? [4, 5, 6] : [2, 3, 4]))
        #expect(dropped.map { Int64($0.1 ?? -1) } == dropped.map(\.0))
        #expect(await rig.session.statistics.droppedFrames == 3)
    }

    @Test(arguments: Place.all) func finishTakesFramesThatWait(_ place: Place) async throws {
        let rig = try await BackPressureTests.stuck(
            place,
            BackPressureTests.options(framesAhead: 0, realTime: RealTimeMode())
        )
        _ = try await rig.encode(0..<4)
        let finish = Task { try await rig.session.finish() }
        try await eventually { await rig.session.engine.machine.finishRequested }
        #expect(await MediaError.of { try await rig.encode(4) }?.code == .invalidState)
        rig.stage.release()
        try await finish.value
        expectContract(await rig.consume().value, accepted: rig.feeds(0..<4))
    }

    @Test(arguments: Place.all) func flushDoesNotWaitForFramesThatComeAfterIt(_ place: Place) async throws {
        let shape = BackPressureTests.shape(place)
        let rig = try await SessionRig(
            shape,
            [{ _ in shape.with { $0.drain = .hang } }],
            options: BackPressureTests.options(framesAhead: 0, realTime: RealTimeMode(maximumWaiting: 10))
        )
        try await rig.encode(0)
        try await eventually { await rig.session.statistics.codedFrames == 1 }
        _ = try await rig.encode(1..<2)
        try await rig.session.flush()  // done when both are out, though the encoder hangs in its drain
        try await rig.encode(2)
        rig.stage.release()
        try await rig.session.finish()
        expectContract(await rig.consume().value, accepted: rig.feeds(0..<3))
    }

    @Test(arguments: Place.all) func framesThatWaitWhenTheSessionEndsAreReportedAsDropped(_ place: Place) async throws {
        let rig = try await BackPressureTests.stuck(
            place,
            BackPressureTests.options(framesAhead: 0, realTime: RealTimeMode())
        )
        _ = try await rig.encode(0..<3)
        rig.session.cancel()
        let dropped = await rig.events().filter { if case .frameDropped = $0 { true } else { false } }
        #expect(dropped.count == 2)
        rig.stage.release()
        try await eventually { rig.bank.areAllBack }
    }
}
