// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import MediaTypes
import TestSupport
import Testing

@testable import VAToolbox

/// Changes of settings while a session runs.
@Suite(.timeLimit(.minutes(60)), .usesHelpers) struct UpdateTests {
    static let initialRate = 5000 * 1024

    /// The rates with which the frames were coded, by number of the frame.
    static func rates(_ consumed: Consumed) -> [Int] {
        consumed.payloads.sorted { $0.number < $1.number }.map(\.bitRate)
    }

    @Test(arguments: Shape.all)
    func inPlaceItHoldsFromTheNextFrame(_ shape: Shape) async throws {
        let rig = try await SessionRig(shape, [{ _ in shape.script }])
        let consumer = rig.consume()
        _ = try await rig.encode(0..<5)
        try await rig.session.update(.init(bitRate: 1_000_000))
        _ = try await rig.encode(5..<9)
        try await rig.session.update(.init(bitRate: 2_000_000))
        _ = try await rig.encode(9..<12)
        try await rig.session.finish()
        let consumed = await consumer.value
        expectContract(consumed, accepted: rig.feeds(0..<12))
        #expect(
            Self.rates(consumed) == Array(repeating: Self.initialRate, count: 5)
                + Array(repeating: 1_000_000, count: 4) + Array(repeating: 2_000_000, count: 3)
        )
        #expect(rig.stage.attempts.count == 1)
    }

    @Test(arguments: Shape.all)
    func whereOnlyANewEncoderCanDoItThereIsOneAtAGroupBoundary(_ shape: Shape) async throws {
        let rig = try await SessionRig(shape, [{ _ in shape.with { $0.update = .onlyByNewEncoder } }])
        let consumer = rig.consume()
        _ = try await rig.encode(0..<6)
        try await rig.session.update(.init(bitRate: 1_000_000))
        _ = try await rig.encode(6..<11)
        try await rig.session.finish()
        let consumed = await consumer.value
        expectContract(consumed, accepted: rig.feeds(0..<11))
        #expect(
            Self.rates(consumed) == Array(repeating: Self.initialRate, count: 6)
                + Array(repeating: 1_000_000, count: 5)
        )
        #expect(consumed.instances == [0, 1])
        #expect(await rig.session.statistics.failedEncoders == 0)
    }

    @Test(arguments: Place.all) func whatTheEncoderHonoursDifferentlyIsAnEvent(_ place: Place) async throws {
        let adjustment = Adjustment(property: "peak", requested: "3 Mbit/s", used: "2 Mbit/s", reason: "scripted")
        let shape = Shape(reorderDepth: 0, isVariable: false, place: place)
        let rig = try await SessionRig(shape, [{ _ in shape.with { $0.updateAdjustments = [adjustment] } }])
        let consumer = rig.consume()
        _ = try await rig.encode(0..<2)
        try await rig.session.update(.init(bitRate: 1_000_000))
        try await rig.session.finish()
        _ = await consumer.value
        var told: [Adjustment] = []
        for await event in rig.session.events { if case .adjusted(let adjustment) = event { told.append(adjustment) } }
        #expect(told == [adjustment])
    }

    @Test(arguments: Place.all) func aRefusalChangesNothing(_ place: Place) async throws {
        let shape = Shape(reorderDepth: 1, isVariable: false, place: place)
        let rig = try await SessionRig(
            shape,
            [{ attempt in shape.with { $0.update = attempt == 0 ? .refuse : .inPlace } }]
        )
        let consumer = rig.consume()
        _ = try await rig.encode(0..<3)
        #expect(await MediaError.of { try await rig.session.update(.init(bitRate: 1_000_000)) }?.code == .unsupported)
        #expect(await MediaError.of { try await rig.session.update(.init(quality: 20)) }?.code == .invalidArgument)
        #expect(await MediaError.of { try await rig.session.update(.init(bitRate: -1)) }?.code == .invalidArgument)
        _ = try await rig.encode(3..<6)
        rig.session.refresh()
        _ = try await rig.encode(6..<8)
        try await rig.session.finish()
        let consumed = await consumer.value
        expectContract(consumed, accepted: rig.feeds(0..<8))
        #expect(Self.rates(consumed) == Array(repeating: Self.initialRate, count: 8))
        #expect(consumed.instances == [0, 1])
    }

    @Test(arguments: Shape.all)
    func anEncoderThatFailsInAnUpdateIsReplacedByOneThatHasIt(_ shape: Shape) async throws {
        let rig = try await SessionRig(
            shape,
            [{ attempt in shape.with { $0.update = attempt == 0 ? .fail : .inPlace } }]
        )
        let consumer = rig.consume()
        _ = try await rig.encode(0..<5)
        try await rig.session.update(.init(bitRate: 1_000_000))
        _ = try await rig.encode(5..<8)
        try await rig.session.finish()
        let consumed = await consumer.value
        expectContract(consumed, accepted: rig.feeds(0..<8))
        #expect(Self.rates(consumed).suffix(3) == [1_000_000, 1_000_000, 1_000_000])
        #expect(rig.stage.attempts.map(\.configuration.rateControl.bitsPerSecond) == [Self.initialRate, 1_000_000])
    }

    @Test(arguments: Place.all) func severalAtOnceAreDoneInOrderAndEachIsAnswered(_ place: Place) async throws {
        let shape = Shape(reorderDepth: 0, isVariable: false, place: place)
        let rig = try await SessionRig(shape, [{ _ in shape.with { $0.steps = [0: .hang] } }])
        try await rig.encode(0)
        try await eventually { rig.stage.stuck == 1 }
        let updates: [EncoderUpdate] = [
            .init(bitRate: 1_000_000), .init(quality: 1), .init(bitRate: 1), .init(quantizer: 4),
            .init(bitRate: 2_000_000), .init(bitRate: 3_000_000),
        ]
        var calls: [Task<MediaError?, Never>] = []
        for (index, update) in updates.enumerated() {
            calls.append(Task { await MediaError.of { try await rig.session.update(update) } })
            try await eventually { await rig.session.engine.machine.suspendedCalls.count == index + 1 }
        }
        calls[5].cancel()
        #expect(await calls[5].value?.code == .cancelled)
        let encode = try await rig.encodeWaiting(1)
        rig.stage.release()
        var codes: [MediaError.Code?] = []
        for call in calls { codes.append(await call.value?.code) }
        #expect(codes == [nil, .invalidArgument, .invalidArgument, .invalidArgument, nil, .cancelled])
        #expect(await encode.value == nil)
        try await rig.session.finish()
        #expect(Self.rates(await rig.consume().value) == [Self.initialRate, 2_000_000])
    }

    @Test(arguments: Place.all) func duringFailoverDrainAndRefreshItIsNotLost(_ place: Place) async throws {
        let shape = Shape(reorderDepth: 2, isVariable: false, place: place)
        let rig = try await SessionRig(
            shape,
            [
                { attempt in shape.with { $0.steps = attempt % 2 == 0 ? [4: .fail] : [:] } }
            ]
        )
        let consumer = rig.consume()
        for round in 0..<6 {
            _ = try await rig.encode(round * 10..<round * 10 + 6)
            let rate = 1_000_000 + round
            async let flush: Void = rig.session.flush()
            rig.session.refresh()
            try await rig.session.update(.init(bitRate: rate))
            try await flush
            _ = try await rig.encode(round * 10 + 6..<round * 10 + 10)
        }
        try await rig.session.finish()
        let consumed = await consumer.value
        expectContract(consumed, accepted: rig.feeds(0..<60))
        let rates = Self.rates(consumed)
        for round in 0..<6 {
            #expect(rates[round * 10 + 6..<round * 10 + 10].allSatisfy { $0 == 1_000_000 + round })
        }
    }

    @Test func aRefusedUpdateKeepsWhatTheFirstPictureFixedMeanwhile() async throws {
        let shape = Shape(reorderDepth: 0, isVariable: false)
        var configuration = shape.configuration
        configuration.color = nil
        var machine = SessionMachine(
            configuration: configuration,
            selection: SessionRig.selection([{ _ in shape.script }], Stage()),
            options: .init(),
            now: .now
        )
        let properties = EncoderProperties(
            name: "simulated",
            profile: "",
            level: "",
            reorderDepth: 0,
            maximumDelay: 1,
            pixelFormats: [.nv12],
            supportedProperties: [],
            formatDescription: FormatDescription(codec: .h264, width: 16, height: 16, parameterSets: [])
        )
        _ = machine.handle(.start(0), at: .now)
        _ = machine.handle(.instance(0, .created(properties)), at: .now)
        _ = machine.handle(.update(.init(bitRate: 1_000_000), 1), at: .now)
        let picture = try BufferBank().make(color: .bt709)
        let frame = EncoderFrame(number: 0, buffer: picture, presentationTime: .zero)
        _ = machine.handle(.encode(frame, token: nil, 2), at: .now)
        _ = machine.handle(.instance(0, .updateRefused(MediaError(.unsupported, "no"))), at: .now)
        #expect(machine.configuration.color == .bt709)
        #expect(machine.configuration.rateControl.bitsPerSecond == Self.initialRate)
    }
}
