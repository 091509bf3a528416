// SPDX-License-Identifier: GPL-2.0-or-later

/// What an output is.
public enum OutputKind: String, APIEnum {
    /// A file with video and audio.
    case file
    /// A playlist with segments for HTTP Live Streaming, and for MPEG-DASH if asked.
    case hls
    /// Pictures at regular times.
    case thumbnails
    /// Small pictures in large ones, with a WebVTT file that tells players where.
    case sprite

    /// The extensions of names, in lower case without dot.
    public var extensions: [String] {
        switch self {
        case .file: ["mp4", "m4v", "mov", "mkv", "ts", "h264", "h265"]
        case .hls: ["m3u8"]
        case .thumbnails: ["png"]
        case .sprite: ["vtt"]
        }
    }
}

/// The format of segments.
public enum SegmentFormat: String, APIEnum {
    /// Fragmented MP4.
    case fmp4
    /// MPEG transport streams.
    case ts
}

/// A variant of a ladder.
public struct Rung: APIObject {
    /// Height in pixels; the width keeps the aspect ratio.
    public var height = 0
    /// Average bit rate in bit/s.
    public var bitRate: Int?

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "A variant of a ladder"
    package static let fields: Fields<Self> = [
        .required("height", \.height, in: .even(16...16384), "Height in pixels; the width keeps the aspect ratio"),
        .optional("bitRate", \.bitRate, in: .range(VideoSettings.bitRates), "Average bit rate in bit/s"),
    ]
}

/// One output of a job.
public struct Output: APIObject {
    /// What the output is.
    public var kind = OutputKind.file
    /// File name. It ends with .mp4, .m4v, .mov, .mkv, .ts, .h264 or .h265 (file), .m3u8 (hls), .png (thumbnails, with
    /// %d for the number) or .vtt (sprite).
    public var name = ""
    /// The video of a file or playlist.
    public var video = VideoSettings()
    /// The audio of a file or playlist.
    public var audio = AudioSettings()
    /// Fragmented MP4 or MOV; file only.
    public var fragmented = false
    /// MP4 or MOV that can be played at `playable` while it is encoded, and is an ordinary file at the end, for which the
    /// disk needs its size twice; not with fragmented.
    public var preview = false
    /// The variants; hls only, which needs 1 to 12.
    public var ladder: [Rung] = []
    /// Seconds of a segment, 6 by default; hls only.
    public var segmentDuration: Double?
    /// Format of segments; ts holds H.264 only; hls only.
    public var segmentFormat = SegmentFormat.fmp4
    /// Also a manifest for MPEG-DASH; hls with fmp4 only.
    public var dash = false
    /// Seconds between pictures; thumbnails, sprite.
    public var interval: Double?
    /// Width of a picture in pixels; thumbnails, sprite.
    public var width: Int?
    /// Luma PSNR in dB that every frame needs; file, hls.
    public var verifyPSNR: Double?
    /// Number of tasks that encode parts of the video at the same time, on any workers; not with a frame rate or a target;
    /// file only.
    public var parts: Int?

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let summary = "One output of a job"
    package static let fields: Fields<Self> = [
        .required("kind", \.kind, "What the output is"),
        .required(
            "name",
            \.name,
            in: .text(1...200, .fileName),
            "File name. It ends with .mp4, .m4v, .mov, .mkv, .ts, .h264 or .h265 (file), .m3u8 (hls), .png "
                + "(thumbnails, with %d for the number) or .vtt (sprite)"
        ),
        .defaulted("video", \.video, "The video of a file or playlist"),
        .defaulted("audio", \.audio, "The audio of a file or playlist"),
        .defaulted("fragmented", \.fragmented, "Fragmented MP4 or MOV; file only"),
        .defaulted(
            "preview",
            \.preview,
            "MP4 or MOV that can be played at `playable` while it is encoded, and is an ordinary file at the end, for "
                + "which the disk needs its size twice; not with fragmented"
        ),
        .defaulted("ladder", \.ladder, in: .list(0...12), "The variants; hls only, which needs 1 to 12"),
        .optional(
            "segmentDuration",
            \.segmentDuration,
            in: .range(0.5...60),
            "Seconds of a segment, 6 by default; hls only"
        ),
        .defaulted("segmentFormat", \.segmentFormat, "Format of segments; ts holds H.264 only; hls only"),
        .defaulted("dash", \.dash, "Also a manifest for MPEG-DASH; hls with fmp4 only"),
        .optional("interval", \.interval, in: .range(0.04...86_400), "Seconds between pictures; thumbnails, sprite"),
        .optional("width", \.width, in: .even(16...16384), "Width of a picture in pixels; thumbnails, sprite"),
        .optional("verifyPSNR", \.verifyPSNR, in: .range(1...100), "Luma PSNR in dB that every frame needs; file, hls"),
        .optional(
            "parts",
            \.parts,
            in: .range(2...64),
            "Number of tasks that encode parts of the video at the same time, on any workers; not with a frame rate or a "
                + "target; file only"
        ),
    ]

    package static let example: Self? = Self {
        $0.kind = .hls
        $0.name = "show.m3u8"
        $0.audio.codec = .aac
        $0.ladder = [
            Rung {
                $0.height = 1080
                $0.bitRate = 5_000_000
            },
            Rung { $0.height = 720 },
        ]
    }
}

/// Rules of several fields.
extension Output {
    package func validate() throws(APIError) {
        try checkName()
        try checkKeysOfKind()
        try checkLadder()
        try checkCodecs()
        try checkParts()
    }

    /// The lower-case extension of the name.
    public var fileExtension: String {
        guard let dot = name.lastIndex(of: ".") else { return "" }
        return name[name.index(after: dot)...].lowercased()
    }

    /// The name without extension. A playlist has a folder of this name.
    public var stem: String {
        name.lastIndex(of: ".").map { String(name[..<$0]) } ?? name
    }

    private func checkName() throws(APIError) {
        let extensions = kind.extensions
        guard extensions.contains(fileExtension) else {
            throw Self.rejection(
                "name",
                "The name does not suit the kind \(kind.rawValue)",
                value: name.json,
                allowed: "names that end with " + extensions.map { ".\($0)" }.joined(separator: ", ")
            )
        }
        guard name.utf8.count <= 200 else {
            throw Self.rejection(
                "name",
                "The name has \(name.utf8.count) bytes in UTF-8",
                value: name.json,
                allowed: "at most 200 bytes"
            )
        }
        guard kind != .thumbnails || Self.hasOneNumber(name) else {
            throw Self.rejection(
                "name",
                "The name has no place for the number of a picture, or several",
                value: name.json,
                allowed: "one %d, or %04d for at least four digits; %% is a percent sign"
            )
        }
    }

    /// Whether a name has one `%d` or `%0Nd`, and otherwise only `%%`.
    static func hasOneNumber(_ name: String) -> Bool {
        var rest = name.utf8[...]
        var numbers = 0
        while let percent = rest.firstIndex(of: UInt8(ascii: "%")) {
            rest = rest[rest.index(after: percent)...]
            if rest.first == UInt8(ascii: "%") {
                rest = rest.dropFirst()
                continue
            }
            if rest.first == UInt8(ascii: "0") {
                rest = rest.dropFirst()
                guard let width = rest.first, (UInt8(ascii: "1")...UInt8(ascii: "9")).contains(width) else {
                    return false
                }
                rest = rest.dropFirst()
            }
            guard rest.first == UInt8(ascii: "d") else { return false }
            rest = rest.dropFirst()
            numbers += 1
        }
        return numbers == 1
    }

    /// Keys that only some kinds have must not differ from their defaults in others.
    private func checkKeysOfKind() throws(APIError) {
        let keys: [(name: String, isGiven: Bool, value: JSONValue?, kinds: [OutputKind])] = [
            ("video", video != VideoSettings(), video.json, [.file, .hls]),
            ("audio", audio != AudioSettings(), audio.json, [.file, .hls]),
            ("verifyPSNR", verifyPSNR != nil, verifyPSNR?.json, [.file, .hls]),
            ("parts", parts != nil, parts?.json, [.file]),
            ("fragmented", fragmented, fragmented.json, [.file]),
            ("preview", preview, preview.json, [.file]),
            ("ladder", !ladder.isEmpty, ladder.json, [.hls]),
            ("segmentDuration", segmentDuration != nil, segmentDuration?.json, [.hls]),
            ("segmentFormat", segmentFormat != .fmp4, segmentFormat.json, [.hls]),
            ("dash", dash, dash.json, [.hls]),
            ("interval", interval != nil, interval?.json, [.thumbnails, .sprite]),
            ("width", width != nil, width?.json, [.thumbnails, .sprite]),
        ]
        for key in keys where key.isGiven && !key.kinds.contains(kind) {
            throw Self.rejection(
                key.name,
                "An output of kind \(kind.rawValue) does not have this",
                value: key.value,
                allowed: "only with " + key.kinds.map(\.rawValue).joined(separator: ", "),
                remedies: key.name == "width" ? ["Use `video.width`."] : []
            )
        }
        for (key, isGiven) in [("fragmented", fragmented), ("preview", preview)]
        where isGiven && !["mp4", "m4v", "mov"].contains(fileExtension) {
            throw Self.rejection(key, "The file is neither MP4 nor MOV", value: true, allowed: ".mp4, .m4v, .mov")
        }
        if fragmented, preview {
            throw Self.rejection(
                "preview",
                "A fragmented file can be played while it is encoded anyway",
                value: true,
                allowed: "not with fragmented"
            )
        }
        if dash, segmentFormat == .ts {
            throw Self.rejection(
                "dash",
                "MPEG-DASH needs segments in fragmented MP4",
                value: true,
                allowed: "with fmp4"
            )
        }
    }

    private func checkLadder() throws(APIError) {
        guard kind == .hls else { return }
        guard !ladder.isEmpty else {
            throw Self.rejection("ladder", "A playlist needs variants", value: [], allowed: "1...12 rungs")
        }
        var heights: Set<Int> = []
        for (index, rung) in ladder.enumerated() where !heights.insert(rung.height).inserted {
            throw Self.rejection("height", "Another rung has the same height", value: rung.height.json)
                .within("\(index)").within("ladder")
        }
        let given: [(name: String, value: JSONValue?)] = [
            ("width", video.width?.json), ("height", video.height?.json), ("bitRate", video.bitRate?.json),
        ]
        if let target = video.target {
            throw VideoSettings.rejection(
                "target",
                "A ladder cannot have a quality target",
                value: target.json,
                allowed: "quality, or bitRate of the rungs",
                remedies: ["Use an output of kind file with a target for each size."]
            )
            .within("video")
        }
        if let first = given.first(where: { $0.value != nil }) {
            throw VideoSettings.rejection(
                first.name,
                "The ladder determines this",
                value: first.value,
                allowed: "not with a ladder",
                remedies: ["State it in the rungs."]
            )
            .within("video")
        }
    }

    /// What needs the whole video at once cannot be encoded in parts.
    private func checkParts() throws(APIError) {
        guard parts != nil else { return }
        let given: [(name: String, value: JSONValue?)] = [
            ("frameRate", video.frameRate?.json), ("target", video.target?.json),
        ]
        guard let first = given.first(where: { $0.value != nil }) else { return }
        throw VideoSettings.rejection(
            first.name,
            "An output that is encoded in parts cannot have this",
            value: first.value,
            allowed: "not with parts"
        )
        .within("video")
    }

    /// Files and segments that hold one codec only.
    private func checkCodecs() throws(APIError) {
        let needed: VideoCodecChoice? =
            switch (kind, fileExtension, segmentFormat) {
            case (.file, "h264", _), (.hls, _, .ts): .h264
            case (.file, "h265", _): .hevc
            default: nil
            }
        guard let needed else { return }
        let codec = video.codec == .auto ? video.profile?.codec : video.codec
        guard codec == nil || codec == needed else {
            let field = video.codec == .auto ? "profile" : "codec"
            throw VideoSettings.rejection(
                field,
                "The output holds \(needed.rawValue) only",
                value: field == "codec" ? video.codec.json : video.profile?.json,
                allowed: field == "codec" ? "auto, \(needed.rawValue)" : "profiles of \(needed.rawValue)"
            )
            .within("video")
        }
    }
}
