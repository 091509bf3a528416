// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import TestSupport
import Testing

@testable import VAToolbox

/// What happens when encoders fail.
@Suite(.timeLimit(.minutes(60)), .usesHelpers) struct FailoverTests {
    /// Ways in which an encoder fails at the sixth frame that it is given.
    static let faults: [InstanceScript.Step] = [
        .fail, .failPermanently, .failLater, .empty, .duplicate, .unknownNumber,
    ]

    @Test(arguments: Shape.all, faults)
    func framesThatAreNotOutAreEncodedAgain(_ shape: Shape, _ fault: InstanceScript.Step) async throws {
        let rig = try await SessionRig(
            shape,
            [
                { attempt in attempt == 0 ? shape.with { $0.steps = [5: fault] } : shape.with { $0.formatID = 1 } },
                { _ in shape.with { $0.formatID = 2 } },
            ]
        )
        let consumer = rig.consume()
        let accepted = try await rig.encode(0..<20)
        try await rig.session.finish()
        let consumed = await consumer.value
        #expect(consumed.error == nil)
        expectContract(consumed, accepted: accepted)
        let next = fault == .failPermanently ? "candidate 1" : "candidate 0"
        #expect(rig.stage.attempts.map(\.candidate) == ["candidate 0", next])
        #expect(rig.session.encoder.identity.name == next)
        #expect(consumed.instances.last == 1)
        #expect(consumed.samples.filter(\.formatDescriptionChanged).count == consumed.instances.count)
        let statistics = await rig.session.statistics
        #expect(statistics.createdEncoders == 2 && statistics.failedEncoders == 1)
        #expect(statistics.acceptedFrames == 20 && statistics.codedFrames == 20)
        // The second of two equal outputs may come when nothing is left to be repeated.
        #expect(statistics.repeatedFrames > 0 || fault == .duplicate)
        try await eventually { rig.bank.areAllBack && rig.stage.alive == 0 }
    }

    @Test(arguments: Shape.all)
    func aFailureInDrainIsRepaired(_ shape: Shape) async throws {
        let drains: [InstanceScript.Drain] = [.fail, .keepFrames, .normal]
        let rig = try await SessionRig(shape, [{ attempt in shape.with { $0.drain = drains[min(attempt, 2)] } }])
        let consumer = rig.consume()
        let accepted = try await rig.encode(0..<10)
        try await rig.session.finish()
        expectContract(await consumer.value, accepted: accepted)
    }

    @Test(arguments: Place.all) func anEncoderMustBeginWithAKeyFrame(_ place: Place) async throws {
        let shape = Shape(reorderDepth: 1, isVariable: false, place: place)
        let scripts: [[Int: InstanceScript.Step]] = [[0: .notKey], [0: .leaveOut, 1: .notKey], [:]]
        let rig = try await SessionRig(
            shape,
            [
                { attempt in
                    shape.with {
                        $0.steps = scripts[min(attempt, 2)]
                        $0.keyFrameInterval = 1
                    }
                }
            ]
        )
        let accepted = try await rig.encode(0..<5)
        try await rig.session.finish()
        let consumed = await rig.consume().value
        expectContract(consumed, accepted: accepted)
        #expect(rig.stage.attempts.count == 3)
    }

    @Test(arguments: Place.all) func aKeyFrameBeforeFramesThatAreShownBeforeItIsAFailure(_ place: Place) async throws {
        let shape = Shape(reorderDepth: 2, isVariable: false, place: place)
        let rig = try await SessionRig(
            shape,
            [
                { attempt in attempt == 0 ? shape.with { $0.steps = [3: .hastyKey] } : shape.script }
            ]
        )
        let accepted = try await rig.encode(0..<9)
        try await rig.session.finish()
        let consumed = await rig.consume().value
        expectContract(consumed, accepted: accepted)
        #expect(consumed.instances == [0, 1])
    }

    @Test(arguments: [false, true], Place.all)
    func moreReorderingThanPromisedIsAFailure(_ isVariable: Bool, _ place: Place) async throws {
        let shape = Shape(reorderDepth: 2, isVariable: isVariable, place: place)
        let rig = try await SessionRig(
            shape,
            [
                { attempt in
                    shape.with {
                        $0.claimedReorderDepth = 0
                        $0.reorderDepth = attempt == 0 ? 2 : 0
                    }
                }
            ]
        )
        let accepted = try await rig.encode(0..<20)
        try await rig.session.finish()
        let consumed = await rig.consume().value
        expectContract(consumed, accepted: accepted)
        #expect(rig.stage.attempts.count == 2)
    }

    /// What comes after it shows that it will not come, so that nobody waits for it, nor keeps what comes after it.
    @Test(arguments: Shape.all) func anEncoderThatPassesOverAFrameIsReplaced(_ shape: Shape) async throws {
        let rig = try await SessionRig(
            shape,
            [{ attempt in attempt == 0 ? shape.with { $0.steps = [6: .passOver] } : shape.script }]
        )
        let accepted = try await rig.encode(0..<30)
        #expect(await rig.session.statistics.failedEncoders == 1)
        try await rig.session.finish()
        let consumed = await rig.consume().value
        expectContract(consumed, accepted: accepted)
        #expect(consumed.instances == [0, 1])
    }

    /// A GPU in a reset is gone for seconds, in which five attempts would be over at once.
    @Test(arguments: Place.all) func anEncoderThatHasWorkedIsGivenTimeToComeBack(_ place: Place) async throws {
        let shape = Shape(reorderDepth: 0, isVariable: false, place: place)
        var options = SessionOptions()
        options.limits.creationPause = .milliseconds(100)
        let start = ContinuousClock.now
        let rig = try await SessionRig(
            shape,
            [
                { attempt in
                    shape.with {
                        $0.steps = attempt == 0 ? [5: .fail] : [:]
                        $0.creation = (1...4).contains(attempt) ? .fail : .succeed
                    }
                },
                { _ in shape.script },
            ],
            options: options
        )
        let accepted = try await rig.encode(0..<9)
        try await rig.session.finish()
        // After the first attempt that failed, and twice as long each further time; never less than that.
        #expect(ContinuousClock.now - start >= .milliseconds(100 + 200 + 400 + 800))
        expectContract(await rig.consume().value, accepted: accepted)
        #expect(rig.stage.attempts.map(\.candidate) == Array(repeating: "candidate 0", count: 6))
    }

    @Test(arguments: Place.all) func nobodyWaitsForTheEndOfAPause(_ place: Place) async throws {
        let shape = Shape(reorderDepth: 0, isVariable: false, place: place)
        var options = SessionOptions()
        options.limits.creationPause = .seconds(3600)
        let script: @Sendable (Int) -> InstanceScript = { attempt in
            shape.with {
                $0.steps = attempt == 0 ? [5: .fail] : [:]
                $0.creation = attempt == 1 ? .fail : .succeed
            }
        }
        let rig = try await SessionRig(shape, [script], options: options)
        let accepted = try await rig.encode(0..<6)
        try await eventually { await rig.session.engine.machine.attempts.failedCreations == 1 }
        rig.session.cancel()
        #expect(await MediaError.of { try await rig.session.finish() }?.code == .cancelled)
        try await eventually { rig.stage.alive == 0 && rig.bank.areAllBack }
        // A camera's pictures do not wait either.
        options.realTime = RealTimeMode()
        let live = try await SessionRig(shape, [script], options: options)
        _ = try await live.encode(0..<6)
        try await live.session.finish()
        expectContract(await live.consume().value, accepted: accepted)
    }

    @Test(arguments: Place.all) func aLaterEncoderThatReordersMoreIsPassedOver(_ place: Place) async throws {
        let shape = Shape(reorderDepth: 1, isVariable: false, place: place)
        let rig = try await SessionRig(
            shape,
            [
                { _ in shape.with { $0.steps = [4: .failPermanently] } },
                { _ in shape.with { $0.reorderDepth = 2 } },
                { _ in shape.with { $0.reorderDepth = 0 } },
            ]
        )
        let accepted = try await rig.encode(0..<9)
        try await rig.session.finish()
        expectContract(await rig.consume().value, accepted: accepted)
        #expect(rig.stage.attempts.map(\.candidate) == ["candidate 0", "candidate 1", "candidate 2"])
        #expect(rig.stage.attempts.map(\.maximumReorderDepth) == [nil, 1, 1])
    }

    @Test(arguments: Place.all) func creationIsTriedFiveTimesForEachCandidate(_ place: Place) async throws {
        let shape = Shape(reorderDepth: 0, isVariable: false, place: place)
        let rig = try await SessionRig(
            shape,
            [
                { _ in shape.with { $0.creation = .fail } },
                { _ in shape.with { $0.creation = .failPermanently } },
                { attempt in shape.with { $0.creation = attempt < 4 ? .fail : .succeed } },
            ]
        )
        let expected =
            Array(repeating: "candidate 0", count: 5) + ["candidate 1"]
            + Array(repeating: "candidate 2", count: 5)
        #expect(rig.stage.attempts.map(\.candidate) == expected)
        #expect(rig.session.encoder.identity.name == "candidate 2")
        #expect(rig.session.encoder.reason.contains("scripted refusal"))
        try await rig.session.finish()
    }

    @Test(arguments: Place.all) func creationFailsWithTheLastErrorOfTheLastCandidate(_ place: Place) async throws {
        let shape = Shape(reorderDepth: 0, isVariable: false, place: place)
        let stage = Stage()
        let error = await MediaError.of {
            _ = try await SessionRig(
                shape,
                [
                    { _ in shape.with { $0.creation = .failPermanently } },
                    { _ in shape.with { $0.creation = .fail } },
                ],
                stage: stage
            )
        }
        #expect(stage.attempts.count == 6)
        #expect(error?.code == .creationFailed)
        #expect(error?.given == "attempt 4")
        #expect(error?.message.contains("candidate 1") == true && error?.message.contains("5 attempts") == true)
        let none = await MediaError.of { _ = try await SessionRig(shape, []) }
        #expect(none?.code == .unavailable)
    }

    @Test(arguments: Shape.all)
    func twentyFailedFramesInARowEndACandidate(_ shape: Shape) async throws {
        let rig = try await SessionRig(
            shape,
            [
                { _ in shape.with { $0.steps = [0: .fail] } },
                { _ in shape.with { $0.steps = [0: .failLater] } },
                { _ in shape.script },
            ]
        )
        let consumer = rig.consume()
        let accepted = try await rig.encode(0..<6)
        try await rig.session.finish()
        expectContract(await consumer.value, accepted: accepted)
        #expect(rig.stage.attempts.filter { $0.candidate == "candidate 0" }.count == 20)
        #expect(rig.stage.attempts.filter { $0.candidate == "candidate 1" }.count == 20)
    }

    @Test(arguments: Place.all) func codedFramesResetTheCountOfFailedOnes(_ place: Place) async throws {
        let shape = Shape(reorderDepth: 0, isVariable: false, place: place)
        let rig = try await SessionRig(shape, [{ _ in shape.with { $0.steps = [1: .fail] } }])
        let accepted = try await rig.encode(0..<30)
        try await rig.session.finish()
        let consumed = await rig.consume().value
        expectContract(consumed, accepted: accepted)
        #expect(rig.stage.attempts.count >= 29)
    }

    @Test(arguments: Shape.all)
    func theSessionDiesWithOneErrorAfterWhatIsOut(_ shape: Shape) async throws {
        let rig = try await SessionRig(
            shape,
            [
                { _ in shape.with { $0.steps = [12: .failPermanently] } },
                { _ in shape.with { $0.steps = [0: .failPermanently] } },
            ]
        )
        var encodeError: MediaError?
        for index in 0..<1000 where encodeError == nil {
            encodeError = await MediaError.of { try await rig.encode(index) }
        }
        async let flushError = MediaError.of { try await rig.session.flush() }
        async let finishError = MediaError.of { try await rig.session.finish() }
        async let updateError = MediaError.of { try await rig.session.update(.init(bitRate: 1_000_000)) }
        let errors = await [encodeError, flushError, finishError, updateError]
        #expect(encodeError?.message == "scripted refusal")
        #expect(errors.allSatisfy { $0 == encodeError })

        let consumed = await rig.consume().value
        #expect(consumed.error == encodeError)
        let accepted = await rig.session.statistics.acceptedFrames
        expectContract(consumed, accepted: rig.feeds(0..<accepted), extent: .groups)
        #expect(consumed.samples.count == (await rig.session.statistics).codedFrames)
        if shape.reorderDepth == 0, !shape.isVariable { #expect(consumed.samples.count == 12) }
        try await eventually { rig.bank.areAllBack && rig.stage.alive == 0 }
    }

    @Test(arguments: Place.all) func suspendedCallsGetTheErrorOfTheSession(_ place: Place) async throws {
        let shape = Shape(reorderDepth: 0, isVariable: false, place: place)
        let rig = try await SessionRig(shape, [{ _ in shape.with { $0.steps = [0: .hang, 1: .failPermanently] } }])
        _ = try await rig.encode(0..<3)
        var calls = [try await rig.encodeWaiting(3), try await rig.encodeWaiting(4)]
        calls.append(Task { await MediaError.of { try await rig.session.flush() } })
        calls.append(Task { await MediaError.of { try await rig.session.update(.init(bitRate: 1_000_000)) } })
        try await eventually { await rig.session.engine.machine.suspendedCalls.count == 2 }
        rig.stage.release()
        for call in calls { #expect(await call.value?.message == "scripted refusal") }
        let consumed = await rig.consume().value
        #expect(consumed.error?.message == "scripted refusal")
        expectContract(consumed, accepted: rig.feeds(0..<3), extent: .groups)
    }

    @Test func anEncoderInThisProcessWhoseFailureIsFinalHoldsNoPictures() async throws {
        let shape = Shape(reorderDepth: 2, isVariable: true, place: .inProcess)
        let rig = try await SessionRig(
            shape,
            [
                { _ in
                    shape.with {
                        $0.isFailureFinal = true
                        $0.steps = [10: .fail]
                    }
                }
            ]
        )
        _ = try await rig.encode(0..<3)
        try await eventually { rig.bank.areAllBack }
        #expect(await rig.session.statistics.codedFrames == 0)
        let error = await MediaError.of { _ = try await rig.encode(3..<100) }
        #expect(error?.message == "scripted")
        #expect(rig.stage.attempts.count == 1)
        let consumed = await rig.consume().value
        #expect(consumed.error == error)
        expectContract(consumed, accepted: rig.feeds(0..<100), extent: .groups)
    }

    /// A new process may succeed where that one failed, whatever its encoder says.
    @Test func noFailureOfAnEncoderInAHelperIsFinal() async throws {
        let shape = Shape(reorderDepth: 2, isVariable: true, place: .inHelper)
        let rig = try await SessionRig(
            shape,
            [
                { attempt in
                    shape.with {
                        $0.isFailureFinal = true
                        if attempt == 0 { $0.steps = [10: .fail] }
                    }
                }
            ]
        )
        let accepted = try await rig.encode(0..<30)
        try await rig.session.finish()
        expectContract(await rig.consume().value, accepted: accepted)
        #expect(rig.stage.attempts.count == 2)
        try await eventually { rig.bank.areAllBack && rig.stage.alive == 0 }
    }

    @Test(arguments: Place.all) func whileAnotherCandidateIsLeftPicturesAreHeld(_ place: Place) async throws {
        let shape = Shape(reorderDepth: 2, isVariable: false, place: place)
        let rig = try await SessionRig(
            shape,
            Array(
                repeating: { _ in
                    shape.with {
                        $0.isFailureFinal = true
                        $0.steps = [10: .failPermanently]
                    }
                },
                count: 2
            )
        )
        let accepted = try await rig.encode(0..<12)
        try await rig.session.finish()
        expectContract(await rig.consume().value, accepted: accepted)
        #expect(rig.stage.attempts.count == 2)
    }

    @Test(arguments: Place.all) func everyCandidateThatWasGivenUpIsNamedWithItsReason(_ place: Place) async throws {
        let shape = Shape(reorderDepth: 0, isVariable: false, place: place)
        let rig = try await SessionRig(
            shape,
            [
                { _ in shape.with { $0.creation = .failPermanently } },
                { _ in shape.with { $0.steps = [1: .failPermanently] } },
                { _ in shape.script },
            ]
        )
        #expect(rig.session.encoder.rejected.map(\.name) == ["candidate 0"])
        _ = try await rig.encode(0..<3)
        try await rig.session.finish()
        let encoder = rig.session.encoder
        #expect(encoder.identity.name == "candidate 2")
        #expect(encoder.rejected.map(\.name) == ["candidate 0", "candidate 1"])
        #expect(encoder.rejected.last?.reason == "scripted refusal")
        #expect(encoder.rejected.allSatisfy { !$0.reason.isEmpty })
    }

    @Test(arguments: Place.all) func eventsTellWhatHappenedInOrder(_ place: Place) async throws {
        let shape = Shape(reorderDepth: 1, isVariable: false, place: place)
        let rig = try await SessionRig(
            shape,
            [
                { attempt in shape.with { $0.steps = attempt == 0 ? [3: .fail] : [3: .failPermanently] } },
                { _ in shape.script },
            ]
        )
        _ = try await rig.encode(0..<9)
        try await rig.session.finish()
        let names = await rig.events().map { event in
            switch event {
            case .encoderCreated(let description): "created \(description.identity.name)"
            case .encoderFailed(let identity, let error, let frames):
                "failed \(identity.name) \(error.message) \(frames > 0)"
            case .encoderSwitched(let change):
                "switched \(change.from.name) \(change.to.name) \(change.failures.map(\.error.message))"
            case .frameDropped, .frameLost, .adjusted: "other"
            }
        }
        #expect(
            names == [
                "created candidate 0",
                "failed candidate 0 scripted true",
                "created candidate 0",
                "switched candidate 0 candidate 0 [\"scripted\"]",
                "failed candidate 0 scripted refusal true",
                "created candidate 1",
                "switched candidate 0 candidate 1 [\"scripted refusal\"]",
            ]
        )
    }
}
