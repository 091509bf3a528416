// SPDX-License-Identifier: GPL-2.0-or-later

package import MediaTypes

/// The exit status of the command.
package enum ExitStatus: Int32, Sendable {
    /// The work succeeded.
    case done = 0
    /// The work failed.
    case failed = 1
    /// The command line is invalid: an unknown option, or a value that is not allowed at all or for this input.
    case usage = 2
    /// The output is complete, but part of the input could not be read or decoded, or was lost because a GPU failed.
    case damagedInput = 3
    /// A signal interrupted the work; the output, if any, is complete up to that point.
    case interrupted = 130

    /// Returns the status for an error that ended the work.
    package init(_ error: MediaError) { self = error.code == .invalidArgument ? .usage : .failed }

    /// The order in which one status takes precedence over others.
    package var severity: Int {
        switch self {
        case .done: 0
        case .damagedInput: 1
        case .interrupted: 2
        case .usage: 3
        case .failed: 4
        }
    }

    /// The name in JSON documents.
    package var name: String {
        switch self {
        case .done: "done"
        case .failed: "failed"
        case .usage: "usage"
        case .damagedInput: "damaged-input"
        case .interrupted: "interrupted"
        }
    }
}
