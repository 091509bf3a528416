// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import Foundation
import MediaTypes
import Testing

@testable import MediaIO

/// A folder that lives as long as this value.
final class SinkFolder: Sendable {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appending(path: "sink-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    func path(_ name: String) -> String { url.appending(path: name).path }

    /// The names of all files, hidden ones too.
    var contents: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: url.path).sorted() }
    }
}

/// What a tool that was run to its end said and how it ended.
struct ToolResult {
    let output: Data
    let errors: String
    let status: Int32

    var text: String { String(decoding: output, as: UTF8.self) }
}

/// Runs a tool found on the search path to its end.
@discardableResult
func runTool(_ tool: String, _ arguments: [String], mayFail: Bool = false) throws -> ToolResult {
    let folder = try SinkFolder()
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [tool] + arguments
    process.standardInput = FileHandle.nullDevice
    let files = try ["out", "err"].map { name in
        let url = folder.url.appending(path: name)
        try Data().write(to: url)
        return (url, try FileHandle(forWritingTo: url))
    }
    process.standardOutput = files[0].1
    process.standardError = files[1].1
    try process.run()
    process.waitUntilExit()
    let result = ToolResult(
        output: try Data(contentsOf: files[0].0),
        errors: try String(decoding: Data(contentsOf: files[1].0), as: UTF8.self),
        status: process.terminationStatus
    )
    if !mayFail {
        try #require(result.status == 0, "\(tool) \(arguments.joined(separator: " "))\n\(result.errors)")
    }
    return result
}

/// What ffprobe says of a file.
struct Probe: Decodable {
    struct Stream: Decodable {
        var index: Int
        var codec_name: String?
        var codec_tag_string: String?
        var width: Int?
        var height: Int?
        var sample_aspect_ratio: String?
        var color_range: String?
        var color_space: String?
        var color_transfer: String?
        var color_primaries: String?
        var chroma_location: String?
        var avg_frame_rate: String?
        var time_base: String
        var duration: String?
        var tags: [String: String]?
        var disposition: [String: Int]?
        var side_data_list: [SideData]?
    }
    struct SideData: Decodable {
        var side_data_type: String
        var red_x: String?
        var max_luminance: String?
        var max_content: Int?
        var max_average: Int?
    }
    struct Packet: Decodable {
        var stream_index: Int
        var pts: Int64?
        var dts: Int64?
        var pts_time: String?
        var dts_time: String?
        var duration: Int64?
        var duration_time: String?
        var flags: String
    }
    struct Chapter: Decodable {
        var start_time: String
        var end_time: String
        var tags: [String: String]?
    }
    struct Format: Decodable {
        var duration: String?
        var tags: [String: String]?
    }

    var streams: [Stream]
    var packets: [Packet]
    var chapters: [Chapter]
    var format: Format

    init(_ path: String) throws {
        let result = try runTool(
            "ffprobe",
            ["-v", "error", "-show_streams", "-show_packets", "-show_chapters", "-show_format", "-of", "json", path]
        )
        try #require(result.errors.isEmpty, "\(result.errors)")
        self = try JSONDecoder().decode(Probe.self, from: result.output)
    }

    func packets(ofStream index: Int) -> [Packet] { packets.filter { $0.stream_index == index } }
}

/// The MD5 of every decoded video frame; decoding stops at the first error, which fails the test.
func frameHashes(of path: String) throws -> [String] {
    let result = try runTool(
        "ffmpeg",
        ["-v", "error", "-xerror", "-err_detect", "explode", "-i", path]
            + ["-map", "0:v", "-fps_mode", "passthrough", "-f", "framemd5", "-"]
    )
    try #require(result.errors.isEmpty, "\(result.errors)")
    return result.text.split(separator: "\n").filter { !$0.hasPrefix("#") }
        .map { String($0.split(separator: ",").last ?? "").trimmingCharacters(in: .whitespaces) }
}

/// The types of the boxes at the top level of an MP4 file.
func boxTypes(of path: String) throws -> [String] {
    let data = try [UInt8](Data(contentsOf: URL(fileURLWithPath: path)))
    var types: [String] = []
    var position = 0
    while position + 8 <= data.count {
        let size = data[position..<position + 4].reduce(0) { $0 << 8 | Int($1) }
        types.append(String(decoding: data[position + 4..<position + 8], as: UTF8.self))
        guard size >= 8 else { break }
        position += size
    }
    return types
}

/// Samples of an independent encoder: ffmpeg's x264 and x265, split into access units here.
struct EncodedVideo {
    let samples: [SampleBuffer]
    /// The decoded frames.
    let hashes: [String]

    var format: FormatDescription { samples[0].formatDescription }

    /// Twelve pictures with B-frames in four closed groups, 25 frames per second.
    static let standard = Result { try EncodedVideo() }
    /// The same pictures by an encoder with other parameter sets.
    static let other = Result { try EncodedVideo(options: ["-preset", "ultrafast", "-g", "4"]) }

    /// Pictures in HEVC.
    static let hevc = Result { try EncodedVideo(.hevc) }

    /// Encodes test pictures.
    ///
    /// - Parameters:
    ///   - rate: Frames per second.
    ///   - options: for ffmpeg's encoder.
    ///   - color: What the format description claims; the stream's own VUI is the encoder's.
    init(
        _ codec: VideoCodec = .h264,
        rate: String = "25",
        frames: Int = 16,
        options: [String] = ["-bf", "2", "-g", "4"],
        color: ColorDescription = .unspecified,
        pixelAspectRatio: Rational = .one,
        attachments: PixelAttachments = .init()
    ) throws {
        let folder = try SinkFolder()
        let (movie, stream) = (folder.path("a.mp4"), folder.path("a.\(codec.rawValue)"))
        let encoder =
            codec == .h264
            ? ["libx264", "-x264-params", "scenecut=0:threads=1"]
            : ["libx265", "-x265-params", "scenecut=0:open-gop=0:pools=none:frame-threads=1:log-level=none"]
        try runTool(
            "ffmpeg",
            ["-v", "error", "-f", "lavfi", "-i", "testsrc2=s=96x64:r=\(rate)", "-frames:v", "\(frames)"]
                + ["-c:v"] + encoder + ["-pix_fmt", "yuv420p"] + options + [movie]
        )
        try runTool(
            "ffmpeg",
            ["-v", "error", "-i", movie, "-c", "copy", "-bsf:v", "\(codec.rawValue)_mp4toannexb", stream]
        )
        hashes = try frameHashes(of: stream)
        let probe = try Probe(movie)
        let timescale = try #require(Int32(probe.streams[0].time_base.dropFirst(2)))
        let units = try Self.accessUnits(codec, in: [UInt8](Data(contentsOf: URL(fileURLWithPath: stream))))
        try #require(units.count == probe.packets.count)
        let parameterSets = try units[0].filter { try codec.nalUnitHeader(of: $0).isParameterSet }
        let description = FormatDescription(
            codec: codec,
            width: 96,
            height: 64,
            parameterSets: parameterSets,
            color: color,
            pixelAspectRatio: pixelAspectRatio,
            attachments: attachments
        )
        samples = try zip(units, probe.packets).enumerated().map { index, pair in
            let (units, packet) = pair
            let coded = try units.filter { try !codec.nalUnitHeader(of: $0).isParameterSet }
            return SampleBuffer(
                data: try CodedData(NALUnitFraming.lengthPrefixed(.four).join(coded)),
                presentationTime: MediaTime(value: try #require(packet.pts), timescale: timescale),
                decodeTime: MediaTime(value: try #require(packet.dts), timescale: timescale),
                duration: MediaTime(value: try #require(packet.duration), timescale: timescale),
                isKeyFrame: packet.flags.hasPrefix("K"),
                isReference: codec == .hevc || coded.contains { ($0[0] >> 5) & 3 != 0 && (1...5).contains($0[0] & 31) },
                formatDescription: description,
                formatDescriptionChanged: index == 0
            )
        }
    }

    /// Groups NAL units by access unit: a new one begins at the first unit that is no slice behind a slice, and at a
    /// slice whose first bit behind the header is set: `first_mb_in_slice` 0, `first_slice_segment_in_pic_flag` 1.
    private static func accessUnits(_ codec: VideoCodec, in stream: [UInt8]) throws -> [[[UInt8]]] {
        var units: [[[UInt8]]] = []
        var hasSlice = true
        for unit in try NALUnitFraming.annexB.nalUnits(in: stream).map({ Array(stream[$0]) }) {
            let isSlice = try codec.nalUnitHeader(of: unit).isVideoCodingLayer
            if hasSlice, !isSlice || unit[codec == .h264 ? 1 : 2] & 0x80 != 0 {
                units.append([])
                hasSlice = false
            }
            hasSlice = hasSlice || isSlice
            units[units.count - 1].append(unit)
        }
        return units
    }
}

/// Another process that copies what comes through a FIFO into a file.
struct FIFOReader {
    let path: String
    private let copy: String
    private let process = Process()

    init(in folder: SinkFolder) throws {
        (path, copy) = (folder.path("fifo"), folder.path("copy"))
        try #require(mkfifo(path, 0o600) == 0)
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", "cat < \"$0\" > \"$1\"", path, copy]
        try process.run()
    }

    /// The file, once the writer has closed the FIFO.
    func waitForEnd() -> String {
        process.waitUntilExit()
        return copy
    }
}

extension SampleBuffer {
    /// The same sample at another time, described otherwise.
    func changed(_ change: (inout SampleBuffer) -> Void) -> SampleBuffer {
        var copy = self
        change(&copy)
        return copy
    }
}

extension MediaSink.Options {
    init(_ change: (inout Self) -> Void) {
        self.init()
        change(&self)
    }
}

/// Writes samples into a new file.
@discardableResult
func writeSamples(
    _ samples: [SampleBuffer],
    to path: String,
    _ options: MediaSink.Options = .init(),
    prepare: (MediaSink) throws -> Void = { _ in }
) throws -> MediaSink.Summary {
    let sink = try MediaSink(path: path, options: options)
    try prepare(sink)
    for sample in samples { try sink.write(sample) }
    return try sink.finish()
}
