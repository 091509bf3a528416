// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import Foundation

/// A stream of some encoder and what FFmpeg's own parser of the syntax reads in it.
struct EncodedStream {
    /// The file, in Annex B.
    let bytes: [UInt8]
    /// For each parameter set that FFmpeg met, its elements as `position name = value`.
    let tracedSets: [Set<String>]

    /// The NAL units without start codes.
    let nalUnits: [[UInt8]]

    /// Encodes a few frames of a test picture with ffmpeg, or takes the Annex B file named by `source`.
    init(codec: VideoCodec, _ arguments: [String], source: String? = nil, in folder: TemporaryFolder) throws {
        let file = folder.path("\(UUID().uuidString).bin")
        let input = source.map { ["-f", codec.rawValue, "-i", $0, "-c:v", "copy"] } ?? arguments
        let log = try run(
            "ffmpeg",
            ["-hide_banner", "-nostats", "-y"] + input + ["-bsf:v", "trace_headers", "-f", codec.rawValue, file],
            in: folder
        )
        bytes = try [UInt8](Data(contentsOf: URL(fileURLWithPath: file)))
        nalUnits = try NALUnitFraming.annexB.nalUnits(in: bytes).map { [bytes] in Array(bytes[$0]) }
        tracedSets = Self.sets(in: log)
    }

    /// Arguments that make `frames` frames of moving picture and encode them.
    static func encoding(_ encoder: String, size: String = "96x64", frames: Int = 6, _ options: String) -> [String] {
        ["-f", "lavfi", "-i", "testsrc2=s=\(size):r=25", "-frames:v", "\(frames)", "-c:v", encoder]
            + options.split(separator: " ").map(String.init)
    }

    /// In what these elements differ from those that FFmpeg found in the parameter set that is most like them.
    func differences(from elements: [SyntaxElement]) -> [String] {
        let lines = Set(elements.filter { !Self.isReserved($0.name) }.map(Self.line))
        let nearest = tracedSets.max { $0.intersection(lines).count < $1.intersection(lines).count } ?? []
        return nearest.symmetricDifference(lines).sorted().map { (lines.contains($0) ? "ours " : "ffmpeg's ") + $0 }
    }

    /// What ffprobe says of the stream.
    func probe(_ entries: [String], codec: VideoCodec, in folder: TemporaryFolder) throws -> [String: String] {
        let file = folder.path("\(UUID().uuidString).bin")
        try Data(bytes).write(to: URL(fileURLWithPath: file))
        let arguments = [
            "-v", "error", "-f", codec.rawValue, "-show_entries", "stream=\(entries.joined(separator: ","))",
        ]
        let text = try run("ffprobe", arguments + ["-of", "default=noprint_wrappers=1", file], in: folder)
        return text.split(separator: "\n").reduce(into: [:]) { result, line in
            let pair = line.split(separator: "=", maxSplits: 1).map(String.init)
            if pair.count == 2 { result[pair[0]] = pair[1] }
        }
    }

    /// Whether these are reserved bits, which FFmpeg shows in pieces and under names of its own.
    private static func isReserved(_ name: String) -> Bool { name.contains("reserved_zero_") }

    private static func line(of element: SyntaxElement) -> String {
        "\(element.bitPosition) \(element.name) = \(element.value)"
    }

    private static func sets(in log: String) -> [Set<String>] {
        var sets: [Set<String>] = []
        var isInSet = false
        for line in log.split(separator: "\n") where line.hasPrefix("[trace_headers") {
            let words = line.split(separator: "]", maxSplits: 1).last?.split(separator: " ") ?? []
            if let position = words.first.flatMap({ Int($0) }) {
                guard isInSet, words.count >= 4, let value = words.last else { continue }
                let name = String(words[1])
                guard name != "rbsp_alignment_zero_bit", !isReserved(name) else { continue }
                sets[sets.count - 1].insert("\(position) \(specificationNames[name] ?? name) = \(value)")
            } else {
                isInSet = words.suffix(2) == ["Parameter", "Set"]
                if isInSet { sets.append([]) }
            }
        }
        return sets
    }

    /// Where FFmpeg's name of an element is not the one in the specification.
    private static let specificationNames = [
        "gaps_in_frame_num_allowed_flag": "gaps_in_frame_num_value_allowed_flag"
    ]
}
