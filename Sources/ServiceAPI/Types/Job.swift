// SPDX-License-Identifier: GPL-2.0-or-later

/// The state of a job or an output.
public enum JobState: String, APIEnum {
    /// It waits for a worker, or for another attempt.
    case waiting
    /// At least one of its tasks runs.
    case running
    /// All outputs are published.
    case succeeded
    /// It has failed, and is not tried again.
    case failed
    /// It was cancelled.
    case cancelled

    /// Whether it does not change any more, unless the job is retried.
    public var isFinal: Bool { self == .succeeded || self == .failed || self == .cancelled }
}

/// A job: what was asked, how far it is, and its results.
public struct Job: APIObject {
    /// ID.
    public var id = ""
    /// State.
    public var state = JobState.waiting
    /// Whether it was cancelled, even if it still runs.
    public var cancelRequested = false
    /// Queue, which may have changed since the request.
    public var queue = ""
    /// Priority.
    public var priority = 0
    /// Whose job it is.
    public var share = ""
    /// Labels.
    public var labels: [String: String] = [:]
    /// The request, with the outputs of its preset and all defaults.
    public var request = JobRequest()
    /// When it was submitted.
    public var createdAt = Timestamp()
    /// When its first attempt began.
    public var startedAt: Timestamp?
    /// When it ended.
    public var endedAt: Timestamp?
    /// When it and its files will be deleted.
    public var expiresAt: Timestamp?
    /// When the time limit of the present attempt ends.
    public var deadline: Timestamp?
    /// How far it is, while it runs.
    public var progress: Progress?
    /// The outputs, in the order of the request.
    public var outputs: [OutputState] = []
    /// The attempts at its tasks, in their order.
    public var attempts: [AttemptInfo] = []
    /// How far the results are on the way to their destination.
    public var deliveredTo: DestinationState?
    /// Why it failed.
    public var failure: FailureInfo?
    /// Why it waits.
    public var waiting: WaitingReason?
    /// What differs from the request, and what was lost.
    public var warnings: [String] = []

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "A job: what was asked, how far it is, and its results"
    package static let fields: Fields<Self> = [
        .required("id", \.id, in: .text(26...26, .identifier), "ID"),
        .required("state", \.state, "State"),
        .required("cancelRequested", \.cancelRequested, "Whether it was cancelled, even if it still runs"),
        .required("queue", \.queue, "Queue, which may have changed since the request"),
        .required("priority", \.priority, in: .range(0...100), "Priority"),
        .required("share", \.share, "Whose job it is"),
        .required("labels", \.labels, "Labels"),
        .required("request", \.request, "The request, with the outputs of its preset and all defaults"),
        .required("createdAt", \.createdAt, "When it was submitted"),
        .optional("startedAt", \.startedAt, "When its first attempt began"),
        .optional("endedAt", \.endedAt, "When it ended"),
        .optional("expiresAt", \.expiresAt, "When it and its files will be deleted"),
        .optional("deadline", \.deadline, "When the time limit of the present attempt ends"),
        .optional("progress", \.progress, "How far it is, while it runs"),
        .required("outputs", \.outputs, "The outputs, in the order of the request"),
        .required("attempts", \.attempts, "The attempts at its tasks, in their order"),
        .optional("deliveredTo", \.deliveredTo, "How far the results are on the way to their destination"),
        .optional("failure", \.failure, "Why it failed"),
        .optional("waiting", \.waiting, "Why it waits"),
        .required("warnings", \.warnings, "What differs from the request, and what was lost"),
    ]
}

/// An output of a job in a list.
public struct OutputSummary: APIObject {
    /// Index in the request.
    public var index = 0
    /// Kind.
    public var kind = OutputKind.file
    /// Name.
    public var name = ""
    /// State.
    public var state = JobState.waiting

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "An output of a job in a list"
    package static let fields: Fields<Self> = [
        .required("index", \.index, in: .count, "Index in the request"),
        .required("kind", \.kind, "Kind"),
        .required("name", \.name, "Name"),
        .required("state", \.state, "State"),
    ]
}

/// A job in a list.
public struct JobSummary: APIObject {
    /// ID.
    public var id = ""
    /// State.
    public var state = JobState.waiting
    /// Whether it was cancelled, even if it still runs.
    public var cancelRequested = false
    /// Queue.
    public var queue = ""
    /// Priority.
    public var priority = 0
    /// Whose job it is.
    public var share = ""
    /// Labels.
    public var labels: [String: String] = [:]
    /// The input: an upload, a path, or a URL without its query.
    public var input = ""
    /// When it was submitted.
    public var createdAt = Timestamp()
    /// When its first attempt began.
    public var startedAt: Timestamp?
    /// When it ended.
    public var endedAt: Timestamp?
    /// When it and its files will be deleted.
    public var expiresAt: Timestamp?
    /// When the time limit of the present attempt ends.
    public var deadline: Timestamp?
    /// How far it is, while it runs.
    public var progress: Progress?
    /// The outputs, in the order of the request.
    public var outputs: [OutputSummary] = []
    /// Why it failed.
    public var failure: FailureInfo?
    /// Why it waits.
    public var waiting: WaitingReason?
    /// What differs from the request, and what was lost.
    public var warnings: [String] = []

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "A job in a list"
    package static let fields: Fields<Self> = [
        .required("id", \.id, in: .text(26...26, .identifier), "ID"),
        .required("state", \.state, "State"),
        .required("cancelRequested", \.cancelRequested, "Whether it was cancelled, even if it still runs"),
        .required("queue", \.queue, "Queue"),
        .required("priority", \.priority, in: .range(0...100), "Priority"),
        .required("share", \.share, "Whose job it is"),
        .required("labels", \.labels, "Labels"),
        .required("input", \.input, "The input: an upload, a path, or a URL without its query"),
        .required("createdAt", \.createdAt, "When it was submitted"),
        .optional("startedAt", \.startedAt, "When its first attempt began"),
        .optional("endedAt", \.endedAt, "When it ended"),
        .optional("expiresAt", \.expiresAt, "When it and its files will be deleted"),
        .optional("deadline", \.deadline, "When the time limit of the present attempt ends"),
        .optional("progress", \.progress, "How far it is, while it runs"),
        .required("outputs", \.outputs, "The outputs, in the order of the request"),
        .optional("failure", \.failure, "Why it failed"),
        .optional("waiting", \.waiting, "Why it waits"),
        .required("warnings", \.warnings, "What differs from the request, and what was lost"),
    ]

    /// The summary of a job.
    package init(_ job: Job) {
        self.init()
        id = job.id
        state = job.state
        cancelRequested = job.cancelRequested
        queue = job.queue
        priority = job.priority
        share = job.share
        labels = job.labels
        input = job.request.input.source?.publicText ?? ""
        createdAt = job.createdAt
        startedAt = job.startedAt
        endedAt = job.endedAt
        expiresAt = job.expiresAt
        deadline = job.deadline
        progress = job.progress
        outputs = job.outputs.map { output in
            OutputSummary {
                $0.index = output.index
                $0.kind = output.kind
                $0.name = output.name
                $0.state = output.state
            }
        }
        failure = job.failure
        waiting = job.waiting
        warnings = job.warnings
    }
}

/// A page of jobs.
public struct JobList: APIObject {
    /// The jobs, the newest first.
    public var jobs: [JobSummary] = []
    /// The cursor of the next page, if there is one.
    public var nextCursor: String?

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "A page of jobs"
    package static let fields: Fields<Self> = [
        .required("jobs", \.jobs, "The jobs, the newest first"),
        .optional("nextCursor", \.nextCursor, "The cursor of the next page, if there is one"),
    ]
}
