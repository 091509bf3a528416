// SPDX-License-Identifier: GPL-2.0-or-later

import EncoderIPC
import MediaTypes
import VAAPI
import VAToolbox

/// What went wrong with a driver, as `probe` tells it. No text has characters that a terminal would obey: some of them
/// come from the driver.
struct DriverTrouble {
    /// What happened.
    private let failure: DriverFailure
    /// What is concluded from it.
    let diagnosis: Diagnosis

    /// - Parameter device: What is known of the GPU.
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

    /// Whether there is no driver at all.
    var isAbsence: Bool {
        [.driverFileMissing, .driverNameWrong, .driverPathWrong, .noVAAPIEncoder].contains(diagnosis.cause)
    }
}

// MARK: - For programs

extension DriverTrouble {
    /// The stable name of what happened.
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

    /// The profile that the stage is about.
    var profile: String? {
        switch failure.stage {
        case .askingEntrypoints(let profile), .askingAttributes(let profile, _), .askingSurfaces(let profile, _):
            "\(Profile(rawValue: profile))"
        default: nil
        }
    }

    /// The entrypoint that the stage is about.
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

    /// The status with which the helper ended.
    var exitStatus: Int32? {
        guard case .exited(let status) = failure.cause else { return nil }
        return status
    }

    /// Everything that was written, in lines.
    var logLines: [String] { failure.log.map { Readable.oneLine($0.text) } }

    /// How many seconds the driver had.
    var deadline: Double? {
        guard case .deadline(let duration) = failure.cause else { return nil }
        return duration / .seconds(1)
    }
}

// MARK: - For people

extension DriverTrouble {
    /// The driver and what became of it.
    var headline: String {
        guard !isAbsence else { return "no driver file" }
        return name.map { "\($0) \(failure.predicate)" } ?? failure.predicate
    }

    /// What was being done, with the call that did it.
    var stageText: String? { failure.stageText }

    /// What happened, without saying when.
    var reason: String { Readable.oneLine(failure.reason) }

    /// What is concluded beyond what happened; `nil` if that is all.
    var conclusion: String? {
        let explanation = diagnosis.explanation
        return explanation == Readable.oneLine(failure.sentence) ? nil : explanation
    }

    /// A refusal of libva or of a driver, with the call that was refused.
    static func text(_ error: MediaError) -> String { Readable.oneLine(error.saying) }

    /// The last lines that libva, the driver and the helper wrote, without libva's progress.
    var spokenLines: [String] {
        failure.log.filter { $0.level != "debug" }.suffix(5).map { Readable.shortened(Readable.oneLine($0.text)) }
    }
}

extension Diagnosis {
    /// The diagnosis without characters that a terminal would obey.
    var readable: Diagnosis {
        Diagnosis(cause, Readable.oneLine(explanation), remedies: remedies.map(Readable.oneLine))
    }
}
