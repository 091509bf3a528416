// SPDX-License-Identifier: GPL-2.0-or-later

package import BitstreamSyntax
internal import Foundation
package import MediaTypes

/// A stream that ffmpeg's command line has encoded, as samples.
package struct CodedStream: Sendable {
    package let codec: VideoCodec
    /// The stream as in Annex B.
    package let bytes: [UInt8]
    /// The samples in decoding order.
    package var samples: [SampleBuffer]
    /// The streams of which it consists, each complete in itself.
    private var parts: [[UInt8]]

    /// Encodes pictures of one of lavfi's sources, for example:
    ///
    ///     ffmpeg -f lavfi -i testsrc2=size=192x112 -frames:v 30 -c:v libx264 -bf 3 -f h264 out
    package init(
        _ codec: VideoCodec,
        source: String = "testsrc2=size=192x112:rate=25",
        frames: Int = 30,
        _ options: String
    ) throws {
        let name = codec == .h264 ? "h264" : "hevc"
        let encoder = codec == .h264 ? "libx264" : "libx265"
        let words = options.split(separator: " ").map(String.init)
        let chosen = words.contains("-c:v") ? [] : ["-c:v", encoder]
        let bytes = try FFmpegTool.run(
            "ffmpeg",
            ["-f", "lavfi", "-i", source, "-frames:v", "\(frames)"] + chosen + words + ["-f", name, "-"]
        )
        try self.init(codec, bytes: bytes)
    }

    /// Splits a byte stream into samples.
    package init(_ codec: VideoCodec, bytes: [UInt8]) throws {
        self.codec = codec
        self.bytes = bytes
        var splitter = SampleSplitter(codec)
        for range in try NALUnitFraming.annexB.nalUnits(in: bytes) { try splitter.add(bytes, range) }
        try splitter.finish()
        samples = splitter.samples
        parts = [bytes]
    }

    /// The streams one after the other.
    package static func + (left: CodedStream, right: CodedStream) throws -> CodedStream {
        var result = try CodedStream(left.codec, bytes: left.bytes + right.bytes)
        result.parts = left.parts + right.parts
        return result
    }

    /// Returns an H.264 stream whose sequence parameter sets do not state how far pictures are reordered.
    package func withoutReorderDepth() throws -> CodedStream {
        var result = self
        let old = samples[0].formatDescription
        let sets = try old.parameterSets.map { unit in
            guard var set = try? H264SequenceParameterSet(nalUnit: unit) else { return unit }
            set.vui?.bitstreamRestriction = nil
            return try set.nalUnit()
        }
        let format = try FormatDescription(codec: codec, parameterSets: sets)
        for index in result.samples.indices { result.samples[index].formatDescription = format }
        return result
    }

    /// Returns the pictures in presentation order, as ffmpeg's decoder on the CPU returns them.
    ///
    /// - Parameter pixelFormat: FFmpeg's name of the pixel format.
    package func pictures(_ pixelFormat: String, byteCount: Int) throws -> [[UInt8]] {
        let file = try TemporaryFile(bytes)
        // Strictly, the H.264 decoder derives the reorder depth from the level and does not guess it.
        let raw = try FFmpegTool.run(
            "ffmpeg",
            ["-strict", "1", "-threads", "1", "-f", codec == .h264 ? "h264" : "hevc", "-i"]
                + [file.path, "-fps_mode", "passthrough", "-pix_fmt", pixelFormat, "-f", "rawvideo", "-"]
        )
        return stride(from: 0, to: raw.count - byteCount + 1, by: byteCount).map { Array(raw[$0..<$0 + byteCount]) }
    }

    /// Returns the indices of the samples in presentation order, as ffprobe finds them.
    package func presentationOrder() throws -> [Int] {
        try parts.reduce(into: []) { order, part in
            let start = order.count
            order += try presentationOrder(of: part).map { start + $0 }
        }
    }

    private func presentationOrder(of part: [UInt8]) throws -> [Int] {
        let file = try TemporaryFile(part)
        let text = try FFmpegTool.run(
            "ffprobe",
            ["-strict", "1", "-threads", "1", "-f", codec == .h264 ? "h264" : "hevc", "-select_streams", "v"]
                + ["-show_entries", "frame=pkt_pos", "-of", "csv=p=0", file.path]
        )
        let found = String(decoding: text, as: UTF8.self).split(separator: "\n").compactMap {
            Int($0.split(separator: ",").first ?? "")
        }
        let sorted = found.sorted()
        return found.compactMap { position in sorted.firstIndex(of: position) }
    }
}

/// Groups NAL units to samples: a sample begins with the first unit that can only precede a picture.
private struct SampleSplitter {
    let codec: VideoCodec
    var samples: [SampleBuffer] = []

    private var units: [[UInt8]] = []
    private var parameterSets: [[UInt8]] = []
    private var hasSlice = false
    private var isKeyFrame = false
    private var format: FormatDescription?

    init(_ codec: VideoCodec) { self.codec = codec }

    mutating func add(_ bytes: [UInt8], _ range: Range<Int>) throws {
        let unit = Array(bytes[range])
        let header = try codec.nalUnitHeader(of: unit)
        // `first_mb_in_slice` is 0, and `first_slice_segment_in_pic_flag` is 1, if the first bit after the header is one.
        let isFirst = header.isVideoCodingLayer && unit.dropFirst(header.byteCount).first.map { $0 >= 0x80 } == true
        if hasSlice, isFirst || !header.isVideoCodingLayer && !isSuffix(unit) { try finish() }
        if header.isParameterSet {
            parameterSets.append(unit)
            return
        }
        units.append(unit)
        hasSlice = hasSlice || header.isVideoCodingLayer
        isKeyFrame = isKeyFrame || header.isIDR
    }

    private func isSuffix(_ unit: [UInt8]) -> Bool {
        switch codec {
        case .h264: [10, 11, 12].contains(unit[0] & 31)
        // End of sequence, end of stream, filler data, suffix SEI.
        case .hevc: [36, 37, 38, 40].contains(unit[0] >> 1 & 63)
        }
    }

    mutating func finish() throws {
        guard hasSlice else { return }
        let old = format
        if !parameterSets.isEmpty, parameterSets != old?.parameterSets { format = try describe(parameterSets) }
        guard let format else { throw MediaError(.malformedData, "a stream begins without parameter sets") }
        let data = units.reduce(into: [UInt8]()) { data, unit in
            withUnsafeBytes(of: UInt32(unit.count).bigEndian) { data += $0 }
            data += unit
        }
        let time = MediaTime(value: Int64(samples.count), timescale: 25)
        samples.append(
            SampleBuffer(
                data: CodedData(data),
                presentationTime: time,
                decodeTime: time,
                duration: MediaTime(value: 1, timescale: 25),
                isKeyFrame: isKeyFrame,
                formatDescription: format,
                formatDescriptionChanged: format !== old
            )
        )
        (units, parameterSets, hasSlice, isKeyFrame) = ([], [], false, false)
    }

    private func describe(_ sets: [[UInt8]]) throws -> FormatDescription {
        var size = PictureSize(width: 0, height: 0)
        for unit in sets {
            switch codec {
            case .h264 where unit[0] & 31 == 7: size = try H264SequenceParameterSet(nalUnit: unit).displaySize
            case .hevc where unit[0] >> 1 & 63 == 33: size = try HEVCSequenceParameterSet(nalUnit: unit).displaySize
            default: break
            }
        }
        return FormatDescription(codec: codec, width: size.width, height: size.height, parameterSets: sets)
    }
}

/// A file with bytes, which is deleted with the object.
private final class TemporaryFile {
    let path: String

    init(_ bytes: [UInt8]) throws {
        path = NSTemporaryDirectory() + "vatoolbox-stream-" + UUID().uuidString
        try Data(bytes).write(to: URL(fileURLWithPath: path))
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}

/// FFmpeg's command lines.
private enum FFmpegTool {
    /// Runs a command, and returns its standard output.
    static func run(_ name: String, _ arguments: [String]) throws -> [UInt8] {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [name, "-v", "error"] + (name == "ffmpeg" ? ["-nostdin"] : []) + arguments
        let (output, errors) = (Pipe(), try TemporaryFile([]))
        process.standardOutput = output
        process.standardError = try FileHandle(forWritingTo: URL(fileURLWithPath: errors.path))
        process.standardInput = FileHandle.nullDevice
        try process.run()
        let bytes = [UInt8](output.fileHandleForReading.readDataToEndOfFile())
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            let text = try String(contentsOfFile: errors.path, encoding: .utf8)
            throw MediaError(.inputOutput, "\(name) failed: \(text)", given: arguments.joined(separator: " "))
        }
        return bytes
    }
}
