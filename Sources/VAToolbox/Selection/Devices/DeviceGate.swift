// SPDX-License-Identifier: GPL-2.0-or-later

import Dispatch
import Glibc
import MediaTypes
import Synchronization

/// Controls the access of one session to a device. A session may enter when the device is not suspended, has a free
/// place and has passed the test of the request. The gate also shares the outcome with other sessions.
///
/// The session enters with its first encoder or decoder on the device, on the thread that creates it, and leaves when it no longer uses
/// the device. Retries after a failure are up to the session.
final class DeviceGate: Sendable {
    private struct State {
        var isIn = false
        /// Whether the session has left for good. It may leave while another thread is still entering.
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
    private let task: DeviceTask
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
    ///   - hung: The devices that have hung in tests of the same selection.
    ///   - place: A place on the device, if it was already taken.
    init(
        _ fingerprint: DeviceFingerprint,
        _ task: DeviceTask,
        _ use: DeviceBoard.Use,
        _ options: DeviceOptions,
        hung: HungDevices,
        place: StateLock?
    ) {
        self.fingerprint = fingerprint
        self.task = task
        self.use = use
        self.options = options
        prover = Prover(options, task)
        self.hung = hung
        board = DeviceBoard(state: options.state)
        state = Mutex(State(place: place))
    }

    /// Lets the session enter, once. Blocks.
    ///
    /// - Parameter test: What the device has to pass; `nil` for a request that it is known to refuse.
    /// - Throws: `suspended`, `busy` or `proofFailed`, or the error that prevents a test.
    func enter(_ test: (some DeviceTest)?) throws(MediaError) {
        let (isIn, subject) = state.withLock { ($0.isIn, $0.key?.subject) }
        if isIn {
            // A stream may change its profile; the configuration of an encoder keeps its class.
            if task.isDecoding, options.proof == .required, let test, test.subject != subject { try prove(test) }
            return
        }
        do throws(MediaError) {
            try passBreaker()
            try takePlace()
            if options.proof == .required, let test { try prove(test) }
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
        let breaker = board.breaker(fingerprint.device, task)
        let now = WallClock.now
        switch breaker.admission(at: now, times) {
        case .allowed: return
        case .refused(let end):
            throw refusal("for another \(Int((end - now).rounded(.up))) seconds", breaker)
        case .trial:
            guard let trial = board.trial(fingerprint.device, task) else {
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
            given: "\(board.uses(of: fingerprint.device, decoding: task.isDecoding).count)",
            allowed: "\(limit ?? SelectionState.places)",
            isPermanent: true,
            cause: .deviceBusy
        )
    }

    // MARK: - Proof

    private func prove(_ test: some DeviceTest) throws(MediaError) {
        let isTrial = state.withLock { $0.trial != nil }
        let key = ProofCache.Key(device: fingerprint, subject: test.subject)
        let refusal = hung.refusal(of: fingerprint.device, for: task)
        let verdict = prover.verdict(test, key, isTrial: isTrial, unless: refusal)
        switch verdict {
        case .proved(let proof): isProved(key, proof)
        case .tried(let proof):
            note(proof, isTrial: isTrial)
            if proof.cause == .driverHung { hung.note(fingerprint.device, triedFor: task) }
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
        board.change(fingerprint.device, task) { breaker in
            if proof.isPassed {
                breaker.succeed(isTrial: isTrial)
            } else {
                breaker.fail(at: WallClock.now, isTrial: isTrial, reason: proof.reason, times)
            }
        }
        if proof.cause == .driverHung { noteHang(proof.reason, times) }
        if isTrial { state.withLock { $0.trial.take() }?.release() }
    }

    /// A hang counts against the tasks of the other kind as well, because it may be the GPU that hangs.
    private func noteHang(_ reason: String, _ times: BreakerTimes) {
        for other in task.tasksOfOtherKind {
            board.change(fingerprint.device, other) { breaker in
                let reason = "\(reason) (while it \(task.pastWords))"
                breaker.fail(at: WallClock.now, isTrial: false, reason: reason, times)
            }
        }
    }

    /// Notes the name of the driver that created an encoder or decoder. A proof of another driver is discarded.
    func created(by driver: String) {
        guard let key = state.withLock({ $0.key }) else { return }
        let known = prover.cache.proof(key, at: WallClock.now)
        if let known, known.driver != driver { prover.cache.forget(key) }
    }

    // MARK: - Outcome

    /// Records an outcome that a session reports. Does not block.
    func take(_ outcome: CandidateOutcome) { notes.async { self.note(outcome) } }

    /// Waits until all reported outcomes are recorded.
    func settle() async {
        await withCheckedContinuation { continuation in notes.async { continuation.resume() } }
    }

    private func note(_ outcome: CandidateOutcome) {
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
            if error.meansHang, let times = options.breaker { noteHang(error.description, times) }
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
        board.change(fingerprint.device, task) { change(&$0, trial != nil, times) }
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
    /// Whether the driver did not return from a call.
    fileprivate var meansHang: Bool { cause == .driverHung || code == .deadlineExceeded }

    /// Whether the error of an encoder or decoder means that its device or driver failed. It does not if the request is
    /// unsupported, the device is busy, the stream is damaged, a picture is lost, or this machine lacks a resource.
    fileprivate var speaksAgainstTheDevice: Bool {
        let others: Set<Code> = [
            .busy, .unsupported, .invalidArgument, .cancelled, .invalidState, .suspended, .proofFailed, .outOfMemory,
            .inputOutput, .malformedData, .pictureLost,
        ]
        return !others.contains(code) && ![.helperMissing, .helperMismatch].contains(cause)
    }
}

/// Creates encoders on a device behind its gate.
struct GatedFactory: EncoderFactory {
    let inner: any EncoderFactory
    let gate: DeviceGate
    let tests: EncodingTests

    var identity: EncoderIdentity { inner.identity }

    func makeEncoder(_ request: EncoderRequest) throws(MediaError) -> any EncoderBackend {
        try gate.enter(tests.test(of: request.configuration))
        let encoder = try inner.makeEncoder(request)
        gate.created(by: encoder.properties.name)
        return encoder
    }
}

/// Creates decoders on a device behind its gate.
struct GatedDecoderFactory: DecoderFactory {
    var inner: any DecoderFactory
    let gate: DeviceGate
    let tests: DecodingTests

    var identity: DecoderIdentity { inner.identity }

    func makeDecoder(_ request: DecoderRequest) throws(MediaError) -> any DecoderBackend {
        let stream = try KnownStream.standing(for: request.formatDescription)
        try gate.enter(stream.map { tests.test(with: $0) })
        let decoder = try inner.makeDecoder(request)
        gate.created(by: decoder.properties.name)
        return decoder
    }
}
