// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc

/// How far a process is confined.
public struct SandboxReport: Sendable, Hashable {
    /// Something that does not confine the process as it should.
    public struct Degradation: Sendable, Hashable, CustomStringConvertible {
        /// What is missing, for example `Landlock`.
        public var what: String
        /// Why: the call and the kernel's error, or who wanted it so.
        public var why: String
        /// What follows from it.
        public var meaning: String

        /// The three in one line.
        public var description: String { "\(what): \(why); \(meaning)" }
    }

    /// What is missing; empty if the process is confined as it should be.
    public internal(set) var degradations: [Degradation] = []
    /// Folders that were to be writable and cannot be reached, with the error.
    public internal(set) var unreachable: [String] = []

    /// Lines for a log, at the level of warnings.
    public var warnings: [String] {
        degradations.map { "the sandbox lacks \($0)" }
            + unreachable.map { "a folder in \(SandboxPolicy.writableVariable) cannot be accessed: \($0)" }
    }

    mutating func add(_ what: String, _ why: String, _ meaning: String) {
        degradations.append(Degradation(what: what, why: why, meaning: meaning))
    }

    /// Adds what the last call failed with.
    mutating func addError(of call: String, _ what: String, _ meaning: String) {
        let error = errno
        add(what, "\(call) failed (\(String(cString: strerror(error))))", meaning)
    }
}
