// SPDX-License-Identifier: GPL-2.0-or-later

import EncoderIPC
import Logging
import MediaTypes

/// Determines whether a device supports a configuration: from a stored proof, or else by a test encode.
struct Prover: Sendable {
    let cache: ProofCache
    let deadline: Duration
    let verifier: (any SampleVerifier)?
    /// Creates encoders for test encodes that cannot harm this process.
    let factory: any EncoderFactory

    /// - Parameters:
    ///   - helpers: Defines the helper program. Test encodes have their own helpers, because a helper in which an
    ///     encoder has failed may affect other encoders.
    ///   - logger: Receives the logs of these helpers; `nil` leaves them to `helpers`.
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

    /// The result for a device and configuration.
    enum Verdict {
        /// A stored proof exists.
        case proved(ProofRecord)
        /// An earlier test failed.
        case refuted(ProofRecord)
        /// The test was run now.
        case tried(ProofRecord)
        /// The device does not support the request or is busy; the result is not stored.
        case impossible(MediaError)
        /// No helper process is available for a test.
        case unproved(MediaError)
    }

    /// Determines the result. Blocks until another process has run the same test or until this test is done, each at
    /// most a few times the deadline.
    ///
    /// - Parameters:
    ///   - isTrial: Whether a test is required, regardless of stored results.
    ///   - refusal: The reason why a test is not allowed; `nil` if it is.
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
        // The previous owner of the lock may have stored the result.
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

    /// Returns the error for a device that did not pass its test.
    func refusal(_ proof: ProofRecord, isKnown: Bool) -> MediaError {
        let stage = proof.stage.map { " at \($0.rawValue)" } ?? ""
        let now = WallClock.now
        let known =
            " (\(Self.text(now - proof.time)) ago; the next attempt is in \(Self.text(proof.end - now)))"
        return MediaError(
            .proofFailed,
            "a test encode failed\(stage): \(proof.reason)\(isKnown ? known : "")",
            cause: proof.cause ?? .proofFailed,
            // The diagnosis of the error adds the remedies for a known cause.
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
    /// The cause of a test encode error; `nil` if only the output was wrong.
    fileprivate var causeOfDriver: Cause? {
        if let cause { return cause }
        if code == .deadlineExceeded { return .driverHung }
        return call?.hasPrefix("va") == true ? .driverCallFailed : nil
    }
}
