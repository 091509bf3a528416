// SPDX-License-Identifier: GPL-2.0-or-later

import HelperIPC
import MediaTypes
import VAAPI
import VAToolbox

/// A driver failure, as shown by `probe`. All texts are free of terminal control characters, because some of them come
/// from the driver.
struct DriverTrouble {
    /// The failure.
    private let failure: DriverFailure
    /// The diagnosis of the failure.
    let diagnosis: Diagnosis

    /// - Parameter device: The facts about the GPU.
    init(_ failure: DriverFailure, on device: DeviceFacts) {
        self.failure = failure
        var diagnosis = Diagnosis(failure, on: device).readable
        if case .deadline(let duration) = failure.cause {
            let seconds = Int((duration / .seconds(1) * 6).rounded(.up))
            diagnosis.remedies.insert("allow more time: vatoolbox probe --timeout \(seconds)", at: 0)
        }
        self.diagnosis = diagnosis
    }

    /// The driver's file.
    var file: String? { failure.file.map(Readable.oneLine) }

    /// The driver's short name, such as `iHD`.
    var name: String? { failure.name.map(Readable.oneLine) }

    /// Whether the driver is missing.
    var isAbsence: Bool {
        [.driverFileMissing, .driverNameWrong, .driverPathWrong, .noVAAPIEncoder].contains(diagnosis.cause)
    }
}

// MARK: - For programs

extension DriverTrouble {
    /// The stable name of the failure.
    var failureName: String {
        switch failure.cause {
        case .refused: "refused"
        case .killed: "signal"
        case .exited: "exit"
        case .deadline: "deadline"
        case .helper: "helper"
        }
    }

    /// The stable name of the stage.
    var stageName: String? {
        switch failure.stage {
        case .openingNode: "opening-node"
        case .choosingDriver: "choosing-driver"
        case .loading: "loading"
        case .initializing: "initializing"
        case .askingVendor: "asking-vendor"
        case .askingProfiles: "asking-profiles"
        case .askingEntrypoints: "asking-entrypoints"
        case .askingAttributes: "asking-attributes"
        case .askingSurfaces: "asking-surfaces"
        case .closing: "closing"
        case nil: nil
        }
    }

    /// The profile of the stage.
    var profile: String? {
        switch failure.stage {
        case .askingEntrypoints(let profile), .askingAttributes(let profile, _), .askingSurfaces(let profile, _):
            "\(Profile(rawValue: profile))"
        default: nil
        }
    }

    /// The entrypoint of the stage.
    var entrypoint: String? {
        switch failure.stage {
        case .askingAttributes(_, let entrypoint), .askingSurfaces(_, let entrypoint):
            "\(Entrypoint(rawValue: entrypoint))"
        default: nil
        }
    }

    /// The name of the signal that ended the helper.
    var signal: String? {
        guard case .killed(_, let name) = failure.cause else { return nil }
        return name
    }

    /// The exit status of the helper.
    var exitStatus: Int32? {
        guard case .exited(let status) = failure.cause else { return nil }
        return status
    }

    /// All log lines.
    var logLines: [String] { failure.log.map { Readable.oneLine($0.text) } }

    /// The deadline of the driver in seconds.
    var deadline: Double? {
        guard case .deadline(let duration) = failure.cause else { return nil }
        return duration / .seconds(1)
    }
}

// MARK: - For people

extension DriverTrouble {
    /// The driver and how it failed.
    var headline: String {
        guard !isAbsence else { return "no driver file" }
        return name.map { "\($0) \(failure.predicate)" } ?? failure.predicate
    }

    /// The stage of the failure, with the call that failed.
    var stageText: String? { failure.stageText }

    /// The failure without its stage.
    var reason: String { Readable.oneLine(failure.reason) }

    /// The conclusion from the failure; `nil` if there is none.
    var conclusion: String? {
        let explanation = diagnosis.explanation
        return explanation == Readable.oneLine(failure.sentence) ? nil : explanation
    }

    /// Returns the text for a refusal of libva or a driver, with the call that was refused.
    static func text(_ error: MediaError) -> String { Readable.oneLine(error.saying) }

    /// The last lines of libva, the driver and the helper, without libva's progress messages.
    var spokenLines: [String] {
        failure.log.filter { $0.level != "debug" }.suffix(5).map { Readable.shortened(Readable.oneLine($0.text)) }
    }
}

extension Diagnosis {
    /// The diagnosis without terminal control characters.
    var readable: Diagnosis {
        Diagnosis(cause, Readable.oneLine(explanation), remedies: remedies.map(Readable.oneLine))
    }
}
