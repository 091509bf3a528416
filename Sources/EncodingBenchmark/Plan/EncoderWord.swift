// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import MediaTypes

/// What stands for encoders in a plan that people write: one encoder, or several at once.
///
/// As ``BenchmarkEncoder``; besides, `x264` and `x265` are their preset medium, `x264:ultrafast...slow` are all presets from
/// one to the other, a render node alone is everything that it encodes with, and `hardware` all of that on every GPU.
public struct EncoderWord: Sendable, Hashable {
    private enum Meaning: Hashable {
        case encoders([BenchmarkEncoder])
        case node(String)
        case hardware
    }

    private let meaning: Meaning

    /// Reads the word; `nil` if it means nothing.
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
        // Three dots have two empty words between them.
        guard ends.count == 4, ends[1].isEmpty, ends[2].isEmpty,
            let first = all.firstIndex(where: { $0.rawValue == ends[0] }),
            let last = all.firstIndex(where: { $0.rawValue == ends[3] }), first <= last
        else { return nil }
        return all[first...last].map { .software(parts[0] == "x264" ? .h264 : .hevc, $0) }
    }

    /// Whether GPUs have to be asked what they encode with.
    public var needsHardware: Bool {
        if case .encoders = meaning { false } else { true }
    }

    /// The render node, if the word is one.
    public var node: String? {
        if case .node(let path) = meaning { path } else { nil }
    }

    /// The encoders.
    ///
    /// - Parameter hardware: Everything that this machine's GPUs encode with.
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
