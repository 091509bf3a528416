// SPDX-License-Identifier: GPL-2.0-or-later

/// The test chart, which flashes at each whole second.
public struct LiveTestChart: APIObject {
    /// Width in pixels.
    public var width = 1280
    /// Height in pixels.
    public var height = 720
    /// Pictures per second.
    public var frameRate = 30

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "The test chart, which flashes at each whole second"
    package static let fields: Fields<Self> = [
        .defaulted("width", \.width, in: .even(16...8192), "Width in pixels"),
        .defaulted("height", \.height, in: .even(16...8192), "Height in pixels"),
        .defaulted("frameRate", \.frameRate, in: .range(1...240), "Pictures per second"),
    ]
}

/// An input of a live job: exactly one of `url`, `path` and `test`.
public struct LiveInput: APIObject {
    /// A live URL: rtmp, rtsp, srt, udp or rtp. It is opened again whenever it ends.
    public var url: String?
    /// ROOT/relative/path of a file, below the media root ROOT.
    public var path: String?
    /// The test chart.
    public var test: LiveTestChart?
    /// Whether the file is played again and again.
    public var loop = false

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "An input of a live job: exactly one of url, path and test"
    package static let fields: Fields<Self> = [
        .optional(
            "url",
            \.url,
            in: .text(8...2048, .liveInput),
            "A live URL: rtmp, rtsp, srt, udp or rtp; it is opened again whenever it ends"
        ),
        .optional("path", \.path, in: .text(3...4096, .mediaPath), "ROOT/relative/path of a file, below a media root"),
        .optional("test", \.test, "The test chart"),
        .defaulted("loop", \.loop, "Whether the file is played again and again"),
    ]
    package static let furtherSchema: JSONObject = [
        "oneOf": [["required": ["url"]], ["required": ["path"]], ["required": ["test"]]]
    ]

    package func validate() throws(APIError) {
        let given = [("url", url != nil), ("path", path != nil), ("test", test != nil)].filter(\.1).map(\.0)
        guard let first = given.first else {
            throw APIError(
                .missingField,
                "The input has no source",
                allowed: "exactly one of url, path, test",
                remedies: ["Add one of `url`, `path` and `test`."]
            )
        }
        guard given.count == 1 else {
            throw Self.rejection(
                given[1],
                "The input has \(given.count) sources",
                allowed: "exactly one of url, path, test",
                remedies: ["Remove all but one, such as `\(first)`."]
            )
        }
    }
}

/// HTTP Live Streaming into a folder.
public struct LiveHLS: APIObject {
    /// ROOT/folder, below a media root that is writable; without it, the service delivers the stream.
    public var path: String?
    /// Target duration of a segment in seconds.
    public var segment = 4
    /// Seconds that are listed.
    public var window = 60.0
    /// Whether a stream that is in the folder is replaced.
    public var overwrite = false

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "HTTP Live Streaming into a folder"
    package static let fields: Fields<Self> = [
        .optional(
            "path",
            \.path,
            in: .text(3...4096, .mediaPath),
            "ROOT/folder, below a media root that is writable; without it, the service delivers the stream"
        ),
        .defaulted("segment", \.segment, in: .range(1...30), "Target duration of a segment in seconds"),
        .defaulted("window", \.window, in: .range(6...86_400), "Seconds that are listed, at least six segments"),
        .defaulted("overwrite", \.overwrite, "Whether a stream that is in the folder is replaced"),
    ]
}

/// An output of a live job: exactly one of `url` and `hls`.
public struct LiveOutput: APIObject {
    /// A receiver: rtmp, rtmps, srt, udp or rtp, with its secrets.
    public var url: String?
    /// HTTP Live Streaming.
    public var hls: LiveHLS?

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "An output of a live job: exactly one of url and hls"
    package static let fields: Fields<Self> = [
        .optional(
            "url",
            \.url,
            in: .text(8...2048, .liveOutput),
            "A receiver: rtmp, rtmps, srt, udp or rtp; answers show *** in place of its secrets"
        ),
        .optional("hls", \.hls, "HTTP Live Streaming"),
    ]
    package static let furtherSchema: JSONObject = ["oneOf": [["required": ["url"]], ["required": ["hls"]]]]

    package func validate() throws(APIError) {
        guard (url == nil) == (hls == nil) else { return }
        guard url != nil else {
            throw APIError(
                .missingField,
                "The output names no receiver",
                allowed: "exactly one of url, hls",
                remedies: ["Add one of `url` and `hls`."]
            )
        }
        throw Self.rejection("hls", "The output names two receivers", allowed: "exactly one of url, hls")
    }
}

/// The codec of a live job.
public enum LiveCodec: String, APIEnum {
    /// HEVC on a GPU that has it, otherwise H.264; with an RTMP receiver H.264.
    case auto
    /// H.264.
    case h264
    /// HEVC.
    case hevc
}

/// How a live job encodes.
public struct LiveEncoding: APIObject {
    /// Codec of the video.
    public var codec = LiveCodec.auto
    /// Average bit rate of the video in bit/s; 0.1 bits per pixel by default. It is lower while a link is slower.
    public var bitRate: Int?
    /// Width in pixels; that of the input by default.
    public var width: Int?
    /// Height in pixels.
    public var height: Int?
    /// Frame rate for which the bit rate is planned.
    public var frameRate: String?
    /// Seconds between key frames.
    public var keyFrameInterval = 2.0
    /// Bit rate of the sound in bit/s.
    public var audioBitRate = 128_000
    /// Auto, software or a render node.
    public var device = "auto"
    /// Fail instead of encoding on the CPU.
    public var requireHardware = false

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "How a live job encodes"
    package static let fields: Fields<Self> = [
        .defaulted(
            "codec",
            \.codec,
            "Codec; auto is HEVC on a GPU that has it, otherwise H.264, and with an RTMP receiver H.264"
        ),
        .optional(
            "bitRate",
            \.bitRate,
            in: .range(8_000...800_000_000),
            "Highest average bit rate of the video in bit/s; it is lower while a link is slower"
        ),
        .optional("width", \.width, in: .even(16...16384), "Width in pixels; that of the first input by default"),
        .optional("height", \.height, in: .even(16...16384), "Height in pixels, with width"),
        .optional(
            "frameRate",
            \.frameRate,
            in: .text(1...26, .frameRate),
            "Frame rate for which the bit rate is planned; that of the first input by default"
        ),
        .defaulted("keyFrameInterval", \.keyFrameInterval, in: .range(0.5...20), "Seconds between key frames"),
        .defaulted("audioBitRate", \.audioBitRate, in: .range(8_000...512_000), "Bit rate of the sound in bit/s"),
        .defaulted("device", \.device, in: .text(4...256, .device), "auto, software or a render node"),
        .defaulted("requireHardware", \.requireHardware, "Fail instead of encoding on the CPU"),
    ]

    package func validate() throws(APIError) {
        guard (width == nil) == (height == nil) else {
            throw APIError(
                .missingField,
                "The size is incomplete",
                allowed: "both width and height, or none",
                remedies: ["Add `\(width == nil ? "width" : "height")`."]
            )
            .within(width == nil ? "width" : "height")
        }
        if let frameRate, let allowed = FrameRate.violation(of: frameRate) {
            throw Self.rejection("frameRate", "The frame rate is out of range", value: frameRate.json, allowed: allowed)
        }
    }
}

/// A live job to start.
public struct LiveRequest: APIObject {
    /// Name for people.
    public var name = ""
    /// The inputs, of which one is used at a time: at first the first one.
    public var inputs: [LiveInput] = []
    /// The outputs.
    public var outputs: [LiveOutput] = []
    /// Whether the sound is a test tone, and not that of the inputs.
    public var tone = false
    /// How it encodes.
    public var encoding = LiveEncoding()
    /// How often in a row its process is started again without having run for a minute.
    public var restarts = 10

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "A live job to start"
    package static let fields: Fields<Self> = [
        .required("name", \.name, in: .line(1...200), "Name for people"),
        .required(
            "inputs",
            \.inputs,
            in: .list(1...8),
            "The inputs, of which one is used at a time: at first the first"
        ),
        .required("outputs", \.outputs, in: .list(1...8), "The outputs, each with its own connection"),
        .defaulted("tone", \.tone, "Whether the sound is a test tone, and not that of the inputs"),
        .defaulted("encoding", \.encoding, "How it encodes"),
        .defaulted(
            "restarts",
            \.restarts,
            in: .range(0...1000),
            "How often in a row its process is started again without having run for a minute"
        ),
    ]
    package static let example: Self? = Self {
        $0.name = "Main stage"
        $0.inputs = [LiveInput { $0.url = "srt://encoder.example.com:9000" }, LiveInput { $0.test = LiveTestChart() }]
        $0.outputs = [LiveOutput { $0.url = "rtmps://live.example.com/app/key" }, LiveOutput { $0.hls = LiveHLS() }]
    }

    package func validate() throws(APIError) {
        for (index, output) in outputs.enumerated() {
            guard let hls = output.hls else { continue }
            let place = "\(index)"
            guard Double(hls.segment) >= encoding.keyFrameInterval else {
                throw APIError(
                    .invalidRequest,
                    "Key frames are further apart than a segment is long",
                    value: hls.segment.json,
                    allowed: "at least encoding.keyFrameInterval, \(encoding.keyFrameInterval.json.text)"
                )
                .within("segment").within("hls").within(place).within("outputs")
            }
            guard hls.window >= Double(6 * hls.segment) else {
                throw APIError(
                    .invalidRequest,
                    "The window is too short",
                    value: hls.window.json,
                    allowed: "at least six segments, \(6 * hls.segment)"
                )
                .within("window").within("hls").within(place).within("outputs")
            }
        }
    }
}

/// The input that a live job is to use.
public struct LiveSwitch: APIObject {
    /// Index among the inputs, from 0 on.
    public var input = 0

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "The input that a live job is to use"
    package static let fields: Fields<Self> = [
        .required("input", \.input, in: .range(0...7), "Index among the inputs, from 0 on")
    ]
}

/// What is to change of a live job.
public struct LiveUpdate: APIObject {
    /// Highest average bit rate of the video in bit/s.
    public var bitRate = 0

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "What is to change of a live job"
    package static let fields: Fields<Self> = [
        .required(
            "bitRate",
            \.bitRate,
            in: .range(8_000...800_000_000),
            "Highest average bit rate of the video in bit/s"
        )
    ]
}
