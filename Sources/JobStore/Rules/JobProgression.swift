// SPDX-License-Identifier: GPL-2.0-or-later

/// The tasks of a job and how each event changes them. A pure value: stores read it, change it, and write what is
/// different.
struct JobProgression: Sendable, Hashable {
    private(set) var tasks: [JobTask]
    private(set) var isCancelRequested: Bool
    /// Why the job fails.
    private(set) var failure: Failure?

    init(tasks: [JobTask], isCancelRequested: Bool = false, failure: Failure? = nil) {
        self.tasks = tasks
        self.isCancelRequested = isCancelRequested
        self.failure = failure
    }

    /// Whether the job will not succeed: tasks that run are to end, and none begins.
    var isEnding: Bool { isCancelRequested || failure != nil }

    /// The state of the job.
    var state: JobState {
        guard tasks.allSatisfy(\.state.isFinal) else {
            return tasks.contains { $0.state.isRunning || $0.state == .succeeded } ? .running : .waiting
        }
        if tasks.allSatisfy({ $0.state == .succeeded }) { return .succeeded }
        return failure != nil ? .failed : .cancelled
    }

    /// A worker has claimed a task that was ready.
    mutating func start(_ index: Int, _ token: AttemptToken) { tasks[index].state = .running(token) }

    /// An attempt has ended.
    ///
    /// - Parameters:
    ///   - result: What the worker returns, if it has succeeded.
    ///   - jitter: A random number, 0..<1.
    mutating func end(
        _ index: Int,
        _ outcome: AttemptOutcome,
        result: String? = nil,
        at time: StoreTime,
        jitter: Double
    ) {
        // What was published is there, whatever became of the job meanwhile.
        guard !isEnding || outcome == .succeeded else {
            tasks[index].state = .cancelled
            return
        }
        let policy = tasks[index].draft.retries
        switch outcome {
        case .succeeded:
            tasks[index].state = .succeeded
            (tasks[index].result, tasks[index].failure) = (result, nil)
            unblock(at: time)
            if tasks.allSatisfy({ $0.state == .succeeded }) { (isCancelRequested, failure) = (false, nil) }
        case .failed(let failure):
            tasks[index].failures += 1
            tasks[index].failure = failure
            guard failure.isRetriable, tasks[index].failures < policy.mostFailures else {
                return giveUp(index, failure)
            }
            let pause = policy.pause(after: tasks[index].failures, jitter: jitter)
            tasks[index].state = .ready(from: time + pause)
        case .lost:
            tasks[index].losses += 1
            let failure = Failure(code: "worker-lost", message: "the worker was not heard of", isRetriable: true)
            tasks[index].failure = failure
            guard tasks[index].losses < policy.mostLosses else { return giveUp(index, failure) }
            tasks[index].state = .ready(from: time)
        case .released: tasks[index].state = .ready(from: time)
        case .cancelled: tasks[index].state = .cancelled
        }
    }

    /// A client cancels the job. Has no effect on one that has ended.
    mutating func cancel() {
        guard !state.isFinal else { return }
        isCancelRequested = true
        stop()
    }

    /// The job fails, for example because its deadline has passed. Has no effect on one that has ended.
    mutating func fail(_ failure: Failure) {
        guard !state.isFinal, !isEnding else { return }
        self.failure = failure
        stop()
    }

    /// What did not succeed is done again.
    mutating func retry(at time: StoreTime) {
        (isCancelRequested, failure) = (false, nil)
        for index in tasks.indices where tasks[index].state != .succeeded {
            tasks[index].state = .blocked
            (tasks[index].failures, tasks[index].losses, tasks[index].failure) = (0, 0, nil)
        }
        unblock(at: time)
    }

    private mutating func giveUp(_ index: Int, _ failure: Failure) {
        tasks[index].state = .failed
        self.failure = failure
        stop()
    }

    private mutating func stop() {
        for index in tasks.indices where !tasks[index].state.isFinal && !tasks[index].state.isRunning {
            tasks[index].state = .cancelled
        }
    }

    private mutating func unblock(at time: StoreTime) {
        for index in tasks.indices where tasks[index].state == .blocked {
            if tasks[index].draft.dependencies.allSatisfy({ tasks[$0].state == .succeeded }) {
                tasks[index].state = .ready(from: time)
            }
        }
    }
}
