// SPDX-License-Identifier: GPL-2.0-or-later

internal import Dispatch
internal import Glibc
internal import Synchronization

/// A thread that is kept from run to run, since starting one costs more than most runs.
package final class Worker: Sendable {
    private let body = Mutex<(@Sendable () -> Void)?>(nil)
    private let started = DispatchSemaphore(value: 0)
    private let finished = DispatchSemaphore(value: 0)

    /// Starts the thread, which never ends.
    package init() {
        var thread = pthread_t()
        let context = Unmanaged.passRetained(self)
        let status = pthread_create(
            &thread,
            nil,
            { context in
                if let context { Unmanaged<Worker>.fromOpaque(context).takeRetainedValue().work() }
                return nil
            },
            context.toOpaque()
        )
        guard status == 0 else { fatalError("no thread can be started") }
        pthread_detach(thread)
    }

    private func work() {
        while true {
            started.wait()
            body.withLock { $0.take() }?()
            finished.signal()
        }
    }

    /// Lets the thread do something; one thing at a time.
    package func start(_ body: @escaping @Sendable () -> Void) {
        self.body.withLock { $0 = body }
        started.signal()
    }

    /// Waits until it has done it. That it never does is seen by libFuzzer's limit on time.
    package func join() { finished.wait() }
}
