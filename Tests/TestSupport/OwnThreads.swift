// SPDX-License-Identifier: GPL-2.0-or-later

internal import Dispatch
internal import MediaTypes
internal import Synchronization

/// Runs tasks on a few threads of its own, for tests that wait for servers and other programs: on the threads of the
/// cooperative pool, of which there is one per processor, they would keep all other tests from running.
package final class OwnThreads: TaskExecutor {
    /// All tests share it, so that not too many run at a time.
    package static let shared = OwnThreads(count: 4)

    private let jobs = Mutex<[UnownedJob]>([])
    private let isFilled = DispatchSemaphore(value: 0)

    private init(count: Int) {
        for _ in 0..<count { Thread.detach { [self] in run() } }
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        jobs.withLock { $0.append(job) }
        isFilled.signal()
    }

    private func run() -> Never {
        while true {
            isFilled.wait()
            let job = jobs.withLock { $0.isEmpty ? nil : $0.removeFirst() }
            job?.runSynchronously(on: asUnownedTaskExecutor())
        }
    }
}

/// Threads that live as long as the program.
private enum Thread {
    static func detach(_ body: @escaping @Sendable () -> Void) {
        do throws(MediaError) {
            try PlainThread.start(name: "vt-test", body)
        } catch {
            DispatchQueue.global().async(execute: body)
        }
    }
}
