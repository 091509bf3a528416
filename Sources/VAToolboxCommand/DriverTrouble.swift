// SPDX-License-Identifier: GPL-2.0-or-later

import CLinux
import EncoderIPC
import MediaTypes
import VAAPI

/// What went wrong with a driver, for people and for programs. No text has characters that a terminal would obey: some
/// of them come from the driver.
struct DriverTrouble {
    /// What happened.
    var cause: DriverFailure.Cause
    /// How far it had come; `nil` if no helper was there to ask it.
    var stage: DriverStage?
    /// The driver's file.
    var file: String?
    /// The last lines that were written meanwhile.
    var log: [HelperLogLine]
    /// What to do, the likeliest first.
    var remedies: [String]
    /// The files that libva looked for, if there is none of them and that is all.
    var missingFiles: [String]

    /// - Parameter search: Where libva looked for the driver; `nil` if nobody knows the kernel driver.
    init(_ failure: DriverFailure, _ search: DriverSearch?) {
        cause = failure.cause
        stage = failure.stage
        file = failure.file.map(Readable.oneLine)
        log = failure.log.map { HelperLogLine(level: $0.level, text: Readable.oneLine($0.text)) }
        remedies = []
        missingFiles = []
        if case .refused = cause, case .loading = stage, let search, search.installed.isEmpty {
            missingFiles = search.files.map(Readable.oneLine)
        }
        remedies = self.remedies(search)
    }

    /// The driver's short name, such as `iHD`.
    var name: String? { file.flatMap(DriverDescription.name(ofFile:)) }
}

// MARK: - For programs

extension DriverTrouble {
    /// The stable name of the cause.
    var causeName: String {
        switch cause {
        case .refused: "refused"
        case .killed: "signal"
        case .exited: "exit"
        case .deadline: "deadline"
        case .helper: "helper"
        }
    }

    /// The stable name of the stage.
    var stageName: String? {
        switch stage {
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
        switch stage {
        case .askingEntrypoints(let profile), .askingAttributes(let profile, _), .askingSurfaces(let profile, _):
            "\(Profile(rawValue: profile))"
        default: nil
        }
    }

    /// The entrypoint that the stage is about.
    var entrypoint: String? {
        switch stage {
        case .askingAttributes(_, let entrypoint), .askingSurfaces(_, let entrypoint):
            "\(Entrypoint(rawValue: entrypoint))"
        default: nil
        }
    }

    /// The name of the signal that ended the helper.
    var signal: String? {
        guard case .killed(_, let name) = cause else { return nil }
        return name
    }

    /// The status with which the helper ended.
    var exitStatus: Int32? {
        guard case .exited(let status) = cause else { return nil }
        return status
    }

    /// Everything that was written, in lines.
    var logLines: [String] { log.map(\.text) }

    /// How many seconds the driver had.
    var deadline: Double? {
        guard case .deadline(let duration) = cause else { return nil }
        return duration / .seconds(1)
    }
}

// MARK: - For people

extension DriverTrouble {
    /// One sentence that says it all.
    var explanation: String {
        guard missingFiles.isEmpty else { return "there is \(headline): \(reason)" }
        let stage = stageText.map { " while \($0)" } ?? ""
        return "\(name.map { "the driver \($0)" } ?? "the driver") \(predicate)\(stage): \(reason)"
    }

    /// The driver and what became of it.
    var headline: String {
        guard missingFiles.isEmpty else { return "no driver file" }
        return name.map { "\($0) \(predicate)" } ?? predicate
    }

    private var predicate: String {
        guard stage != nil else { return "was not asked" }
        return switch cause {
        case .killed(_, "SIGABRT"): "aborted"
        case .killed: "crashed"
        case .exited: "ended its process"
        case .deadline: "did not answer"
        case .refused, .helper: "failed"
        }
    }

    /// What was being done, with the call that did it.
    var stageText: String? {
        switch stage {
        case .openingNode: "the node was opened"
        case .choosingDriver: "libva looked for the driver (vaInitialize)"
        case .loading: "libva loaded the file (dlopen)"
        case .initializing: "it was initialized (vaInitialize)"
        case .askingVendor: "it was asked for its name (vaQueryVendorString)"
        case .askingProfiles: "it was asked for its profiles (vaQueryConfigProfiles)"
        case .askingEntrypoints(let profile):
            "it was asked about \(Profile(rawValue: profile)) (vaQueryConfigEntrypoints)"
        case .askingAttributes(let profile, let entrypoint):
            "it was asked about \(Profile(rawValue: profile)) by \(Entrypoint(rawValue: entrypoint)) "
                + "(vaGetConfigAttributes)"
        case .askingSurfaces(let profile, let entrypoint):
            "it was asked for surfaces of \(Profile(rawValue: profile)) by \(Entrypoint(rawValue: entrypoint)) "
                + "(vaCreateConfig, vaQuerySurfaceAttributes)"
        case .closing: "it was let go of (vaTerminate)"
        case nil: nil
        }
    }

    /// What happened, without saying when.
    var reason: String {
        guard missingFiles.isEmpty else { return "libva looked for \(missingFiles.joined(separator: ", "))" }
        return switch cause {
        case .refused(let error): Self.text(error)
        case .killed(_, let name): "its helper process was ended by \(name)"
        case .exited(let status): "its helper process ended with status \(status)"
        case .deadline(let duration):
            "no answer in \(Readable.seconds(duration)); its helper process was ended"
        case .helper(let error): Readable.oneLine(error.readable)
        }
    }

    /// A refusal of libva or of a driver, with the call that was refused.
    static func text(_ error: MediaError) -> String {
        Readable.oneLine(error.call.map { "\($0): \(error.message)" } ?? error.message)
    }

    /// The last lines that libva, the driver and the helper wrote, without libva's progress.
    var spokenLines: [String] { log.filter { $0.level != "debug" }.suffix(5).map { Readable.shortened($0.text) } }

    private func remedies(_ search: DriverSearch?) -> [String] {
        switch cause {
        case .refused: (search?.remedies ?? []) + (file == nil || !missingFiles.isEmpty ? [] : Self.withoutSandbox)
        case .helper(let error) where error.code == .unavailable:
            ["say where it is: export \(HelperLocation.environmentVariable)=/path/to/\(HelperLocation.programName)"]
        case .helper: []
        case .deadline(let duration):
            ["give it more time: vatoolbox probe --timeout \(Int((duration / .seconds(1) * 6).rounded(.up)))"]
                + others(search)
        case .killed, .exited: stage == nil ? [] : others(search) + Self.withoutSandbox
        }
    }

    /// The sandbox of the helper takes things away on which a driver may rely that nobody here has met.
    private static var withoutSandbox: [String] {
        let variable = "VATOOLBOX_SANDBOX"
        if linux_environment(variable).map({ String(cString: $0) }) == "off" { return [] }
        return ["see whether the sandbox is the reason: \(variable)=off vatoolbox probe"]
    }

    /// Other drivers of the same GPU.
    private func others(_ search: DriverSearch?) -> [String] {
        let names = (search?.installed ?? []).compactMap(DriverDescription.name(ofFile:))
        return names.filter { name != nil && $0 != name }.map {
            "try the other driver: LIBVA_DRIVER_NAME=\($0) vatoolbox probe"
        }
    }
}
