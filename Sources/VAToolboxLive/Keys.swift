// SPDX-License-Identifier: GPL-2.0-or-later

import Glibc
import MediaTypes
import Synchronization

/// Single keys of the terminal, without the Return key, while it belongs to this process: the shell has it from Ctrl-Z
/// to `fg`.
final class Keys: Sendable {
    private let stop: StopSignal
    private let state = Mutex(State())

    private struct State {
        /// The settings to give back; `nil` while they were not changed.
        var saved: termios?
        var hasEnded = false
    }

    /// Changes nothing yet; `nil` unless standard input is the terminal of this session.
    init?() {
        guard isatty(STDIN_FILENO) == 1, tcgetpgrp(STDIN_FILENO) > 0, let stop = try? StopSignal() else { return nil }
        self.stop = stop
    }

    /// Begins to read keys.
    ///
    /// - Parameter onKey: Called for each key, on a thread of its own.
    func start(_ onKey: @escaping @Sendable (Character) -> Void) {
        // Without a thread, the terminal is not changed, and signals still end the run.
        try? PlainThread.start(name: "vt-keys") { [self] in
            Self.withoutTerminalSignals { read(onKey) }
        }
    }

    /// Gives the terminal its settings back, and reads no more keys. Safe on any thread, also before ``start(_:)``.
    func restore() {
        stop.stop()
        Self.withoutTerminalSignals {
            state.withLock { state in
                state.hasEnded = true
                guard Self.ownsTerminal, var settings = state.saved else { return }
                state.saved = nil
                tcsetattr(STDIN_FILENO, TCSANOW, &settings)
            }
        }
    }

    /// How often it is checked whose the terminal is, in milliseconds.
    private static let period: Int32 = 250

    private func read(_ onKey: (Character) -> Void) {
        while true {
            let isReady = apply()
            do throws(MediaError) {
                let events = try stop.wait(for: isReady ? [(STDIN_FILENO, Int16(POLLIN))] : [], until: Self.period)
                guard let event = events.first, event != 0, Self.ownsTerminal else { continue }
            } catch {
                return
            }
            var byte: UInt8 = 0
            let count = Glibc.read(STDIN_FILENO, &byte, 1)
            let failure = errno
            if count == 1 {
                onKey(Character(Unicode.Scalar(byte)))
            } else if count == 0 || failure != EINTR && failure != EAGAIN && Self.ownsTerminal {
                return
            }
        }
    }

    /// Makes the terminal deliver single keys, also after a shell has changed it.
    ///
    /// - Returns: Whether it does.
    private func apply() -> Bool {
        state.withLock { state in
            var settings = termios()
            guard !state.hasEnded, Self.ownsTerminal, tcgetattr(STDIN_FILENO, &settings) == 0 else { return false }
            let lines = tcflag_t(ICANON | ECHO)
            guard settings.c_lflag & lines != 0 else { return true }
            state.saved = state.saved ?? settings
            settings.c_lflag &= ~lines
            return tcsetattr(STDIN_FILENO, TCSANOW, &settings) == 0
        }
    }

    private static var ownsTerminal: Bool { tcgetpgrp(STDIN_FILENO) == getpgrp() }

    /// Calls `body` while the calling thread does not get the signals that stop users of another process's terminal.
    private static func withoutTerminalSignals(_ body: () -> Void) {
        var signals = sigset_t()
        var before = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGTTIN)
        sigaddset(&signals, SIGTTOU)
        pthread_sigmask(SIG_BLOCK, &signals, &before)
        body()
        pthread_sigmask(SIG_SETMASK, &before, nil)
    }
}
