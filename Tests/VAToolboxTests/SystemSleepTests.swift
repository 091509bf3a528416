// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import Synchronization
import TestSupport
import Testing

@testable import VAToolbox

/// What two sources say of suspends, brought together.
@Suite struct SleepRecordTests {
    /// The record as an object, which expectations can ask.
    private final class Record {
        private var record: SleepRecord

        init(lead: Duration) { record = SleepRecord(lead: lead) }
        func look(lead: Duration) -> Bool { record.look(lead: lead) }
        func suspendAnnounced() { record.suspendAnnounced() }
        func resumeAnnounced(lead: Duration) -> Bool { record.resumeAnnounced(lead: lead) }
    }

    @Test func clocksTellOfEachSuspendOnce() {
        let record = Record(lead: .seconds(100))
        #expect(!record.look(lead: .seconds(100)))
        #expect(record.look(lead: .seconds(107)))
        #expect(!record.look(lead: .seconds(107)))
        #expect(record.look(lead: .seconds(108)))
    }

    @Test func noiseIsNoSuspend() {
        let record = Record(lead: .zero)
        // A thread that loses its processor between two clocks sees too little, and then again what is right.
        for lead in [Duration.zero, .seconds(-3), .milliseconds(1), .milliseconds(499), .zero] {
            #expect(!record.look(lead: lead), "\(lead)")
        }
        #expect(record.look(lead: .milliseconds(500)))
    }

    @Test func theServiceTellsBeforeAnybodyLooks() {
        let record = Record(lead: .zero)
        record.suspendAnnounced()
        #expect(record.resumeAnnounced(lead: .seconds(60)))
        #expect(!record.look(lead: .seconds(60)))
    }

    @Test func theServiceTellsWhatTheClocksHaveTold() {
        let record = Record(lead: .zero)
        for lead in [Duration.seconds(60), .seconds(120)] {
            record.suspendAnnounced()
            #expect(record.look(lead: lead))
            #expect(!record.resumeAnnounced(lead: lead))
        }
        // That the suspend was announced has been missed.
        #expect(record.look(lead: .seconds(200)))
        #expect(!record.resumeAnnounced(lead: .seconds(200)))
    }

    @Test func aSuspendThatNoClockShows() {
        let record = Record(lead: .zero)
        for _ in 0..<2 {
            record.suspendAnnounced()
            #expect(record.resumeAnnounced(lead: .zero))
        }
        // A suspend without a service in between does not hide the next one.
        #expect(record.look(lead: .seconds(5)))
        record.suspendAnnounced()
        #expect(record.resumeAnnounced(lead: .seconds(5)))
    }
}

/// A system that is suspended when a test wants it.
private final class FakeSystem: Sendable {
    private struct State {
        var lead = Duration.seconds(1000)
        var services = 0
        var tell: (@Sendable (SystemSleep.Announcement) -> Void)?
    }

    /// Stands for listening to a service while it lives.
    private final class Service: Sendable {
        private let end: @Sendable () -> Void
        init(end: @escaping @Sendable () -> Void) { self.end = end }
        deinit { end() }
    }

    private let state = Mutex(State())
    let hasService: Bool

    init(hasService: Bool) { self.hasService = hasService }

    var sleep: SystemSleep {
        SystemSleep(lead: { self.state.withLock { $0.lead } }) { handler in
            guard self.hasService else { return nil }
            self.state.withLock { state in
                state.services += 1
                state.tell = handler
            }
            return Service { self.state.withLock { $0.services -= 1 } }
        }
    }

    /// How often a service is listened to just now.
    var services: Int { state.withLock { $0.services } }

    /// Is suspended and resumes; the service tells, if it is there.
    func suspend() {
        let tell = state.withLock(\.tell)
        tell?(.suspend)
        state.withLock { $0.lead += .seconds(60) }
        tell?(.resume)
    }
}

@Suite(.timeLimit(.minutes(60))) struct SystemSleepTests {
    @Test func serviceIsListenedToOnceAndOnlyWhileSomebodyWantsToKnow() {
        let system = FakeSystem(hasService: true)
        let sleep = system.sleep
        let calls = Mutex([0, 0])
        #expect(system.services == 0)
        do {
            let first = sleep.listen { calls.withLock { $0[0] += 1 } }
            do {
                let second = sleep.listen { calls.withLock { $0[1] += 1 } }
                #expect(system.services == 1)
                system.suspend()
                second.look()
            }
            #expect(system.services == 1)
            system.suspend()
            first.look()
        }
        #expect(calls.withLock { $0 } == [2, 1])
        #expect(system.services == 0)
        system.suspend()
        // Who comes after a suspend has slept through nothing.
        let third = sleep.listen { calls.withLock { $0[0] += 1 } }
        third.look()
        #expect(calls.withLock { $0 } == [2, 1])
        #expect(system.services == 1)
    }

    @Test func whoLooksAtTheClocksTellsAll() {
        let system = FakeSystem(hasService: false)
        let sleep = system.sleep
        let calls = Mutex(0)
        let listeners = (0..<3).map { _ in sleep.listen { calls.withLock { $0 += 1 } } }
        system.suspend()
        #expect(calls.withLock { $0 } == 0)
        listeners[1].look()
        listeners[0].look()
        #expect(calls.withLock { $0 } == 3)
    }

    @Test func theSystemItselfIsNotSuspendedNow() {
        let calls = Mutex(0)
        let listener = SystemSleep.shared.listen { calls.withLock { $0 += 1 } }
        for _ in 0..<1000 { listener.look() }
        #expect(calls.withLock { $0 } == 0)
    }
}

/// What a suspend of the system does to sessions.
@Suite(.timeLimit(.minutes(60))) struct ResumeTests {
    private static let shape = Shape(reorderDepth: 1, isVariable: false)

    private func switches(_ rig: SessionRig) async -> [EncoderSwitch] {
        await rig.events().compactMap { if case .encoderSwitched(let change) = $0 { change } else { nil } }
    }

    @Test(arguments: [true, false]) func theEncoderOfAGPUIsReplaced(hasService: Bool) async throws {
        let system = FakeSystem(hasService: hasService)
        var options = SessionOptions()
        options.systemSleep = system.sleep
        let rig = try await SessionRig(Self.shape, [{ _ in Self.shape.script }], options: options, device: "gpu")
        let consumer = rig.consume()
        var accepted = try await rig.encode(0..<10)
        system.suspend()
        accepted += try await rig.encode(10..<20)
        try await rig.session.finish()
        expectContract(await consumer.value, accepted: accepted)
        let switches = await switches(rig)
        #expect(switches.count == 1 && switches.first?.refresh == .resume)
        #expect(switches.first?.failures.isEmpty == true && switches.first?.repeatedFrames == 0)
        #expect(switches.first.map { $0.from == $0.to } == true)
        // Nothing is lost or encoded twice: the frames that were with the old encoder come out of it.
        #expect(switches.first?.frame == 10)
        #expect(switches.first?.presentationTime == Self.shape.time(10).presentation)
        let statistics = await rig.session.statistics
        #expect(statistics.createdEncoders == 2 && statistics.failedEncoders == 0 && statistics.repeatedFrames == 0)
        #expect(statistics.encoderSwitches == 1 && statistics.refreshes == 1)
    }

    @Test func anEncoderThatDoesNotLiveThroughItIsReplacedAsWell() async throws {
        let system = FakeSystem(hasService: true)
        var options = SessionOptions()
        options.systemSleep = system.sleep
        let rig = try await SessionRig(
            Self.shape,
            [{ attempt in Self.shape.with { $0.drain = attempt == 0 ? .fail : .normal } }],
            options: options,
            device: "gpu"
        )
        let consumer = rig.consume()
        var accepted = try await rig.encode(0..<10)
        system.suspend()
        accepted += try await rig.encode(10..<20)
        try await rig.session.finish()
        expectContract(await consumer.value, accepted: accepted)
        let switches = await switches(rig)
        #expect(switches.count == 1 && switches.first?.refresh == .resume)
        #expect(switches.first?.failures.count == 1)
        #expect(await rig.session.statistics.refreshes == 1)
    }

    @Test(arguments: [true, false]) func otherEncodersAreLeftAlone(isSwitchedOff: Bool) async throws {
        let system = FakeSystem(hasService: true)
        var options = SessionOptions()
        options.systemSleep = system.sleep
        options.refreshesOnResume = !isSwitchedOff
        let device = isSwitchedOff ? "gpu" : nil
        let rig = try await SessionRig(Self.shape, [{ _ in Self.shape.script }], options: options, device: device)
        #expect(system.services == 0)
        let consumer = rig.consume()
        var accepted = try await rig.encode(0..<10)
        system.suspend()
        accepted += try await rig.encode(10..<20)
        try await rig.session.finish()
        expectContract(await consumer.value, accepted: accepted)
        #expect(await rig.session.statistics.createdEncoders == 1)
    }

    /// A session whose GPU was given up for the CPU has listened since it began, and has nothing to replace.
    @Test func theCPUsEncoderThatTookOverIsLeftAlone() async throws {
        let system = FakeSystem(hasService: true)
        var options = SessionOptions()
        options.systemSleep = system.sleep
        let stage = Stage()
        let gpu = ScriptedFactory("gpu", device: "gpu", on: stage, .inProcess, options.limits) { _ in
            Self.shape.with { $0.steps = [3: .failPermanently] }
        }
        let cpu = ScriptedFactory("cpu", on: stage, .inProcess, options.limits) { _ in Self.shape.script }
        let session = try await CompressionSession(
            configuration: Self.shape.configuration,
            options: options,
            selection: EncoderSelection(candidates: [gpu, cpu].map { .init(factory: $0, reason: "scripted") })
        )
        let bank = BufferBank()
        for index in 0..<20 {
            if index == 10 { system.suspend() }
            try await session.encode(try bank.make(), presentationTime: Self.shape.time(index).presentation)
        }
        try await session.finish()
        #expect(stage.attempts.map(\.candidate) == ["gpu", "cpu"])
        #expect(await session.statistics.refreshes == 0)
    }

    @Test func manySessionsShareOneServiceAndLetGoOfIt() async throws {
        let system = FakeSystem(hasService: true)
        var options = SessionOptions()
        options.systemSleep = system.sleep
        do {
            var rigs: [SessionRig] = []
            for _ in 0..<4 {
                let script: @Sendable (Int) -> InstanceScript = { _ in Self.shape.script }
                rigs.append(try await SessionRig(Self.shape, [script], options: options, device: "gpu"))
            }
            #expect(system.services == 1)
            for rig in rigs { _ = try await rig.encode(0..<4) }
            system.suspend()
            for rig in rigs {
                try await rig.encode(4)
                try await rig.session.finish()
                #expect(await rig.session.statistics.refreshes == 1)
            }
        }
        try await eventually { system.services == 0 }
    }
}
