// SPDX-License-Identifier: GPL-2.0-or-later

/// A job in a store.
package struct Job: Sendable, Hashable {
    /// The ID.
    package var id: JobID
    /// The position in the order of submission, which pages of a list refer to.
    package var position: Int64
    /// The queue in which it is now.
    package var queue: String
    /// The priority, 0...100.
    package var priority: Int
    /// Whose job it is, for fairness.
    package var share: String
    /// Names and values of the client's own.
    package var labels: [String: String]
    /// What is to be done, as JSON.
    package var request: String
    /// The time after which it fails if it has not ended.
    package var deadline: StoreTime?
    /// How long it is kept after its end.
    package var retention: Duration
    /// The state.
    package var state: JobState
    /// Whether its cancellation was requested. Tasks that run may still be ending.
    package var isCancelRequested: Bool
    /// The time of the submission.
    package var created: StoreTime
    /// The time since when it has waited in its present queue.
    package var queued: StoreTime
    /// The time when its first task began.
    package var started: StoreTime?
    /// The time when it ended.
    package var ended: StoreTime?
    /// Why it failed.
    package var failure: Failure?
}

/// The state of a job.
package enum JobState: String, Sendable, Hashable, CaseIterable {
    /// It waits for a worker: for the first time, or again after a failure.
    case waiting
    /// A task runs or has succeeded, and the job has not ended.
    case running
    /// All tasks have succeeded.
    case succeeded
    /// A task was given up, or the deadline has passed.
    case failed
    /// A client has cancelled it.
    case cancelled

    /// Whether the state is final.
    package var isFinal: Bool { self != .waiting && self != .running }
}

/// A task of a job in a store.
package struct JobTask: Sendable, Hashable {
    /// The ID.
    package var id: TaskID
    /// What was submitted.
    package var draft: TaskDraft
    /// The state.
    package var state: TaskState
    /// The number of attempts that have ended with a failure, and of those that were lost; see ``RetryPolicy``.
    package var failures = 0
    package var losses = 0
    /// What the worker has returned, as JSON.
    package var result: String?
    /// The failure of the last attempt.
    package var failure: Failure?

    /// Makes a task that has not begun.
    init(_ id: TaskID, _ draft: TaskDraft, at time: StoreTime) {
        self.id = id
        self.draft = draft
        state = draft.dependencies.isEmpty ? .ready(from: time) : .blocked
    }

    /// Makes a task from its parts.
    init(
        id: TaskID,
        draft: TaskDraft,
        state: TaskState,
        failures: Int,
        losses: Int,
        result: String?,
        failure: Failure?
    ) {
        self.id = id
        self.draft = draft
        self.state = state
        self.failures = failures
        self.losses = losses
        self.result = result
        self.failure = failure
    }
}

/// The state of a task.
package enum TaskState: Sendable, Hashable {
    /// It waits for other tasks.
    case blocked
    /// It waits for a worker, and may begin at that time.
    case ready(from: StoreTime)
    /// A worker has it.
    case running(AttemptToken)
    case succeeded
    /// It was given up.
    case failed
    case cancelled

    /// Whether the state is final.
    package var isFinal: Bool {
        switch self {
        case .succeeded, .failed, .cancelled: true
        case .blocked, .ready, .running: false
        }
    }

    /// Whether a worker has it.
    package var isRunning: Bool {
        if case .running = self { true } else { false }
    }
}

/// Why an attempt, a task or a job has failed.
package struct Failure: Sendable, Hashable {
    /// The stable code of the error, such as `unsupported`.
    package var code: String
    /// What happened, for people.
    package var message: String
    /// Whether another attempt may succeed.
    package var isRetriable: Bool
    /// More about it, as JSON; `nil` if there is nothing.
    package var details: String?

    /// Makes a failure.
    package init(code: String, message: String, isRetriable: Bool, details: String? = nil) {
        self.code = code
        self.message = message
        self.isRetriable = isRetriable
        self.details = details
    }
}

/// An attempt at a task.
package struct Attempt: Sendable, Hashable {
    /// Its token.
    package var token: AttemptToken
    /// The task.
    package var task: TaskID
    /// The worker that has claimed it.
    package var worker: String
    /// The time of the claim.
    package var started: StoreTime
    /// The time of its end; `nil` while it runs.
    package var ended: StoreTime?
    /// How it has ended; `nil` while it runs.
    package var outcome: AttemptOutcome?
    /// The time at which the worker loses the task unless it is heard of; `nil` after the end.
    package var leaseEnd: StoreTime?
    /// What the worker has last told of its progress, as JSON.
    package var progress: String?
}

/// How an attempt has ended.
package enum AttemptOutcome: Sendable, Hashable {
    case succeeded
    case failed(Failure)
    /// The worker was not heard of in time.
    case lost
    /// The worker has given the task back, or was stopped with its machine. This does not count as a failure.
    case released
    case cancelled
}
