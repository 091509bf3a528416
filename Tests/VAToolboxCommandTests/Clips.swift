// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import Testing

/// Clips, and what ffprobe and ffmpeg make of files.
extension Scratch {
    /// A moving picture of 160x90 at 25 frames per second, with sound unless it is a format without.
    @discardableResult
    func makeClip(_ name: String = "clip.mkv", seconds: Double = 1, size: String = "160x90") throws -> String {
        var arguments: [String] = []
        if name.hasSuffix(".y4m") {
            arguments += ["-pix_fmt", "yuv420p"]
        } else {
            arguments += ["-f", "lavfi", "-i", "sine=frequency=440:duration=\(seconds)"]
            arguments += ["-c:v", "libx264", "-preset", "ultrafast", "-qp", "10", "-pix_fmt", "yuv420p"]
            arguments += ["-c:a", name.hasSuffix(".webm") ? "libopus" : "aac"]
        }
        try generate("testsrc2=size=\(size):rate=25:duration=\(seconds)", arguments + [path(name)])
        return path(name)
    }

    /// Runs ffmpeg, which must succeed.
    @discardableResult
    func ffmpeg(_ arguments: [String], sourceLocation: SourceLocation = #_sourceLocation) throws -> String {
        try tool(["ffmpeg", "-v", "error"] + arguments, sourceLocation: sourceLocation)
    }

    /// Runs ffmpeg on a source of libavfilter.
    func generate(
        _ source: String,
        _ arguments: [String],
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        try ffmpeg(["-f", "lavfi", "-i", source] + arguments, sourceLocation: sourceLocation)
    }

    /// One value of each frame or packet that ffprobe lists, in its order.
    func probe(_ file: String, _ stream: String, _ section: String) throws -> [String] {
        let text = try tool(
            "ffprobe",
            "-v",
            "error",
            "-select_streams",
            stream,
            "-show_entries",
            section,
            "-of",
            "csv=p=0",
            path(file)
        )
        return text.split(whereSeparator: \.isNewline).map { String($0.prefix { $0 != "," }) }
    }

    /// When each picture is shown, in seconds from the first, by the packets' order of presentation.
    func presentationTimes(_ file: String) throws -> [Double] {
        let times = try probe(file, "v:0", "packet=pts_time").compactMap(Double.init).sorted()
        return times.map { $0 - (times.first ?? 0) }
    }

    /// How many pictures ffmpeg decodes, without any error.
    func decodedFrameCount(_ file: String) throws -> Int {
        try frameHashes(file).count
    }

    /// The MD5 of each decoded picture.
    func frameHashes(_ file: String, _ stream: String = "v") throws -> [String] {
        let text = try ffmpeg([
            "-xerror", "-i", path(file), "-map", "0:\(stream)", "-vsync", "passthrough", "-f", "framemd5", "-",
        ])
        return text.split(separator: "\n").filter { !$0.hasPrefix("#") }.compactMap {
            $0.split(separator: ",").last.map { $0.trimmingCharacters(in: .whitespaces) }
        }
    }

    /// The MD5 of the coded packets of a track.
    func packetHash(_ file: String, _ stream: String) throws -> String {
        try tool("ffmpeg", "-v", "error", "-i", path(file), "-map", "0:\(stream)", "-c", "copy", "-f", "md5", "-")
    }

    /// How near two videos of as many frames are: the worst frame's PSNR in dB.
    ///
    /// - Parameters:
    ///   - filter: What to do with the first before, as a filter of ffmpeg.
    ///   - other: What to do with the second.
    func worstPSNR(
        _ reference: String,
        _ file: String,
        filter: String = "null",
        other: String = "null"
    ) throws -> Double {
        // One frame a second on both sides, so that frames are compared by their number.
        let graph = "[0:v]\(filter),settb=1,setpts=N[a];[1:v]\(other),settb=1,setpts=N[b];[a][b]psnr=stats_file=-"
        let text = try ffmpeg(["-i", path(reference), "-i", path(file), "-filter_complex", graph, "-f", "null", "-"])
        let values = text.split(separator: "\n").compactMap { line in
            line.split(separator: " ").first { $0.hasPrefix("psnr_avg:") }.flatMap { field -> Double? in
                let value = field.dropFirst("psnr_avg:".count)
                return value == "inf" ? .infinity : Double(value)
            }
        }
        return try #require(values.min())
    }
}

extension Scratch {
    func write(_ name: String, _ text: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: path(name)))
    }

    /// When the first packet of a track is presented.
    func firstTime(_ file: String, _ stream: String) throws -> Double {
        try #require(try probe(file, stream, "packet=pts_time").compactMap(Double.init).min())
    }
}
