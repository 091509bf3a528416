// SPDX-License-Identifier: GPL-2.0-or-later

/// What a running job does.
public enum Phase: String, APIEnum {
    /// A phase.
    case fetching, examining, measuring, searching, encoding, verifying, publishing
}

/// How far a job is.
public struct Progress: APIObject {
    /// What it does.
    public var phase = Phase.fetching
    /// Part of the work that is done.
    public var fraction: Double?
    /// Seconds of the output that are encoded.
    public var time: Double?
    /// Seconds that the output will have.
    public var expectedDuration: Double?
    /// Frames encoded per second.
    public var framesPerSecond: Double?
    /// Seconds of the output per second.
    public var speed: Double?
    /// Bit rate of the video so far in bit/s.
    public var bitRate: Int?
    /// Estimated seconds until the end.
    public var remaining: Double?
    /// When this was measured.
    public var updatedAt = Timestamp()

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "How far a job is"
    package static let fields: Fields<Self> = [
        .required("phase", \.phase, "What it does"),
        .optional("fraction", \.fraction, in: .range(0...1), "Part of the work that is done"),
        .optional("time", \.time, "Seconds of the output that are encoded"),
        .optional("expectedDuration", \.expectedDuration, "Seconds that the output will have"),
        .optional("framesPerSecond", \.framesPerSecond, "Frames encoded per second"),
        .optional("speed", \.speed, "Seconds of the output per second"),
        .optional("bitRate", \.bitRate, in: .count, "Bit rate of the video so far in bit/s"),
        .optional("remaining", \.remaining, "Estimated seconds until the end"),
        .required("updatedAt", \.updatedAt, "When this was measured"),
    ]
}

/// A file of the results.
public struct ResultFile: APIObject {
    /// Path within the results, such as show/720p/index.m3u8.
    public var path = ""
    /// Size in bytes.
    public var size = 0
    /// SHA-256 in hexadecimal.
    public var sha256 = ""
    /// Media type.
    public var type = ""
    /// Path of its URL.
    public var url = ""

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "A file of the results"
    package static let fields: Fields<Self> = [
        .required("path", \.path, "Path within the results, such as show/720p/index.m3u8"),
        .required("size", \.size, in: .count, "Size in bytes"),
        .required("sha256", \.sha256, "SHA-256 in hexadecimal"),
        .required("type", \.type, "Media type"),
        .required("url", \.url, "Path of its URL"),
    ]
}

/// The encoder of an output.
public struct EncoderInfo: APIObject {
    /// Name.
    public var name = ""
    /// H264 or hevc.
    public var codec = ""
    /// Profile.
    public var profile = ""
    /// Render node; none for the CPU.
    public var device: String?
    /// Driver of the GPU.
    public var driver: String?
    /// Why this encoder was chosen.
    public var reason = ""
    /// How often an encoder was replaced.
    public var switches = 0

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let typeName = "Encoder"
    package static let summary = "The encoder of an output"
    package static let fields: Fields<Self> = [
        .required("name", \.name, "Name"),
        .required("codec", \.codec, "h264 or hevc"),
        .required("profile", \.profile, "Profile"),
        .optional("device", \.device, "Render node; none for the CPU"),
        .optional("driver", \.driver, "Driver of the GPU"),
        .required("reason", \.reason, "Why this encoder was chosen"),
        .required("switches", \.switches, in: .count, "How often an encoder was replaced"),
    ]
}

/// What the verification of an output found.
public struct Verification: APIObject {
    /// Number of frames.
    public var frames = 0
    /// Frames that were compared with the input.
    public var comparedFrames = 0
    /// Audio tracks that were checked.
    public var audioTracks = 0
    /// The PSNR, if it was asked for.
    public var psnr: PSNR?

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    /// The luma PSNR of the frames that were measured.
    public struct PSNR: APIObject {
        /// Lowest value in dB.
        public var lowest = 0.0
        /// Mean in dB.
        public var mean = 0.0
        /// Number of frames.
        public var frames = 0

        /// Makes a value with the defaults. Set the fields that have none.
        public init() {}

        package static let summary = "The luma PSNR of the frames that were measured"
        package static let fields: Fields<Self> = [
            .required("lowest", \.lowest, "Lowest value in dB"),
            .required("mean", \.mean, "Mean in dB"),
            .required("frames", \.frames, in: .count, "Number of frames"),
        ]
    }

    package static let summary = "What the verification of an output found"
    package static let fields: Fields<Self> = [
        .required("frames", \.frames, in: .count, "Frames that were decoded"),
        .required("comparedFrames", \.comparedFrames, in: .count, "Frames that were compared with the input"),
        .required("audioTracks", \.audioTracks, in: .count, "Audio tracks that were checked"),
        .optional("psnr", \.psnr, "The PSNR, if it was asked for"),
    ]
}

/// How far an output is, and its files.
public struct OutputState: APIObject {
    /// Index in the request.
    public var index = 0
    /// Kind.
    public var kind = OutputKind.file
    /// Name.
    public var name = ""
    /// State.
    public var state = JobState.waiting
    /// Its files, once they are published.
    public var files: [ResultFile] = []
    /// Path of its preview, while it is encoded and if it can be played already.
    public var playable: String?
    /// The encoder.
    public var encoder: EncoderInfo?
    /// What the verification found.
    public var verification: Verification?
    /// How the quality was found, if a target was set.
    public var target: TargetResult?
    /// The document of `vatoolbox encode --json`.
    public var result: JSONValue?

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "How far an output is, and its files"
    package static let fields: Fields<Self> = [
        .required("index", \.index, in: .count, "Index in the request"),
        .required("kind", \.kind, "Kind"),
        .required("name", \.name, "Name"),
        .required("state", \.state, "State"),
        .required("files", \.files, "Its files, once they are published"),
        .optional("playable", \.playable, "Path of its preview, while it is encoded and if it can be played already"),
        .optional("encoder", \.encoder, "The encoder"),
        .optional("verification", \.verification, "What the verification found"),
        .optional("target", \.target, "How the quality was found, if a target was set"),
        .optional("result", \.result, "The document of `vatoolbox encode --json`"),
    ]
}

/// How an attempt at a task ended.
public enum AttemptOutcome: String, APIEnum {
    /// Its results are published.
    case succeeded
    /// It has failed.
    case failed
    /// Its worker vanished.
    case lost
    /// Its worker gave it back, because it stopped.
    case released
    /// It was cancelled.
    case cancelled
}

/// An attempt at a task of a job.
public struct AttemptInfo: APIObject {
    /// Number of the attempt, from 1 on.
    public var number = 0
    /// Index of the task.
    public var output = 0
    /// Worker.
    public var worker = ""
    /// When it began.
    public var startedAt = Timestamp()
    /// When it ended.
    public var endedAt: Timestamp?
    /// How it ended.
    public var outcome: AttemptOutcome?
    /// Why it failed.
    public var failure: FailureInfo?
    /// The encoder.
    public var encoder: EncoderInfo?

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let typeName = "Attempt"
    package static let summary = "An attempt at a task of a job"
    package static let fields: Fields<Self> = [
        .required("number", \.number, in: .count, "Number of the attempt, from 1 on"),
        .required("output", \.output, in: .count, "Index of the task"),
        .required("worker", \.worker, "Worker"),
        .required("startedAt", \.startedAt, "When it began"),
        .optional("endedAt", \.endedAt, "When it ended"),
        .optional("outcome", \.outcome, "How it ended"),
        .optional("failure", \.failure, "Why it failed"),
        .optional("encoder", \.encoder, "The encoder"),
    ]
}

/// Why a job or an attempt failed.
public struct FailureInfo: APIObject {
    /// Code of `vatoolbox encode --json` or of the service; GET /v1/errors lists them.
    public var code = ""
    /// What happened.
    public var message = ""
    /// What was given.
    public var given: String?
    /// What is allowed.
    public var allowed: String?
    /// Cause, if a GPU could not be used.
    public var cause: String?
    /// What helps, the best first.
    public var remedies: [String] = []
    /// Whether another attempt can succeed.
    public var retriable = false

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let typeName = "Failure"
    package static let summary = "Why a job or an attempt failed"
    package static let fields: Fields<Self> = [
        .required("code", \.code, "Code of `vatoolbox encode --json` or of the service; GET /v1/errors lists them"),
        .required("message", \.message, "What happened"),
        .optional("given", \.given, "What was given"),
        .optional("allowed", \.allowed, "What is allowed"),
        .optional("cause", \.cause, "Cause, if a GPU could not be used"),
        .required("remedies", \.remedies, "What helps, the best first"),
        .required("retriable", \.retriable, "Whether another attempt can succeed"),
    ]
}

/// Why a job waits.
public struct WaitingReason: APIObject {
    /// The reason.
    public var reason = Reason.noWorker
    /// The reason for people.
    public var message = ""
    /// Tasks that come first.
    public var position: Int?
    /// When the queue opens, or the pause ends.
    public var opensAt: Timestamp?

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    /// The kind of a reason.
    public enum Reason: String, APIEnum {
        /// Its queue is paused.
        case queuePaused = "queue-paused"
        /// None of its queue's windows is open.
        case queueClosed = "queue-closed"
        /// As many tasks of its queue run as may.
        case queueFull = "queue-full"
        /// The node begins no tasks.
        case draining
        /// All workers are busy, or there are none.
        case noWorker = "no-worker"
        /// No worker has the device that the job needs.
        case demand
        /// An attempt failed, and the next one begins after a pause.
        case retryPause = "retry-pause"
        /// Other jobs come first.
        case behind
        /// The disk is nearly full.
        case diskFull = "disk-full"
        /// Memory is short.
        case memoryShort = "memory-short"
        /// The engines of all GPUs are busy.
        case devicesBusy = "devices-busy"
    }

    package static let summary = "Why a job waits"
    package static let fields: Fields<Self> = [
        .required("reason", \.reason, "The reason"),
        .required("message", \.message, "The reason for people"),
        .optional("position", \.position, in: .count, "Tasks that come first"),
        .optional("opensAt", \.opensAt, "When the queue opens, or the pause ends"),
    ]
}
