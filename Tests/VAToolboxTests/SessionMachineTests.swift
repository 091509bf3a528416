// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import MediaTypes
import TestSupport
import Testing

@testable import VAToolbox

/// Every short sequence of inputs, played on the pure machine with a simulated encoder.
@Suite struct SessionMachineTests {
    enum Move: CaseIterable, Hashable {
        case encode, flush, finish, update, badUpdate, refresh, cancelFirstCall, consumerStops, consumerGoesOn
        /// The encoder carries out its next command, or fails in it.
        case work, fail
        /// The deadline passes.
        case hang
        case cancel
    }

    struct World: CustomTestStringConvertible {
        var name: String
        var reorderDepth = 0
        var candidates = 2
        var realTime: RealTimeMode?
        var adoptsColor = false
        var updatesInPlace = true
        var testDescription: String { name }

        static let all = [
            World(name: "no B-frames"),
            World(name: "B-frames", reorderDepth: 1),
            World(name: "B-frames, updates by new encoders", reorderDepth: 1, updatesInPlace: false),
            World(name: "real time, oldest goes", reorderDepth: 1, realTime: .init(drop: .oldest, maximumWaiting: 1)),
            World(name: "real time, newest goes", realTime: .init(drop: .newest, maximumWaiting: 2)),
            World(name: "last candidate, colour of the first picture", candidates: 1, adoptsColor: true),
        ]
    }

    @Test(arguments: World.all)
    func everyShortSequenceKeepsTheContract(_ world: World) throws {
        let picture = try BufferBank().make(color: .bt709)
        var start = Simulation(world, picture)
        start.play(.work)  // creates the encoder
        explore(start, played: [], depth: 3)
        let busy: [Move] = [.encode, .work, .encode, .encode, .work]
        busy.forEach { start.play($0) }
        explore(start, played: busy, depth: 4)
    }

    /// Tries all moves after those that were played, and at each end lets the session come to its own.
    private func explore(_ simulation: Simulation, played: [Move], depth: Int) {
        guard depth > 0 else {
            var last = simulation
            for violation in last.comeToAnEnd() { Issue.record("\(violation) after \(played)") }
            return
        }
        for move in Move.allCases {
            var next = simulation
            next.play(move)
            explore(next, played: played + [move], depth: depth - 1)
        }
    }
}

/// A machine with an encoder that carries out its commands one by one, when it is told to.
struct Simulation {
    private enum Command {
        case create
        case encode(EncoderFrame)
        case update
        case drain
    }

    private var machine: SessionMachine
    private let world: SessionMachineTests.World
    private let picture: PixelBuffer
    private var time = SuspendingClock.now

    private var instance: Int?
    private var commands: [Command] = []
    private var pending: EncoderFrame?
    private var hasKey = false

    private var nextWaiter: UInt64 = 0
    private var open: [UInt64] = []
    private var encodes: Set<UInt64> = []
    private var acceptedCalls = 0
    private var out: [SampleBuffer] = []
    private var samplesEnd: SamplesEnd?
    private var violations: [String] = []

    init(_ world: SessionMachineTests.World, _ picture: PixelBuffer) {
        self.world = world
        self.picture = picture
        var configuration = EncoderConfiguration(width: 16, height: 16)
        configuration.color = world.adoptsColor ? nil : .unspecified
        var options = SessionOptions()
        options.realTime = world.realTime
        options.limits.framesAhead = 0
        options.limits.creationAttempts = 2
        options.limits.consecutiveFailedFrames = 2
        let script: @Sendable (Int) -> InstanceScript = { _ in InstanceScript() }
        machine = SessionMachine(
            configuration: configuration,
            selection: SessionRig.selection(Array(repeating: script, count: world.candidates), Stage()),
            options: options,
            now: time
        )
        call { .start($0) }
    }

    mutating func play(_ move: SessionMachineTests.Move) {
        switch move {
        case .encode:
            let frame = EncoderFrame(
                number: 0,
                buffer: picture,
                presentationTime: MediaTime(value: Int64(nextWaiter), timescale: 30)
            )
            encodes.insert(nextWaiter)
            call { .encode(frame, token: Int($0), $0) }
        case .flush: call { .flush($0) }
        case .finish: call { .finish($0) }
        case .update:
            let rate = 1_000_000 + Int(nextWaiter)
            call { .update(.init(bitRate: rate), $0) }
        case .badUpdate: call { .update(.init(bitRate: 1), $0) }
        case .refresh: input(.refresh(.requested))
        case .cancelFirstCall: if let first = open.first { input(.cancelWaiter(first)) }
        case .consumerStops: input(.consumer(isSlow: true))
        case .consumerGoesOn: input(.consumer(isSlow: false))
        case .work: work()
        case .fail:
            guard !commands.isEmpty else { return }
            event(.failed(MediaError(.frameFailed, "simulated")))
        case .hang:
            time = machine.deadline ?? time
            input(.clock)
        case .cancel: input(.cancel)
        }
    }

    /// Lets the encoder work off all it has, then finishes, and says what was not as it should be.
    mutating func comeToAnEnd() -> [String] {
        play(.consumerGoesOn)
        settle()
        if !machine.waiting.isEmpty { violations.append("frames wait though the encoder is idle") }
        if !open.isEmpty { violations.append("calls are left open: \(open)") }
        play(.finish)
        settle()
        if !open.isEmpty { violations.append("calls are left open at the end: \(open)") }
        if !machine.isOver || samplesEnd == nil { violations.append("the session does not end") }
        if instance != nil { violations.append("the encoder is not closed") }
        checkSamples()
        return violations
    }

    private mutating func settle() {
        while !commands.isEmpty { work() }
        if let deadline = machine.deadline { violations.append("a deadline though the encoder is idle: \(deadline)") }
    }

    private mutating func checkSamples() {
        let statistics = machine.statistics
        if statistics.codedFrames != out.count { violations.append("the number of coded frames is wrong") }
        if case .finished? = samplesEnd, statistics.acceptedFrames != out.count {
            violations.append("\(statistics.acceptedFrames) frames were accepted, \(out.count) are out")
        }
        if world.realTime == nil, statistics.acceptedFrames != acceptedCalls {
            violations.append("\(acceptedCalls) calls were told that their frame was accepted")
        }
        let tokens = out.compactMap { $0.token as? Int }
        if Set(tokens).count != out.count { violations.append("a frame is out twice: \(tokens)") }
        for (sample, next) in zip(out, out.dropFirst()) where next.decodeTime <= sample.decodeTime {
            violations.append("decode times do not rise: \(sample.decodeTime), \(next.decodeTime)")
        }
    }

    // MARK: - The encoder

    private mutating func work() {
        guard !commands.isEmpty else { return }
        switch commands.removeFirst() {
        case .create: event(.created(properties))
        case .encode(let frame):
            code(frame)
            event(.frameDone(frame.number))
        case .update: event(.updated(world.updatesInPlace ? .done() : .needsNewEncoder))
        case .drain:
            if let frame = pending { put(frame, isKey: false) }
            pending = nil
            hasKey = false
            event(.drained)
        }
    }

    private mutating func code(_ frame: EncoderFrame) {
        if !hasKey {
            hasKey = true
            put(frame, isKey: true)
        } else if world.reorderDepth == 0 {
            put(frame, isKey: false)
        } else if let before = pending {
            pending = nil
            put(frame, isKey: false)
            put(before, isKey: false)
        } else {
            pending = frame
        }
    }

    private mutating func put(_ frame: EncoderFrame, isKey: Bool) {
        let data = CodedPayload(instance: instance ?? -1, number: frame.number, bitRate: 0).data(byteCount: 0)
        event(.output(.coded(CodedFrame(number: frame.number, data: data, isKeyFrame: isKey, isReference: isKey))))
    }

    private var properties: EncoderProperties {
        EncoderProperties(
            name: "simulated",
            profile: "",
            level: "",
            reorderDepth: world.reorderDepth,
            maximumDelay: world.reorderDepth,
            pixelFormats: [.nv12],
            supportedProperties: [],
            formatDescription: FormatDescription(codec: .h264, width: 16, height: 16, parameterSets: [])
        )
    }

    // MARK: - The machine

    private mutating func call(_ make: (UInt64) -> SessionMachine.Input) {
        open.append(nextWaiter)
        nextWaiter += 1
        input(make(nextWaiter - 1))
    }

    private mutating func event(_ event: SessionMachine.InstanceEvent) {
        if let instance { input(.instance(instance, event)) }
    }

    private mutating func input(_ input: SessionMachine.Input) {
        for action in machine.handle(input, at: time) { perform(action) }
    }

    private mutating func perform(_ action: SessionMachine.Action) {
        switch action {
        case .create(let id, _, _, _):
            if instance != nil { violations.append("two encoders at once") }
            (instance, commands, pending, hasKey) = (id, [.create], nil, false)
        case .submit(let id, let frame): if id == instance { commands.append(.encode(frame)) }
        case .update(let id, _): if id == instance { commands.append(.update) }
        case .drain(let id): if id == instance { commands.append(.drain) }
        case .close(let id, _):
            if id != instance { violations.append("an encoder is closed twice") }
            (instance, commands, pending) = (nil, [], nil)
        case .emit(let samples):
            if samplesEnd != nil { violations.append("samples after their end") }
            out += samples
        case .resume(let waiter, let result):
            guard let index = open.firstIndex(of: waiter) else { return violations.append("resumed twice: \(waiter)") }
            open.remove(at: index)
            if case .success = result, encodes.contains(waiter) { acceptedCalls += 1 }
        case .report, .tell: break
        case .endSamples(let end):
            if samplesEnd != nil { violations.append("samples end twice") }
            samplesEnd = end
        }
    }
}
