// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
public import MediaTypes
import RenderNodes

/// The encoders that a session may use, in order, and the rejected ones with reasons.
public struct EncoderSelection: Sendable {
    /// An encoder that may be used.
    public struct Candidate: Sendable {
        /// Makes the encoder.
        public var factory: any EncoderFactory
        /// Why it has this rank, in words for a person.
        public var reason: String
        /// Whether it only goes on with a stream of its codec, which another encoder has begun.
        var onlyContinues = false
        /// What is known of its GPU, to say why it fails; `nil` for the CPU, or where nothing is.
        package var facts: DeviceFacts?
        /// How much longer the creation of its first encoder may take than the session's limit, because the device is tried
        /// before it is used.
        var preparation = Duration.zero
        /// Makes it in a helper process, once an encoder of it has hung in this one: what hangs here is neither ended nor
        /// to be met again. `nil` if it works in a helper anyhow, or nothing is known of helpers.
        var factoryAfterHang: (any EncoderFactory)?
        /// Is told what becomes of its encoders; must not block.
        var outcome: @Sendable (EncoderOutcome) -> Void = { _ in }
        /// Waits until what was told is noted.
        var settle: @Sendable () async -> Void = {}
        /// What its device has proved by now.
        var proof: @Sendable () -> EncoderDescription.Proof = { .notWanted }
        /// The node of its device, if it has one.
        var node: RenderNode?

        /// Names a candidate.
        public init(factory: any EncoderFactory, reason: String) {
            self.factory = factory
            self.reason = reason
        }

        /// Which encoder it is.
        public var identity: EncoderIdentity { factory.identity }

        var codec: VideoCodec { identity.codec }
    }

    /// What a session tells, to whoever selected a candidate, of the encoders that it makes of it.
    enum EncoderOutcome: Sendable, Hashable {
        /// The first samples of an encoder have left.
        case produced
        /// An encoder could not be created, or failed at its work.
        case failed(MediaError, whileCreating: Bool)
        /// An encoder ended in good order, with every frame out.
        case completed
        /// The session uses the candidate no more.
        case left
    }

    /// Those that may be used, the best first.
    public var candidates: [Candidate]
    /// Those that may not.
    public var rejected: [EncoderDescription.Rejection]

    /// Makes a selection.
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
    /// What can be done about any of them, each once, in order.
    var remedies: [String] {
        var known: Set<String> = []
        return flatMap(\.remedies).filter { known.insert($0).inserted }
    }
}
