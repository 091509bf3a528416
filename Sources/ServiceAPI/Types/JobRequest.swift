// SPDX-License-Identifier: GPL-2.0-or-later

/// Whether interlaced video is deinterlaced.
public enum Deinterlacing: String, APIEnum {
    /// If the input says that it is interlaced.
    case auto
    /// Both fields of a frame stay in it.
    case off
}

/// What happens to a result if part of the input could not be read.
public enum DamagedInput: String, APIEnum {
    /// Nothing is published, and the job fails.
    case fail
    /// The result is published, and the job has a warning.
    case accept
}

/// Where an input comes from.
public enum InputSource: Sendable, Hashable {
    /// An upload, by ID or name.
    case upload(String)
    /// A file below a media root: `ROOT/relative/path`.
    case path(String)
    /// A file on a server: `http` or `https`.
    case url(String)
    /// A file in a store.
    case object(S3Object)

    /// The source for lists and logs: of a URL without user, password, query and fragment, which may be secret.
    public var publicText: String {
        guard case .url(let url) = self else {
            switch self {
            case .upload(let text), .path(let text), .url(let text): return text
            case .object(let object): return object.text
            }
        }
        let bytes = Array(url.utf8)
        guard let slashes = bytes.firstIndex(of: UInt8(ascii: "/")), bytes.count > slashes + 2 else { return "" }
        let start = slashes + 2
        let end = bytes[start...].firstIndex { "?#".utf8.contains($0) } ?? bytes.endIndex
        let authorityEnd = bytes[start..<end].firstIndex(of: UInt8(ascii: "/")) ?? end
        let hostStart = bytes[start..<authorityEnd].lastIndex(of: UInt8(ascii: "@")).map { $0 + 1 } ?? start
        return String(decoding: bytes[..<start] + bytes[hostStart..<end], as: UTF8.self)
    }
}

/// The input of a job: exactly one of `upload`, `path`, `url` and `s3`, and how it is read.
public struct Input: APIObject {
    /// ID or name of an upload.
    public var upload: String?
    /// ROOT/relative/path, below the media root ROOT.
    public var path: String?
    /// URL of http or https.
    public var url: String?
    /// A file in a store of the S3 protocol.
    public var s3: S3Object?
    /// Seconds to skip at the beginning.
    public var start: Double?
    /// Seconds to read from there on.
    public var duration: Double?
    /// FFmpeg's name of the format, if it is not recognised.
    public var format: String?
    /// Frame rate of a raw stream, such as 30000/1001.
    public var frameRate: String?
    /// Whether interlaced video is deinterlaced.
    public var deinterlace = Deinterlacing.auto

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    /// Makes an input.
    public init(_ source: InputSource) {
        switch source {
        case .upload(let name): upload = name
        case .path(let path): self.path = path
        case .url(let url): self.url = url
        case .object(let object): s3 = object
        }
    }

    package static let summary = "The input of a job: exactly one of upload, path, url and s3, and how it is read"
    package static let fields: Fields<Self> = [
        .optional("upload", \.upload, in: .text(1...200, .fileName), "ID or name of an upload"),
        .optional("path", \.path, in: .text(3...4096, .mediaPath), "ROOT/relative/path, below the media root ROOT"),
        .optional("url", \.url, in: .text(8...8192, .webAddress), "URL of http or https"),
        .optional("s3", \.s3, "A file in a store of the S3 protocol"),
        .optional("start", \.start, in: .range(0...1_000_000_000), "Seconds to skip at the beginning"),
        .optional("duration", \.duration, in: .positive(upTo: 1_000_000_000), "Seconds to read from there on"),
        .optional(
            "format",
            \.format,
            in: .text(1...64, .formatName),
            "FFmpeg's name of the format, if it is not recognised"
        ),
        .optional(
            "frameRate",
            \.frameRate,
            in: .text(1...26, .frameRate),
            "Frame rate of a raw stream, such as 30000/1001"
        ),
        .defaulted("deinterlace", \.deinterlace, "Whether interlaced video is deinterlaced"),
    ]
    package static let furtherSchema: JSONObject = [
        "oneOf": [["required": ["upload"]], ["required": ["path"]], ["required": ["url"]], ["required": ["s3"]]]
    ]
    package static let example: Self? = Self(.path("media/films/film.mov"))

    /// Where it comes from. Of several sources, which are not valid, the first one counts.
    public var source: InputSource? {
        if let upload { return .upload(upload) }
        if let path { return .path(path) }
        if let url { return .url(url) }
        return s3.map { .object($0) }
    }

    package func validate() throws(APIError) {
        let given = [("upload", upload?.json), ("path", path?.json), ("url", url?.json), ("s3", s3?.json)]
            .filter { $0.1 != nil }
        guard let first = given.first else {
            throw APIError(
                .missingField,
                "The input has no source",
                allowed: "exactly one of upload, path, url, s3",
                remedies: ["Add one of `upload`, `path`, `url` and `s3`."]
            )
        }
        guard given.count == 1 else {
            throw Self.rejection(
                given[1].0,
                "The input has \(given.count) sources",
                value: given[1].1,
                allowed: "exactly one of upload, path, url, s3",
                remedies: ["Remove all but one, such as `\(first.0)`."]
            )
        }
        if let frameRate, let allowed = FrameRate.violation(of: frameRate) {
            throw Self.rejection("frameRate", "The frame rate is out of range", value: frameRate.json, allowed: allowed)
        }
    }
}

/// Where the service reports events of a job.
public struct WebhookTarget: APIObject {
    /// URL of http or https.
    public var url = ""
    /// The events; by default succeeded, failed and cancelled.
    public var events: [EventType]?

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "Where the service reports events of a job"
    package static let fields: Fields<Self> = [
        .required("url", \.url, in: .text(8...2048, .webAddress), "URL of http or https"),
        .optional("events", \.events, in: .list(1...16), "The events; by default succeeded, failed and cancelled"),
    ]

    /// The events to report.
    public var reportedEvents: [EventType] { events ?? [.succeeded, .failed, .cancelled] }
}

/// What follows an attempt that was lost on a GPU.
public enum LossPolicy: String, APIEnum {
    /// The other GPUs, then the CPU.
    case nextDevice
    /// The CPU.
    case software
}

/// A job to run.
public struct JobRequest: APIObject {
    /// The input.
    public var input = Input()
    /// The outputs, at least one unless a preset has them.
    public var outputs: [Output] = []
    /// NAME or NAME@VERSION of stored outputs.
    public var preset: String?
    /// The queue.
    public var queue = "default"
    /// Jobs of higher priority run first.
    public var priority = 50
    /// Whose job it is; within a priority, shares take fair turns.
    public var share = ""
    /// Any texts by which jobs are found.
    public var labels: [String: String] = [:]
    /// Auto, software, a render node or a PCI address.
    public var device = "auto"
    /// Fail instead of encoding on the CPU.
    public var requireHardware = false
    /// What follows an attempt that was lost on a GPU: its process crashed or made no progress.
    public var afterLoss = LossPolicy.nextDevice
    /// Seconds that each attempt may take.
    public var timeLimit: Double?
    /// Seconds that results are kept after the end.
    public var retention = 2_592_000.0
    /// How often each task is tried.
    public var attempts = 3
    /// Whether a result is published if part of the input was unreadable.
    public var damagedInput = DamagedInput.fail
    /// Where events are reported.
    public var webhook: WebhookTarget?
    /// Where results are copied to.
    public var destination: Destination?

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "A job to run"
    package static let fields: Fields<Self> = [
        .required("input", \.input, "The input"),
        .defaulted("outputs", \.outputs, in: .list(0...32), "The outputs, at least one unless a preset has them"),
        .optional("preset", \.preset, in: .text(1...74, .presetReference), "NAME or NAME@VERSION of stored outputs"),
        .defaulted("queue", \.queue, in: .text(1...64, .name), "The queue"),
        .defaulted("priority", \.priority, in: .range(0...100), "Jobs of higher priority run first"),
        .defaulted("share", \.share, in: .line(0...64), "Whose job it is; within a priority, shares take fair turns"),
        .defaulted("labels", \.labels, in: labelRule, "Any texts by which jobs are found"),
        .defaulted("device", \.device, in: .text(4...256, .device), "auto, software, a render node or a PCI address"),
        .defaulted("requireHardware", \.requireHardware, "Fail instead of encoding on the CPU"),
        .defaulted(
            "afterLoss",
            \.afterLoss,
            "What follows an attempt that was lost on a GPU: its process crashed or made no progress"
        ),
        .optional("timeLimit", \.timeLimit, in: .range(1...2_592_000), "Seconds that each attempt may take"),
        .defaulted(
            "retention",
            \.retention,
            in: .range(60...31_536_000),
            "Seconds that results are kept after the end"
        ),
        .defaulted("attempts", \.attempts, in: .range(1...10), "How often each task is tried"),
        .defaulted("damagedInput", \.damagedInput, "Whether a result is published if part of the input was unreadable"),
        .optional("webhook", \.webhook, "Where events are reported"),
        .optional("destination", \.destination, "Where results are copied to"),
    ]
    package static let furtherSchema: JSONObject = [
        "anyOf": [["required": ["preset"]], ["required": ["outputs"], "properties": ["outputs": ["minItems": 1]]]]
    ]

    /// The rule of labels: up to 32 keys of up to 64 characters, with values of up to 256 characters.
    package static let labelRule: Rule<[String: String]> = .map(
        0...32,
        keys: .text(1...64, .labelKey),
        values: .line(0...256)
    )

    package static let example: Self? = Self {
        $0.input = Input(.path("media/films/film.mov"))
        $0.outputs = [
            Output {
                $0.name = "film.mp4"
                $0.video.bitRate = 5_000_000
                $0.audio.codec = .aac
            }
        ]
        $0.labels = ["project": "trailer"]
    }

    package func validate() throws(APIError) {
        guard preset != nil || !outputs.isEmpty else {
            throw APIError(
                .missingField,
                "The job has no outputs",
                allowed: "1...32 outputs, or a preset",
                remedies: ["Add at least one output, or name a `preset`."]
            )
            .within("outputs")
        }
        if requireHardware, device == "software" {
            throw Self.rejection(
                "requireHardware",
                "The device is the CPU",
                value: true,
                allowed: "not with the device software"
            )
        }
        try Self.checkNames(of: outputs)
    }

    /// Checks that no output would take the place of another one.
    ///
    /// - Throws: `invalid-request` at the name of the second one, relative to the object with the outputs.
    package static func checkNames(of outputs: [Output]) throws(APIError) {
        var taken: Set<String> = []
        for (index, output) in outputs.enumerated() {
            var names = [output.name]
            if output.kind == .hls { names.append(output.stem) }
            if output.dash { names.append(output.stem + ".mpd") }
            for name in names where !taken.insert(name.lowercased()).inserted {
                throw Output.rejection(
                    "name",
                    "Another output has the name \(name), too",
                    value: output.name.json,
                    allowed: "names that differ in more than upper and lower case"
                )
                .within("\(index)").within("outputs")
            }
        }
    }
}
