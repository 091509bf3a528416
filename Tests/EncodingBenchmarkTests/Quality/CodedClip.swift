// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import MediaTypes
import Testing

@testable import EncodingBenchmark

/// A generated clip in a folder of its own, which ffmpeg encodes, judges and spoils. Deleted with the value.
final class CodedClip {
    let folder: String
    let clip: PreparedClip

    init(
        _ content: ClipContent = .mixed,
        _ width: Int = 192,
        _ height: Int = 108,
        depth: Int = 8,
        pictures: Int = 8,
        frames: Int = 8,
        rate: Rational = Rational(25, 1)
    ) throws {
        folder = NSTemporaryDirectory() + "vatoolbox-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let size = BenchmarkSize(width: width, height: height)
        let generated = try GeneratedClip(content, size: size, frameRate: rate, bitDepth: depth)
        let path = folder + "/clip.yuv"
        var file = try RawPictureFile(path: path)
        for number in 0..<pictures { try file.append(generated.picture(number)) }
        clip = PreparedClip(
            clip: .generated(content),
            size: size,
            frameRate: BenchmarkFrameRate(rate),
            bitDepth: depth,
            color: .init(GeneratedClip.color),
            loop: PictureLoop(count: pictures),
            frames: frames,
            path: path,
            digest: file.digest
        )
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    /// The arguments by which ffmpeg reads the frames of a run, written down once more in a file for it.
    ///
    /// - Parameter rate: Frames per second; `nil` for the clip's.
    func input(rate: String? = nil) throws -> [String] {
        let pictures = try Data(contentsOf: URL(fileURLWithPath: clip.path))
        let bytes = PreparedClip.pictureBytes(clip.size, bitDepth: clip.bitDepth)
        var shown = Data()
        for frame in 0..<clip.frames {
            let start = clip.loop.index(ofFrame: frame) * bytes
            shown += pictures[start..<start + bytes]
        }
        let path = folder + "/shown.yuv"
        try shown.write(to: URL(fileURLWithPath: path))
        return [
            "-f", "rawvideo", "-pix_fmt", clip.formatName, "-s", clip.size.text, "-framerate",
            rate ?? clip.frameRate.text, "-i", path,
        ]
    }

    /// What the filter `setparams` says of pictures. Encoders of ffmpeg 7 take primaries and transfer from pictures alone.
    static let bt709 = "colorspace=bt709:color_primaries=bt709:color_trc=bt709:range=tv"

    /// Encodes the clip; with three B-frames, so that frames are not in the order in which they are shown.
    func encode(
        _ codec: String = "libx264",
        crf: Int = 30,
        color: String = bt709,
        filter: String? = nil,
        format: String? = nil,
        options: [String] = [],
        rate: String? = nil,
        name: String = "coded.mp4"
    ) throws -> String {
        let path = folder + "/" + name
        let format = format ?? (clip.bitDepth > 8 ? "yuv420p10le" : "yuv420p")
        let filters = (filter.map { [$0] } ?? []) + ["format=\(format)", "setparams=\(color)"]
        _ = try Self.run(
            "ffmpeg",
            ["-v", "error"] + input(rate: rate) + ["-c:v", codec, "-preset", "veryfast", "-crf", "\(crf)", "-bf", "3"]
                + ["-vf", filters.joined(separator: ",")] + options + [path]
        )
        return path
    }

    /// What a filter of ffmpeg that compares two videos says of a stream.
    func judge(_ stream: String, _ filter: String, by program: String = "ffmpeg", isReferenceFirst: Bool = false) throws
        -> String
    {
        let format = clip.bitDepth > 8 ? "yuv420p10le" : "yuv420p"
        let order = isReferenceFirst ? "[r][d]" : "[d][r]"
        // Else newer versions convert between the range that the stream states and that of uncompressed pictures, which state
        // none: libvmaf gave 32 instead of 74 then.
        let same = "setpts=N/25/TB,format=\(format),setparams=range=tv:colorspace=bt709"
        let graph = "[0:v]\(same)[d];[1:v]\(same)[r];\(order)\(filter)"
        return try Self.run(
            program,
            ["-hide_banner", "-i", stream] + input() + ["-lavfi", graph, "-f", "null", "-"]
        )
    }

    func quality(
        _ stream: String,
        codedFrames: [Bool]? = nil,
        program: QualityProgram.Search = .missing("none is wanted")
    ) throws -> BenchmarkReport.Quality {
        let codedFrames = codedFrames ?? Array(repeating: true, count: clip.frames)
        return try StreamQuality(clip: clip, codedFrames: codedFrames, program: program).measure(stream)
    }

    /// Runs a program; returns what it says on standard error.
    static func run(_ program: String, _ arguments: [String]) throws -> String {
        let process = Process()
        let errors = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [program] + arguments
        process.standardError = errors
        process.standardOutput = FileHandle.nullDevice
        process.standardInput = FileHandle.nullDevice
        try process.run()
        let text = String(decoding: try errors.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        try #require(process.terminationStatus == 0, "\(text)")
        return text
    }

    /// The number after a key in what a program says, for example after `y:`.
    static func number(_ text: String, after key: String) throws -> Double {
        let start = try #require(text.range(of: key, options: .backwards)?.upperBound)
        return try #require(Double(text[start...].drop { $0 == " " }.prefix { "0123456789.-".contains($0) }))
    }
}
