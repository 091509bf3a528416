// SPDX-License-Identifier: GPL-2.0-or-later

import Glibc

/// The signals that ask a program to end: SIGINT, SIGTERM and SIGHUP.
///
/// The first thread waits for them, so what they lead to is ordinary code, not a signal handler. It has to be the
/// first one, and no `main` that is `async`: libdispatch would unblock every signal on it.
struct Interruption {
    private let signals: sigset_t

    /// Holds the signals back until ``wait(_:)``. To be made before any other thread is, for threads inherit the mask.
    ///
    /// A signal that whoever started the program has set to be ignored stays ignored, as `nohup` wants it.
    init() {
        var signals = sigset_t()
        sigemptyset(&signals)
        for signal in [SIGINT, SIGTERM, SIGHUP] where !Self.isIgnored(signal) { sigaddset(&signals, signal) }
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        self.signals = signals
    }

    /// Calls `onSignal` once for each signal, with how many there were before, until the process ends.
    func wait(_ onSignal: (_ before: Int) -> Void) -> Never {
        var signals = signals
        var count = 0
        while true {
            var signal: Int32 = 0
            // With no signal left to wait for, this waits for the end of the process.
            guard sigwait(&signals, &signal) == 0 else { continue }
            onSignal(count)
            count += 1
        }
    }

    /// Makes writing to a closed pipe an error instead of the end.
    static func ignoreBrokenPipes() { signal(SIGPIPE, SIG_IGN) }

    private static func isIgnored(_ signal: Int32) -> Bool {
        var action = sigaction()
        guard sigaction(signal, nil, &action) == 0 else { return false }
        // SIG_IGN is the pointer with the value 1 (signal.h).
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 1
    }
}
