// SPDX-License-Identifier: GPL-2.0-or-later

internal import NIOHTTP1
public import ServiceAPI

/// Which jobs to list.
public struct JobFilter: Sendable, Hashable {
    /// Only jobs in this state.
    public var state: JobState?
    /// Only jobs of this queue.
    public var queue: String?
    /// Only jobs of this share.
    public var share: String?
    /// Only jobs with all of these labels.
    public var labels: [String: String] = [:]

    /// Makes a filter that lets all jobs through.
    public init() {}
}

/// Jobs.
extension ServiceClient {
    /// Submits a job.
    ///
    /// A request that is repeated after a failure does not make another job, because it has an idempotency key.
    ///
    /// - Parameters:
    ///   - request: What to encode, and how.
    ///   - idempotencyKey: 1 to 255 bytes that identify the request. A program that remembers the key can also submit
    ///     again after it was restarted. By default the client makes one.
    public func submit(_ request: JobRequest, idempotencyKey: String? = nil) async throws(ClientError) -> Job {
        let key = idempotencyKey ?? Self.makeKey()
        guard (1...255).contains(key.utf8.count), key.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) else {
            throw ClientError(
                .invalidValue,
                "the idempotency key is not allowed (given \(key.debugDescription); allowed: 1...255 bytes of ASCII)"
            )
        }
        var exchange = Exchange(.POST, ServicePath("jobs"), body: request.jsonBytes)
        exchange.headers.append((name: "Idempotency-Key", value: key))
        return try await transport.value(exchange)
    }

    /// Tells what a job would do, without submitting it.
    public func plan(_ request: JobRequest) async throws(ClientError) -> Plan {
        let path = ServicePath("jobs").query("dryRun", "true")
        return try await transport.value(Exchange(.POST, path, body: request.jsonBytes))
    }

    /// A job.
    public func job(_ id: String) async throws(ClientError) -> Job {
        try await transport.value(Exchange(.GET, ServicePath("jobs", id)))
    }

    /// Jobs, the newest first, of which as many pages are read as are needed.
    public func jobs(_ filter: JobFilter = JobFilter()) -> JobSequence { JobSequence(client: self, filter: filter) }

    /// A page of jobs, the newest first.
    ///
    /// - Parameters:
    ///   - filter: Which jobs.
    ///   - limit: The most jobs, 1...200.
    ///   - cursor: The cursor that the page before has.
    public func page(
        _ filter: JobFilter = JobFilter(),
        limit: Int = 50,
        cursor: String? = nil
    ) async throws(ClientError) -> JobList {
        var path = ServicePath("jobs").query("state", filter.state?.rawValue).query("queue", filter.queue)
            .query("share", filter.share).query("limit", "\(limit)").query("cursor", cursor)
        for label in filter.labels.sorted(by: { $0.key < $1.key }) {
            path = path.query("label", "\(label.key):\(label.value)")
        }
        return try await transport.value(Exchange(.GET, path))
    }

    /// Cancels a job. One that runs ends soon.
    public func cancel(_ id: String) async throws(ClientError) -> Job {
        try await transport.value(Exchange(.POST, ServicePath("jobs", id, "cancel")))
    }

    /// Runs the tasks of a job again that have failed or were cancelled.
    public func retry(_ id: String) async throws(ClientError) -> Job {
        try await transport.value(Exchange(.POST, ServicePath("jobs", id, "retry"), .unsafe))
    }

    /// Deletes a job that has ended, with its files.
    public func deleteJob(_ id: String) async throws(ClientError) {
        try await delete(ServicePath("jobs", id))
    }

    /// Why a job waits.
    public func waitingReason(of id: String) async throws(ClientError) -> WaitingReason {
        try await transport.value(Exchange(.GET, ServicePath("jobs", id, "waiting")))
    }

    /// Waits until a job ends, also across breaks of the connection and restarts of the service.
    ///
    /// If the task is cancelled, the job goes on: ``cancel(_:)`` ends it.
    ///
    /// - Parameters:
    ///   - id: The ID of the job.
    ///   - onEvent: Called with what happens to the job, from its first event on.
    /// - Returns: The job in its final state, which may be `failed`.
    public func wait(
        for id: String,
        onEvent: @Sendable (ServiceEvent) -> Void = { _ in }
    ) async throws(ClientError) -> Job {
        var last: Int?
        while true {
            var events = self.events(of: id, after: last).makeAsyncIterator()
            while let event = try await events.next() {
                if case .event(let event) = event { last = event.number }
                onEvent(event)
            }
            let job: Job = try await longTransport.value(Exchange(.GET, ServicePath("jobs", id)))
            // One that was retried in the meantime goes on.
            if job.state.isFinal { return job }
        }
    }

    /// The reports to the webhook of a job, the newest first.
    public func deliveries(of id: String) async throws(ClientError) -> [Delivery] {
        let list: DeliveryList = try await transport.value(Exchange(.GET, ServicePath("jobs", id, "deliveries")))
        return list.deliveries
    }

    /// Sends a report to the webhook of a job again.
    public func redeliver(_ delivery: String, of id: String) async throws(ClientError) -> Delivery {
        let path = ServicePath("jobs", id, "deliveries", delivery, "redeliver")
        return try await transport.value(Exchange(.POST, path, .unsafe))
    }

    /// Deletes something. What an attempt has deleted whose answer was lost, the next one does not find.
    func delete(_ path: ServicePath) async throws(ClientError) {
        var outage = Outage(transport.policy)
        var isRepeated = false
        while true {
            do {
                _ = try await transport.finish(try await transport.open(Exchange(.DELETE, path)))
                return
            } catch {
                if isRepeated, error.code == .notFound { return }
                try await outage.pause(after: error)
                isRepeated = isRepeated || error.kind != .unreachable
            }
        }
    }

    /// A text that no other request has.
    static func makeKey() -> String {
        (0..<2).map { _ in
            let digits = String(UInt64.random(in: .min ... .max), radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }
}

/// Jobs, the newest first.
public struct JobSequence: AsyncSequence, Sendable {
    /// A job in a list.
    public typealias Element = JobSummary
    /// What ends the sequence early.
    public typealias Failure = ClientError

    let client: ServiceClient
    let filter: JobFilter

    /// Begins with the newest job.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(client: client, filter: filter) }

    /// Reads page after page.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let client: ServiceClient
        let filter: JobFilter
        private var page: ArraySlice<JobSummary> = []
        private var cursor: String?
        private var isLast = false

        init(client: ServiceClient, filter: JobFilter) {
            self.client = client
            self.filter = filter
        }

        /// The next job.
        public mutating func next() async throws(ClientError) -> JobSummary? {
            while page.isEmpty {
                if isLast { return nil }
                let list = try await client.page(filter, limit: 200, cursor: cursor)
                page = list.jobs[...]
                cursor = list.nextCursor
                isLast = cursor == nil
            }
            return page.removeFirst()
        }
    }
}
