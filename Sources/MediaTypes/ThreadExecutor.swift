// SPDX-License-Identifier: GPL-2.0-or-later

internal import Dispatch
internal import Glibc
internal import Synchronization

/// Runs the jobs of one actor on a dedicated thread, so that calls that block on files do not occupy threads of the
/// cooperative pool. A dispatch queue would use a pool that the whole process shares: if jobs that wait for pipes
/// occupy all its threads, every other queue of the program stalls.
///
/// The thread starts with the first job and ends with the executor.
package final class ThreadExecutor: SerialExecutor {
    private let name: String
    private let work = Work()

    /// Makes an executor.
    ///
    /// - Parameter name: The name of the thread, at most 15 bytes.
    package init(name: String) { self.name = name }

    deinit { work.end() }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        work.add({ job.runSynchronously(on: self.asUnownedSerialExecutor()) }, startingThreadNamed: name)
    }

    /// Runs work like a job of the actor, which it may enter with `assumeIsolated`.
    package func run(_ work: @escaping @Sendable () -> Void) { self.work.add(work, startingThreadNamed: name) }

    /// Whether the caller is a job of the actor.
    package func isIsolatingCurrentContext() -> Bool? { work.isRunningHere }

    package func checkIsolated() { precondition(work.isRunningHere, "not on the thread \(name)") }

    package func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

    /// The work queue of the thread. The thread retains this and not the executor, which may be released on the thread
    /// itself.
    private final class Work: Sendable {
        private struct State {
            var jobs: [@Sendable () -> Void] = []
            var hasThread = false
            /// Whether the thread sleeps until there is work.
            var isAsleep = false
            var isOver = false
            /// The thread that runs the jobs at present.
            var runner: pthread_t?
        }

        private let state = Mutex(State())
        private let wake = DispatchSemaphore(value: 0)

        func add(_ job: @escaping @Sendable () -> Void, startingThreadNamed name: String) {
            let (isFirst, wasAsleep) = state.withLock { state in
                state.jobs.append(job)
                defer { (state.hasThread, state.isAsleep) = (true, false) }
                return (!state.hasThread, state.isAsleep)
            }
            if wasAsleep { wake.signal() }
            guard isFirst else { return }
            // If no thread can be created, a thread of the shared pool does the work.
            do throws(MediaError) {
                try PlainThread.start(name: name, run)
            } catch {
                DispatchQueue.global().async(execute: runWhatThereIs)
            }
        }

        var isRunningHere: Bool {
            state.withLock { state in state.runner.map { pthread_equal($0, pthread_self()) != 0 } ?? false }
        }

        func end() {
            let wasAsleep = state.withLock { state in
                state.isOver = true
                defer { state.isAsleep = false }
                return state.isAsleep
            }
            if wasAsleep { wake.signal() }
        }

        /// Runs jobs until there are none; the next one tries to start a thread again.
        @Sendable private func runWhatThereIs() {
            while true {
                let jobs = state.withLock { state in
                    defer { state.jobs = [] }
                    state.hasThread = !state.jobs.isEmpty
                    state.runner = state.hasThread ? pthread_self() : nil
                    return state.jobs
                }
                if jobs.isEmpty { return }
                for job in jobs { job() }
            }
        }

        @Sendable private func run() {
            state.withLock { $0.runner = pthread_self() }
            while true {
                let (jobs, isOver) = state.withLock { state in
                    defer { state.jobs = [] }
                    state.isAsleep = state.jobs.isEmpty && !state.isOver
                    return (state.jobs, state.isOver)
                }
                for job in jobs { job() }
                if !jobs.isEmpty { continue }
                if isOver { return }
                wake.wait()
            }
        }
    }
}
