// SPDX-License-Identifier: GPL-2.0-or-later

/// What happens to audio tracks.
public enum AudioCodecChoice: String, APIEnum {
    /// Each track is copied, or encoded as AAC if the container does not support its codec.
    case auto
    /// Each track is copied, or left out if the container does not support its codec.
    case copy
    /// No audio.
    case none
    /// AAC.
    case aac
    /// Opus.
    case opus
    /// FLAC.
    case flac
    /// PCM.
    case pcm

    /// Whether every track is encoded.
    public var isEncoder: Bool {
        switch self {
        case .auto, .copy, .none: false
        case .aac, .opus, .flac, .pcm: true
        }
    }
}

/// How the audio of an output is encoded.
public struct AudioSettings: APIObject {
    /// Auto copies what the container supports, and encodes the rest as AAC.
    public var codec = AudioCodecChoice.auto
    /// Bit rate of a track in bit/s; aac and opus only.
    public var bitRate: Int?
    /// Number of channels.
    public var channels: Int?
    /// Sample rate in Hz.
    public var sampleRate: Int?
    /// Loudness of each track in LUFS, such as -23.
    public var loudness: Double?

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let typeName = "Audio"
    package static let summary = "How the audio of an output is encoded"

    package static let fields: Fields<Self> = [
        .defaulted("codec", \.codec, "auto copies what the container supports, and encodes the rest as AAC"),
        .optional(
            "bitRate",
            \.bitRate,
            in: .range(6_000...6_144_000),
            "Bit rate of a track in bit/s; aac and opus only"
        ),
        .optional("channels", \.channels, in: .range(1...8), "Number of channels"),
        .optional("sampleRate", \.sampleRate, in: .range(7_350...192_000), "Sample rate in Hz"),
        .optional("loudness", \.loudness, in: .range(-70...0), "Loudness of each track in LUFS, such as -23"),
    ]

    package static let example: Self? = Self {
        $0.codec = .aac
        $0.bitRate = 128_000
    }

    package func validate() throws(APIError) {
        let given: [(name: String, value: JSONValue?)] = [
            ("bitRate", bitRate?.json), ("channels", channels?.json), ("sampleRate", sampleRate?.json),
            ("loudness", loudness?.json),
        ]
        if !codec.isEncoder, let first = given.first(where: { $0.value != nil }) {
            throw Self.rejection(
                first.name,
                "Audio with the codec \(codec.rawValue) has no settings",
                value: first.value,
                allowed: "with the codecs aac, opus, flac, pcm",
                remedies: ["Name the `codec`."]
            )
        }
        if let bitRate, codec == .flac || codec == .pcm {
            throw Self.rejection(
                "bitRate",
                "The codec \(codec.rawValue) has no bit rate",
                value: bitRate.json,
                allowed: "with the codecs aac, opus"
            )
        }
    }
}
