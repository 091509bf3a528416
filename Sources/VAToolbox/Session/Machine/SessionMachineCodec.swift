// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import MediaTypes

// MARK: - A stream keeps its codec

extension SessionMachine {
    /// Whether a candidate may create the next encoder: after the first samples, a candidate of the same codec; before,
    /// a candidate that can begin a stream.
    private func isAllowed(_ candidate: EncoderSelection.Candidate) -> Bool {
        streamCodec.map { $0 == candidate.codec } ?? !candidate.onlyContinues
    }

    /// Whether no further candidate is allowed.
    var isLastCandidate: Bool {
        !selection.candidates.dropFirst(attempts.candidate + 1).contains(where: isAllowed)
    }

    /// Skips candidates that are not allowed, and records the reasons.
    mutating func passOverOtherCodecs() {
        while selection.candidates.indices.contains(attempts.candidate) {
            let candidate = selection.candidates[attempts.candidate]
            if isAllowed(candidate) { return }
            if let streamCodec, candidate.codec != streamCodec {
                let reason = "the stream is \(streamCodec.name) and cannot change its codec"
                givenUp.append(
                    EncoderDescription.Rejection(name: candidate.identity.description, reason: reason)
                )
            }
            attempts.skip()
        }
    }
}
