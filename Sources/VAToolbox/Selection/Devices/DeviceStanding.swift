// SPDX-License-Identifier: GPL-2.0-or-later

package import BitstreamSyntax
import HelperIPC
package import MediaTypes
package import RenderNodes

/// What is known about a device apart from the capabilities that its driver lists, for reports.
package struct DeviceStanding: Sendable {
    /// The result of testing whether the device encodes H.264, 1920x1080 with default settings; `nil` if no test was
    /// requested.
    package var verdict: Verdict?
    /// The results of testing whether the device decodes known streams; empty if no test was requested.
    package var decoding: [Decoding]
    /// All valid proofs, newest first.
    package var proofs: [ProofRecord]
    /// The circuit breaker for encoding H.264.
    package var breaker: Breaker
    /// The circuit breakers for decoding each codec.
    package var decodingBreakers: [(codec: VideoCodec, breaker: Breaker)]
    /// The sessions that use the device.
    package var sessions: [Session]

    /// The result of a test decode.
    package struct Decoding: Sendable {
        /// The stream, which stands for its profile and bit depth.
        package var stream: KnownStream
        /// The result.
        package var verdict: Verdict
    }

    /// The result of a test encode or decode.
    package enum Verdict: Sendable, Hashable {
        /// The test was run, now (`isFresh`) or earlier.
        case tried(ProofRecord, isFresh: Bool)
        /// The reason why the test was not run.
        case untried(MediaError)
    }

    /// The reported state of a ``CircuitBreaker``.
    package struct Breaker: Sendable, Hashable {
        /// The state of a breaker.
        package enum State: Sendable, Hashable {
            /// The device is in use; this number of failures counts.
            case closed(failures: Int)
            /// The device is suspended for this number of seconds.
            case open(remaining: Double)
            /// The next session tries the device, or a session is trying it.
            case halfOpen(isTried: Bool)
        }

        /// The state of the breaker.
        package var state: State
        /// The number of times that it has opened since the device last worked well.
        package var openings: Int
        /// The description of the last failure.
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
        /// The process ID.
        package var process: Int
        /// The codec that it encodes to or decodes.
        package var codec: String
        /// The luma samples that it encodes or decodes per second.
        package var sampleRate: Double
        /// Whether it decodes.
        package var isDecoding: Bool

        /// Describes a session.
        package init(process: Int, codec: String, sampleRate: Double, isDecoding: Bool = false) {
            self.isDecoding = isDecoding
            self.process = process
            self.codec = codec
            self.sampleRate = sampleRate
        }
    }

    /// Collects what is known, and tests the device if a result is not known. Blocks.
    ///
    /// - Parameters:
    ///   - options: The state that stores the results, and the settings of the test.
    ///   - isTried: Whether encoding may be tested.
    ///   - streams: The streams with which decoding is tested.
    package init(of node: RenderNode, _ options: DeviceOptions, isTried: Bool, decoding streams: [KnownStream]) {
        let fingerprint = DeviceFingerprint(node, helperPath: nil)
        let board = DeviceBoard(state: options.state)
        let cache = ProofCache(state: options.state)
        sessions = [false, true].flatMap { isDecoding in
            board.uses(of: fingerprint.device, decoding: isDecoding).map {
                Session(process: $0.process, codec: $0.codec, sampleRate: $0.sampleRate, isDecoding: isDecoding)
            }
        }
        if isTried { verdict = Self.verdict(node, fingerprint, cache, options) }
        decoding = Self.decoding(streams, node, cache, options)
        let times = options.breaker ?? BreakerTimes()
        let now = WallClock.now
        func breaker(_ task: DeviceTask) -> Breaker {
            let value = board.breaker(fingerprint.device, task)
            let state: Breaker.State =
                switch value.state(at: now, times) {
                case .closed(let failures): .closed(failures: failures)
                case .open(let end): .open(remaining: end - now)
                case .halfOpen: .halfOpen(isTried: board.isTried(fingerprint.device, task))
                }
            return Breaker(state: state, openings: value.openings, reason: value.reason)
        }
        self.breaker = breaker(.encoding(.h264))
        decodingBreakers = [VideoCodec.h264, .hevc].map { ($0, breaker(.decoding($0))) }
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
        let key = ProofCache.Key(device: fingerprint, subject: ConfigurationClass(configuration, .h264).description)
        var failure: MediaError?
        do throws(MediaError) {
            // The reason of a failed test encode already contains the driver's messages.
            var helpers = HelperPool.Options()
            helpers.log = { _ in }
            try HardwareSupport.prove(configuration, .h264, node, options, try HelperPool(helpers))
        } catch {
            failure = error
        }
        return verdict(failure, cache.proof(key, at: WallClock.now), since: start)
    }

    private static func verdict(_ failure: MediaError?, _ proof: ProofRecord?, since start: Double) -> Verdict {
        if failure == nil || failure?.code == .proofFailed, let proof {
            return .tried(proof, isFresh: proof.time >= start)
        }
        return .untried(failure ?? MediaError(.unavailable, "its result was discarded immediately"))
    }

    /// Tests decoding stream by stream. After a hang, the rest is not tried, because each test would cost a deadline.
    private static func decoding(
        _ streams: [KnownStream],
        _ node: RenderNode,
        _ cache: ProofCache,
        _ options: DeviceOptions
    ) -> [Decoding] {
        let fingerprint = DeviceFingerprint(node, .decoding, helperPath: nil)
        var hang: MediaError?
        return streams.map { stream in
            if let hang { return Decoding(stream: stream, verdict: .untried(hang)) }
            let start = WallClock.now
            var failure: MediaError?
            do throws(MediaError) {
                var helpers = HelperPool.Options(.decoding)
                helpers.log = { _ in }
                try HardwareSupport.proveDecoding(stream, node, options, try HelperPool(helpers))
            } catch {
                failure = error
                if error.cause == .driverHung {
                    hang = MediaError(.proofFailed, "the driver has just hung with \(stream)", cause: .driverHung)
                }
            }
            let key = ProofCache.Key(device: fingerprint, subject: DecodingTests.subject(stream))
            // The failure that suspended the device says more than that it is suspended, which is reported anyway.
            if failure?.code == .suspended, let proof = cache.proof(key, at: WallClock.now), !proof.isPassed {
                return Decoding(stream: stream, verdict: .tried(proof, isFresh: false))
            }
            return Decoding(
                stream: stream,
                verdict: verdict(failure, cache.proof(key, at: WallClock.now), since: start)
            )
        }
    }
}
