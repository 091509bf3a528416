// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import Dispatch
import Glibc
import MediaTypes
import Synchronization

/// Controls the access of one session to a device. A session may enter when the device is not suspended, has a free
/// place and has proved that it supports the configuration. The gate also shares the outcome with other sessions.
///
/// The session enters with its first encoder on the device, on that encoder's thread, and leaves when it no longer uses
/// the device. Retries after a failure are up to the session.
final class DeviceGate: Sendable {
    private struct State {
        var isIn = false
        /// Whether the session has left for good. It may leave while its encoder's thread is still entering.
        var isLeft = false
        var place: StateLock?
        /// The lock of the session that tries a device after a failure.
        var trial: StateLock?
        /// What the device has proved, and the key under which the proof is stored.
        var proof = EncoderDescription.Proof.notWanted
        var key: ProofCache.Key?
        var hasFailed = false
    }

    private let fingerprint: DeviceFingerprint
    private let identity: EncoderIdentity
    private let use: DeviceBoard.Use
    private let options: DeviceOptions
    private let prover: Prover
    private let hung: HungDevices
    private let board: DeviceBoard
    private let state: Mutex<State>
    /// Writes files, because sessions do not wait for them. All gates share one queue, so that any number of sessions
    /// that end at the same time need only one thread.
    private let notes = DeviceGate.allNotes
    private static let allNotes = DispatchQueue(label: "vatoolbox.device-gates")

    /// - Parameters:
    ///   - hung: The devices that have hung in test encodes of the same selection.
    ///   - place: A place on the device, if it was already taken.
    init(
        _ fingerprint: DeviceFingerprint,
        _ identity: EncoderIdentity,
        _ use: DeviceBoard.Use,
        _ options: DeviceOptions,
        _ prover: Prover,
        hung: HungDevices,
        place: StateLock?
    ) {
        self.fingerprint = fingerprint
        self.identity = identity
        self.use = use
        self.options = options
        self.prover = prover
        self.hung = hung
        board = DeviceBoard(state: options.state)
        state = Mutex(State(place: place))
    }

    /// Lets the session enter, once. Blocks.
    ///
    /// - Throws: `suspended`, `busy` or `proofFailed`, or the error that prevents a test encode.
    func enter(_ configuration: EncoderConfiguration) throws(MediaError) {
        if state.withLock({ $0.isIn }) { return }
        do throws(MediaError) {
            try passBreaker()
            try takePlace()
            if options.proof == .required { try prove(configuration) }
            let isIn = state.withLock { state in
                state.isIn = !state.isLeft
                return state.isIn
            }
            if !isIn { throw Self.abandonment }
        } catch {
            giveBack()
            throw error
        }
    }

    /// Keeps a lock for the session until it leaves.
    ///
    /// - Throws: `cancelled` if the session has already left; the lock is then released.
    private func hold(_ lock: StateLock, as field: WritableKeyPath<State, StateLock?>) throws(MediaError) {
        let isHeld = state.withLock { state in
            if !state.isLeft { state[keyPath: field] = lock }
            return !state.isLeft
        }
        if isHeld { return }
        lock.release()
        throw Self.abandonment
    }

    private static let abandonment = MediaError(.cancelled, "the session closed while the device was being opened")

    /// What the device had proved when the session entered.
    var proof: EncoderDescription.Proof { state.withLock { $0.proof } }

    private func passBreaker() throws(MediaError) {
        guard let times = options.breaker else { return }
        let breaker = board.breaker(fingerprint.device, identity.codec)
        let now = WallClock.now
        switch breaker.admission(at: now, times) {
        case .allowed: return
        case .refused(let end):
            throw refusal("for another \(Int((end - now).rounded(.up))) seconds", breaker)
        case .trial:
            guard let trial = board.trial(fingerprint.device, identity.codec) else {
                throw refusal("while another session tries it", breaker)
            }
            try hold(trial, as: \.trial)
        }
    }

    private func refusal(_ time: String, _ breaker: CircuitBreaker) -> MediaError {
        MediaError(
            .suspended,
            "the device is suspended \(time) because it failed repeatedly; last failure: \(breaker.reason)",
            cause: .suspended,
            remedies: ["see its state: vatoolbox probe", "try it again now: vatoolbox probe --reset"]
        )
    }

    private func takePlace() throws(MediaError) {
        if state.withLock({ $0.place != nil }) { return }
        let limit = options.sessionsPerDevice
        if let place = board.use(fingerprint.device, limit: limit, use) {
            return try hold(place, as: \.place)
        }
        throw MediaError(
            .busy,
            "the device has reached its limit of sessions",
            given: "\(board.load(of: fingerprint.device).sessions)",
            allowed: "\(limit ?? SelectionState.places)",
            isPermanent: true,
            cause: .deviceBusy
        )
    }

    // MARK: - Proof

    private func prove(_ configuration: EncoderConfiguration) throws(MediaError) {
        let isTrial = state.withLock { $0.trial != nil }
        let key = ProofCache.Key(
            device: fingerprint,
            configuration: ConfigurationClass(configuration, identity.codec)
        )
        let refusal = hung.refusal(of: fingerprint.device, for: identity.codec)
        let verdict = prover.verdict(configuration, key, isTrial: isTrial, unless: refusal)
        switch verdict {
        case .proved(let proof): isProved(key, proof)
        case .tried(let proof):
            note(proof, isTrial: isTrial)
            if proof.cause == .driverHung { hung.note(fingerprint.device, triedFor: identity.codec) }
            if !proof.isPassed { throw prover.refusal(proof, isKnown: false) }
            isProved(key, proof)
        case .refuted(let proof): throw prover.refusal(proof, isKnown: true)
        case .impossible(let error): throw error
        case .unproved(let error): state.withLock { $0.proof = .impossible(error) }
        }
    }

    private func isProved(_ key: ProofCache.Key, _ proof: ProofRecord) {
        state.withLock { state in
            state.key = key
            state.proof = proof.isDecoded ? .decoded : .read
        }
    }

    private func note(_ proof: ProofRecord, isTrial: Bool) {
        guard let times = options.breaker else { return }
        board.change(fingerprint.device, identity.codec) { breaker in
            if proof.isPassed {
                breaker.succeed(isTrial: isTrial)
            } else {
                breaker.fail(at: WallClock.now, isTrial: isTrial, reason: proof.reason, times)
            }
        }
        if isTrial { state.withLock { $0.trial.take() }?.release() }
    }

    /// Notes the name of the driver that created an encoder. A proof of another driver is discarded.
    func created(by driver: String) {
        guard let key = state.withLock({ $0.key }) else { return }
        let known = prover.cache.proof(key, at: WallClock.now)
        if let known, known.driver != driver { prover.cache.forget(key) }
    }

    // MARK: - Outcome

    /// Records an outcome that a session reports. Does not block.
    func take(_ outcome: EncoderSelection.EncoderOutcome) { notes.async { self.note(outcome) } }

    /// Waits until all reported outcomes are recorded.
    func settle() async {
        await withCheckedContinuation { continuation in notes.async { continuation.resume() } }
    }

    private func note(_ outcome: EncoderSelection.EncoderOutcome) {
        switch outcome {
        case .left: leave()
        case .failed(let error, _):
            guard state.withLock({ $0.isIn }), error.speaksAgainstTheDevice else { return }
            let key = state.withLock { state in
                state.hasFailed = true
                return state.key
            }
            if let key { prover.cache.forget(key) }
            change { breaker, isTrial, times in
                breaker.fail(at: WallClock.now, isTrial: isTrial, reason: error.description, times)
            }
        case .produced: change(onlyInTrial: true) { breaker, isTrial, _ in breaker.succeed(isTrial: isTrial) }
        case .completed:
            // A device that has failed this session may have worked by chance since.
            if state.withLock({ $0.hasFailed }) { return }
            change { breaker, isTrial, _ in breaker.complete(isTrial: isTrial) }
        }
    }

    /// Changes the breaker. This ends a trial, because its result is now known.
    private func change(
        onlyInTrial: Bool = false,
        _ change: (inout CircuitBreaker, _ isTrial: Bool, BreakerTimes) -> Void
    ) {
        guard let times = options.breaker else { return }
        let trial = state.withLock { $0.trial.take() }
        if onlyInTrial, trial == nil { return }
        board.change(fingerprint.device, identity.codec) { change(&$0, trial != nil, times) }
        trial?.release()
    }

    /// Releases everything for good: the session no longer uses the device.
    func leave() {
        state.withLock { $0.isLeft = true }
        giveBack()
    }

    private func giveBack() {
        let (place, trial) = state.withLock { state in
            state.isIn = false
            return (state.place.take(), state.trial.take())
        }
        place?.release()
        trial?.release()
    }
}

extension MediaError {
    /// Whether an encoder error means that its device or driver failed. It does not if the request is unsupported, the
    /// device is busy, or this machine lacks a resource.
    fileprivate var speaksAgainstTheDevice: Bool {
        let others: Set<Code> = [
            .busy, .unsupported, .invalidArgument, .cancelled, .invalidState, .suspended, .proofFailed, .outOfMemory,
            .inputOutput,
        ]
        return !others.contains(code) && ![.helperMissing, .helperMismatch].contains(cause)
    }
}

/// Creates encoders on a device behind its gate.
struct GatedFactory: EncoderFactory {
    let inner: any EncoderFactory
    let gate: DeviceGate

    var identity: EncoderIdentity { inner.identity }

    func makeEncoder(_ request: EncoderRequest) throws(MediaError) -> any EncoderBackend {
        try gate.enter(request.configuration)
        let encoder = try inner.makeEncoder(request)
        gate.created(by: encoder.properties.name)
        return encoder
    }
}
