// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import Testing

@testable import VAToolbox

/// Encoders that hang: the session goes on without them.
@Suite(.timeLimit(.minutes(2))) struct DeadlineTests {
    static let options: SessionOptions = {
        var options = SessionOptions()
        options.limits.creationDeadline = .milliseconds(100)
        options.limits.frameDeadline = .milliseconds(100)
        return options
    }()

    @Test func aCreationThatHangsIsGivenUp() async throws {
        let shape = Shape(reorderDepth: 0, isVariable: false)
        let rig = try await SessionRig(
            shape,
            [{ _ in shape.with { $0.creation = .hang } }, { _ in shape.script }],
            options: Self.options
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

    enum Hang: CaseIterable { case encode, silence, drain, update }

    @Test(arguments: Shape.all, Hang.allCases)
    func anEncoderThatHangsIsReplaced(_ shape: Shape, _ hang: Hang) async throws {
        let rig = try await SessionRig(
            shape,
            [
                { _ in
                    shape.with {
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
            options: Self.options
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
        #expect(rig.stage.attempts.map(\.candidate) == ["candidate 0", "candidate 1"])
        if hang == .update { #expect(rig.stage.attempts.last?.configuration.rateControl.bitsPerSecond == 1_234_000) }
        // The lost encoder is kept for ever, with the frames of its last group and with nothing else.
        try await eventually { rig.stage.stuck == 0 && rig.stage.alive == 1 }
        try await eventually { rig.bank.counts.filter { $0 != 1 }.count <= shape.script.groupSize }
        #expect(rig.bank.counts.allSatisfy { $0 <= 1 })
    }

    @Test func aHungEncoderIsKeptAndNotCalledAgain() async throws {
        let shape = Shape(reorderDepth: 0, isVariable: false)
        let rig = try await SessionRig(
            shape,
            [{ _ in shape.with { $0.steps = [2: .hang] } }, { _ in shape.script }],
            options: Self.options
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

    @Test func theLastCandidateThatHangsEndsTheSession() async throws {
        let shape = Shape(reorderDepth: 1, isVariable: false)
        let rig = try await SessionRig(shape, [{ _ in shape.with { $0.steps = [4: .hang] } }], options: Self.options)
        let error = await MediaError.of { _ = try await rig.encode(0..<100) }
        #expect(error?.code == .deadlineExceeded)
        let consumed = await rig.consume().value
        #expect(consumed.error == error)
        #expect(consumed.samples.count == 3)
    }

    @Test func anIdleEncoderHasNoDeadline() async throws {
        let shape = Shape(reorderDepth: 2, isVariable: true)
        let rig = try await SessionRig(shape, [{ _ in shape.script }], options: Self.options)
        var accepted = try await rig.encode(0..<3)  // fewer than its delay: it rightly keeps all of them
        try await Task.sleep(for: .milliseconds(300))
        accepted += try await rig.encode(3..<4)
        try await rig.session.finish()
        expectContract(await rig.consume().value, accepted: accepted)
        #expect(rig.stage.attempts.count == 1)
    }

    @Test func cancellingWhileTheEncoderHangsReturnsAtOnce() async throws {
        let shape = Shape(reorderDepth: 0, isVariable: false)
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

    @Test func creationCanBeCancelled() async throws {
        let shape = Shape(reorderDepth: 0, isVariable: false)
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
