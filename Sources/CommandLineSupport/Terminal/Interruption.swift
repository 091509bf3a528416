// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc

/// The signals that ask a program to end: SIGINT, SIGTERM and SIGHUP.
///
/// The first thread waits for them, so they are handled by ordinary code and not by a signal handler. It must be the
/// first thread, and `main` must not be `async`: libdispatch would unblock all signals on it.
package struct Interruption {
    private let signals: sigset_t

    /// Blocks the signals until ``wait(_:)``. Create it before any other thread, because threads inherit the mask.
    ///
    /// A signal that was ignored when the program was started stays ignored, as required by `nohup`.
    ///
    /// - Parameter others: Further signals to wait for.
    package init(also others: [Int32] = []) {
        var signals = sigset_t()
        sigemptyset(&signals)
        for signal in [SIGINT, SIGTERM, SIGHUP] + others where !Self.isIgnored(signal) { sigaddset(&signals, signal) }
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        self.signals = signals
    }

    /// Calls `onSignal` for each signal with the number of earlier signals, until the process ends.
    package func wait(_ onSignal: (_ before: Int) -> Void) -> Never {
        var count = 0
        waitForEach { _ in
            onSignal(count)
            count += 1
        }
    }

    /// Calls `onSignal` for each signal, until the process ends.
    package func waitForEach(_ onSignal: (_ signal: Int32) -> Void) -> Never {
        var signals = signals
        while true {
            var signal: Int32 = 0
            // If no signal is left to wait for, this waits for the end of the process.
            guard sigwait(&signals, &signal) == 0 else { continue }
            onSignal(signal)
        }
    }

    /// Makes writing to a closed pipe an error instead of ending the process.
    package static func ignoreBrokenPipes() { signal(SIGPIPE, SIG_IGN) }

    private static func isIgnored(_ signal: Int32) -> Bool {
        var action = sigaction()
        guard sigaction(signal, nil, &action) == 0 else { return false }
        // SIG_IGN is the pointer with the value 1 (signal.h).
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 1
    }
}
