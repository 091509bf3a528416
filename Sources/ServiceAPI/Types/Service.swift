// SPDX-License-Identifier: GPL-2.0-or-later

/// What answers, and where its resources are.
public struct ServiceInfo: APIObject {
    /// Version of the service.
    public var version = ""
    /// Version of the API.
    public var api = "1"
    /// Paths of resources by name.
    public var links: [String: String] = [:]

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "What answers, and where its resources are"
    package static let fields: Fields<Self> = [
        .required("version", \.version, "Version of the service"),
        .required("api", \.api, "Version of the API"),
        .required("links", \.links, "Paths of resources by name"),
    ]
}

/// An encoder on the CPU.
public struct SoftwareEncoder: APIObject {
    /// Name, such as x264.
    public var name = ""
    /// H264 or hevc.
    public var codec = ""

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "An encoder on the CPU"
    package static let fields: Fields<Self> = [
        .required("name", \.name, "Name, such as x264"),
        .required("codec", \.codec, "h264 or hevc"),
    ]
}

/// A render node, and whether its GPU encodes.
public struct Device: APIObject {
    /// Path of the render node.
    public var node = ""
    /// Driver in the kernel.
    public var kernelDriver: String?
    /// PCI address.
    public var pciAddress: String?
    /// Whether jobs can use it.
    public var usable = false
    /// Name of the VA-API driver.
    public var driver: String?
    /// What the driver says about itself.
    public var vendor: String?
    /// Profiles that it encodes.
    public var encodes: [String] = []
    /// Profiles that it decodes.
    public var decodes: [String] = []
    /// Cause, if it cannot be used.
    public var cause: String?
    /// The facts behind the cause.
    public var explanation: String?
    /// What helps, the most likely first.
    public var remedies: [String] = []
    /// When it may be used again after repeated failures.
    public var suspended: Timestamp?
    /// Sessions that use it now.
    public var sessions = 0

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "A render node, and whether its GPU encodes"
    package static let fields: Fields<Self> = [
        .required("node", \.node, "Path of the render node"),
        .optional("kernelDriver", \.kernelDriver, "Driver in the kernel"),
        .optional("pciAddress", \.pciAddress, "PCI address"),
        .required("usable", \.usable, "Whether jobs can use it"),
        .optional("driver", \.driver, "Name of the VA-API driver"),
        .optional("vendor", \.vendor, "What the driver says about itself"),
        .required("encodes", \.encodes, "Profiles that it encodes"),
        .required("decodes", \.decodes, "Profiles that it decodes"),
        .optional("cause", \.cause, "Cause, if it cannot be used"),
        .optional("explanation", \.explanation, "The facts behind the cause"),
        .required("remedies", \.remedies, "What helps, the most likely first"),
        .optional("suspended", \.suspended, "When it may be used again after repeated failures"),
        .required("sessions", \.sessions, in: .count, "Sessions that use it now"),
    ]
}

/// Why there is no usable GPU at all.
public struct Absence: APIObject {
    /// Cause.
    public var cause = ""
    /// The facts behind the cause.
    public var explanation = ""
    /// What helps, the most likely first.
    public var remedies: [String] = []

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "Why there is no usable GPU at all"
    package static let fields: Fields<Self> = [
        .required("cause", \.cause, "Cause"),
        .required("explanation", \.explanation, "The facts behind the cause"),
        .required("remedies", \.remedies, "What helps, the most likely first"),
    ]
}

/// What this node encodes with.
public struct Capabilities: APIObject {
    /// Version of the service.
    public var version = ""
    /// When the devices were examined.
    public var checkedAt = Timestamp()
    /// Encoders on the CPU.
    public var softwareEncoders: [SoftwareEncoder] = []
    /// Render nodes, by number.
    public var devices: [Device] = []
    /// Why no GPU can be used.
    public var absence: Absence?

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "What this node encodes with"
    package static let fields: Fields<Self> = [
        .required("version", \.version, "Version of the service"),
        .required("checkedAt", \.checkedAt, "When the devices were examined"),
        .required("softwareEncoders", \.softwareEncoders, "Encoders on the CPU"),
        .required("devices", \.devices, "Render nodes, by number"),
        .optional("absence", \.absence, "Why no GPU can be used"),
    ]
}

/// The disk space of a node.
public struct DiskStatus: APIObject {
    /// Free bytes.
    public var free = 0
    /// Size in bytes.
    public var total = 0
    /// Free bytes below which no task begins.
    public var watermark = 0
    /// Whether less is free.
    public var low = false

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "The disk space of a node"
    package static let fields: Fields<Self> = [
        .required("free", \.free, in: .count, "Free bytes"),
        .required("total", \.total, in: .count, "Size in bytes"),
        .required("watermark", \.watermark, in: .count, "Free bytes below which no task begins"),
        .required("low", \.low, "Whether less is free"),
    ]
}

/// The memory of a node.
public struct MemoryStatus: APIObject {
    /// Bytes that programs can still get.
    public var available = 0
    /// Size in bytes.
    public var total = 0

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "The memory of a node"
    package static let fields: Fields<Self> = [
        .required("available", \.available, in: .count, "Bytes that programs can still get"),
        .required("total", \.total, in: .count, "Size in bytes"),
    ]
}

/// The processors of a node.
public struct ProcessorStatus: APIObject {
    /// How many the service may use, such as 1.5 in a container with a quota.
    public var count = 0.0
    /// The share of them that any program kept busy in the last three seconds.
    public var busy: Double?

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "The processors of a node"
    package static let fields: Fields<Self> = [
        .required("count", \.count, "How many the service may use, such as 1.5 in a container with a quota"),
        .optional(
            "busy",
            \.busy,
            in: .range(0...1),
            "The share of them that any program kept busy in the last three seconds"
        ),
    ]
}

/// How busy the engines of a kind are, in a GPU.
public struct EngineLoad: APIObject {
    /// Path of the render node.
    public var node = ""
    /// The kernel's name, such as video.
    public var name = ""
    /// The share of them that processes of the service kept busy in the last three seconds.
    public var busy = 0.0

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "How busy the engines of a kind are, in a GPU"
    package static let fields: Fields<Self> = [
        .required("node", \.node, "Path of the render node"),
        .required("name", \.name, "The kernel's name, such as video"),
        .required(
            "busy",
            \.busy,
            in: .range(0...1),
            "Share of them that the service kept busy in the last three seconds"
        ),
    ]
}

/// What a node does.
public struct NodeStatus: APIObject {
    /// Version of the service.
    public var version = ""
    /// When it started.
    public var startedAt = Timestamp()
    /// Whether it begins no tasks.
    public var draining = false
    /// Tasks that run.
    public var running = 0
    /// Tasks that wait.
    public var waiting = 0
    /// Disk space.
    public var disk = DiskStatus()
    /// Memory.
    public var memory = MemoryStatus()
    /// Load average of the last minute.
    public var load = 0.0
    /// Processors.
    public var processors = ProcessorStatus()
    /// The engines of GPUs that tasks or streams use, if the kernel driver tells of them.
    public var engines: [EngineLoad] = []

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "What a node does"
    package static let fields: Fields<Self> = [
        .required("version", \.version, "Version of the service"),
        .required("startedAt", \.startedAt, "When it started"),
        .required("draining", \.draining, "Whether it begins no tasks"),
        .required("running", \.running, in: .count, "Tasks that run"),
        .required("waiting", \.waiting, in: .count, "Tasks that wait"),
        .required("disk", \.disk, "Disk space"),
        .required("memory", \.memory, "Memory"),
        .required("load", \.load, "Load average of the last minute"),
        .required("processors", \.processors, "Processors"),
        .required(
            "engines",
            \.engines,
            "Engines of GPUs that tasks or streams use, if the kernel driver tells"
        ),
    ]
}
