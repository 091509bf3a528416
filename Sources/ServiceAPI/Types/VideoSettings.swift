// SPDX-License-Identifier: GPL-2.0-or-later

/// The codec of a video.
public enum VideoCodecChoice: String, APIEnum {
    /// HEVC on a GPU that encodes it, otherwise H.264.
    case auto
    /// H.264.
    case h264
    /// HEVC.
    case hevc
}

/// How pictures are fitted into a size of another aspect ratio.
public enum Scaling: String, APIEnum {
    /// The whole picture, with bars: `letterbox` of the command.
    case fit
    /// The whole size; what exceeds it is cropped: `aspect-fill` of the command.
    case fill
    /// The whole size, with another aspect ratio.
    case stretch
}

/// A preset of x264 and x265.
public enum EncoderPreset: String, APIEnum {
    /// A preset, by its name.
    case ultrafast, superfast, veryfast, faster, fast, medium, slow, slower, veryslow, placebo
}

/// A tuning of x264 and x265.
public enum EncoderTuning: String, APIEnum {
    /// A tuning, by its name.
    case film, animation, grain, stillimage, psnr, ssim, fastdecode, zerolatency
}

/// A profile, by its name in the command.
public enum VideoProfile: String, APIEnum {
    /// H.264 Constrained Baseline.
    case baseline
    /// H.264, or HEVC if the codec is HEVC.
    case main
    /// H.264 High.
    case high
    /// H.264 High 10.
    case high10
    /// HEVC Main 10.
    case main10
    /// HEVC Main 12.
    case main12
    /// HEVC Main 4:2:2 10.
    case main422Bits10 = "main422-10"
    /// HEVC Main 4:2:2 12.
    case main422Bits12 = "main422-12"
    /// HEVC Main 4:4:4.
    case main444
    /// HEVC Main 4:4:4 10.
    case main444Bits10 = "main444-10"
    /// HEVC Main 4:4:4 12.
    case main444Bits12 = "main444-12"

    /// The codec that has the profile; `nil` if both do.
    public var codec: VideoCodecChoice? {
        switch self {
        case .main: nil
        case .baseline, .high, .high10: .h264
        case .main10, .main12, .main422Bits10, .main422Bits12, .main444, .main444Bits10, .main444Bits12: .hevc
        }
    }
}

/// The chroma format of a video.
public enum ChromaChoice: String, APIEnum {
    /// 4:2:0.
    case yuv420 = "4:2:0"
    /// 4:2:2.
    case yuv422 = "4:2:2"
    /// 4:4:4.
    case yuv444 = "4:4:4"
    /// That of the input.
    case source
}

/// The bits per sample of a video: a number, or `source` for those of the input.
public enum BitDepthChoice: Sendable, Hashable, CaseIterable {
    /// 8 bits.
    case bits8
    /// 10 bits.
    case bits10
    /// 12 bits.
    case bits12
    /// Those of the input.
    case source
}

extension BitDepthChoice: APIValue {
    package static func decode(_ json: JSONValue, mode: DecodingMode) throws(APIError) -> BitDepthChoice {
        let given: JSONValue
        if case .number(let number) = json, let integer = Int64(exactly: number) {
            given = .integer(integer)
        } else {
            given = json
        }
        guard let choice = allCases.first(where: { $0.json == given }) else {
            throw APIError(
                .invalidRequest,
                "The bit depth is not allowed",
                value: json,
                allowed: #"8, 10, 12 or "source""#
            )
        }
        return choice
    }
    package var json: JSONValue {
        switch self {
        case .bits8: 8
        case .bits10: 10
        case .bits12: 12
        case .source: "source"
        }
    }
    package static func schema(in registry: inout SchemaRegistry) -> JSONObject {
        ["enum": .array(allCases.map(\.json))]
    }
}

/// How the video of an output is encoded.
public struct VideoSettings: APIObject {
    /// Codec; auto is HEVC on a GPU that encodes it, otherwise H.264.
    public var codec = VideoCodecChoice.auto
    /// Average bit rate in bit/s; not with quality.
    public var bitRate: Int?
    /// Highest bit rate in bit/s.
    public var peakBitRate: Int?
    /// Constant quality (CRF); less is better.
    public var quality: Double?
    /// Quality to reach with as few bytes as possible; not with quality or bitRate.
    public var target: QualityTarget?
    /// Width in pixels; by default, that of the aspect ratio.
    public var width: Int?
    /// Height in pixels; by default, that of the aspect ratio.
    public var height: Int?
    /// How another aspect ratio is fitted: with bars, cropped or stretched.
    public var scaling = Scaling.fit
    /// Constant frame rate, 0.01 to 1000, such as 25.
    public var frameRate: String?
    /// Speed of software encoders.
    public var preset: EncoderPreset?
    /// Profile of the codec.
    public var profile: VideoProfile?
    /// Seconds between key frames.
    public var keyFrameInterval: Double?
    /// Most consecutive B-frames.
    public var bFrames: Int?
    /// Bits per sample, or source for those of the input; 12 needs HEVC.
    public var bitDepth: BitDepthChoice?
    /// Chroma format, or source for that of the input; 4:2:2 and 4:4:4 need HEVC.
    public var chroma: ChromaChoice?
    /// What software encoders are tuned for.
    public var tune: EncoderTuning?

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let typeName = "Video"
    package static let summary = "How the video of an output is encoded"

    /// Bit rates in bit/s that encoders accept.
    static let bitRates = 8_000...800_000_000

    package static let fields: Fields<Self> = [
        .defaulted("codec", \.codec, "Codec; auto is HEVC on a GPU that encodes it, otherwise H.264"),
        .optional("bitRate", \.bitRate, in: .range(bitRates), "Average bit rate in bit/s; not with quality"),
        .optional("peakBitRate", \.peakBitRate, in: .range(bitRates), "Highest bit rate in bit/s"),
        .optional("quality", \.quality, in: .range(0...51), "Constant quality (CRF); less is better"),
        .optional("target", \.target, "Quality to reach with as few bytes as possible; not with quality or bitRate"),
        .optional("width", \.width, in: .even(16...16384), "Width in pixels; by default, that of the aspect ratio"),
        .optional("height", \.height, in: .even(16...16384), "Height in pixels; by default, that of the aspect ratio"),
        .defaulted("scaling", \.scaling, "How another aspect ratio is fitted: with bars, cropped or stretched"),
        .optional(
            "frameRate",
            \.frameRate,
            in: .text(1...26, .frameRate),
            "Constant frame rate, 0.01 to 1000, such as 25"
        ),
        .optional("preset", \.preset, "Speed of software encoders"),
        .optional("profile", \.profile, "Profile of the codec"),
        .optional("keyFrameInterval", \.keyFrameInterval, in: .range(0.1...600), "Seconds between key frames"),
        .optional("bFrames", \.bFrames, in: .range(0...16), "Most consecutive B-frames"),
        .optional("bitDepth", \.bitDepth, "Bits per sample, or source for those of the input; 12 needs HEVC"),
        .optional("chroma", \.chroma, "Chroma format, or source for that of the input; 4:2:2 and 4:4:4 need HEVC"),
        .optional("tune", \.tune, "What software encoders are tuned for"),
    ]

    package static let example: Self? = Self {
        $0.codec = .hevc
        $0.bitRate = 4_000_000
        $0.height = 1080
    }

    package func validate() throws(APIError) {
        if let quality, bitRate != nil {
            throw Self.rejection(
                "quality",
                "A constant quality and an average bit rate exclude each other",
                value: quality.json,
                allowed: "either quality or bitRate",
                remedies: ["Use `quality` with `peakBitRate` to limit the rate of a constant quality."]
            )
        }
        if let target, bitRate != nil || quality != nil {
            let other = bitRate != nil ? "an average bit rate" : "a constant quality"
            throw Self.rejection(
                "target",
                "A quality target and \(other) exclude each other",
                value: target.json,
                allowed: "one of target, quality and bitRate",
                remedies: ["Use `target` with `peakBitRate` to limit its rate."]
            )
        }
        if let peakBitRate, let bitRate, peakBitRate < bitRate {
            throw Self.rejection(
                "peakBitRate",
                "The highest bit rate is below the average",
                value: peakBitRate.json,
                allowed: "at least bitRate, \(bitRate)"
            )
        }
        if let frameRate, let allowed = FrameRate.violation(of: frameRate) {
            throw Self.rejection("frameRate", "The frame rate is out of range", value: frameRate.json, allowed: allowed)
        }
        if let profile, let needed = profile.codec, codec != .auto, needed != codec {
            let allowed = VideoProfile.allCases.filter { $0.codec == nil || $0.codec == codec }.map(\.rawValue)
            throw Self.rejection(
                "profile",
                "The codec \(codec.rawValue) does not have the profile",
                value: profile.json,
                allowed: allowed.joined(separator: ", ")
            )
        }
        guard codec == .h264 else { return }
        if bitDepth == .bits12 {
            throw Self.rejection(
                "bitDepth",
                "H.264 is not encoded with 12 bits",
                value: 12,
                allowed: "8, 10 or source",
                remedies: ["Use the codec hevc."]
            )
        }
        if let chroma, chroma == .yuv422 || chroma == .yuv444 {
            throw Self.rejection(
                "chroma",
                "H.264 is encoded with 4:2:0 only",
                value: chroma.json,
                allowed: "4:2:0 or source",
                remedies: ["Use the codec hevc."]
            )
        }
    }
}
