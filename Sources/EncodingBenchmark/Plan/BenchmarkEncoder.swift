// SPDX-License-Identifier: GPL-2.0-or-later

public import BitstreamSyntax
public import MediaTypes

/// An encoder of a plan, with the setting that determines its speed and quality.
///
/// The text is `x264:medium` or `x265:fast`, or a render node with codec and entrypoint:
/// `/dev/dri/renderD128:h264:full`, `/dev/dri/renderD128:hevc:low-power`, and with the driver's quality level
/// `/dev/dri/renderD128:h264:full:4`.
public enum BenchmarkEncoder: PlanText {
    /// x264 (H.264) or x265 (HEVC) on the CPU.
    case software(VideoCodec, SoftwareEncoderOptions.Preset)
    /// A GPU encoder.
    case hardware(HardwareEncoderChoice)

    /// A GPU encoder: its render node, codec and entrypoint.
    public struct HardwareEncoderChoice: Sendable, Hashable {
        /// The path of the render node.
        public var node: String
        /// The codec.
        public var codec: VideoCodec
        /// Whether it is the low-power encoder (VA-API entrypoint EncSliceLP) rather than the full one (EncSlice).
        public var isLowPower: Bool
        /// The driver's quality level, 1 is the best; `nil` for the driver's default.
        public var qualityLevel: Int?

        /// Creates a choice.
        public init(node: String, codec: VideoCodec, isLowPower: Bool, qualityLevel: Int? = nil) {
            self.node = node
            self.codec = codec
            self.isLowPower = isLowPower
            self.qualityLevel = qualityLevel
        }
    }

    /// The codec of the output.
    public var codec: VideoCodec {
        switch self {
        case .software(let codec, _): codec
        case .hardware(let choice): choice.codec
        }
    }

    /// The render node of a GPU encoder; `nil` for a CPU encoder.
    public var node: String? {
        if case .hardware(let choice) = self { choice.node } else { nil }
    }

    /// Parses the text; `nil` if it is invalid.
    public init?(text: String) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        switch parts[0] {
        case "x264", "x265":
            guard parts.count <= 2, let preset = SoftwareEncoderOptions.Preset(rawValue: parts.last ?? "medium") else {
                guard parts.count == 1 else { return nil }
                self = .software(parts[0] == "x264" ? .h264 : .hevc, .medium)
                return
            }
            self = .software(parts[0] == "x264" ? .h264 : .hevc, preset)
        default:
            guard parts[0].hasPrefix("/"), (3...4).contains(parts.count),
                let codec = Self.codecs.first(where: { $0.name == parts[1] })?.codec,
                let entrypoint = Self.entrypoints.first(where: { $0.name == parts[2] })
            else { return nil }
            let level = parts.count == 4 ? DecimalNumber(parts[3])?.wholeValue : nil
            if parts.count == 4, level.map({ $0 < 1 }) ?? true { return nil }
            self = .hardware(
                HardwareEncoderChoice(
                    node: parts[0],
                    codec: codec,
                    isLowPower: entrypoint.isLowPower,
                    qualityLevel: level
                )
            )
        }
    }

    /// The text that ``init(text:)`` parses to this value.
    public var text: String {
        switch self {
        case .software(let codec, let preset): "\(codec == .h264 ? "x264" : "x265"):\(preset.rawValue)"
        case .hardware(let choice):
            ([
                choice.node, Self.codecs.first { $0.codec == choice.codec }?.name,
                Self.entrypoints.first { $0.isLowPower == choice.isLowPower }?.name,
                choice.qualityLevel.map(String.init),
            ] as [String?]).compactMap(\.self).joined(separator: ":")
        }
    }

    private static let codecs: [(name: String, codec: VideoCodec)] = [("h264", .h264), ("hevc", .hevc)]
    private static let entrypoints = [(name: "full", isLowPower: false), (name: "low-power", isLowPower: true)]

    /// The allowed values.
    public static var allowedText: String {
        "x264:PRESET, x265:PRESET, or NODE:CODEC:full and NODE:CODEC:low-power, such as /dev/dri/renderD128:h264:full"
    }
}
