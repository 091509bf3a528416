// SPDX-License-Identifier: GPL-2.0-or-later

/// What helps to find out what is wrong with a service, without secrets.
public struct SupportBundle: APIObject {
    /// When it was made.
    public var createdAt = Timestamp()
    /// The operating system and its kernel.
    public var system = ""
    /// The settings by their keys; of secrets, whether they are set.
    public var settings: [String: String] = [:]
    /// The state of the node.
    public var status = NodeStatus()
    /// The devices and encoders, with reasons.
    public var capabilities: Capabilities?
    /// The queues.
    public var queues: [QueueObject] = []
    /// The watched folders.
    public var watches: [Watch] = []
    /// The jobs that failed last.
    public var failedJobs: [JobSummary] = []
    /// The last lines of the log.
    public var log: [String] = []
    /// The metrics, as Prometheus reads them.
    public var metrics = ""

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "What helps to find out what is wrong with a service, without secrets"
    package static let fields: Fields<Self> = [
        .required("createdAt", \.createdAt, "When it was made"),
        .required("system", \.system, "The operating system and its kernel"),
        .required("settings", \.settings, "The settings by their keys; of secrets, whether they are set"),
        .required("status", \.status, "The state of the node"),
        .optional("capabilities", \.capabilities, "The devices and encoders, with reasons"),
        .required("queues", \.queues, "The queues"),
        .required("watches", \.watches, "The watched folders"),
        .required("failedJobs", \.failedJobs, "The jobs that failed last"),
        .required("log", \.log, "The last lines of the log"),
        .required("metrics", \.metrics, "The metrics, as Prometheus reads them"),
    ]
}
