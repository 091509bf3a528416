// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import TestSupport
import Testing

@testable import VAToolbox

/// Encoders that hang: the session goes on without them.
///
/// In this process such an encoder is lost: its thread stays where it is, and its device is not tried again. In a helper
/// it is ended with its process, and tried again in a new one.
@Suite(.timeLimit(.minutes(60)), .usesHelpers) struct DeadlineTests {
    /// Longer than encoders that do not hang take on a busy machine. In helpers the deadlines of a session are also for the
    /// start of a process.
    static func options(_ place: Place) -> SessionOptions {
        var options = SessionOptions()
        options.limits.creationDeadline = place.isInProcess ? .seconds(1) : .seconds(40)
        options.limits.frameDeadline = .seconds(1)
        return options
    }

    @Test func aCreationInThisProcessThatHangsIsGivenUp() async throws {
        let shape = Shape(reorderDepth: 0, isVariable: false, place: .inProcess)
        let rig = try await SessionRig(
            shape,
            [{ _ in shape.with { $0.creation = .hang } }, { _ in shape.script }],
            options: Self.options(.inProcess)
        )
        #expect(rig.stage.stuck == 1)
        #expect(rig.stage.attempts.map(\.candidate) == ["candidate 0", "candidate 1"])
        let accepted = try await rig.encode(0..<5)
        try await rig.session.finish()
        expectContract(await rig.consume().value, accepted: accepted)
        rig.stage.release()
        // What came into being too late is kept for ever: its device is not to be trusted.
        try await eventually { rig.stage.stuck == 0 && rig.stage.alive == 1 }
    }

    @Test func aCreationInAHelperThatHangsIsEndedAndTriedAgain() async throws {
        let shape = Shape(reorderDepth: 0, isVariable: false, place: .inHelper)
        var options = Self.options(.inHelper)
        options.limits.creationDeadline = .seconds(12)
        options.limits.creationAttempts = 2
        let rig = try await SessionRig(
            shape,
            [{ _ in shape.with { $0.creation = .hang } }, { _ in shape.script }],
            options: options
        )
        #expect(rig.stage.attempts.map(\.candidate) == ["candidate 0", "candidate 0", "candidate 1"])
        // Nobody has released it.
        try await eventually { rig.stage.stuck == 0 }
        let accepted = try await rig.encode(0..<5)
        try await rig.session.finish()
        expectContract(await rig.consume().value, accepted: accepted)
        try await eventually { rig.stage.alive == 0 }
    }

    enum Hang: CaseIterable { case encode, silence, drain, update }

    @Test(arguments: Shape.all, Hang.allCases)
    func anEncoderThatHangsIsReplaced(_ shape: Shape, _ hang: Hang) async throws {
        let rig = try await SessionRig(
            shape,
            [
                { attempt in
                    guard attempt == 0 else { return shape.script }
                    return shape.with {
                        switch hang {
                        case .encode: $0.steps = [6: .hang]
                        case .silence: $0.steps = [6: .fallSilent]
                        case .drain: $0.drain = .hang
                        case .update: $0.update = .hang
                        }
                    }
                },
                { _ in shape.script },
            ],
            options: Self.options(shape.place)
        )
        let consumer = rig.consume()
        _ = try await rig.encode(0..<8)
        if hang == .update { try await rig.session.update(.init(bitRate: 1_234_000)) }
        _ = try await rig.encode(8..<30)
        try await rig.session.flush()
        try await rig.encode(30)
        rig.stage.release()  // now the abandoned encoder returns what it has, or what it was asked for
        try await rig.encode(31)
        try await rig.session.finish()
        let consumed = await consumer.value
        expectContract(consumed, accepted: rig.feeds(0..<32))
        #expect(consumed.error == nil)
        // Without reordering and delay a flush needs no drain, so it may come to hang only when it no longer can.
        let needsDrain = shape.reorderDepth > 0 || shape.isVariable
        guard needsDrain || hang != .drain || rig.stage.attempts.count > 1 else { return }
        // What falls silent breaks no promise of a helper's: the session itself gives the candidate up.
        let next = shape.place.isInProcess || hang == .silence ? "candidate 1" : "candidate 0"
        #expect(rig.stage.attempts.map(\.candidate) == ["candidate 0", next])
        if hang == .update { #expect(rig.stage.attempts.last?.configuration.rateControl.bitsPerSecond == 1_234_000) }
        guard shape.place.isInProcess else {
            return try await eventually { rig.stage.stuck == 0 && rig.stage.alive == 0 && rig.bank.areAllBack }
        }
        // The lost encoder is kept for ever, with the frames of its last group and with nothing else.
        try await eventually { rig.stage.stuck == 0 && rig.stage.alive == 1 }
        try await eventually { rig.bank.counts.filter { $0 != 1 }.count <= shape.script.groupSize }
        #expect(rig.bank.counts.allSatisfy { $0 <= 1 })
    }

    @Test func aHungEncoderInThisProcessIsKeptAndNotCalledAgain() async throws {
        let shape = Shape(reorderDepth: 0, isVariable: false, place: .inProcess)
        let rig = try await SessionRig(
            shape,
            [{ _ in shape.with { $0.steps = [2: .hang] } }, { _ in shape.script }],
            options: Self.options(.inProcess)
        )
        let accepted = try await rig.encode(0..<20)
        try await rig.session.finish()
        expectContract(await rig.consume().value, accepted: accepted)
        rig.stage.release()
        try await eventually { rig.stage.stuck == 0 && rig.bank.areAllBack }
        let calls = rig.stage.entries.filter { if case .encode(0, _) = $0 { true } else { false } }
        #expect(calls.count == 3)
        #expect(rig.stage.alive == 1)
    }

    @Test func aHungEncoderInAHelperIsEndedAndNotCalledAgain() async throws {
        let shape = Shape(reorderDepth: 0, isVariable: false, place: .inHelper)
        let rig = try await SessionRig(
            shape,
            [{ attempt in shape.with { $0.steps = attempt == 0 ? [2: .hang] : [:] } }],
            options: Self.options(.inHelper)
        )
        let accepted = try await rig.encode(0..<20)
        try await rig.session.finish()
        expectContract(await rig.consume().value, accepted: accepted)
        // Nobody has released it.
        try await eventually { rig.stage.stuck == 0 && rig.stage.alive == 0 && rig.bank.areAllBack }
        let calls = rig.stage.entries.filter { if case .encode(0, _) = $0 { true } else { false } }
        #expect(calls.count == 3)
        #expect(rig.stage.attempts.count == 2)
    }

    @Test func theLastCandidateInThisProcessThatHangsEndsTheSession() async throws {
        let shape = Shape(reorderDepth: 1, isVariable: false, place: .inProcess)
        let rig = try await SessionRig(
            shape,
            [{ _ in shape.with { $0.steps = [4: .hang] } }],
            options: Self.options(.inProcess)
        )
        let error = await MediaError.of { _ = try await rig.encode(0..<100) }
        #expect(error?.code == .deadlineExceeded)
        let consumed = await rig.consume().value
        #expect(consumed.error == error)
        #expect(consumed.samples.count == 3)
    }

    @Test func theLastCandidateThatHangsInEveryHelperEndsTheSession() async throws {
        let shape = Shape(reorderDepth: 1, isVariable: false, place: .inHelper)
        let rig = try await SessionRig(
            shape,
            [{ attempt in shape.with { $0.steps = [attempt == 0 ? 4 : 0: .hang] } }],
            options: Self.options(.inHelper)
        )
        let error = await MediaError.of { _ = try await rig.encode(0..<100) }
        #expect(error?.code == .deadlineExceeded)
        let consumed = await rig.consume().value
        #expect(consumed.error == error)
        #expect(consumed.samples.count == 3)
        // Two missed deadlines in a row, far from twenty.
        #expect(rig.stage.attempts.count == 2)
        try await eventually { rig.stage.stuck == 0 && rig.stage.alive == 0 && rig.bank.areAllBack }
    }

    @Test(arguments: Place.all) func anIdleEncoderHasNoDeadline(_ place: Place) async throws {
        let shape = Shape(reorderDepth: 2, isVariable: true, place: place)
        let rig = try await SessionRig(shape, [{ _ in shape.script }], options: Self.options(place))
        var accepted = try await rig.encode(0..<3)  // fewer than its delay: it rightly keeps all of them
        try await eventually { await rig.session.engine.machine.work.framesAtInstance == 0 }
        #expect(await rig.session.engine.machine.deadline == nil)
        accepted += try await rig.encode(3..<4)
        try await rig.session.finish()
        expectContract(await rig.consume().value, accepted: accepted)
        #expect(rig.stage.attempts.count == 1)
    }

    @Test(arguments: Place.all) func cancellingWhileTheEncoderHangsReturnsAtOnce(_ place: Place) async throws {
        let shape = Shape(reorderDepth: 0, isVariable: false, place: place)
        let rig = try await SessionRig(shape, [{ _ in shape.with { $0.steps = [0: .hang] } }])
        try await rig.encode(0)
        try await eventually { rig.stage.stuck == 1 }
        let flush = Task { await MediaError.of { try await rig.session.flush() } }
        let consumer = rig.consume()
        try await eventually { rig.stage.stuck == 1 }
        rig.session.cancel()
        #expect(await flush.value?.code == .cancelled)
        #expect(await consumer.value.error?.code == .cancelled)
        rig.stage.release()
        try await eventually { rig.stage.alive == 0 && rig.bank.areAllBack }
    }

    @Test(arguments: Place.all) func creationCanBeCancelled(_ place: Place) async throws {
        let shape = Shape(reorderDepth: 0, isVariable: false, place: place)
        let stage = Stage()
        let creation = Task {
            await MediaError.of {
                _ = try await SessionRig(shape, [{ _ in shape.with { $0.creation = .hang } }], stage: stage)
            }
        }
        try await eventually { stage.stuck == 1 }
        creation.cancel()
        #expect(await creation.value?.code == .cancelled)
        stage.release()
        try await eventually { stage.stuck == 0 && stage.alive == 0 }
    }
}
