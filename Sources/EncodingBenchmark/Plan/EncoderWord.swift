// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import MediaTypes

/// A text for encoders in a plan: one encoder, or several at once.
///
/// It is parsed like ``BenchmarkEncoder``. In addition, `x264` and `x265` stand for their preset medium,
/// `x264:ultrafast...slow` for a range of presets, a render node alone for all of its encoders, and `hardware` for all
/// encoders of all GPUs.
public struct EncoderWord: Sendable, Hashable {
    private enum Meaning: Hashable {
        case encoders([BenchmarkEncoder])
        case node(String)
        case hardware
    }

    private let meaning: Meaning

    /// Parses the text; `nil` if it is invalid.
    public init?(text: String) {
        if let encoder = BenchmarkEncoder(text: text) {
            meaning = .encoders([encoder])
        } else if text == "hardware" {
            meaning = .hardware
        } else if let presets = Self.presets(text) {
            meaning = .encoders(presets)
        } else if text.hasPrefix("/"), !text.contains(":") {
            meaning = .node(text)
        } else {
            return nil
        }
    }

    private static func presets(_ text: String) -> [BenchmarkEncoder]? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0] == "x264" || parts[0] == "x265" else { return nil }
        let ends = parts[1].split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        let all = SoftwareEncoderOptions.Preset.allCases
        // Three dots enclose two empty words.
        guard ends.count == 4, ends[1].isEmpty, ends[2].isEmpty,
            let first = all.firstIndex(where: { $0.rawValue == ends[0] }),
            let last = all.firstIndex(where: { $0.rawValue == ends[3] }), first <= last
        else { return nil }
        return all[first...last].map { .software(parts[0] == "x264" ? .h264 : .hevc, $0) }
    }

    /// Whether the encoders of GPUs must be queried.
    public var needsHardware: Bool {
        if case .encoders = meaning { false } else { true }
    }

    /// The render node, if the text is one.
    public var node: String? {
        if case .node(let path) = meaning { path } else { nil }
    }

    /// Returns the encoders.
    ///
    /// - Parameter hardware: All GPU encoders of this machine.
    public func encoders(hardware: [BenchmarkEncoder]) -> [BenchmarkEncoder] {
        switch meaning {
        case .encoders(let encoders): encoders
        case .node(let path): hardware.filter { $0.node == path }
        case .hardware: hardware
        }
    }

    /// The accepted values.
    public static var allowedText: String {
        "\(BenchmarkEncoder.allowedText); x264:ultrafast...slow for a range of presets, a render node for all of its encoders, or "
            + "hardware for all encoders of all GPUs"
    }
}
