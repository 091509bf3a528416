// SPDX-License-Identifier: GPL-2.0-or-later

/// A job with its tasks and attempts, at one moment.
package struct JobRecord: Sendable, Hashable {
    package var job: Job
    /// The tasks, in the order of the draft.
    package var tasks: [JobTask]
    /// The attempts, in the order of their claims.
    package var attempts: [Attempt]
    /// Why it waits; `nil` if it does not.
    package var waiting: WaitingReason?
}

/// Which jobs a list has.
package struct JobFilter: Sendable, Hashable {
    /// The states; all if it is empty.
    package var states: Set<JobState>
    /// The queue.
    package var queue: String?
    /// The share.
    package var share: String?
    /// Labels that the jobs must have.
    package var labels: [String: String]

    /// Makes a filter. Without arguments, it lets all jobs pass.
    package init(states: Set<JobState> = [], queue: String? = nil, share: String? = nil, labels: [String: String] = [:])
    {
        self.states = states
        self.queue = queue
        self.share = share
        self.labels = labels
    }
}

/// What a worker asks for.
package struct ClaimRequest: Sendable, Hashable {
    /// The name of the worker.
    package var worker: String
    /// What it offers.
    package var offer: Demand
    /// How long it keeps the task unless it renews the lease, above 0.
    package var lease: Duration
    /// The queues from which it takes; all, if it is empty.
    package var queues: Set<String>

    /// Makes a request.
    package init(worker: String, offer: Demand = Demand(), lease: Duration = .seconds(15), queues: Set<String> = []) {
        self.worker = worker
        self.offer = offer
        self.lease = lease
        self.queues = queues
    }
}

/// A task that a worker has now.
package struct Claim: Sendable, Hashable {
    /// Names the attempt in all further calls.
    package var token: AttemptToken
    /// The number of the attempt at this task, from 1 on.
    package var number: Int
    package var task: TaskID
    /// What was submitted.
    package var draft: TaskDraft
    /// The request of the job, as JSON.
    package var request: String
    /// The results of the tasks that it depends on, by index, as JSON.
    package var results: [Int: String]
    /// The failure of the attempt before.
    package var lastFailure: Failure?
}

/// A sign of life of an attempt.
package struct Heartbeat: Sendable, Hashable {
    /// The attempt.
    package var token: AttemptToken
    /// How far it is, as JSON; `nil` to leave what was told before.
    package var progress: String?

    /// Makes a sign of life.
    package init(_ token: AttemptToken, progress: String? = nil) {
        self.token = token
        self.progress = progress
    }
}

/// Whether an attempt may go on.
package enum Renewal: Sendable, Hashable {
    case continues
    /// The job was cancelled or has failed: end, and release the attempt.
    case isCancelled
    /// The task was lost: end. Nothing that the attempt does has an effect.
    case isLost
}

/// An attempt that has begun to publish and was not completed.
package struct UnsettledAttempt: Sendable, Hashable {
    package var token: AttemptToken
    package var task: TaskID
    package var worker: String
    /// The result that the task returns if it was published, as JSON.
    package var result: String
    /// What is needed to find that out, as JSON.
    package var intent: String
    /// Whether its worker was not heard of in time: it is gone, or was frozen while it published.
    package var hasLapsed: Bool
}

/// What was done by ``JobStore/tend()``.
package struct UpkeepReport: Sendable, Hashable {
    /// The attempts whose workers were not heard of.
    package var lost: [AttemptToken] = []
    /// The jobs whose time limits have passed.
    package var late: [JobID] = []
    /// The jobs that were moved to another queue.
    package var moved: [JobID] = []
    /// Jobs whose retention is over: delete them, and then their files. At most 100 at a time.
    package var expired: [JobID] = []

    /// Whether there was nothing to do.
    package var isEmpty: Bool { self == UpkeepReport() }
}

/// Something that has happened to a job.
package struct JobEvent: Sendable, Hashable {
    /// The number, which increases from event to event of the whole store.
    package var number: Int64
    package var job: JobID
    package var time: StoreTime
    package var kind: Kind

    /// What has happened.
    package enum Kind: Sendable, Hashable {
        /// The state of the job has changed. A job that was just submitted comes into ``JobState/waiting``.
        case job(JobState)
        /// An attempt at a task has begun, by a worker.
        case started(task: Int, AttemptToken, worker: String)
        /// An attempt at a task has ended.
        case ended(task: Int, AttemptToken, AttemptOutcome)
        /// Its cancellation was requested.
        case cancelRequested
        /// It was moved to another queue.
        case moved(queue: String)
    }
}

/// Why a job waits.
package enum WaitingReason: Sendable, Hashable {
    /// The pause after a failed attempt.
    case pause(until: StoreTime)
    /// Its queue is paused.
    case queuePaused
    /// Its queue is closed at this time of the week.
    case queueClosed
    /// As many tasks of its queue run as may.
    case queueFull(most: Int)
    /// It waits for a worker that meets its demand. So many tasks that may begin are before it: of higher priority, or of
    /// the same and submitted before.
    case worker(tasksBefore: Int, Demand)
}
