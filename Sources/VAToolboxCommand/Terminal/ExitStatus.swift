// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes

/// What the command leaves behind for scripts.
enum ExitStatus: Int32 {
    /// All was done.
    case done = 0
    /// It failed.
    case failed = 1
    /// The command line is wrong: an option, or a value that is not allowed, or not for this input.
    case usage = 2
    /// The output is complete, but part of the input could not be decoded.
    case damagedInput = 3
    /// A signal ended it early; the output, if there is one, is complete up to there.
    case interrupted = 130

    /// What an error that ends the work means.
    init(_ error: MediaError) { self = error.code == .invalidArgument ? .usage : .failed }

    /// The name in JSON documents.
    var name: String {
        switch self {
        case .done: "done"
        case .failed: "failed"
        case .usage: "usage"
        case .damagedInput: "damaged-input"
        case .interrupted: "interrupted"
        }
    }
}
