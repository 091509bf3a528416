// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import VAToolbox

/// The steps from a driver to a picture, in order.
typealias TrialStage = TestEncode.Stage

/// The result of a trial.
struct TrialResult: Sendable, Hashable {
    /// The trial.
    var trial: Trial
    /// How it ended.
    var ending: Ending
    /// The settings of the encoder that differ from the request.
    var adjustments: [Adjustment]
    /// The duration of the trial.
    var duration: Duration

    /// How a trial ends.
    enum Ending: Sendable, Hashable {
        /// All stages passed.
        case passed
        /// A stage failed; the stages before it passed.
        case failed(TrialStage, reason: String)
        /// The encoder refused the configuration before anything was created.
        case refused(reason: String)
    }

    /// The status of a trial.
    enum Status: String, Sendable, CaseIterable {
        /// The whole request works.
        case passed
        /// All stages passed, but with settings that differ from the request.
        case altered
        case failed
        case refused
    }

    /// The status.
    var status: Status {
        switch ending {
        case .passed: adjustments.isEmpty ? .passed : .altered
        case .failed: .failed
        case .refused: .refused
        }
    }

    /// Returns whether a stage passed; `nil` if it was not reached.
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

    /// The reason for a status other than passed; `nil` if it passed.
    var reason: String? {
        switch ending {
        case .passed: adjustments.isEmpty ? nil : adjustments.map(\.description).joined(separator: "; ")
        case .failed(_, let reason), .refused(let reason): reason
        }
    }
}
