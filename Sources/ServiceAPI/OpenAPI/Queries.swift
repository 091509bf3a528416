// SPDX-License-Identifier: GPL-2.0-or-later

extension APIObject {
    /// Reads the value from the parameters of a query, which are fields of the object.
    ///
    /// - Parameter query: Names and values, percent-decoded, in any order. Only fields that are arrays may occur
    ///   several times.
    /// - Throws: `invalid-parameter` with the name of the parameter.
    package static func decode(query: [(name: String, value: String)]) throws(APIError) -> Self {
        var registry = SchemaRegistry()
        var object = JSONObject()
        for (name, text) in query {
            guard name.isStreamSafe && text.isStreamSafe else {
                throw APIError(
                    .invalidParameter,
                    "The query has too many combining characters in a row",
                    allowed: "\(JSONValue.mostCombining)"
                )
            }
            guard let index = fields.indices[name] else {
                var error = APIError.unknownField(name, allowed: fields.list.map(\.name))
                error.detail = "There is no such parameter."
                error = error.asParameter
                error.field = String(name.unicodeScalars.prefix(64))
                throw error
            }
            let schema = fields.list[index].schema(&registry)
            let value = value(of: text, type: schema["type"])
            if schema["type"] == "array" {
                let elementType = schema["items"]?["type"]
                var elements: [JSONValue] = []
                if case .array(let earlier) = object[name] { elements = earlier }
                object[name] = .array(elements + [Self.value(of: text, type: elementType)])
            } else if object[name] != nil {
                throw APIError(.invalidParameter, "The parameter occurs twice", field: name, allowed: "once")
            } else {
                object[name] = value
            }
        }
        do {
            return try decode(.object(object), mode: .request)
        } catch {
            throw error.asParameter
        }
    }

    /// The parameters of a query that ``decode(query:)`` reads as this value, without defaults.
    package var queryItems: [(name: String, value: String)] {
        guard case .object(let object) = json, case .object(let defaults) = Self().json else { return [] }
        return object.members.filter { defaults[$0.key] != $0.value }.flatMap { member in
            let values: [JSONValue]
            if case .array(let elements) = member.value { values = elements } else { values = [member.value] }
            return values.map { value in
                guard case .string(let text) = value else { return (member.key, value.text) }
                return (member.key, text)
            }
        }
    }

    /// The JSON that a text stands for, by the type that the schema requires.
    private static func value(of text: String, type: JSONValue?) -> JSONValue {
        guard type != "string", let value = try? JSONValue(parsing: text) else { return .string(text) }
        switch value {
        case .bool, .integer, .number: return value
        case .null, .string, .array, .object: return .string(text)
        }
    }
}

extension APIError {
    /// The same error for a parameter instead of a key of a body.
    fileprivate var asParameter: APIError {
        var error = self
        error.code = .invalidParameter
        if error.remedies == code.remedies { error.remedies = ErrorCode.invalidParameter.remedies }
        // A parameter is the first part of the pointer: `/label/0` is `label`.
        error.field = field.map { String($0.dropFirst().prefix { $0 != "/" }) }
        return error
    }
}

/// The query of a list of jobs.
package struct JobQuery: APIObject {
    package var state: JobState?
    package var queue: String?
    package var label: [String] = []
    package var share: String?
    package var text: String?
    package var limit = 50
    package var cursor: String?

    package init() {}

    package static let summary = "Which jobs to list"
    package static let fields: Fields<Self> = [
        .optional("state", \.state, "Only jobs in this state"),
        .optional("queue", \.queue, in: .text(1...64, .name), "Only jobs of this queue"),
        .defaulted(
            "label",
            \.label,
            in: .list(0...32, of: .text(2...321, .labelFilter)),
            "Only jobs with this label, KEY:VALUE; with several, only jobs that have all of them"
        ),
        .optional("share", \.share, in: .line(0...64), "Only jobs of this share"),
        .optional("text", \.text, in: .line(1...200), "Only jobs with this in their input, names of outputs, or ID"),
        .defaulted("limit", \.limit, in: .range(1...200), "Most jobs of a page"),
        .optional("cursor", \.cursor, in: .line(1...512), "The nextCursor of the page before"),
    ]

    /// The labels to look for.
    package var labels: [(key: String, value: String)] {
        label.map { text in
            let parts = text.unicodeScalars.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            return (String(parts[0]), parts.count == 2 ? String(parts[1]) : "")
        }
    }
}

/// The query of a submission.
package struct SubmitQuery: APIObject {
    package var dryRun = false

    package init() {}

    package static let summary = "How to submit"
    package static let fields: Fields<Self> = [
        .defaulted("dryRun", \.dryRun, "Answer with what the job would do, and do nothing")
    ]
}

/// The query of a log.
package struct LogQuery: APIObject {
    package var follow = false

    package init() {}

    package static let summary = "How to read a log"
    package static let fields: Fields<Self> = [
        .defaulted("follow", \.follow, "Send further lines as they are written, until the job ends")
    ]
}

/// The query of events.
package struct EventQuery: APIObject {
    package var after: Int?

    package init() {}

    package static let summary = "Which events to read"
    package static let fields: Fields<Self> = [
        .optional("after", \.after, in: .count, "Only events with larger numbers; Last-Event-ID takes precedence")
    ]
}

/// The query of a file of the results.
package struct FileQuery: APIObject {
    package var download = false

    package init() {}

    package static let summary = "How to get a file"
    package static let fields: Fields<Self> = [
        .defaulted("download", \.download, "Ask browsers to store the file instead of showing it")
    ]
}

/// The query of a preset.
package struct PresetQuery: APIObject {
    package var version: Int?

    package init() {}

    package static let summary = "Which version of a preset to read"
    package static let fields: Fields<Self> = [
        .optional("version", \.version, in: .range(1...999_999_999), "Version; the latest by default")
    ]
}

/// The query of a rotation.
package struct RotationQuery: APIObject {
    package var grace = 0.0

    package init() {}

    package static let summary = "How to rotate a secret"
    package static let fields: Fields<Self> = [
        .defaulted("grace", \.grace, in: .range(0...2_592_000), "Seconds for which the secret before is valid, too")
    ]
}

/// The query of a request to drain.
package struct DrainQuery: APIObject {
    package var wait = false

    package init() {}

    package static let summary = "How to drain"
    package static let fields: Fields<Self> = [.defaulted("wait", \.wait, "Answer when nothing runs any more")]
}

/// The query of an encode from body to body.
package struct StreamQuery: APIObject {
    package var format = Format.mp4
    package var inputFormat: String?
    package var inputFrameRate: String?
    package var video = VideoSettings()
    package var audio = AudioCodecChoice.auto
    package var audioBitRate: Int?
    package var device = "auto"
    package var requireHardware = false

    package init() {}

    /// The format of the answer, all of which can be written without seeking.
    package enum Format: String, APIEnum {
        /// Fragmented MP4.
        case mp4
        case mkv
        case ts
        case h264
        case h265

        /// The name of the container in the command.
        package var name: String {
            switch self {
            case .mp4, .mkv, .ts, .h264: rawValue
            case .h265: "hevc"
            }
        }

        /// The media type.
        package var mediaType: String {
            switch self {
            case .mp4: "video/mp4"
            case .mkv: "video/x-matroska"
            case .ts: "video/mp2t"
            case .h264: "video/h264"
            case .h265: "video/h265"
            }
        }
    }

    package static let summary = "How to encode a stream"
    package static let fields: Fields<Self> = .joined(
        [
            .defaulted("format", \.format, "Format of the answer; mp4 is fragmented"),
            .optional(
                "inputFormat",
                \.inputFormat,
                in: .text(1...64, .formatName),
                "FFmpeg's name of the body's format"
            ),
            .optional("inputFrameRate", \.inputFrameRate, in: .text(1...26, .frameRate), "Frame rate of a raw stream"),
        ],
        VideoSettings.fields.inlined(at: \.video),
        [
            .defaulted("audio", \.audio, "What happens to audio"),
            .optional(
                "audioBitRate",
                \.audioBitRate,
                in: .range(6_000...6_144_000),
                "Bit rate of an audio track in bit/s"
            ),
            .defaulted(
                "device",
                \.device,
                in: .text(4...256, .device),
                "auto, software, a render node or a PCI address"
            ),
            .defaulted("requireHardware", \.requireHardware, "Fail instead of encoding on the CPU"),
        ]
    )

    /// The settings of the audio.
    package var audioSettings: AudioSettings {
        AudioSettings {
            $0.codec = audio
            $0.bitRate = audioBitRate
        }
    }

    /// The settings as an output with a file name of the format.
    package var output: Output {
        Output {
            $0.name = "output.\(format.rawValue)"
            $0.video = video
            $0.audio = audioSettings
            $0.fragmented = format == .mp4
        }
    }

    package func validate() throws(APIError) {
        try video.validate()
        do {
            try audioSettings.validate()
        } catch {
            guard error.field == "/bitRate" else { throw error }
            var renamed = error
            renamed.field = "/audioBitRate"
            throw renamed
        }
        let needed: VideoCodecChoice? = format == .h264 ? .h264 : format == .h265 ? .hevc : nil
        if let needed, let codec = video.codec == .auto ? video.profile?.codec : video.codec, codec != needed {
            throw Self.rejection(
                video.codec == .auto ? "profile" : "codec",
                "The format \(format.rawValue) holds \(needed.rawValue) only",
                value: video.codec == .auto ? video.profile?.json : codec.json,
                allowed: video.codec == .auto ? "profiles of \(needed.rawValue)" : "auto, \(needed.rawValue)"
            )
        }
        if let inputFrameRate, let allowed = FrameRate.violation(of: inputFrameRate) {
            throw Self.rejection(
                "inputFrameRate",
                "The frame rate is out of range",
                value: inputFrameRate.json,
                allowed: allowed
            )
        }
    }
}
