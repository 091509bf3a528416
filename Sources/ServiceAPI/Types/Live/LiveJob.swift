// SPDX-License-Identifier: GPL-2.0-or-later

/// The state of a live job.
public enum LiveState: String, APIEnum {
    /// Its process has started, and opens inputs and outputs.
    case starting
    /// It encodes.
    case running
    /// Its process has ended early, and is started again soon.
    case waiting
    /// It ends.
    case stopping
    /// It has ended as asked, or with its file.
    case ended
    /// It has failed, and is not started again.
    case failed

    /// Whether it does not change any more.
    public var isFinal: Bool { self == .ended || self == .failed }
}

/// Units that an output has not sent, by reason.
public struct LiveDrops: APIObject {
    /// The link was too slow.
    public var age = 0
    /// There was no connection.
    public var disconnected = 0
    /// They came before the key frame with which a connection begins.
    public var beforeKeyFrame = 0

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "Pictures that an output has not sent, by reason"
    package static let fields: Fields<Self> = [
        .required("age", \.age, in: .count, "The link was too slow"),
        .required("disconnected", \.disconnected, in: .count, "There was no connection"),
        .required(
            "before-key-frame",
            \.beforeKeyFrame,
            in: .count,
            "They came before the key frame with which a connection begins"
        ),
    ]

    /// The number of all.
    public var sum: Int { age + disconnected + beforeKeyFrame }
}

/// How an output of a live job is doing.
public struct LiveOutputStatus: APIObject {
    /// The receiver, without secrets.
    public var address = ""
    /// The state: idle, connecting, live, waiting, failed or finished.
    public var state = ""
    /// The reason of waiting and failed.
    public var error: String?
    /// How often it has connected again.
    public var reconnects = 0
    /// Seconds of the present connection.
    public var connectedFor: Double?
    /// Pictures that were sent.
    public var sentFrames = 0
    /// Bytes that were sent.
    public var sentBytes = 0
    /// Bit/s that the network took during the last second.
    public var rate = 0
    /// The bit rate of the video that the link allows.
    public var wantedBitrate: Int?
    /// Seconds that the oldest part of the queue has waited.
    public var queueAge = 0.0
    /// Round-trip time in seconds.
    public var roundTrip: Double?
    /// Packets that were sent again over the present connection.
    public var retransmitted: Int?
    /// Pictures that were not sent.
    public var droppedFrames = LiveDrops()

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "How an output of a live job is doing"
    package static let fields: Fields<Self> = [
        .required("address", \.address, "The receiver, without secrets"),
        .required("state", \.state, "State: idle, connecting, live, waiting, failed or finished"),
        .optional("error", \.error, "The reason of waiting and failed"),
        .required("reconnects", \.reconnects, in: .count, "How often it has connected again"),
        .optional("connectedFor", \.connectedFor, "Seconds of the present connection"),
        .required("sentFrames", \.sentFrames, in: .count, "Pictures that were sent"),
        .required("sentBytes", \.sentBytes, in: .count, "Bytes that were sent"),
        .required("rate", \.rate, in: .count, "bit/s that the network took during the last second"),
        .optional("wantedBitrate", \.wantedBitrate, in: .count, "The bit rate of the video that the link allows"),
        .required("queueAge", \.queueAge, "Seconds that the oldest part of the queue has waited"),
        .optional("roundTrip", \.roundTrip, "Round-trip time in seconds"),
        .optional("retransmitted", \.retransmitted, in: .count, "Packets sent again over the present connection"),
        .required("droppedFrames", \.droppedFrames, "Pictures that were not sent"),
    ]
}

/// How an input of a live job is doing.
public struct LiveInputStatus: APIObject {
    /// The input, without secrets.
    public var name = ""
    /// Whether its pictures are encoded.
    public var active = false
    /// Width of its pictures.
    public var width: Int?
    /// Height of its pictures.
    public var height: Int?
    /// Pictures that have come.
    public var pictures = 0
    /// How often it was gone.
    public var losses = 0
    /// Why it is gone at present.
    public var error: String?

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "How an input of a live job is doing"
    package static let fields: Fields<Self> = [
        .required("name", \.name, "The input, without secrets"),
        .required("active", \.active, "Whether its pictures are encoded"),
        .optional("width", \.width, in: .count, "Width of its pictures"),
        .optional("height", \.height, in: .count, "Height of its pictures"),
        .required("pictures", \.pictures, in: .count, "Pictures that have come"),
        .required("losses", \.losses, in: .count, "How often it was gone"),
        .optional("error", \.error, "Why it is gone at present"),
    ]
}

/// The encoder of a live job.
public struct LiveEncoder: APIObject {
    /// Name.
    public var name = ""
    /// Codec.
    public var codec = ""
    /// Render node; none for the CPU.
    public var device: String?

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "The encoder of a live job"
    package static let fields: Fields<Self> = [
        .required("name", \.name, "Name"),
        .required("codec", \.codec, "Codec"),
        .optional("device", \.device, "Render node; none for the CPU"),
    ]
}

/// What the process of a live job tells: the same as `vatoolbox stream --progress`.
public struct LiveStatistics: APIObject {
    /// Seconds that were encoded.
    public var time = 0.0
    /// Pictures that were encoded.
    public var frames = 0
    /// Pictures that were encoded in place of missing ones.
    public var repeated = 0
    /// The bit rate of the video at present.
    public var bitrate: Int?
    /// The highest bit rate.
    public var ceiling: Int?
    /// The encoder, from the first picture on.
    public var encoder: LiveEncoder?
    /// The inputs, in the order of the request.
    public var inputs: [LiveInputStatus] = []
    /// The outputs, in the order of the request.
    public var outputs: [LiveOutputStatus] = []

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "What the process of a live job tells"
    package static let fields: Fields<Self> = [
        .required("time", \.time, "Seconds that were encoded"),
        .required("frames", \.frames, in: .count, "Pictures that were encoded"),
        .required("repeated", \.repeated, in: .count, "Pictures that were encoded in place of missing ones"),
        .optional("bitrate", \.bitrate, in: .count, "The bit rate of the video at present"),
        .optional("ceiling", \.ceiling, in: .count, "The highest bit rate"),
        .optional("encoder", \.encoder, "The encoder, from the first picture on"),
        .required("inputs", \.inputs, "The inputs, in the order of the request; the tone comes last"),
        .required("outputs", \.outputs, "The outputs, in the order of the request"),
    ]
}

/// A live job: what was asked, and how it is doing.
public struct LiveJob: APIObject {
    /// ID.
    public var id = ""
    /// State.
    public var state = LiveState.starting
    /// The request, with `***` in place of secrets.
    public var request = LiveRequest()
    /// The index of the input that is used.
    public var input = 0
    /// When it was made.
    public var createdAt = Timestamp()
    /// When its present process was started.
    public var startedAt: Timestamp?
    /// When it ended.
    public var endedAt: Timestamp?
    /// How often its process has ended early.
    public var restarts = 0
    /// When its process is started again.
    public var nextStart: Timestamp?
    /// Why its last process has ended early.
    public var failure: FailureInfo?
    /// What its process tells.
    public var statistics: LiveStatistics?
    /// What its process has written last.
    public var messages: [String] = []

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "A live job: what was asked, and how it is doing"
    package static let fields: Fields<Self> = [
        .required("id", \.id, in: .text(26...26, .identifier), "ID"),
        .required("state", \.state, "State"),
        .required("request", \.request, "The request, with *** in place of secrets"),
        .required("input", \.input, in: .range(0...7), "The index of the input that is used"),
        .required("createdAt", \.createdAt, "When it was made"),
        .optional("startedAt", \.startedAt, "When its present process was started"),
        .optional("endedAt", \.endedAt, "When it ended"),
        .required("restarts", \.restarts, in: .count, "How often its process has ended early"),
        .optional("nextStart", \.nextStart, "When its process is started again"),
        .optional("failure", \.failure, "Why its last process has ended early"),
        .optional("statistics", \.statistics, "What its process tells"),
        .required("messages", \.messages, "What its process has written last"),
    ]
}

/// Live jobs.
public struct LiveJobList: APIObject {
    /// The live jobs, the newest first.
    public var jobs: [LiveJob] = []
    /// Where the next page begins; none on the last one.
    public var nextCursor: String?

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "Live jobs"
    package static let fields: Fields<Self> = [
        .required("jobs", \.jobs, "The live jobs, the newest first"),
        .optional("nextCursor", \.nextCursor, "Where the next page begins; none on the last one"),
    ]
}

/// The query of a list of live jobs.
package struct LiveQuery: APIObject {
    package var state: LiveState?
    package var limit = 50
    package var cursor: String?

    package init() {}

    package static let summary = "Which live jobs are listed"
    package static let fields: Fields<Self> = [
        .optional("state", \.state, "Only live jobs in this state"),
        .defaulted("limit", \.limit, in: .range(1...200), "At most so many"),
        .optional("cursor", \.cursor, in: .text(26...26, .identifier), "The nextCursor of the page before"),
    ]
}
