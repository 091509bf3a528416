// SPDX-License-Identifier: GPL-2.0-or-later

internal import HostSystem
internal import Hummingbird
internal import JobStore
internal import ServiceAPI
internal import Synchronization

/// Counts requests, for `/metrics`.
final class RequestCounter: Sendable {
    /// The upper bounds of the times of answers, in seconds.
    static let bounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]

    struct Counts: Sendable, Hashable {
        /// By method and class of status, such as `GET 2xx`.
        var requests: [String: Int] = [:]
        /// How many answers took at most the bound; the last one counts all.
        var buckets = [Int](repeating: 0, count: bounds.count + 1)
        var seconds = 0.0
    }

    private let state = Mutex(Counts())

    /// Methods that are counted by name. Clients may invent others, and each would be a series for ever.
    private static let methods: Set = ["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"]

    func add(method: String, status: Int, seconds: Double) {
        let method = Self.methods.contains(method) ? method : "other"
        state.withLock { counts in
            counts.requests["\(method) \(status / 100)xx", default: 0] += 1
            counts.seconds += seconds
            for (index, bound) in Self.bounds.enumerated() where seconds <= bound { counts.buckets[index] += 1 }
            counts.buckets[Self.bounds.count] += 1
        }
    }

    var counts: Counts { state.withLock { $0 } }
}

/// Counts what becomes of attempts, for `/metrics`.
final class AttemptCounter: Sendable {
    /// A series that begins with its first event does not show this event as an increase, so all begin with zero.
    private let state = Mutex(["succeeded": 0, "failed": 0, "released": 0, "lost": 0])

    func add(_ outcome: String) { state.withLock { $0[outcome, default: 0] += 1 } }
    var counts: [String: Int] { state.withLock { $0 } }
}

/// Measures the time until an answer begins.
struct CountingMiddleware: RouterMiddleware {
    typealias Context = ServiceContext
    let counter: RequestCounter

    func handle(
        _ request: Request,
        context: ServiceContext,
        next: (Request, ServiceContext) async throws -> Response
    ) async throws -> Response {
        let start = Clock.monotonic
        let response = try await next(request, context)
        counter.add(
            method: request.method.rawValue,
            status: Int(response.status.code),
            seconds: Clock.monotonic - start
        )
        return response
    }
}

/// The text format of Prometheus, version 0.0.4.
struct MetricsText {
    private(set) var text = ""

    /// Adds a metric with its values by labels.
    mutating func add(
        _ name: String,
        _ kind: String,
        _ help: String,
        _ values: [(labels: [(String, String)], value: Double)]
    ) {
        text += "# HELP vatoolbox_\(name) \(help)\n# TYPE vatoolbox_\(name) \(kind)\n"
        for entry in values { line(name, entry.labels, entry.value) }
    }

    mutating func line(_ name: String, _ labels: [(String, String)], _ value: Double) {
        let list = labels.map { "\($0)=\"\(Self.escaped($1))\"" }.joined(separator: ",")
        let number = value == value.rounded() && abs(value) < 1e15 ? "\(Int(value))" : "\(value)"
        text += "vatoolbox_\(name)\(list.isEmpty ? "" : "{\(list)}") \(number)\n"
    }

    private static func escaped(_ text: String) -> String {
        text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
    }
}

extension ServiceState {
    /// The counters and gauges of this node. What comes from the job store is left out while that cannot be used.
    func metrics() async throws -> String {
        var text = MetricsText()
        let status = await dispatcher.status
        let space = try await FileWork.run { [data] in try Files.space(data.path) }
        let memory = MemoryLimits.status()
        let queues = try? await store.queues()
        text.add("build_info", "gauge", "Version of the service", [([("version", version)], 1)])
        text.add("start_time_seconds", "gauge", "When the service started", [([], startedAt)])
        text.add("draining", "gauge", "Whether no task begins", [([], status.isDraining ? 1 : 0)])
        text.add(
            "store_usable",
            "gauge",
            "Whether the job store can be used",
            [([], queues != nil && status.storeFailure == nil ? 1 : 0)]
        )
        text.add("tasks_running", "gauge", "Tasks and streams that run on this node", [([], Double(status.running))])
        text.add(
            "tasks_limit",
            "gauge",
            "Largest number of tasks at a time, without streams",
            [([], Double(status.most))]
        )
        text.add(
            "queue_tasks",
            "gauge",
            "Tasks of a queue",
            (queues ?? []).flatMap { queue in
                [
                    ([("queue", queue.settings.name), ("state", "waiting")], Double(queue.ready)),
                    ([("queue", queue.settings.name), ("state", "running")], Double(queue.running)),
                ]
            }
        )
        text.add(
            "attempts_total",
            "counter",
            "Attempts at tasks that have ended since the start, by outcome",
            attempts.counts.sorted { $0.key < $1.key }.map { ([("outcome", $0.key)], Double($0.value)) }
        )
        let requests = counter.counts
        text.add(
            "http_requests_total",
            "counter",
            "Requests since the start",
            requests.requests.sorted { $0.key < $1.key }.map { key, count in
                let words = key.split(separator: " ").map(String.init)
                return ([("method", words[0]), ("status", words[1])], Double(count))
            }
        )
        text.add("http_request_duration_seconds", "histogram", "Time until an answer begins", [])
        for (index, bound) in RequestCounter.bounds.enumerated() {
            text.line("http_request_duration_seconds_bucket", [("le", "\(bound)")], Double(requests.buckets[index]))
        }
        let all = Double(requests.buckets[RequestCounter.bounds.count])
        text.line("http_request_duration_seconds_bucket", [("le", "+Inf")], all)
        text.line("http_request_duration_seconds_sum", [], requests.seconds)
        text.line("http_request_duration_seconds_count", [], all)
        text.add("disk_free_bytes", "gauge", "Free space of the data folder", [([], Double(space.free))])
        text.add("disk_size_bytes", "gauge", "Size of the file system of the data folder", [([], Double(space.total))])
        text.add(
            "disk_reserve_bytes",
            "gauge",
            "Free space below which no task begins",
            [([], Double(settings.diskReserve))]
        )
        text.add(
            "memory_available_bytes",
            "gauge",
            "Memory that programs can get",
            [([], Double(memory.available))]
        )
        text.add("memory_size_bytes", "gauge", "Memory of the machine or container", [([], Double(memory.total))])
        let load = capacity.load
        if let busy = load.processors {
            text.add(
                "processors_busy_ratio",
                "gauge",
                "Share of the processors that any program keeps busy",
                [([], busy)]
            )
        }
        text.add(
            "engine_busy_ratio",
            "gauge",
            "Share of the engines of a kind of a GPU that the service keeps busy",
            load.sortedEngines.map { ([("node", $0.node), ("engine", $0.name)], $0.busy) }
        )
        await text.add(live: live.active)
        if let devices = await devices.present {
            text.add(
                "device_usable",
                "gauge",
                "Whether tasks can use a GPU",
                devices.devices.map { ([("node", $0.node), ("driver", $0.driver ?? "")], $0.usable ? 1 : 0) }
            )
        }
        return text.text
    }
}
