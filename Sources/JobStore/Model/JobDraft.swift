// SPDX-License-Identifier: GPL-2.0-or-later

/// A job that is to be submitted.
package struct JobDraft: Sendable, Hashable {
    /// The queue; it must exist.
    package var queue: String
    /// The priority, 0...100. Of all tasks that a worker can do, those with the highest priority come first.
    package var priority: Int
    /// Whose job it is, for fairness: among jobs of the same priority, each share of a queue gets workers in proportion to
    /// its weight (``QueueSettings/weights``).
    package var share: String
    /// Names and values of the client's own.
    package var labels: [String: String]
    /// What is to be done, as JSON. The store does not read it.
    package var request: String
    /// The tasks, each after those that it depends on; 1...2,000.
    package var tasks: [TaskDraft]
    /// Lets a client repeat the submission without a second job.
    package var idempotency: Idempotency?
    /// The time from the submission after which the job fails if it has not ended; `nil` for no limit.
    package var timeLimit: Duration?
    /// How long the job is kept after its end.
    package var retention: Duration

    /// A key of the client's, and a hash of what it submits.
    package struct Idempotency: Sendable, Hashable {
        /// The key, which is unique in the store: the keys of different clients must differ. It is kept as long as the job.
        package var key: String
        /// The hash of the request. The same key with another hash is a conflict.
        package var hash: String

        /// Makes a key.
        package init(key: String, hash: String) {
            self.key = key
            self.hash = hash
        }
    }

    /// Makes a draft with the defaults: the queue `default`, priority 50, no share, a retention of 30 days.
    package init(
        queue: String = QueueSettings.defaultName,
        priority: Int = 50,
        share: String = "",
        labels: [String: String] = [:],
        request: String,
        tasks: [TaskDraft],
        idempotency: Idempotency? = nil,
        timeLimit: Duration? = nil,
        retention: Duration = .seconds(30 * 86400)
    ) {
        self.queue = queue
        self.priority = priority
        self.share = share
        self.labels = labels
        self.request = request
        self.tasks = tasks
        self.idempotency = idempotency
        self.timeLimit = timeLimit
        self.retention = retention
    }
}

/// A step of a job that is to be submitted. One worker does it.
package struct TaskDraft: Sendable, Hashable {
    /// What kind of step it is, for workers.
    package var kind: String
    /// What is to be done, as JSON. The store does not read it.
    package var payload: String
    /// The indexes of the tasks that must have succeeded before, all below the task's own.
    package var dependencies: [Int]
    /// What a worker must offer.
    package var demand: Demand
    /// The work, in any unit that is the same for all jobs, 0.001...1,000,000: what a share is charged with for each attempt.
    package var cost: Double
    /// When the task is given up.
    package var retries: RetryPolicy

    /// Makes a draft.
    package init(
        kind: String,
        payload: String = "{}",
        dependencies: [Int] = [],
        demand: Demand = Demand(),
        cost: Double = 1,
        retries: RetryPolicy = RetryPolicy()
    ) {
        self.kind = kind
        self.payload = payload
        self.dependencies = dependencies
        self.demand = demand
        self.cost = cost
        self.retries = retries
    }
}

/// What a task needs of a worker.
package struct Demand: Sendable, Hashable, Codable {
    /// What the worker must be able to do, such as `encode:hevc`: it must offer each of them.
    package var abilities: Set<String>
    /// How much it must have free, such as `memory` in bytes: at least as much of each.
    package var amounts: [String: Double]

    /// Makes a demand. Without arguments, any worker meets it.
    package init(abilities: Set<String> = [], amounts: [String: Double] = [:]) {
        self.abilities = abilities
        self.amounts = amounts
    }

    /// Whether an offer meets the demand.
    package func isMet(by offer: Demand) -> Bool {
        abilities.isSubset(of: offer.abilities)
            && amounts.allSatisfy { name, amount in amount <= offer.amounts[name] ?? 0 }
    }
}
