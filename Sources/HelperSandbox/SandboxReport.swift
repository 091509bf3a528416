// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc

/// The result of confining a process.
public struct SandboxReport: Sendable, Hashable {
    /// A part of the confinement that is missing.
    public struct Degradation: Sendable, Hashable, CustomStringConvertible {
        /// The missing part, for example `Landlock`.
        public var what: String
        /// The reason: the call and the kernel's error, or who disabled it.
        public var why: String
        /// The consequence.
        public var meaning: String

        /// All three in one line.
        public var description: String { "\(what): \(why); \(meaning)" }
    }

    /// The missing parts; empty if the process is confined as intended.
    public internal(set) var degradations: [Degradation] = []
    /// The additional writable folders that are not accessible, with the error.
    public internal(set) var unreachable: [String] = []

    /// The lines for a log, as warnings.
    public var warnings: [String] {
        degradations.map { "the sandbox lacks \($0)" }
            + unreachable.map { "a folder in \(SandboxPolicy.writableVariable) cannot be accessed: \($0)" }
    }

    mutating func add(_ what: String, _ why: String, _ meaning: String) {
        degradations.append(Degradation(what: what, why: why, meaning: meaning))
    }

    /// Adds a degradation with the error of the last call.
    mutating func addError(of call: String, _ what: String, _ meaning: String) {
        let error = errno
        add(what, "\(call) failed (\(String(cString: strerror(error))))", meaning)
    }
}
