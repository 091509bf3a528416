// SPDX-License-Identifier: GPL-2.0-or-later

internal import AsyncHTTPClient
internal import HostSystem
internal import JobStore
internal import Logging
internal import NIOCore
internal import NIOHTTP1
internal import ServiceAPI
internal import ServiceLifecycle

/// Reports events of jobs to the URLs that jobs name, by Standard Webhooks 1.0.
actor WebhookSender: Service {
    private let store: any JobStore
    private let deliveries: DeliveryStore
    private let secrets: WebhookSecrets
    private let client: PinnedClient
    private let changes: ChangeSignal
    private let logger: Logger
    /// The events of jobs that have a webhook are looked up from here on.
    private var number: Int64 = 0
    /// Whether the last look has failed, which is told once.
    private var hasFailed = false
    private var sending: Set<String> = []

    init(
        store: any JobStore,
        deliveries: DeliveryStore,
        secrets: WebhookSecrets,
        client: PinnedClient,
        changes: ChangeSignal,
        logger: Logger
    ) {
        self.store = store
        self.deliveries = deliveries
        self.secrets = secrets
        self.client = client
        self.changes = changes
        self.logger = logger
    }

    // MARK: Schedule

    /// The pauses before further attempts, in seconds: more than three days in all. Each is lengthened at random by up to a
    /// tenth, so that reports that have failed together do not come together.
    static let pauses: [Double] = [5, 60, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400]

    /// The time of the next attempt after so many; `nil` if it is given up.
    static func nextAttempt(after attempts: Int, at time: Double, retryAfter: Double?, jitter: Double) -> Double? {
        guard attempts <= pauses.count, attempts > 0 else { return nil }
        // What the receiver asks for, within a day.
        let asked = retryAfter.map { $0.isFinite ? min(max($0, 0), 86_400) : 0 } ?? 0
        return time + max(pauses[attempts - 1] * (1 + jitter / 10), asked)
    }

    // MARK: Work

    func begin() async throws {
        if let last = try await deliveries.lastEvent() {
            number = last
        } else {
            number = try await store.lastEventNumber()
            try await deliveries.add([], upTo: number)
        }
    }

    func run() async throws {
        for await _ in changes.changes(orEvery: .seconds(1)).cancelOnGracefulShutdown() {
            do {
                try await collect()
                for record in try await deliveries.due(at: Clock.now, limit: 32)
                where sending.insert(record.id).inserted {
                    Task { await self.send(record) }
                }
                hasFailed = false
            } catch {
                if !hasFailed { logger.error("webhooks cannot be sent", metadata: ["error": "\(error)"]) }
                hasFailed = true
            }
        }
    }

    /// Makes reports of the events since the last time.
    private func collect() async throws {
        while true {
            let events = try await store.events(after: number, of: nil, limit: 500)
            guard let last = events.last else { return }
            var records: [DeliveryRecord] = []
            for event in events { if let record = try await report(of: event) { records.append(record) } }
            try await deliveries.add(records, upTo: last.number)
            number = last.number
            if events.count < 500 { return }
        }
    }

    private func report(of event: JobEvent) async throws -> DeliveryRecord? {
        let record: JobRecord
        do throws(StoreError) { record = try await store.job(event.job) } catch {
            // One that was deleted since has no reports.
            guard error.code == .notFound else { throw error }
            return nil
        }
        guard let request = try? JobRequest.decode(json: Array(record.job.request.utf8), mode: .response),
            let webhook = request.webhook
        else { return nil }
        let told = EventRoutes.event(event)
        guard let type = told.eventType, webhook.reportedEvents.contains(type) else { return nil }
        var data: JSONObject = ["job": .string(told.job), "number": .integer(event.number), "event": told.data]
        data["labels"] = record.job.labels.json
        data["failure"] = record.job.failure.map { JobView.failure($0).json }
        let body: JSONValue = ["type": .string("job.\(told.type)"), "timestamp": told.time.json, "data": .object(data)]
        return DeliveryRecord(
            id: "msg_\(event.job)_\(event.number)",
            job: event.job.rawValue,
            event: event.number,
            type: told.type,
            url: webhook.url,
            body: body.text,
            state: .waiting,
            attempts: 0,
            created: Clock.now,
            nextAttempt: Clock.now
        )
    }

    /// Sends a report again.
    ///
    /// - Throws: `APIError` `not-found`.
    func redeliver(_ id: String, ofJob job: String) async throws -> Delivery {
        guard var record = try await deliveries.list(ofJob: job).first(where: { $0.id == id }) else {
            throw APIError(.notFound, "The job has no such delivery", field: "deliveryID", value: .string(id))
        }
        guard !sending.contains(id) else {
            throw APIError(.invalidState, "The delivery is being sent", field: "deliveryID", value: .string(id))
        }
        record.state = .waiting
        record.nextAttempt = Clock.now
        record.attempts = 0
        try await deliveries.update(record)
        changes.send()
        return record.delivery
    }

    private func send(_ report: DeliveryRecord) async {
        var report = report
        report.attempts += 1
        report.lastAttempt = Clock.now
        var retryAfter: Double?
        do {
            let answer = try await post(report)
            report.status = answer.status
            report.error = nil
            retryAfter = answer.retryAfter
            switch answer.status {
            case 200..<300:
                report.state = .delivered
                report.delivered = Clock.now
            case 410:
                // The receiver wants no more.
                report.state = .failed
                report.error = "the receiver is gone (410)"
            default: report.error = "the receiver has answered \(answer.status)"
            }
        } catch let error as AddressRefusal {
            report.state = .failed
            report.error = error.description
        } catch {
            report.error = "\(error)"
        }
        report.nextAttempt = nil
        if report.state == .waiting {
            let jitter = Double.random(in: 0...1)
            report.nextAttempt = Self.nextAttempt(
                after: report.attempts,
                at: Clock.now,
                retryAfter: retryAfter,
                jitter: jitter
            )
            if report.nextAttempt == nil { report.state = .failed }
        }
        do { try await deliveries.update(report) } catch {
            logger.error(
                "the end of a delivery cannot be stored",
                metadata: ["id": "\(report.id)", "error": "\(error)"]
            )
        }
        logger.log(
            level: report.state == .delivered ? .debug : .notice,
            "webhook",
            metadata: [
                "id": "\(report.id)", "state": "\(report.state.rawValue)", "attempts": "\(report.attempts)",
                "error": "\(report.error ?? "none")",
            ]
        )
        sending.remove(report.id)
    }

    private func post(_ report: DeliveryRecord) async throws -> (status: Int, retryAfter: Double?) {
        let body = Array(report.body.utf8)
        let timestamp = Int(Clock.now)
        var request = HTTPClientRequest(url: report.url)
        request.method = .POST
        request.headers = [
            "content-type": "application/json", "user-agent": "vatoolbox",
            "webhook-id": report.id, "webhook-timestamp": "\(timestamp)",
            "webhook-signature": await secrets.signature(id: report.id, timestamp: timestamp, body: body),
        ]
        request.body = .bytes(ByteBuffer(bytes: body))
        return try await client.withClient(for: report.url) { client in
            let response = try await client.execute(request, timeout: .seconds(15))
            return (Int(response.status.code), response.headers.first(name: "retry-after").flatMap { Double($0) })
        }
    }
}
