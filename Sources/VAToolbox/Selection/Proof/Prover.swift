// SPDX-License-Identifier: GPL-2.0-or-later

import EncoderIPC
import Logging
import MediaTypes

/// Finds out whether a device encodes what is wanted: looks whether that is known, else tries it.
struct Prover: Sendable {
    let cache: ProofCache
    let deadline: Duration
    let verifier: (any SampleVerifier)?
    /// Makes encoders for test encodes, which do no harm to this process.
    let factory: any EncoderFactory

    /// - Parameters:
    ///   - helpers: Says which helper program is used. Test encodes have helpers of their own, since a helper in which
    ///     an encoder has failed may harm others.
    ///   - logger: Takes what these helpers log; `nil` leaves it to `helpers`.
    init(
        _ identity: EncoderIdentity,
        _ options: DeviceOptions,
        helpers: HelperPool,
        logger: Logger? = nil
    ) throws(MediaError) {
        var own = HelperPool.Options()
        own.path = helpers.options.path
        own.log = helpers.options.log
        var deadlines = RemoteEncoderFactory.Deadlines()
        deadlines.start = options.proofDeadline / 2
        (deadlines.creation, deadlines.call) = (options.proofDeadline / 2, options.proofDeadline / 2)
        let factory = RemoteEncoderFactory(
            identity,
            pool: try HelperPool(own),
            deadlines: deadlines,
            logger: logger
        )
        self.init(options, factory: factory)
    }

    init(_ options: DeviceOptions, factory: any EncoderFactory) {
        cache = ProofCache(state: options.state)
        deadline = options.proofDeadline
        verifier = options.verifier
        self.factory = factory
    }

    /// What is known.
    enum Verdict {
        /// It was proved before.
        case proved(ProofRecord)
        /// It was tried before, and did not come out.
        case refuted(ProofRecord)
        /// It was tried now.
        case tried(ProofRecord)
        /// What was asked for cannot be had of this device, or the device has no room just now: nothing to remember.
        case impossible(MediaError)
        /// There is no helper to try it in.
        case unproved(MediaError)
    }

    /// Finds out. Blocks: until another process has tried the same, or until it is tried, each no longer than a few times
    /// the deadline.
    ///
    /// - Parameters:
    ///   - isTrial: Whether it has to be tried, whatever is known.
    ///   - refusal: Why it may not be tried; `nil` if it may.
    func verdict(
        _ configuration: EncoderConfiguration,
        _ key: ProofCache.Key,
        isTrial: Bool,
        unless refusal: MediaError? = nil
    ) -> Verdict {
        if !isTrial, let known = known(key) { return known }
        if let refusal { return .impossible(refusal) }
        let lock = cache.lock(key, within: deadline * 2)
        defer { lock?.release() }
        // Whoever had the lock has found it out.
        if !isTrial, let known = known(key) { return known }
        return attempt(configuration, key)
    }

    private func known(_ key: ProofCache.Key) -> Verdict? {
        guard let proof = cache.proof(key, at: WallClock.now) else { return nil }
        if !proof.isPassed { return .refuted(proof) }
        return proof.isDecoded || verifier == nil ? .proved(proof) : nil
    }

    private func attempt(_ configuration: EncoderConfiguration, _ key: ProofCache.Key) -> Verdict {
        let test = TestEncode(
            factory: factory,
            patience: deadline,
            frameCount: configuration.proofFrameCount,
            verifier: verifier
        )
        let result = test.result(of: configuration.forProof)
        var proof = ProofRecord(
            isPassed: true,
            isDecoded: false,
            reason: "",
            driver: result.encoderName ?? "",
            device: key.device.device,
            configuration: key.configuration.description,
            time: WallClock.now
        )
        switch result.ending {
        case .refused(let error): return .impossible(error)
        case .failed(_, let error) where error.code == .busy:
            var error = error
            error.isPermanent = true
            error.cause = .deviceBusy
            return .impossible(error)
        case .failed(_, let error) where [.unsupported, .invalidArgument].contains(error.code):
            return .impossible(error)
        case .failed(_, let error) where [.helperMissing, .helperMismatch].contains(error.cause):
            return .unproved(error)
        case .failed(let stage, let error):
            proof.isPassed = false
            proof.stage = stage
            proof.reason = error.readable.split(whereSeparator: \.isNewline).joined(separator: " ")
            proof.cause = error.causeOfDriver
        case .passed(let isDecoded): proof.isDecoded = isDecoded
        }
        cache.keep(proof, key)
        return .tried(proof)
    }

    /// Why a device that did not prove what is wanted is not used.
    func refusal(_ proof: ProofRecord, isKnown: Bool) -> MediaError {
        let stage = proof.stage.map { " at \($0.rawValue)" } ?? ""
        let now = WallClock.now
        let known =
            " (\(Self.text(now - proof.time)) ago; the next attempt is in \(Self.text(proof.end - now)))"
        return MediaError(
            .proofFailed,
            "a test encode failed\(stage): \(proof.reason)\(isKnown ? known : "")",
            cause: proof.cause ?? .proofFailed,
            // What can be done about a cause is known to the diagnosis of the error.
            remedies: proof.cause == nil
                ? ["see what works with the driver: vatoolbox probe --exhaustive"]
                    + (isKnown ? ["try it again now: vatoolbox probe --reset"] : []) : []
        )
    }

    private static func text(_ seconds: Double) -> String {
        let whole = max(Int(seconds.rounded()), 0)
        return whole < 120 ? "\(whole) s" : "\(whole / 60) min"
    }
}

extension MediaError {
    /// What stands behind an error of a test encode; `nil` if that is only what came out of it.
    fileprivate var causeOfDriver: Cause? {
        if let cause { return cause }
        if code == .deadlineExceeded { return .driverHung }
        return call?.hasPrefix("va") == true ? .driverCallFailed : nil
    }
}
