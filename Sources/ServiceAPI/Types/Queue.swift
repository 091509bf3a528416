// SPDX-License-Identifier: GPL-2.0-or-later

/// A time of the week at which jobs of a queue may begin, in UTC.
public struct QueueWindow: APIObject {
    /// Days on which it begins, 1 (Monday) to 7 (Sunday).
    public var days: [Int] = []
    /// Minute of the day at which it begins.
    public var start = 0
    /// Length in minutes.
    public var length = 0

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "A time of the week at which jobs of a queue may begin, in UTC"
    package static let fields: Fields<Self> = [
        .required(
            "days",
            \.days,
            in: .list(1...7, of: .range(1...7)),
            "Days on which it begins, 1 (Monday) to 7 (Sunday)"
        ),
        .required("start", \.start, in: .range(0...1439), "Minute of the day at which it begins"),
        .required("length", \.length, in: .range(1...10080), "Length in minutes"),
    ]

    package func validate() throws(APIError) {
        guard Set(days).count == days.count else {
            throw Self.rejection("days", "A day occurs twice", value: days.json, allowed: "different days")
        }
    }
}

/// The move of a job to another queue after waiting too long.
public struct QueueHop: APIObject {
    /// Seconds that a job may wait.
    public var after = 0.0
    /// The other queue.
    public var queue = ""

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "The move of a job to another queue after waiting too long"
    package static let fields: Fields<Self> = [
        .required("after", \.after, in: .range(0...31_536_000), "Seconds that a job may wait"),
        .required("queue", \.queue, in: .text(1...64, .name), "The other queue"),
    ]
}

/// The settings of a queue.
public struct QueueRequest: APIObject {
    /// Whether no task begins; those that run go on.
    public var paused = false
    /// Most tasks that run at a time.
    public var mostRunning: Int?
    /// When tasks may begin; always, if there are none.
    public var windows: [QueueWindow] = []
    /// Where jobs move after waiting too long.
    public var hop: QueueHop?
    /// Weights of shares; 1 for all others.
    public var weights: [String: Double] = [:]

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "The settings of a queue"
    package static let fields: Fields<Self> = [
        .defaulted("paused", \.paused, "Whether no task begins; those that run go on"),
        .optional("mostRunning", \.mostRunning, in: .range(1...1_000_000), "Most tasks that run at a time"),
        .defaulted("windows", \.windows, in: .list(0...64), "When tasks may begin; always, if there are none"),
        .optional("hop", \.hop, "Where jobs move after waiting too long"),
        .defaulted(
            "weights",
            \.weights,
            in: .map(0...1000, keys: .line(0...64), values: .range(0.001...1000)),
            "Weights of shares; 1 for all others"
        ),
    ]
}

/// A queue: its settings, and how many tasks are in it.
public struct QueueObject: APIObject {
    /// Name.
    public var name = ""
    package var settings = QueueRequest()
    /// Tasks that wait.
    public var waiting = 0
    /// Tasks that run.
    public var running = 0

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let typeName = "Queue"
    package static let summary = "A queue: its settings, and how many tasks are in it"
    package static let fields: Fields<Self> = .joined(
        [.required("name", \.name, in: .text(1...64, .name), "Name")],
        QueueRequest.fields.inlined(at: \.settings),
        [
            .required("waiting", \.waiting, in: .count, "Tasks that wait"),
            .required("running", \.running, in: .count, "Tasks that run"),
        ]
    )
}

/// Queues.
public struct QueueList: APIObject {
    /// The queues, by name.
    public var queues: [QueueObject] = []

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "Queues"
    package static let fields: Fields<Self> = [.required("queues", \.queues, "The queues, by name")]
}
