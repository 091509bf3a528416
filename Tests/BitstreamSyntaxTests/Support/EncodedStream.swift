// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import Foundation

/// A stream of some encoder and what FFmpeg's own parser of the syntax reads in it.
struct EncodedStream {
    /// The file, in Annex B.
    let bytes: [UInt8]
    /// For each parameter set that FFmpeg met, its elements as `position name = value`.
    let tracedSets: [Set<String>]
    /// The same for each slice header, in decode order.
    let tracedSlices: [Set<String>]

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
        try self.init(bytes: [UInt8](Data(contentsOf: URL(fileURLWithPath: file))), log: log)
    }

    /// Lets FFmpeg read a stream that may hold nothing but parameter sets, which it then complains about.
    init(codec: VideoCodec, nalUnits: [[UInt8]], in folder: TemporaryFolder) throws {
        let file = folder.path("\(UUID().uuidString).bin")
        let bytes = try NALUnitFraming.annexB.join(nalUnits)
        try Data(bytes).write(to: URL(fileURLWithPath: file))
        let command = "ffmpeg -hide_banner -nostats -f \(codec.rawValue) -i '\(file)' -c:v copy -bsf:v trace_headers"
        try self.init(bytes: bytes, log: run("sh", ["-c", "\(command) -f null - ; true"], in: folder))
    }

    private init(bytes: [UInt8], log: String) throws {
        self.bytes = bytes
        tracedSets = Self.structures(in: log) { $0 == ["Parameter", "Set"] }
        tracedSlices = Self.structures(in: log) { [["Slice", "Header"], ["Segment", "Header"]].contains($0) }
        nalUnits = try NALUnitFraming.annexB.nalUnits(in: bytes).map { Array(bytes[$0]) }
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

    static func line(of element: SyntaxElement) -> String {
        "\(element.bitPosition) \(element.name) = \(element.value)"
    }

    /// The elements of each structure whose title ends with two words that are wanted.
    private static func structures(in log: String, _ isWanted: ([Substring]) -> Bool) -> [Set<String>] {
        var structures: [Set<String>] = []
        var isInside = false
        for line in log.split(separator: "\n") where line.hasPrefix("[trace_headers") {
            let words = line.split(separator: "]", maxSplits: 1).last?.split(separator: " ") ?? []
            if let position = words.first.flatMap({ Int($0) }) {
                guard isInside, words.count >= 4, let value = words.last else { continue }
                let name = String(words[1])
                guard name != "rbsp_alignment_zero_bit", !isReserved(name) else { continue }
                structures[structures.count - 1].insert("\(position) \(specificationName(name)) = \(value)")
            } else {
                isInside = isWanted(words.suffix(2))
                if isInside { structures.append([]) }
            }
        }
        return structures
    }

    /// The name in the specification of what FFmpeg calls otherwise.
    private static func specificationName(_ name: String) -> String {
        name.replacing("gaps_in_frame_num_allowed_flag", with: "gaps_in_frame_num_value_allowed_flag")
            .replacing("scaling_list_delta_coeff[", with: "scaling_list_delta_coef[")
    }
}
