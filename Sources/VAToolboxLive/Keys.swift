// SPDX-License-Identifier: GPL-2.0-or-later

import Glibc
import MediaTypes

/// Single keys of the terminal, without the Return key.
final class Keys: Sendable {
    private let stop: StopSignal
    private let saved: termios

    /// Begins to read keys on a thread, unless standard input is not a terminal that belongs to this process.
    ///
    /// - Parameter onKey: Called for each key, on that thread.
    init?(onKey: @escaping @Sendable (Character) -> Void) {
        var settings = termios()
        guard isatty(STDIN_FILENO) == 1, tcgetpgrp(STDIN_FILENO) == getpgrp(), tcgetattr(STDIN_FILENO, &settings) == 0,
            let stop = try? StopSignal()
        else { return nil }
        (saved, self.stop) = (settings, stop)
        settings.c_lflag &= ~tcflag_t(ICANON | ECHO)
        guard tcsetattr(STDIN_FILENO, TCSANOW, &settings) == 0 else { return nil }
        do throws(MediaError) {
            try PlainThread.start(name: "vt-keys") { Self.read(stop, onKey) }
        } catch {
            restore()
            return nil
        }
    }

    private static func read(_ stop: StopSignal, _ onKey: (Character) -> Void) {
        while true {
            do throws(MediaError) {
                try stop.wait(for: [(STDIN_FILENO, Int16(POLLIN))], until: nil)
            } catch {
                return
            }
            var byte: UInt8 = 0
            guard Glibc.read(STDIN_FILENO, &byte, 1) == 1 else { return }
            onKey(Character(Unicode.Scalar(byte)))
        }
    }

    /// Gives the terminal its settings back.
    func restore() {
        stop.stop()
        var settings = saved
        tcsetattr(STDIN_FILENO, TCSANOW, &settings)
    }
}
