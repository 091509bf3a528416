// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import TestSupport

@testable import VAToolbox

/// A session's machine, the encoder that it uses, and what it has promised: a value that is copied to try what may follow.
struct SessionSimulation {
    private(set) var machine: SessionMachine
    private(set) var encoder: ModelEncoder?
    private(set) var promise: SessionPromise
    /// The encoder that was closed last.
    private(set) var closed: Int?
    private(set) var clock = 0
    private var nextCall: UInt64 = 0

    var world: SessionWorld { promise.world }
    var violations: [String] { promise.violations }

    /// A session whose start has been called.
    init(_ world: SessionWorld) {
        machine = world.machine()
        promise = SessionPromise(world)
        promise.begin(.wait, at: clock, nil)
        call(.start) { .start($0) }
        promise.finish(machine, encoder)
    }

    // MARK: - What can happen

    /// Whether the call that starts it has succeeded: before, its user has no session to call.
    private var hasStarted: Bool { promise.lastCreated != nil }

    /// All moves that are possible now. Left out is only what cannot be, for the reason that stands beside it.
    var possibleMoves: [SessionMove] {
        var moves: [SessionMove] = []
        if hasStarted {
            moves += [
                .encode(isForced: false), .encode(isForced: true), .flush, .finish, .update, .invalidUpdate, .refresh,
                .resume, .cancel, .cancelAnsweredCall, .consumer(isSlow: true), .consumer(isSlow: false),
            ]
            // Nothing is too early for the first frame.
            if promise.lastTime >= 0 { moves.append(.encodeTooEarly) }
        }
        moves += promise.open.indices.map(SessionMove.cancelCall)
        if let encoder { moves += possibleMoves(of: encoder) }
        // An encoder that is not closed is not late.
        if closed != nil { moves += SessionMove.LateEvent.allCases.map(SessionMove.late) }
        // More of the same when even an encoder with work would have missed its deadline.
        if clock - promise.lastProgress <= SessionWorld.ticksToDeadline { moves.append(.wait) }
        if machine.deadline != nil { moves.append(.deadline) }
        return moves
    }

    private func possibleMoves(of encoder: ModelEncoder) -> [SessionMove] {
        var moves: [SessionMove] = [.fail(isPermanent: false), .fail(isPermanent: true), .bad(.unknown)]
        switch encoder.commands.first {
        // The first encoder decides how deep is too deep.
        case .create: moves += [.create] + (hasStarted ? [.createTooDeep] : [])
        case .encode: moves.append(.take)
        case .update: moves += [.updateDone, .updateNeedsNewEncoder, .updateRefused]
        // While frames are left, saying that none is left is a failure.
        case .drain: moves.append(encoder.held.isEmpty ? .drain : .drainTooEarly)
        case nil: break
        }
        // An encoder returns what it was given and has not returned; anything else is `unknown` or `twice`.
        if let next = encoder.next {
            moves += [.code, .skip, .bad(.empty)]
            // Later ones need not be key frames.
            if !encoder.hasKey, next.isKey { moves.append(.bad(.noKey)) }
        }
        if encoder.lastCoded != nil { moves.append(.bad(.twice)) }
        // With one frame there is none before it.
        if encoder.visible.count > 1 { moves.append(.bad(.hastyKey)) }
        var disorderly = encoder
        if disorderly.codeTooEarly() != nil { moves.append(.bad(.tooEarly)) }
        return moves
    }

    // MARK: - What happens

    mutating func play(_ move: SessionMove) {
        switch move {
        case .wait: clock += SessionWorld.ticksToDeadline * 6 / 10
        case .deadline: clock = max(clock, machine.deadline.map(world.tick) ?? clock)
        default: break
        }
        promise.begin(move, at: clock, encoder)
        switch move {
        case .encode, .encodeTooEarly, .flush, .finish, .update, .invalidUpdate, .refresh, .resume, .cancel,
            .cancelCall,
            .cancelAnsweredCall, .consumer:
            playCall(move)
        case .create, .take, .updateDone, .updateNeedsNewEncoder, .updateRefused, .drain, .createTooDeep,
            .drainTooEarly:
            playCommand(move)
        case .code, .skip, .bad: playOutput(move)
        case .fail(let isPermanent):
            event(.failed(MediaError(.frameFailed, "modelled", isPermanent: isPermanent)))
        case .late(let late): if let closed { input(.instance(closed, said(late))) }
        case .wait, .deadline: input(.clock)
        }
        promise.finish(machine, encoder)
    }

    private mutating func playCall(_ move: SessionMove) {
        switch move {
        case .encode(let isForced): encode(at: promise.lastTime + 1, isForced: isForced)
        case .encodeTooEarly: encode(at: promise.lastTime, isForced: false)
        case .flush: call(.flush(until: promise.lastTime)) { .flush($0) }
        case .finish:
            promise.isFinishCalled = promise.isFinishCalled || !promise.isOver
            call(.finish) { .finish($0) }
        case .update:
            let rate = SessionWorld.bitRates.first { $0 != promise.lastAskedBitRate } ?? 0
            call(.update(bitRate: rate)) { .update(.init(bitRate: rate), $0) }
        case .invalidUpdate:
            call(.update(bitRate: SessionWorld.invalidBitRate)) {
                .update(.init(bitRate: SessionWorld.invalidBitRate), $0)
            }
        case .refresh:
            promise.owe(.requested)
            input(.refresh(.requested))
        case .resume:
            if world.identity(of: promise.candidate).isHardware { promise.owe(.resume) }
            input(.refresh(.resume))
        case .cancel: input(.cancel)
        case .cancelCall(let index): input(.cancelWaiter(promise.open[index].id))
        case .cancelAnsweredCall: input(.cancelWaiter(nextCall))
        case .consumer(let isSlow):
            promise.isConsumerSlow = isSlow
            input(.consumer(isSlow: isSlow))
        default: break
        }
    }

    private mutating func encode(at time: Int64, isForced: Bool) {
        let frame = EncoderFrame(
            number: 0,
            buffer: world.picture,
            presentationTime: SessionPromise.time(time),
            duration: SessionPromise.time(1),
            options: FrameOptions(forceKeyFrame: isForced)
        )
        if time > promise.lastTime { promise.requests.append(.init(time: time, isForced: isForced)) }
        if adoptsColor { promise.owe(.firstPicture) }
        call(.encode(time: time)) { .encode(frame, token: time, $0) }
    }

    /// Whether a frame fixes the colour, for which a new encoder is made.
    private var adoptsColor: Bool {
        machine.configuration.color == nil && !promise.isFinishCalled && !promise.isOver
    }

    private mutating func playCommand(_ move: SessionMove) {
        let candidate = encoder?.candidate ?? 0
        let command = encoder?.commands.first
        encoder?.finishCommand()
        switch move {
        case .create, .createTooDeep:
            if move == .create { promise.endUpdate(isDone: true) }
            event(.created(world.properties(of: candidate, isTooDeep: move == .createTooDeep)))
        case .take:
            guard case .encode(let frame) = command else { return }
            promise.take(frame.number)
            event(.frameDone(frame.number, copies: 1))
        case .updateDone:
            promise.endUpdate(isDone: true)
            event(.updated(.done()))
        case .updateNeedsNewEncoder:
            promise.endUpdate(isDone: true)
            promise.owe(.update)
            event(.updated(.needsNewEncoder))
        case .updateRefused:
            promise.endUpdate(isDone: false)
            event(.updateRefused(MediaError(.unsupported, "modelled")))
        default: event(.drained)
        }
    }

    private mutating func playOutput(_ move: SessionMove) {
        switch move {
        case .code: if let output = encoder?.code(isDropped: false) { put(output) }
        case .skip: if let output = encoder?.code(isDropped: true) { put(output, isDropped: true) }
        case .bad(.empty): if let output = encoder?.next { put(output, isEmpty: true) }
        case .bad(.noKey): if let output = encoder?.next { put(.init(number: output.number, isKey: false)) }
        case .bad(.twice): if let number = encoder?.lastCoded { put(.init(number: number, isKey: false)) }
        case .bad(.unknown): put(.init(number: encoder?.expected ?? machine.window.nextNumber, isKey: true))
        case .bad(.hastyKey): if let frame = encoder?.visible.last { put(.init(number: frame.number, isKey: true)) }
        case .bad(.tooEarly): if let output = encoder?.codeTooEarly() { put(output) }
        default: break
        }
    }

    private mutating func put(_ output: ModelEncoder.Output, isDropped: Bool = false, isEmpty: Bool = false) {
        event(.output(.coded(coded(output, isDropped: isDropped, isEmpty: isEmpty))))
    }

    private func coded(_ output: ModelEncoder.Output, isDropped: Bool = false, isEmpty: Bool = false) -> CodedFrame {
        let payload = CodedPayload(instance: encoder?.id ?? -1, number: output.number, bitRate: 0)
        return CodedFrame(
            number: output.number,
            data: isDropped || isEmpty ? CodedData([]) : payload.data(byteCount: 0),
            isKeyFrame: output.isKey,
            isReference: true,
            isDropped: isDropped
        )
    }

    /// What an encoder that is closed says: what would be wrong if it came from the one in use.
    private func said(_ late: SessionMove.LateEvent) -> SessionMachine.InstanceEvent {
        switch late {
        case .created: .created(world.properties(of: 0, isTooDeep: false))
        case .frameDone: .frameDone(machine.window.firstNumber, copies: 1)
        case .coded: .output(.coded(coded(.init(number: machine.window.firstNumber, isKey: true))))
        case .updated: .updated(.needsNewEncoder)
        case .updateRefused: .updateRefused(MediaError(.unsupported, "late"))
        case .drained: .drained
        case .failed: .failed(MediaError(.frameFailed, "late", isPermanent: true))
        }
    }

    // MARK: - The machine

    private mutating func call(_ kind: SessionPromise.Call.Kind, _ make: (UInt64) -> SessionMachine.Input) {
        promise.open.append(.init(id: nextCall, kind: kind))
        nextCall += 1
        input(make(nextCall - 1))
    }

    private mutating func event(_ event: SessionMachine.InstanceEvent) {
        guard let encoder else { return }
        promise.noteProgress()
        input(.instance(encoder.id, event))
    }

    private mutating func input(_ input: SessionMachine.Input) {
        for action in machine.handle(input, at: world.instant(clock)) { perform(action) }
    }

    private mutating func perform(_ action: SessionMachine.Action) {
        switch action {
        case .create(let id, let creation):
            promise.create(id, creation, replacing: encoder)
            encoder = ModelEncoder(id, candidate: creation.candidate, reorderDepth: world.reorderDepth)
        case .submit(let id, let frame): promise.submit(frame, to: id, &encoder)
        case .update(let id, let configuration): promise.update(configuration, of: id, &encoder)
        case .drain(let id): promise.drain(id, &encoder)
        case .close(let id, let isHung):
            promise.close(id, isHung: isHung, &encoder)
            closed = id
        case .emit(let samples): promise.emit(samples, of: encoder)
        case .resume(let id, let result): promise.resume(id, result)
        case .report(let event): promise.report(event)
        case .tell(let candidate, let outcome): promise.tell(outcome, candidate: candidate)
        case .endSamples(let end): promise.endSamples(end)
        }
    }
}

// MARK: - Ends

extension SessionSimulation {
    mutating func fail(_ violation: String) { promise.expect(false, violation) }

    /// Ways for a session to come to its end, in which nothing surprising happens any more.
    enum Ending: CaseIterable {
        /// The encoder does its work, and the consumer takes what comes out.
        case orderly
        /// No encoder says anything any more.
        case silent
        /// Every encoder fails as soon as it is created.
        case failing
    }

    /// The next move on the way to an end; `nil` at the end.
    mutating func nextMove(to ending: Ending) -> SessionMove? {
        guard !promise.isOver, promise.violations.isEmpty else { return nil }
        if ending != .orderly, hasStarted, !promise.isFinishCalled { return .finish }
        switch ending {
        case .orderly: return nextOrderlyMove()
        case .failing: return encoder?.isCreated == false ? .create : .fail(isPermanent: false)
        case .silent:
            promise.expect(machine.deadline != nil, "the session waits for an encoder for ever")
            return machine.deadline == nil ? nil : .deadline
        }
    }

    private mutating func nextOrderlyMove() -> SessionMove? {
        if promise.isConsumerSlow { return .consumer(isSlow: false) }
        if encoder?.next != nil { return .code }
        switch encoder?.commands.first {
        case .create: return .create
        case .encode: return .take
        case .update: return .updateDone
        case .drain: return .drain
        case nil: break
        }
        let open = promise.open
        promise.expect(open.isEmpty, "calls wait though the encoder is idle: \(open)")
        promise.expect(promise.requests.isEmpty, "frames wait though the encoder is idle")
        promise.expect(promise.owed == nil, "a new encoder was asked for and does not come")
        promise.expect(!promise.isFinishCalled, "the session does not end")
        return promise.isFinishCalled ? nil : .finish
    }

    /// What must be so at an end.
    ///
    /// - Parameter couldFail: Whether the session was over before, or its encoder has already done what ends it.
    mutating func checkEnd(of ending: Ending, couldFail: Bool) {
        switch ending {
        case .orderly: promise.expect(couldFail || promise.end == .finished, "the session fails with a good encoder")
        case .silent, .failing: promise.expect(promise.isOver, "the session does not end")
        }
    }
}
