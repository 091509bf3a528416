// SPDX-License-Identifier: GPL-2.0-or-later

package import HelperIPC
package import MediaTypes
import VAAPI

/// Descriptions of a driver failure in a helper process. Some of them contain text of the driver, so a caller must
/// escape them before it prints them to a terminal.
extension DriverFailure {
    /// A complete sentence that describes the failure.
    package var sentence: String {
        let stage = stageText.map { " while \($0)" } ?? ""
        return "\(name.map { "the driver \($0)" } ?? "the driver") \(predicate)\(stage): \(reason)"
    }

    /// The driver's short name, such as `iHD`.
    package var name: String? { file.flatMap(DriverDescription.name(ofFile:)) }

    /// How the driver failed.
    package var predicate: String {
        guard stage != nil else { return "was not asked" }
        return switch cause {
        case .killed(_, "SIGABRT"): "aborted"
        case .killed: "crashed"
        case .exited: "exited"
        case .deadline: "did not answer"
        case .refused, .helper: "failed"
        }
    }

    /// The stage of the failure, with the call that failed.
    package var stageText: String? {
        switch stage {
        case .openingNode: "the node was opened"
        case .choosingDriver: "libva looked for the driver (vaInitialize)"
        case .loading: "libva loaded the file (dlopen)"
        case .initializing: "it was initialized (vaInitialize)"
        case .askingVendor: "its vendor string was queried (vaQueryVendorString)"
        case .askingProfiles: "its profiles were queried (vaQueryConfigProfiles)"
        case .askingEntrypoints(let profile):
            "\(Profile(rawValue: profile)) was queried (vaQueryConfigEntrypoints)"
        case .askingAttributes(let profile, let entrypoint):
            "\(Profile(rawValue: profile)) by \(Entrypoint(rawValue: entrypoint)) was queried "
                + "(vaGetConfigAttributes)"
        case .askingSurfaces(let profile, let entrypoint):
            "surfaces for \(Profile(rawValue: profile)) by \(Entrypoint(rawValue: entrypoint)) were queried "
                + "(vaCreateConfig, vaQuerySurfaceAttributes)"
        case .closing: "it was closed (vaTerminate)"
        case nil: nil
        }
    }

    /// The failure without its stage.
    package var reason: String {
        switch cause {
        case .refused(let error): error.saying
        case .killed(_, let name): "its helper process was killed by \(name)"
        case .exited(let status): "its helper process exited with status \(status)"
        case .deadline(let duration):
            "no answer within \((duration / .seconds(1)).formattedSeconds); its helper process was killed"
        case .helper(let error): error.description
        }
    }
}

extension MediaError {
    /// The message, preceded by the call that was refused.
    package var saying: String { call.map { "\($0): \(message)" } ?? message }
}

extension Double {
    /// A duration in seconds, with tenths where they matter: `10 seconds`, `0.5 seconds`.
    fileprivate var formattedSeconds: String {
        let tenths = (self * 10).rounded() / 10
        let number = tenths == tenths.rounded() ? "\(Int(tenths))" : "\(tenths)"
        return "\(number) second\(tenths == 1 ? "" : "s")"
    }
}
