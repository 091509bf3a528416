// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import Dispatch
import HelperIPC
import MediaTypes
import Synchronization
import TestSupport
import Testing

@testable import VAToolbox

/// Where scripted encoders play: what they did, how many are alive, and what they are stuck in. It is the same for
/// encoders in this process and for those in a helper, whose calls are told as they happen.
final class Stage: Sendable {
    enum Entry: Equatable {
        case attempt(Int, candidate: String)
        case encode(Int, number: Int64)
        case drain(Int)
        case update(Int, bitRate: Int)
    }

    struct Attempt: Sendable {
        var candidate: String
        var configuration: EncoderConfiguration
        var maximumReorderDepth: Int?
    }

    private struct State {
        var entries: [Entry] = []
        var attempts: [Attempt] = []
        var alive = 0
        /// What lets each call that hangs go on.
        var hanging: [Int: @Sendable () -> Void] = [:]
        var hangs = 0
        var isReleased = false
    }

    private let state = Mutex(State())

    deinit { release() }

    /// Lets every call that hangs go on, now and later.
    func release() {
        let hanging = state.withLock { state in
            state.isReleased = true
            defer { state.hanging = [:] }
            return state.hanging
        }
        hanging.values.forEach { $0() }
    }

    var entries: [Entry] { state.withLock { $0.entries } }
    var attempts: [Attempt] { state.withLock { $0.attempts } }
    /// Encoders that have not been freed.
    var alive: Int { state.withLock { $0.alive } }
    /// Calls that hang.
    var stuck: Int { state.withLock { $0.hanging.count } }

    fileprivate func note(_ entry: Entry) { state.withLock { $0.entries.append(entry) } }
    fileprivate func changeAlive(by difference: Int) { state.withLock { $0.alive += difference } }

    /// - Returns: What to call it by when it is gone; `nil` if it goes on at once.
    fileprivate func beginHang(_ goOn: @escaping @Sendable () -> Void) -> Int? {
        let hang = state.withLock { state -> Int? in
            guard !state.isReleased else { return nil }
            state.hangs += 1
            state.hanging[state.hangs] = goOn
            return state.hangs
        }
        if hang == nil { goOn() }
        return hang
    }

    fileprivate func endHang(_ hang: Int) { state.withLock { $0.hanging[hang] = nil } }

    fileprivate func note(_ attempt: Attempt) -> Int {
        state.withLock { state in
            state.attempts.append(attempt)
            state.entries.append(.attempt(state.attempts.count - 1, candidate: attempt.candidate))
            return state.attempts.count - 1
        }
    }
}

/// One encoder's part on the stage.
private struct StagePart: RemoteEncoderWitness {
    let id: Int
    let stage: Stage

    func note(_ call: ScriptedCall) {
        switch call {
        case .encode(let number): stage.note(.encode(id, number: number))
        case .drain: stage.note(.drain(id))
        case .update(let bitRate): stage.note(.update(id, bitRate: bitRate))
        }
    }

    func born() { stage.changeAlive(by: 1) }
    func died() { stage.changeAlive(by: -1) }

    func hang() {
        let released = DispatchSemaphore(value: 0)
        _ = stage.beginHang { released.signal() }
        released.wait()
    }

    func beginHang(_ goOn: @escaping @Sendable () -> Void) -> Int? { stage.beginHang(goOn) }
    func endHang(_ hang: Int) { stage.endHang(hang) }
}

/// Where scripted encoders work.
enum Place: String, Sendable, CaseIterable, CustomTestStringConvertible {
    case inProcess = "in this process"
    /// Each in a helper process of its own.
    case inHelper = "in a helper"
    /// Up to three in one helper process.
    case inSharedHelper = "in a shared helper"

    /// The places in which the contract of a session is tested.
    static let all: [Place] = [.inProcess, .inHelper]

    var testDescription: String { rawValue }
    var isInProcess: Bool { self == .inProcess }
}

/// Provides the helpers in which encoders work.
struct Stagehand: Sendable {
    let place: Place
    /// `nil` for encoders in this process.
    let pool: HelperPool?

    static let inProcess = Stagehand(.inProcess, nil)

    private init(_ place: Place, _ pool: HelperPool?) {
        self.place = place
        self.pool = pool
    }

    init(_ place: Place) throws(MediaError) {
        guard place != .inProcess else {
            self = .inProcess
            return
        }
        var options = HelperPool.Options()
        options.path = try BuiltProgram.path("ScriptedHelper")
        options.connectionsPerHelper = place == .inSharedHelper ? 3 : 1
        options.log = { _ in }
        self.init(place, try HelperPool(options))
    }
}

/// A candidate whose encoders follow scripts.
final class ScriptedFactory: EncoderFactory {
    let identity: EncoderIdentity
    private let stage: Stage
    private let script: @Sendable (Int) -> InstanceScript
    private let helpers: (pool: HelperPool, deadlines: RemoteEncoderFactory.Deadlines)?
    private let attempts = Mutex(0)

    /// - Parameters:
    ///   - stagehand: Where the encoders work.
    ///   - limits: Of the session.
    ///   - script: The script of the nth encoder, from 0, that this factory is asked for.
    init(
        _ name: String,
        codec: VideoCodec = .h264,
        device: String? = nil,
        on stage: Stage,
        _ stagehand: Stagehand,
        _ limits: SessionLimits,
        script: @escaping @Sendable (Int) -> InstanceScript
    ) {
        identity = EncoderIdentity(name: name, codec: codec, device: device)
        self.stage = stage
        self.script = script
        helpers = stagehand.pool.map { ($0, RemoteEncoderFactory.Deadlines(within: limits)) }
    }

    func makeEncoder(_ request: EncoderRequest) throws(MediaError) -> any EncoderBackend {
        let attempt = attempts.withLock { count in
            defer { count += 1 }
            return count
        }
        let script = script(attempt)
        let id = stage.note(
            Stage.Attempt(
                candidate: identity.name,
                configuration: request.configuration,
                maximumReorderDepth: request.maximumReorderDepth
            )
        )
        let witness = StagePart(id: id, stage: stage)
        guard let helpers else { return try ScriptedEncoder.make(id, attempt: attempt, script, request, witness) }
        return try Backstage.shared.withTicket(for: witness) { (address, ticket) throws(MediaError) in
            var part = RemotePart()
            (part.address, part.ticket, part.id, part.attempt, part.script) = (address, ticket, id, attempt, script)
            let identity = EncoderIdentity(name: "scripted", codec: identity.codec, device: part.text)
            let factory = RemoteEncoderFactory(identity, pool: helpers.pool, deadlines: helpers.deadlines)
            return try factory.makeEncoder(request)
        }
    }
}
