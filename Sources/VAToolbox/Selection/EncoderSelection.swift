// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
public import MediaTypes
import RenderNodes

/// The encoders that a session may use, in order, and the rejected ones with the reasons.
public struct EncoderSelection: Sendable {
    /// An encoder that may be used.
    public struct Candidate: Sendable {
        /// Creates the encoder.
        public var factory: any EncoderFactory
        /// The reason for its rank, as text for users.
        public var reason: String
        /// Whether it only continues a stream of its codec that another encoder has begun.
        var onlyContinues = false
        /// The facts about its GPU, for the diagnosis of failures; `nil` for the CPU, or if there are none.
        package var facts: DeviceFacts?
        /// The additional time for the creation of its first encoder, because the device is tested before it is used.
        var preparation = Duration.zero
        /// Creates encoders in a helper process after one has hung in this process, because an encoder that hangs here
        /// can neither be ended nor be allowed to hang again. `nil` if encoders already run in a helper, or if no
        /// helper is available.
        var factoryAfterHang: (any EncoderFactory)?
        /// Receives the outcome of its encoders; must not block.
        var outcome: @Sendable (CandidateOutcome) -> Void = { _ in }
        /// Waits until all outcomes are recorded.
        var settle: @Sendable () async -> Void = {}
        /// Returns what its device has proved so far.
        var proof: @Sendable () -> EncoderDescription.Proof = { .notWanted }
        /// The render node of its device, if it has one.
        var node: RenderNode?

        /// Creates a candidate.
        public init(factory: any EncoderFactory, reason: String) {
            self.factory = factory
            self.reason = reason
        }

        /// The identity of the encoder.
        public var identity: EncoderIdentity { factory.identity }

        var codec: VideoCodec { identity.codec }
    }

    /// The encoders that may be used, best first.
    public var candidates: [Candidate]
    /// The encoders that may not be used.
    public var rejected: [EncoderDescription.Rejection]

    /// Creates a selection.
    public init(candidates: [Candidate], rejected: [EncoderDescription.Rejection] = []) {
        self.candidates = candidates
        self.rejected = rejected
    }

    /// The error if there is no candidate.
    var emptyError: MediaError {
        let reasons = rejected.map(\.description).joined(separator: "; ")
        return MediaError(
            .unavailable,
            "no encoder can be used" + (reasons.isEmpty ? "" : ": \(reasons)"),
            cause: rejected.first?.cause,
            remedies: rejected.remedies
        )
    }
}

extension [EncoderDescription.Rejection] {
    /// The remedies for all rejections, in order and without duplicates.
    var remedies: [String] {
        var known: Set<String> = []
        return flatMap(\.remedies).filter { known.insert($0).inserted }
    }
}
