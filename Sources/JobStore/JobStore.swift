// SPDX-License-Identifier: GPL-2.0-or-later

/// Keeps jobs, hands their tasks to workers, and sees to it that each task has one effect.
///
/// **Leases.** A worker has a task for a limited time, which it renews. If the worker does not renew it in time, another worker gets
/// the task, with a larger token. Every call with the smaller token then throws `staleAttempt`, so a worker that was
/// frozen and wakes up cannot complete or publish anything.
///
/// **Time** is the store's own. Workers never compare it with theirs.
///
/// **Publishing.** An attempt states what it is about to publish, publishes, and is completed. In between, nobody else gets
/// its task. If it is not completed, whatever the reason, it is unsettled: nobody knows what was published until someone
/// has looked, and tells by ``settle(_:wasPublished:)``.
///
/// **Errors.** Calls throw `unavailable` if the store cannot be reached now. They may have had their effect then.
/// Repeating them does no harm: ``submit(_:)`` with an idempotency key returns the job that there is, a second
/// ``claim(_:)`` leaves the first attempt to the end of its lease, and ``complete(_:result:intent:publish:)``,
/// ``fail(_:_:)`` and ``release(_:)`` throw `staleAttempt` if they have had their effect, or `unsettled`.
///
/// Texts must not contain NUL characters.
///
/// An implementation passes the conformance suite, `JobStoreConformance`.
package protocol JobStore: Sendable {
    // MARK: Clients

    /// Submits a job.
    ///
    /// - Returns: The job, and whether it is new. It is not if its idempotency key was used before with the same hash.
    /// - Throws: `invalidArgument`; `notFound` if there is no such queue; `idempotencyConflict`.
    func submit(_ draft: JobDraft) async throws(StoreError) -> (job: Job, isNew: Bool)

    /// Returns a job with its tasks, its attempts, and why it waits.
    ///
    /// - Throws: `notFound`.
    func job(_ id: JobID) async throws(StoreError) -> JobRecord

    /// Returns jobs, the last one submitted first.
    ///
    /// - Parameters:
    ///   - position: Only jobs with smaller positions are returned; `nil` for all.
    ///   - limit: The largest number of jobs, 1...1000.
    func jobs(_ filter: JobFilter, before position: Int64?, limit: Int) async throws(StoreError) -> [Job]

    /// Returns the same jobs, each as ``job(_:)`` does, all as of one moment.
    func records(_ filter: JobFilter, before position: Int64?, limit: Int) async throws(StoreError) -> [JobRecord]

    /// Cancels a job. Tasks that run are told by ``renew(_:for:)``; whatever they return is not published. Has no effect on
    /// a job that has ended.
    ///
    /// - Throws: `notFound`.
    func cancel(_ id: JobID) async throws(StoreError) -> Job

    /// Runs the tasks of a failed or cancelled job again that did not succeed, and removes its time limit.
    ///
    /// - Throws: `notFound`; `invalidState` for any other job.
    func retry(_ id: JobID) async throws(StoreError) -> Job

    /// Deletes a job that has ended, with its events and its idempotency key. Its files are the caller's.
    ///
    /// - Throws: `notFound`; `invalidState` for a job that has not ended.
    func delete(_ id: JobID) async throws(StoreError)

    /// Returns events in their order.
    ///
    /// - Parameters:
    ///   - number: Only later events are returned; 0 for all.
    ///   - job: The job; `nil` for all.
    ///   - limit: The largest number of events, 1...1000.
    func events(after number: Int64, of job: JobID?, limit: Int) async throws(StoreError) -> [JobEvent]

    /// Returns the number of the last event; 0 if there was none yet.
    func lastEventNumber() async throws(StoreError) -> Int64

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
    ///   - heartbeats: The attempts.
    ///   - lease: How long the tasks are kept from now on at least.
    /// - Returns: For each attempt, whether it may go on.
    func renew(
        _ heartbeats: [Heartbeat],
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
    ///   - publish: Publishes it, for example by renaming a file that is on the disk and syncing the folder: when it
    ///     returns, the result survives a power loss. It is short, and called once or not at all.
    /// - Throws: `staleAttempt`, `cancelled` or `unsettled` without calling `publish`; `publishFailed` with the error of
    ///   `publish`, or `unavailable`, after which the attempt may be unsettled.
    func complete(
        _ token: AttemptToken,
        result: String,
        intent: String,
        publish: @escaping @Sendable () throws -> Void
    ) async throws(StoreError)

    /// Ends an attempt that has failed.
    ///
    /// - Throws: `staleAttempt`; `unsettled`.
    func fail(_ token: AttemptToken, _ failure: Failure) async throws(StoreError)

    /// Gives a task back, which does not count as a failure.
    ///
    /// - Throws: `staleAttempt`; `unsettled`.
    func release(_ token: AttemptToken) async throws(StoreError)

    /// Gives back all tasks of workers that are known to be gone, for example because their machine has been started again.
    /// Unsettled attempts are left.
    ///
    /// - Parameter prefix: What the names of these workers begin with, such as `node1/`.
    /// - Returns: The number of tasks.
    func releaseAll(ofWorkersNamed prefix: String) async throws(StoreError) -> Int

    /// Returns the attempts that have begun to publish and were not completed. No one else gets their tasks. Those whose
    /// workers are alive may be publishing at this moment; they renew their leases.
    func unsettledAttempts() async throws(StoreError) -> [UnsettledAttempt]

    /// Settles such an attempt, which must not run any more.
    ///
    /// - Parameter wasPublished: Whether its result is published: then the task has succeeded, otherwise it is given back.
    /// - Throws: `staleAttempt` if it is none.
    func settle(_ token: AttemptToken, wasPublished: Bool) async throws(StoreError)

    // MARK: Upkeep

    /// Takes tasks from workers that were not heard of, fails jobs whose time is over, and moves those that have waited too
    /// long. Call it every second or so; if the same process renews leases, after that, so that a machine that was
    /// suspended loses nothing. What counts is the time of the call, however long it waits for the store.
    func tend() async throws(StoreError) -> UpkeepReport
}
