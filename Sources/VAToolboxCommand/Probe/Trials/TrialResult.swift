// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import VAToolbox

/// The steps from a driver to a picture, in order.
typealias TrialStage = TestEncode.Stage

/// What came of a trial.
struct TrialResult: Sendable, Hashable {
    /// What was tried.
    var trial: Trial
    /// How it ended.
    var ending: Ending
    /// What the encoder does otherwise than it was asked to.
    var adjustments: [Adjustment]
    /// How long it took.
    var duration: Duration

    /// How a trial ends.
    enum Ending: Sendable, Hashable {
        /// Every stage was passed.
        case passed
        /// A stage was not passed; those before it were.
        case failed(TrialStage, reason: String)
        /// The encoder said before anything was created that the driver cannot do it.
        case refused(reason: String)
    }

    /// One word for it.
    enum Status: String, Sendable, CaseIterable {
        /// All that was asked for works.
        case passed
        /// All stages were passed, but with something else than what was asked for.
        case altered
        case failed
        case refused
    }

    /// One word for it.
    var status: Status {
        switch ending {
        case .passed: adjustments.isEmpty ? .passed : .altered
        case .failed: .failed
        case .refused: .refused
        }
    }

    /// What became of a stage: whether it was passed; `nil` if it was not reached.
    func passed(_ stage: TrialStage) -> Bool? {
        switch ending {
        case .passed: return true
        case .refused: return nil
        case .failed(let failed, _):
            let order = TrialStage.allCases
            guard let place = order.firstIndex(of: stage), let end = order.firstIndex(of: failed) else { return nil }
            return place == end ? false : place < end ? true : nil
        }
    }

    /// Why it is not what was asked for; `nil` if it is.
    var reason: String? {
        switch ending {
        case .passed: adjustments.isEmpty ? nil : adjustments.map(\.description).joined(separator: "; ")
        case .failed(_, let reason), .refused(let reason): reason
        }
    }
}
