// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
package import MediaTypes
internal import Synchronization

/// Standard error: messages of one line each, and below them a progress line that is updated.
package final class Console: Sendable {
    /// The level of detail.
    package enum Detail: Int, Comparable, Sendable {
        /// Only errors: for a JSON document on standard error.
        case errors
        /// Also possible defects of the result.
        case warnings
        /// Also differences from the request, and the summary of the work.
        case notes
        /// Also log messages of libraries.
        case everything

        package static func < (left: Detail, right: Detail) -> Bool { left.rawValue < right.rawValue }
    }

    /// The level of detail of this console.
    package let detail: Detail

    private let descriptor: Int32
    private let progress = Mutex("")

    package init(detail: Detail = .notes, descriptor: Int32 = STDERR_FILENO) {
        self.detail = detail
        self.descriptor = descriptor
    }

    /// Prints an error that prevented the work.
    package func error(_ text: String) { write("vatoolbox: error: \(Readable.oneLine(text))", .errors) }

    /// Prints the remedies for the previous error, each on a separate line.
    package func remedies(_ remedies: [String]) {
        for remedy in remedies { write("vatoolbox: try: \(Readable.oneLine(remedy))", .errors) }
    }

    /// Prints a possible defect of the result.
    package func warning(_ text: String) { write("vatoolbox: warning: \(Readable.oneLine(text))", .warnings) }

    /// Prints a difference from the request.
    package func note(_ text: String) { write("vatoolbox: note: \(Readable.oneLine(text))", .notes) }

    /// Prints a log message of a library.
    package func log(_ text: String) { write("vatoolbox: \(Readable.oneLine(text))", .everything) }

    /// Prints the closing lines, each with its newline.
    package func summary(_ lines: String) { write(String(lines.dropLast()), .notes) }

    /// Whether progress is shown: on a terminal, unless the user has disabled it.
    package var showsProgress: Bool { detail >= .notes && Terminal.isTerminal(descriptor) }

    /// The maximum width of a line in columns; unlimited if it is not a terminal. The last column of a terminal stays
    /// free, because some terminals wrap the line there.
    package var width: Int { Terminal.isTerminal(descriptor) ? (Terminal.width(descriptor) ?? 80) - 1 : .max }

    /// Replaces the progress line; an empty line removes it.
    package func showProgress(_ line: String) {
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

    /// Moves to the first column and erases the line (ECMA-48 EL).
    private static let clearLine = "\r\u{1B}[K"
}

extension Console {
    /// Updates a progress line four times a second during the work.
    ///
    /// - Parameters:
    ///   - line: Returns the line, from the seconds since the work began and the width in columns.
    ///   - work: The work.
    package func watching<Result>(
        _ line: @escaping @Sendable (_ elapsed: Double, _ width: Int) -> String,
        during work: () async throws(MediaError) -> Result
    ) async throws(MediaError) -> Result {
        guard showsProgress else { return try await work() }
        let display = Task {
            let clock = SuspendingClock()
            let start = clock.now
            while !Task.isCancelled {
                showProgress(line((clock.now - start).seconds, width))
                try? await clock.sleep(for: .milliseconds(250))
            }
        }
        do {
            let result = try await work()
            display.cancel()
            await display.value
            showProgress("")
            return result
        } catch {
            display.cancel()
            await display.value
            showProgress("")
            throw error
        }
    }
}
