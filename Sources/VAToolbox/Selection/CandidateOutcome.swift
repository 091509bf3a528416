// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes

/// The outcome of an encoder or decoder, which a session reports to the selection of its candidate.
enum CandidateOutcome: Sendable, Hashable {
    /// The first samples of an encoder were delivered, or the first picture of a decoder.
    case produced
    /// It could not be created, or failed at work.
    case failed(MediaError, whileCreating: Bool)
    /// It finished normally and returned everything.
    case completed
    /// The session no longer uses the candidate.
    case left
}
