// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import MediaTypes
import Testing

@testable import VAToolbox

/// Every sequence of inputs up to a length, played on the pure machine with a modelled encoder, each to every ending.
///
/// From a session's start the sequences have five inputs. From sessions at work they have three. All have six when
/// `scripts/verify session` sets `VATOOLBOX_SEQUENCE_LENGTH`, which takes minutes.
@Suite(.timeLimit(.minutes(60))) struct SessionMachineTests {
    struct Exploration: CustomTestStringConvertible {
        var world: SessionWorld
        /// What comes before the sequences, in words.
        var start: String
        var prefix: [SessionMove]
        var usualLength = 3
        var testDescription: String { "\(world.name), from \(start)" }

        /// A frame is out, and the encoder has two more, one of which it has taken.
        private static let work: [SessionMove] = [
            .create, .encode(isForced: false), .take, .code, .encode(isForced: false), .take, .encode(isForced: false),
        ]
        /// The same, where the first frame makes the session ask for another encoder.
        private static let workWithColor: [SessionMove] = Array(work[..<2] + [.create] + work[2...])

        static let all = SessionWorld.all.flatMap { world in
            let work = world.adoptsColor ? workWithColor : work
            let next = work + [.fail(isPermanent: world.candidates > 1), .create]
            return [
                Exploration(world: world, start: "its start", prefix: [], usualLength: 5),
                Exploration(world: world, start: "the first encoder", prefix: [.create]),
                Exploration(world: world, start: "a session at work", prefix: work),
                Exploration(world: world, start: "the next encoder", prefix: next),
            ]
        }
    }

    @Test(arguments: Exploration.all) func everySequenceKeepsThePromise(_ exploration: Exploration) throws {
        let environment = ProcessInfo.processInfo.environment
        let length = environment["VATOOLBOX_SEQUENCE_LENGTH"].flatMap(Int.init) ?? exploration.usualLength
        let explorer = SessionExplorer(exploration.world, after: exploration.prefix, length: length)
        for finding in explorer.findings { Issue.record("\(finding)") }
        #expect(explorer.findings.isEmpty == (explorer.sequences > 0))
        guard let path = environment["VATOOLBOX_SEQUENCE_REPORT"] else { return }
        let figures = [explorer.sequences, Double(explorer.states), Double(explorer.inputs)].map { String(Int($0)) }
        let line = [exploration.world.name, exploration.start, "\(length)"] + figures
        let report = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        try report.seekToEnd()
        try report.write(contentsOf: Data((line.joined(separator: "\t") + "\n").utf8))
    }

    /// What a session or its promise remembers must be in ``SessionState``, or nothing may depend on it: else different
    /// states would count as one, and sequences would be left out. Whoever adds a field says here that it is there.
    @Test func allThatIsRememberedTellsStatesApart() throws {
        var simulation = SessionSimulation(try SessionWorld("any", reorderDepth: 1))
        let moves: [SessionMove] = [
            .create, .encode(isForced: false), .take, .code, .encode(isForced: false), .take, .encode(isForced: false),
            .take, .code,
        ]
        for move in moves { simulation.play(move) }
        let machine = simulation.machine
        expectFields(
            machine,
            told:
                "configuration phase encoder statistics window waiting attempts nextInstance lastVerdict work assembler "
                + "updateInProgress waitingUpdates startWaiter flushes finishWaiters refreshReason pendingSwitch "
                + "finishRequested isConsumerSlow lastAcceptedTime lastProgress",
            // Fixed; for words; with a variable rate, losses, colours or a second codec, which no world has; the input's
            // own.
            other:
                "selection options givenUp lastForcedKeyFrame owesKeyFrame lastColorimetry reportedLosses "
                + "reportedAdjustments adjustmentsAtWork streamCodec now actions"
        )
        expectFields(machine.window, told: "entries coded highestCoded firstNumber")
        let entry = try #require(machine.window.entries.first)
        expectFields(entry, told: "presentationTime options picture isCoded", other: "number duration token isLost")
        expectFields(
            machine.attempts,
            told: "candidate failedCreations failedFrames missedDeadlines",
            // Fixed; counts further than any sequence goes; about errors that no model has.
            other: "limits framesSinceMissedDeadline hasWorked"
        )
        expectFields(
            machine.work,
            told: "framesAtInstance isFull framesDone framesCoded hasKeyFrame hasProduced format maximumDelay"
        )
        let assembler = try #require(machine.assembler)
        expectFields(assembler, told: "reorderDepth decodeTimes lastFormat")
        expectFields(assembler.decodeTimes, told: "next", other: "depth frameDuration")
        expectFields(
            simulation.promise,
            told:
                "open requests lastAcceptedTime isFinishCalled owed isConsumerSlow bitRate bitRateInProgress pending end "
                + "statistics lastDecodeTime lastFormat instances candidate failedCreations failedFrames missedDeadlines "
                + "candidatesLeft lastCreated lastCreatedInstance hasBegun hasProduced change repeatedFrames lastProgress "
                + "hasGivenUp",
            // Fixed; none; within one input.
            other:
                "world violations move now openBefore isClosed isDisorderly isUpdateEnding isClosedForNewOne hasFailed"
        )
        let encoder = try #require(simulation.encoder)
        expectFields(
            encoder,
            told: "id candidate commands held isHeadCoded group hasKey lastCoded expected delay isDisorderly",
            other: "reorderDepth"
        )
    }

    private func expectFields(
        _ value: Any,
        told: String,
        other: String = "",
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let fields = Mirror(reflecting: value).children.compactMap(\.label)
        let known = (told + " " + other).split(separator: " ").map(String.init)
        #expect(fields.sorted() == known.sorted(), sourceLocation: sourceLocation)
    }
}

extension SessionWorld {
    fileprivate static let all: [SessionWorld] = {
        let worlds = Result {
            [
                try SessionWorld("no B-frames"),
                try SessionWorld("two ahead", framesAhead: 2),
                try SessionWorld("B-frames", reorderDepth: 1),
                try SessionWorld("depth 2, GPUs in helpers", reorderDepth: 2, isInHelper: true),
                try SessionWorld(
                    "real time, oldest",
                    reorderDepth: 1,
                    realTime: .init(drop: .oldest, maximumWaiting: 1)
                ),
                try SessionWorld(
                    "real time, newest",
                    framesAhead: 0,
                    realTime: .init(drop: .newest, maximumWaiting: 2)
                ),
                try SessionWorld("B-frames, last is final", reorderDepth: 1, isLastFinal: true),
                try SessionWorld("one candidate, colour open", candidates: 1, adoptsColor: true),
            ]
        }
        guard case .success(let all) = worlds else { fatalError("\(worlds)") }
        return all
    }()
}
