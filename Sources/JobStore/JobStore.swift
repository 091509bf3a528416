// SPDX-License-Identifier: GPL-2.0-or-later

/// Keeps jobs, hands their tasks to workers, and sees to it that each task has one effect.
///
/// **Leases.** A worker has a task for a limited time, which it renews. If it is not heard of in time, another worker gets
/// the task, with a larger token. Every call with the smaller token then throws `staleAttempt`, so a worker that was
/// frozen and wakes up cannot complete or publish anything.
///
/// **Time** is the store's own. Workers never compare it with theirs.
///
/// **Errors.** Calls throw `unavailable` if the store cannot be reached now. They may have had their effect then: repeat
/// them, which is safe for all of them, ``submit(_:)`` only with an idempotency key.
///
/// An implementation passes the conformance suite, `JobStoreConformance`.
package protocol JobStore: Sendable {
    // MARK: Clients

    /// Submits a job.
    ///
    /// - Returns: The job, and whether it is new. It is not if its idempotency key was used before with the same hash.
    /// - Throws: `invalidArgument`; `notFound` if there is no such queue; `idempotencyConflict`.
    func submit(_ draft: JobDraft) async throws(StoreError) -> (job: Job, isNew: Bool)

    /// Returns a job with its tasks and attempts.
    ///
    /// - Throws: `notFound`.
    func job(_ id: JobID) async throws(StoreError) -> JobRecord

    /// Returns jobs, the last one submitted first.
    ///
    /// - Parameters:
    ///   - position: Only jobs with smaller positions are returned; `nil` for all.
    ///   - limit: The largest number of jobs, 1...1000.
    func jobs(_ filter: JobFilter, before position: Int64?, limit: Int) async throws(StoreError) -> [Job]

    /// Cancels a job. Tasks that run are told by ``renew(_:for:)``; whatever they return is not published. Has no effect on
    /// a job that has ended.
    ///
    /// - Throws: `notFound`.
    func cancel(_ id: JobID) async throws(StoreError) -> Job

    /// Has what did not succeed of a failed or cancelled job done again.
    ///
    /// - Throws: `notFound`; `invalidState` for any other job.
    func retry(_ id: JobID) async throws(StoreError) -> Job

    /// Deletes a job that has ended, with its events and its idempotency key. Its files are the caller's.
    ///
    /// - Throws: `notFound`; `invalidState` for a job that has not ended.
    func delete(_ id: JobID) async throws(StoreError)

    /// Returns why a job waits; `nil` if it does not.
    ///
    /// - Throws: `notFound`.
    func reasonForWaiting(_ id: JobID) async throws(StoreError) -> WaitingReason?

    /// Returns events in their order.
    ///
    /// - Parameters:
    ///   - number: Only later events are returned; 0 for all.
    ///   - job: The job; `nil` for all.
    ///   - limit: The largest number of events, 1...1000.
    func events(after number: Int64, of job: JobID?, limit: Int) async throws(StoreError) -> [JobEvent]

    // MARK: Queues

    /// Returns the queues, by name.
    func queues() async throws(StoreError) -> [QueueStatus]

    /// Creates a queue or changes its settings.
    ///
    /// - Throws: `invalidArgument`; `notFound` if it hops to a queue that does not exist.
    func setQueue(_ settings: QueueSettings) async throws(StoreError)

    /// Removes a queue that no job is in and no other queue hops to.
    ///
    /// - Throws: `notFound`; `invalidState` if it is in use, or for the default queue.
    func removeQueue(_ name: String) async throws(StoreError)

    // MARK: Workers

    /// Gives a worker the next task that it can do: of the highest priority, of the share whose turn it is, of the job that
    /// was submitted first.
    ///
    /// - Returns: `nil` if there is none now.
    func claim(_ request: ClaimRequest) async throws(StoreError) -> Claim?

    /// Tells that attempts go on, and how far they are.
    ///
    /// - Parameters:
    ///   - progress: The progress of each attempt as JSON; `nil` to leave what was told before.
    ///   - lease: How long the tasks are kept from now on.
    /// - Returns: For each attempt, whether it may go on.
    func renew(
        _ progress: [AttemptToken: String?],
        for lease: Duration
    ) async throws(StoreError) -> [AttemptToken: Renewal]

    /// Publishes the result of an attempt and completes its task, if the attempt is still the task's present one. While
    /// `publish` runs, no one else can get the task.
    ///
    /// If this process or the store ends between the two, the attempt is unsettled: see ``unsettledAttempts()``.
    ///
    /// - Parameters:
    ///   - result: What the task returns, as JSON.
    ///   - intent: What is needed to find out whether it was published, as JSON.
    ///   - publish: Publishes it, for example by renaming files. It is short, and called once or not at all.
    /// - Throws: `staleAttempt` or `cancelled` without calling `publish`; the error of `publish`, after which the attempt
    ///   is unsettled.
    func complete(
        _ token: AttemptToken,
        result: String,
        intent: String,
        publish: @escaping @Sendable () throws -> Void
    ) async throws(StoreError)

    /// Ends an attempt that has failed.
    ///
    /// - Throws: `staleAttempt`.
    func fail(_ token: AttemptToken, _ failure: Failure) async throws(StoreError)

    /// Gives a task back, which does not count as a failure.
    ///
    /// - Throws: `staleAttempt`.
    func release(_ token: AttemptToken) async throws(StoreError)

    /// Gives back all tasks of workers that are known to be gone, for example because their machine has been started again.
    /// Unsettled attempts are left.
    ///
    /// - Parameter prefix: What the names of these workers begin with.
    /// - Returns: The number of tasks.
    func releaseAll(ofWorkersNamed prefix: String) async throws(StoreError) -> Int

    /// Returns the attempts that have begun to publish and were not completed. No one else gets their tasks.
    func unsettledAttempts() async throws(StoreError) -> [UnsettledAttempt]

    /// Settles such an attempt, which must not run any more.
    ///
    /// - Parameter wasPublished: Whether its result is published: then the task has succeeded, otherwise it is given back.
    /// - Throws: `staleAttempt` if it is none.
    func settle(_ token: AttemptToken, wasPublished: Bool) async throws(StoreError)

    // MARK: Upkeep

    /// Takes tasks from workers that were not heard of, fails jobs whose deadline has passed, and moves those that have
    /// waited too long. Call it every second or so.
    func tend() async throws(StoreError) -> UpkeepReport
}
