// SPDX-License-Identifier: GPL-2.0-or-later

public import BitstreamSyntax
import HelperIPC
public import Logging
public import MediaTypes
import RenderNodes
import VideoDecoding

/// A decoder that a ``DecompressionSession`` may use.
public struct DecoderCandidate: Sendable {
    /// Creates the decoder.
    public var factory: any DecoderFactory
    /// The reason for its rank, as text for users.
    public var reason: String
    /// The render node of its device, if it has one.
    var node: RenderNode?
    /// The facts about its GPU, for the diagnosis of failures; `nil` for the CPU, or if there are none.
    var facts: DeviceFacts?
    /// Receives the outcome of its decoders; must not block.
    var outcome: @Sendable (CandidateOutcome) -> Void = { _ in }
    /// Waits until all outcomes are recorded.
    var settle: @Sendable () async -> Void = {}
    /// Returns what its device has proved so far.
    var proof: @Sendable () -> DecoderDescription.Proof = { .notWanted }

    /// Creates a candidate.
    public init(factory: any DecoderFactory, reason: String) {
        self.factory = factory
        self.reason = reason
    }
}

/// The decoder that a session uses, with the reason for its selection.
public struct DecoderDescription: Sendable {
    /// The decoder's identity.
    public var identity: DecoderIdentity
    /// The actual properties.
    public var properties: DecoderProperties
    /// The reason for its selection, as text for users.
    public var reason: String
    /// The candidates before it, with the reasons why they were not used or were given up in this session.
    public var rejected: [Rejection]
    /// The result of its device's test decode for streams of this kind.
    public var proof: Proof

    /// The result of a short test decode on a device: `decoded` if all pictures were right, `notWanted` for the CPU or
    /// without a test, or `impossible`.
    public typealias Proof = EncoderDescription.Proof
    /// A candidate that was not used.
    public typealias Rejection = EncoderDescription.Rejection
}

extension DecoderCandidate {
    /// Returns a candidate whose decoders also report to a session when they wait for pictures.
    func reportingStarvation(to report: @escaping @Sendable (DecoderStarvation) -> Void) -> DecoderCandidate {
        if var gated = factory as? GatedDecoderFactory {
            var inner = self
            inner.factory = gated.inner
            gated.inner = inner.reportingStarvation(to: report).factory
            var candidate = self
            candidate.factory = gated
            return candidate
        }
        guard let factory = factory as? RemoteDecoderFactory else { return self }
        var options = factory.options
        let own = options.starvation
        options.starvation = { starvation in
            own(starvation)
            report(starvation)
        }
        var candidate = self
        candidate.factory = RemoteDecoderFactory(
            factory.identity,
            pool: factory.pool,
            options: options,
            logger: factory.logger
        )
        return candidate
    }

    /// libavcodec on the CPU.
    ///
    /// - Parameters:
    ///   - codec: The codec to decode.
    ///   - logger: Receives libavcodec's messages; `nil` leaves them to `MediaLog.logger`.
    public static func software(_ codec: VideoCodec, logger: Logger? = nil) -> DecoderCandidate {
        DecoderCandidate(
            factory: SoftwareDecoderFactory(codec: codec, logger: logger),
            reason: "decoding is done by the CPU"
        )
    }
}
