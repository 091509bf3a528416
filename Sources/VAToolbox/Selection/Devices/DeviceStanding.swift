// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import EncoderIPC
package import MediaTypes
package import RenderNodes

/// What is known of a device beyond what its driver says: for whoever reports it.
package struct DeviceStanding: Sendable, Hashable {
    /// What came of trying whether it encodes H.264, 1920x1080 with the defaults; `nil` if that was not to be tried.
    package var verdict: Verdict?
    /// Everything that was tried and counts at present, the newest first.
    package var proofs: [ProofRecord]
    /// Whether it is left alone, with H.264.
    package var breaker: Breaker
    /// The sessions that use it.
    package var sessions: [Session]

    /// What came of a test encode.
    package enum Verdict: Sendable, Hashable {
        /// It was made, now (`isFresh`) or before.
        case tried(ProofRecord, isFresh: Bool)
        /// Why it was not made.
        case untried(MediaError)
    }

    /// A ``CircuitBreaker`` as others see it.
    package struct Breaker: Sendable, Hashable {
        /// What it does.
        package enum State: Sendable, Hashable {
            /// The device is used; so many failures count.
            case closed(failures: Int)
            /// It is left alone for so many seconds more.
            case open(remaining: Double)
            /// The next session tries it, or one does at present.
            case halfOpen(isTried: Bool)
        }

        /// What it does.
        package var state: State
        /// How often it has opened since the device last worked well.
        package var openings: Int
        /// The last failure, in words.
        package var reason: String

        /// Describes a breaker.
        package init(state: State, openings: Int, reason: String) {
            self.state = state
            self.openings = openings
            self.reason = reason
        }
    }

    /// A session that uses a device.
    package struct Session: Sendable, Hashable {
        /// The number of its process.
        package var process: Int
        /// What it encodes to.
        package var codec: String
        /// Luma samples each second.
        package var sampleRate: Double

        /// Describes a session.
        package init(process: Int, codec: String, sampleRate: Double) {
            self.process = process
            self.codec = codec
            self.sampleRate = sampleRate
        }
    }

    /// Looks at what is known, and has the device try what is not. Blocks.
    ///
    /// - Parameters:
    ///   - options: Where it is known, and how it is tried.
    ///   - isTried: Whether it may be tried.
    package init(of node: RenderNode, _ options: DeviceOptions, isTried: Bool) {
        let fingerprint = DeviceFingerprint(node, helperPath: nil)
        let board = DeviceBoard(state: options.state)
        let cache = ProofCache(state: options.state)
        sessions = board.uses(of: fingerprint.device).map {
            Session(process: $0.process, codec: $0.codec, sampleRate: $0.sampleRate)
        }
        if isTried { verdict = Self.verdict(node, fingerprint, cache, options) }
        let times = options.breaker ?? BreakerTimes()
        let now = WallClock.now
        let value = board.breaker(fingerprint.device, .h264)
        let state: Breaker.State =
            switch value.state(at: now, times) {
            case .closed(let failures): .closed(failures: failures)
            case .open(let end): .open(remaining: end - now)
            case .halfOpen: .halfOpen(isTried: board.isTried(fingerprint.device, .h264))
            }
        breaker = Breaker(state: state, openings: value.openings, reason: value.reason)
        proofs = cache.all(at: now).filter { $0.device == fingerprint.device }
    }

    private static func verdict(
        _ node: RenderNode,
        _ fingerprint: DeviceFingerprint,
        _ cache: ProofCache,
        _ options: DeviceOptions
    ) -> Verdict {
        let start = WallClock.now
        var configuration = EncoderConfiguration(width: 1920, height: 1080)
        configuration.codec = .h264
        let key = ProofCache.Key(device: fingerprint, configuration: ConfigurationClass(configuration, .h264))
        var failure: MediaError?
        do throws(MediaError) {
            // What a driver says of a test encode that fails is in the reason.
            var helpers = HelperPool.Options()
            helpers.log = { _ in }
            try HardwareSupport.prove(configuration, .h264, node, options, try HelperPool(helpers))
        } catch {
            failure = error
        }
        if failure == nil || failure?.code == .proofFailed, let proof = cache.proof(key, at: WallClock.now) {
            return .tried(proof, isFresh: proof.time >= start)
        }
        return .untried(failure ?? MediaError(.unavailable, "its result was discarded immediately"))
    }
}
