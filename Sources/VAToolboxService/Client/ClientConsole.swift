// SPDX-License-Identifier: GPL-2.0-or-later

internal import CLinux
import Foundation
import MediaTypes
import ServiceClient
import Synchronization

/// The terminal of a command that asks a service: results on standard output, messages on standard error, and below them
/// a line that shows the progress.
final class ClientConsole: Sendable {
    private let isQuiet: Bool
    private let isTerminal = isatty(STDERR_FILENO) == 1
    private let line = Mutex("")
    private let lastProgress = Mutex(ContinuousClock.now - .seconds(1))

    init(isQuiet: Bool = false) { self.isQuiet = isQuiet }

    /// The columns of the screen, without the last one, where some terminals wrap; 79 if there is none.
    static func width(of descriptor: Int32) -> Int {
        let columns = Int(linux_terminal_columns(descriptor))
        return columns > 20 ? columns - 1 : 79
    }

    /// The columns of the progress line; 0 if none is shown.
    var progressWidth: Int { isTerminal && !isQuiet ? Self.width(of: STDERR_FILENO) : 0 }

    /// Prints a result.
    func result(_ text: String) {
        line.withLock { shown in
            let isSameScreen = isTerminal && !shown.isEmpty
            if isSameScreen { Self.write(Self.clear, STDERR_FILENO) }
            Self.write(text, STDOUT_FILENO)
            if isSameScreen { Self.write(shown, STDERR_FILENO) }
        }
    }

    /// Prints what has happened, unless the user wants it quiet.
    func note(_ text: String) {
        if !isQuiet { message("vatoolbox: \(Readable.oneLine(text))") }
    }

    /// Prints what the user should know.
    func warning(_ text: String) { message("vatoolbox: warning: \(Readable.oneLine(text))") }

    /// Prints why something has failed, and what helps.
    func error(_ text: String, remedies: [String] = []) {
        message("vatoolbox: error: \(Readable.oneLine(text))")
        for remedy in remedies { self.error(remedy: remedy) }
    }

    /// Prints what helps against the last error.
    func error(remedy: String) { message("vatoolbox: try: \(Readable.oneLine(remedy))") }

    /// Prints an error of the client.
    func error(_ error: ClientError) { self.error(error.message, remedies: error.remedies) }

    /// Replaces the progress line, at most ten times a second; an empty text removes it.
    func progress(_ text: String) {
        guard progressWidth > 0 else { return }
        if !text.isEmpty {
            let isDue = lastProgress.withLock { last in
                let now = ContinuousClock.now
                guard now - last >= .milliseconds(100) else { return false }
                last = now
                return true
            }
            guard isDue else { return }
        }
        line.withLock { shown in
            guard shown != text else { return }
            Self.write(Self.clear + text, STDERR_FILENO)
            shown = text
        }
    }

    private func message(_ text: String) {
        line.withLock { shown in
            Self.write((shown.isEmpty ? "" : Self.clear) + text + "\n" + shown, STDERR_FILENO)
        }
    }

    /// Moves to the first column and erases the line.
    private static let clear = "\r\u{1B}[K"

    private static func write(_ text: String, _ descriptor: Int32) {
        do {
            try FileHandle(fileDescriptor: descriptor, closeOnDealloc: false).write(contentsOf: Data(text.utf8))
        } catch  where descriptor == STDOUT_FILENO {
            // Whoever reads the results has left.
            exit(1)
        } catch {}
    }

    /// Writes bytes to standard output.
    static func write(_ bytes: [UInt8]) {
        do { try FileHandle.standardOutput.write(contentsOf: Data(bytes)) } catch { exit(1) }
    }
}

/// The signals that ask a command to end: SIGINT, SIGTERM and SIGHUP. One that was ignored when the program was started
/// stays ignored.
final class Interruptions {
    private var sources: [any DispatchSourceSignal] = []

    private final class Counter: Sendable {
        private let count = Atomic(0)
        func next() -> Int { count.wrappingAdd(1, ordering: .relaxed).oldValue }
    }

    /// - Parameter onSignal: Called for each signal with the number of earlier ones.
    init(_ onSignal: @escaping @Sendable (_ before: Int) -> Void) {
        let queue = DispatchQueue(label: "signals")
        let counter = Counter()
        for number in [SIGINT, SIGTERM, SIGHUP] where !Self.isIgnored(number) {
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler { onSignal(counter.next()) }
            source.resume()
            sources.append(source)
        }
    }

    private static func isIgnored(_ number: Int32) -> Bool {
        var action = sigaction()
        guard sigaction(number, nil, &action) == 0 else { return false }
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 1
    }
}
