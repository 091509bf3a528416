// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import TestSupport
import Testing

@testable import VAToolbox

/// What comes out of a session whose encoders do not fail.
@Suite(.timeLimit(.minutes(60)), .usesHelpers) struct SampleOrderTests {
    @Test(arguments: Shape.all)
    func everyFrameComesOutOnceWithItsTimesAndToken(_ shape: Shape) async throws {
        let rig = try await SessionRig(shape, [{ _ in shape.with { $0.keyFrameInterval = 11 } }])
        let consumer = rig.consume()
        let accepted = try await rig.encode(0..<40)
        try await rig.session.finish()
        let consumed = await consumer.value
        #expect(consumed.error == nil)
        expectContract(consumed, accepted: accepted)
        #expect(consumed.samples.filter(\.isKeyFrame).count > 3)
        #expect(consumed.samples.filter(\.formatDescriptionChanged).count == 1)
        #expect(rig.stage.attempts.map(\.maximumReorderDepth) == [nil])
        let statistics = await rig.session.statistics
        #expect(statistics.acceptedFrames == 40)
        #expect(statistics.codedFrames == 40)
        #expect(statistics.codedBytes == 40 * CodedPayload.size)
        #expect(statistics.createdEncoders == 1)
        #expect(statistics.failedEncoders == 0 && statistics.repeatedFrames == 0 && statistics.droppedFrames == 0)
    }

    @Test(arguments: Shape.all)
    func framesThatTheEncoderLeavesOutComeOutMarked(_ shape: Shape) async throws {
        let rig = try await SessionRig(shape, [{ _ in shape.with { $0.steps = [3: .leaveOut, 6: .leaveOut] } }])
        let consumer = rig.consume()
        let accepted = try await rig.encode(0..<10)
        try await rig.session.finish()
        let consumed = await consumer.value
        expectContract(consumed, accepted: accepted)
        #expect(consumed.samples.filter(\.isDropped).map { $0.token as? Int } == [3, 6])
        #expect(rig.stage.attempts.count == 1)
    }

    @Test(arguments: Shape.all)
    func aRequestedKeyFrameIsOne(_ shape: Shape) async throws {
        let rig = try await SessionRig(shape, [{ _ in shape.script }])
        let consumer = rig.consume()
        for index in 0..<12 { try await rig.encode(index, options: .init(forceKeyFrame: index == 7)) }
        try await rig.session.finish()
        let consumed = await consumer.value
        expectContract(consumed, accepted: rig.feeds(0..<12))
        #expect(consumed.samples.filter(\.isKeyFrame).map { $0.token as? Int } == [0, 7])
    }

    @Test(arguments: Place.all) func withAVariableRateKeyFramesComeByTime(_ place: Place) async throws {
        let shape = Shape(reorderDepth: 1, isVariable: true, place: place)
        var configuration = shape.configuration
        configuration.keyFrameInterval = KeyFrameInterval(duration: MediaTime(value: 100, timescale: 1000))
        let rig = try await SessionRig(shape, [{ _ in shape.script }], configuration: configuration)
        let consumer = rig.consume()
        let accepted = try await rig.encode(0..<60)
        try await rig.session.finish()
        let consumed = await consumer.value
        expectContract(consumed, accepted: accepted)
        var lastKey = accepted[0].time
        for sample in consumed.samples.sorted(by: { $0.presentationTime < $1.presentationTime }).dropFirst() {
            let isDue = sample.presentationTime - lastKey >= MediaTime(value: 1, timescale: 10)
            #expect(sample.isKeyFrame == isDue)
            if isDue { lastKey = sample.presentationTime }
        }
    }

    @Test(arguments: Shape.all)
    func flushQueuesAllAndTheSessionGoesOn(_ shape: Shape) async throws {
        let rig = try await SessionRig(shape, [{ _ in shape.script }])
        var accepted = try await rig.encode(0..<7)
        try await rig.session.flush()
        #expect(await rig.session.statistics.codedFrames == 7)
        try await rig.session.flush()
        accepted += try await rig.encode(7..<13)
        async let first: Void = rig.session.flush()
        async let second: Void = rig.session.flush()
        _ = try await (first, second)
        #expect(await rig.session.statistics.codedFrames == 13)
        try await rig.session.finish()
        expectContract(await rig.consume().value, accepted: accepted)
        #expect(rig.stage.attempts.count == 1)
    }

    @Test(arguments: Shape.all)
    func refreshGoesOnWithANewEncoderAtAGroupBoundary(_ shape: Shape) async throws {
        let rig = try await SessionRig(shape, [{ attempt in shape.with { $0.formatID = UInt8(attempt / 2) } }])
        let consumer = rig.consume()
        for index in 0..<30 {
            if index == 8 || index == 15 || index == 16 {
                rig.session.refresh()
                try await eventually { rig.stage.attempts.count > (index == 8 ? 1 : index == 15 ? 2 : 3) }
            }
            try await rig.encode(index)
        }
        try await rig.session.finish()
        let consumed = await consumer.value
        expectContract(consumed, accepted: rig.feeds(0..<30))
        #expect(consumed.instances == [0, 1, 2, 3])
        #expect(consumed.samples.filter(\.formatDescriptionChanged).map { $0.token as? Int } == [0, 15])
        #expect(rig.stage.attempts.map(\.maximumReorderDepth) == [nil] + Array(repeating: shape.reorderDepth, count: 3))
        #expect(await rig.session.statistics.repeatedFrames == 0)
        #expect(await rig.session.statistics.failedEncoders == 0)
    }

    @Test(arguments: Place.all) func whatTheConfigurationLeavesOpenComesFromTheFirstPicture(_ place: Place) async throws
    {
        let shape = Shape(reorderDepth: 0, isVariable: false, place: place)
        var configuration = shape.configuration
        configuration.color = nil
        configuration.pixelAspectRatio = nil
        let rig = try await SessionRig(shape, [{ _ in shape.script }], configuration: configuration)
        let consumer = rig.consume()
        for index in 0..<3 {
            let buffer = try rig.bank.make(color: index == 0 ? .hdr10 : .bt601)
            let time = shape.time(index)
            try await rig.session.encode(
                buffer,
                presentationTime: time.presentation,
                duration: time.duration,
                token: index
            )
        }
        try await rig.session.finish()
        let consumed = await consumer.value
        expectContract(consumed, accepted: rig.feeds(0..<3))
        #expect(rig.stage.attempts.map(\.configuration.color) == [nil, .hdr10])
        #expect(rig.stage.attempts.last?.configuration.pixelAspectRatio == .one)
        #expect(consumed.samples.allSatisfy { $0.formatDescription.color == .hdr10 })
    }

    @Test(arguments: Place.all) func aFirstPictureThatSaysNothingNewCostsNoNewEncoder(_ place: Place) async throws {
        let shape = Shape(reorderDepth: 0, isVariable: false, place: place)
        var configuration = shape.configuration
        configuration.color = nil
        configuration.pixelAspectRatio = nil
        let rig = try await SessionRig(shape, [{ _ in shape.script }], configuration: configuration)
        let accepted = try await rig.encode(0..<3)
        try await rig.session.finish()
        expectContract(await rig.consume().value, accepted: accepted)
        #expect(rig.stage.attempts.count == 1)
    }

    @Test(arguments: Shape.all)
    func buffersGoBackWhenTheirGroupIsOut(_ shape: Shape) async throws {
        let rig = try await SessionRig(shape, [{ _ in shape.script }])
        _ = try await rig.encode(0..<9)
        try await rig.session.flush()
        try await eventually { rig.bank.areAllBack }
        _ = try await rig.encode(9..<10)
        rig.session.cancel()
        try await eventually { rig.bank.areAllBack }
        #expect(rig.bank.counts.count == 10)
    }

    @Test(arguments: Place.all) func badFramesAreRefusedAndTheSessionGoesOn(_ place: Place) async throws {
        let shape = Shape(reorderDepth: 1, isVariable: false, place: place)
        let rig = try await SessionRig(shape, [{ _ in shape.with { $0.supportedProperties = [] } }])
        #expect(rig.session.supportedProperties.isEmpty)
        let buffer = try rig.bank.make()
        func refusal(_ time: MediaTime, _ options: FrameOptions = .init()) async -> MediaError.Code? {
            await MediaError.of {
                try await rig.session.encode(buffer, presentationTime: time, options: options)
            }?.code
        }
        #expect(await refusal(.invalid) == .invalidArgument)
        #expect(await refusal(MediaTime(value: .min, timescale: 30)) == .invalidArgument)
        try await rig.encode(5)
        #expect(await refusal(MediaTime(value: 5, timescale: 30)) == .invalidArgument)
        #expect(await refusal(MediaTime(value: 4, timescale: 30)) == .invalidArgument)
        #expect(await refusal(MediaTime(value: 9, timescale: 30), .init(quantizer: 52)) == .invalidArgument)
        #expect(await refusal(MediaTime(value: 9, timescale: 30), .init(quantizer: 20)) == .unsupported)
        try await rig.encode(6)
        try await rig.session.finish()
        expectContract(await rig.consume().value, accepted: rig.feeds(5..<7))
    }

    @Test(arguments: Place.all) func optionsOutOfRangeAreRefused(_ place: Place) async throws {
        let changes: [@Sendable (inout SessionOptions) -> Void] = [
            { $0.limits.creationAttempts = 0 },
            { $0.limits.consecutiveFailedFrames = 0 },
            { $0.limits.missedDeadlines = 0 },
            { $0.limits.creationDeadline = .zero },
            { $0.limits.creationPause = .seconds(-1) },
            { $0.limits.frameDeadline = .seconds(Int64.max) },
            { $0.limits.framesAhead = -1 },
            { $0.waterMarks = WaterMarks(low: 0, high: 10) },
            { $0.waterMarks = WaterMarks(low: 11, high: 10) },
            { $0.waterMarks = WaterMarks(low: 0, high: 0) },
            { $0.realTime = RealTimeMode(maximumWaiting: 0) },
            { $0.devices.breaker?.failures = 0 },
            { $0.devices.breaker?.window = .zero },
            { $0.devices.breaker?.pause = .seconds(-1) },
            { $0.devices.breaker?.longestPause = .seconds(Int64.max) },
        ]
        let shape = Shape(reorderDepth: 0, isVariable: false, place: place)
        for change in changes {
            var options = SessionOptions()
            change(&options)
            let stage = Stage()
            let error = await MediaError.of {
                _ = try await SessionRig(shape, [{ _ in shape.script }], options: options, stage: stage)
            }
            #expect(error?.code == .invalidArgument)
            #expect(error?.given != nil && error?.allowed != nil)
            #expect(stage.attempts.isEmpty)
        }
    }
}
