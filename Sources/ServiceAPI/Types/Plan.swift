// SPDX-License-Identifier: GPL-2.0-or-later

/// What a job would do.
public struct Plan: APIObject {
    /// The request, with the outputs of its preset and all defaults.
    public var request = JobRequest()
    /// The tasks, in their order.
    public var tasks: [PlannedTask] = []
    /// The encoder that would be chosen now.
    public var encoder: PlannedEncoder?
    /// What the input contains.
    public var input = MediaReport()
    /// Time and size, if they can be estimated.
    public var estimate: Estimate?
    /// How the qualities of outputs with a target were found.
    public var targets: [PlannedTarget] = []
    /// What would differ from the request, and what would be lost.
    public var warnings: [String] = []

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "What a job would do"
    package static let fields: Fields<Self> = [
        .required("request", \.request, "The request, with the outputs of its preset and all defaults"),
        .required("tasks", \.tasks, "The tasks, in their order"),
        .optional("encoder", \.encoder, "The encoder that would be chosen now"),
        .required("input", \.input, "What the input contains"),
        .optional("estimate", \.estimate, "Time and size, if they can be estimated"),
        .required("targets", \.targets, "How the qualities of outputs with a target were found"),
        .required("warnings", \.warnings, "What would differ from the request, and what would be lost"),
    ]
}

/// A task of a planned job.
public struct PlannedTask: APIObject {
    /// Index.
    public var index = 0
    /// Indices of its outputs in the request.
    public var outputs: [Int] = []
    /// Kind.
    public var kind = ""
    /// Arguments of the command that it runs.
    public var command: [String] = []

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "A task of a planned job"
    package static let fields: Fields<Self> = [
        .required("index", \.index, in: .count, "Index"),
        .required("outputs", \.outputs, in: .list(1...32, of: .count), "Indices of its outputs in the request"),
        .required("kind", \.kind, "Kind"),
        .required("command", \.command, "Arguments of the command that it runs"),
    ]
}

/// How the quality of a planned output was found.
public struct PlannedTarget: APIObject {
    /// Index of the output in the request.
    public var output = 0
    /// What was found and predicted.
    public var result = TargetResult()

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "How the quality of a planned output was found"
    package static let fields: Fields<Self> = [
        .required("output", \.output, in: .count, "Index of the output in the request"),
        .required("result", \.result, "What was found and predicted"),
    ]
}

/// The encoder that a job would use now.
public struct PlannedEncoder: APIObject {
    /// Name.
    public var name = ""
    /// H264 or hevc.
    public var codec = ""
    /// Render node; none for the CPU.
    public var device: String?
    /// Why this encoder would be chosen.
    public var reason = ""

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "The encoder that a job would use now"
    package static let fields: Fields<Self> = [
        .required("name", \.name, "Name"),
        .required("codec", \.codec, "h264 or hevc"),
        .optional("device", \.device, "Render node; none for the CPU"),
        .required("reason", \.reason, "Why this encoder would be chosen"),
    ]
}

/// What a job will take.
public struct Estimate: APIObject {
    /// Seconds.
    public var duration = 0.0
    /// Bytes of all results.
    public var size = 0

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "What a job will take"
    package static let fields: Fields<Self> = [
        .required("duration", \.duration, "Seconds"),
        .required("size", \.size, in: .count, "Bytes of all results"),
    ]
}
