// SPDX-License-Identifier: GPL-2.0-or-later

import Glibc
import MediaTypes
import Synchronization

/// Standard error: messages, one line each, and below them a line of progress that is written over and over.
final class Console: Sendable {
    /// What is worth a line.
    enum Detail: Int, Comparable, Sendable {
        /// Errors only: for when standard error carries a document that programs read.
        case errors
        /// Also what may have spoiled the result.
        case warnings
        /// Also what was done differently from what was asked, and what was done in the end.
        case notes
        /// Also what libraries log.
        case everything

        static func < (left: Detail, right: Detail) -> Bool { left.rawValue < right.rawValue }
    }

    /// How much is said.
    let detail: Detail

    private let descriptor: Int32
    private let progress = Mutex("")

    init(detail: Detail = .notes, descriptor: Int32 = STDERR_FILENO) {
        self.detail = detail
        self.descriptor = descriptor
    }

    /// Why nothing was done.
    func error(_ text: String) { write("vatoolbox: error: \(Readable.oneLine(text))", .errors) }

    /// What can be done about the error that was just told, each on a line of its own.
    func remedies(_ remedies: [String]) {
        for remedy in remedies { write("vatoolbox: try: \(Readable.oneLine(remedy))", .errors) }
    }

    /// Something that may have spoiled the result.
    func warning(_ text: String) { write("vatoolbox: warning: \(Readable.oneLine(text))", .warnings) }

    /// Something that was done differently from what was asked.
    func note(_ text: String) { write("vatoolbox: note: \(Readable.oneLine(text))", .notes) }

    /// A line of a library's log.
    func log(_ text: String) { write("vatoolbox: \(Readable.oneLine(text))", .everything) }

    /// The closing lines, each with its newline.
    func summary(_ lines: String) { write(String(lines.dropLast()), .notes) }

    /// Whether there is a terminal to show progress on, and the user wants it.
    var showsProgress: Bool { detail >= .notes && Terminal.isTerminal(descriptor) }

    /// How many columns a line may have; where nobody watches, any number. The last column of a terminal stays free:
    /// some break the line there.
    var width: Int { Terminal.isTerminal(descriptor) ? (Terminal.width(descriptor) ?? 80) - 1 : .max }

    /// Replaces the progress line; empty removes it.
    func showProgress(_ line: String) {
        progress.withLock {
            guard !(line.isEmpty && $0.isEmpty) else { return }
            Terminal.write(Self.clearLine + line, to: descriptor)
            $0 = line
        }
    }

    private func write(_ line: String, _ least: Detail) {
        guard detail >= least else { return }
        progress.withLock {
            let text = $0.isEmpty ? line + "\n" : Self.clearLine + line + "\n" + $0
            Terminal.write(text, to: descriptor)
        }
    }

    /// To the first column; erase to the end of the line (ECMA-48 EL).
    private static let clearLine = "\r\u{1B}[K"
}
