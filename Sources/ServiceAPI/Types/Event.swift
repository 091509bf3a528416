// SPDX-License-Identifier: GPL-2.0-or-later

/// The kind of an event.
public enum EventType: String, APIEnum {
    /// The job waits for a worker: it was submitted, a task goes on after a failure, or the job is retried.
    case waiting
    /// The first of its tasks runs.
    case started
    /// A worker has begun a task.
    case attemptStarted = "attempt-started"
    /// A worker has failed at a task.
    case attemptFailed = "attempt-failed"
    /// The worker was not heard of in time.
    case attemptLost = "attempt-lost"
    /// The worker has given the task back, because it ends.
    case attemptReleased = "attempt-released"
    /// A worker has ended a task because the job is cancelled.
    case attemptCancelled = "attempt-cancelled"
    /// The results of a task are published.
    case outputReady = "output-ready"
    /// The job will be cancelled.
    case cancelRequested = "cancel-requested"
    /// The job was moved to another queue.
    case moved
    /// All outputs are published.
    case succeeded
    /// The job has failed.
    case failed
    /// The job is cancelled.
    case cancelled
    /// How far the job is. It is told in streams only, has no number, and is not repeated.
    case progress
}

/// What happened to a job.
public struct Event: APIObject {
    /// Number, which increases from event to event.
    public var number = 0
    /// When.
    public var time = Timestamp()
    /// ID of the job.
    public var job = ""
    /// Type; more may be added: ….joined(separator: )).
    public var type = ""
    /// Details, which depend on the type.
    public var data: JSONValue = .object([:])

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "What happened to a job"
    package static let fields: Fields<Self> = [
        .required("number", \.number, in: .count, "Number, which increases from event to event"),
        .required("time", \.time, "When"),
        .required("job", \.job, "ID of the job"),
        .required(
            "type",
            \.type,
            "Type; more may be added: \(EventType.allCases.map(\.rawValue).joined(separator: ", "))"
        ),
        .required("data", \.data, "Details, which depend on the type"),
    ]

    /// The type, unless it is one that this version does not know.
    public var eventType: EventType? { EventType(rawValue: type) }
}

/// Events.
public struct EventList: APIObject {
    /// The events, in their order.
    public var events: [Event] = []

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "Events"
    package static let fields: Fields<Self> = [.required("events", \.events, "The events, in their order")]
}
