// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import MediaTypes

// MARK: - A stream keeps its codec

extension SessionMachine {
    /// Whether a candidate may make the next encoder: once samples have left, one of their codec; before, one that begins
    /// streams.
    private func isAllowed(_ candidate: EncoderSelection.Candidate) -> Bool {
        streamCodec.map { $0 == candidate.codec } ?? !candidate.onlyContinues
    }

    /// Whether no candidate could follow the present one.
    var isLastCandidate: Bool {
        !selection.candidates.dropFirst(attempts.candidate + 1).contains(where: isAllowed)
    }

    /// Passes over candidates that are not allowed, and notes why.
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
