// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes

/// Determines whether a device fulfils a request: from a stored proof, or else by a test.
struct Prover: Sendable {
    let cache: ProofCache
    let deadline: Duration
    private let task: DeviceTask
    /// Whether pictures must have been compared, as a session requires that can decode the output of an encoder.
    private let requiresDecoding: Bool

    init(_ options: DeviceOptions, _ task: DeviceTask) {
        cache = ProofCache(state: options.state)
        deadline = options.proofDeadline
        self.task = task
        requiresDecoding = options.verifier != nil || task.isDecoding
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
        _ test: some DeviceTest,
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
        return attempt(test, key)
    }

    private func known(_ key: ProofCache.Key) -> Verdict? {
        guard let proof = cache.proof(key, at: WallClock.now) else { return nil }
        if !proof.isPassed { return .refuted(proof) }
        return proof.isDecoded || !requiresDecoding ? .proved(proof) : nil
    }

    private func attempt(_ test: some DeviceTest, _ key: ProofCache.Key) -> Verdict {
        let result = test.run()
        var proof = ProofRecord(
            isPassed: true,
            isDecoded: false,
            reason: "",
            driver: result.driver,
            device: key.device.device,
            configuration: key.subject,
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
        let stage = proof.stage.map { " at \($0)" } ?? ""
        let now = WallClock.now
        let known =
            " (\(Self.text(now - proof.time)) ago; the next attempt is in \(Self.text(proof.end - now)))"
        return MediaError(
            .proofFailed,
            "a \(task.testName) failed\(stage): \(proof.reason)\(isKnown ? known : "")",
            cause: proof.cause ?? .proofFailed,
            // The diagnosis of the error adds the remedies for a known cause.
            remedies: proof.cause == nil
                ? [task.isDecoding ? Self.probe : Self.exhaustiveProbe]
                    + (isKnown ? ["try it again now: vatoolbox probe --reset"] : []) : []
        )
    }

    private static let probe = "see which tests the driver passes: vatoolbox probe"
    private static let exhaustiveProbe = "see what works with the driver: vatoolbox probe --exhaustive"

    private static func text(_ seconds: Double) -> String {
        let whole = max(Int(seconds.rounded()), 0)
        return whole < 120 ? "\(whole) s" : "\(whole / 60) min"
    }
}

extension MediaError {
    /// The cause of an error in a test; `nil` if only the output was wrong.
    fileprivate var causeOfDriver: Cause? {
        if let cause { return cause }
        if code == .deadlineExceeded { return .driverHung }
        return call?.hasPrefix("va") == true ? .driverCallFailed : nil
    }
}
