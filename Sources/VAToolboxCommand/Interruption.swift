// SPDX-License-Identifier: GPL-2.0-or-later

import Glibc

/// The signals that ask a program to end: SIGINT, SIGTERM and SIGHUP.
///
/// A thread of its own takes them, so what they lead to is ordinary code, not a signal handler.
struct Interruption {
    private let signals: sigset_t

    /// Holds the signals back until they are observed. To be made before any other thread is, for threads inherit the
    /// mask.
    ///
    /// A signal that whoever started the program has set to be ignored stays ignored, as `nohup` wants it.
    init() {
        var signals = sigset_t()
        sigemptyset(&signals)
        for signal in [SIGINT, SIGTERM, SIGHUP] where !Self.isIgnored(signal) { sigaddset(&signals, signal) }
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        self.signals = signals
    }

    /// Calls `onSignal` once for each signal, with how many there were before, on the thread that waits for them.
    func observe(_ onSignal: @escaping @Sendable (_ before: Int) -> Void) {
        let waiter = Unmanaged.passRetained(Waiter(signals: signals, onSignal: onSignal))
        var thread = pthread_t()
        let status = pthread_create(&thread, nil, { Waiter.run($0) }, waiter.toOpaque())
        if status == 0 { pthread_detach(thread) } else { waiter.release() }
    }

    /// Makes writing to a closed pipe an error instead of the end.
    static func ignoreBrokenPipes() { signal(SIGPIPE, SIG_IGN) }

    private static func isIgnored(_ signal: Int32) -> Bool {
        var action = sigaction()
        guard sigaction(signal, nil, &action) == 0 else { return false }
        // SIG_IGN is the pointer with the value 1 (signal.h).
        return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 1
    }

    private final class Waiter: Sendable {
        let signals: sigset_t
        let onSignal: @Sendable (Int) -> Void

        init(signals: sigset_t, onSignal: @escaping @Sendable (Int) -> Void) {
            self.signals = signals
            self.onSignal = onSignal
        }

        static func run(_ opaque: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
            guard let opaque else { return nil }
            let waiter = Unmanaged<Waiter>.fromOpaque(opaque).takeRetainedValue()
            var signals = waiter.signals
            var signal: Int32 = 0
            var count = 0
            while sigwait(&signals, &signal) == 0 {
                waiter.onSignal(count)
                count += 1
            }
            return nil
        }
    }
}
