// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import Glibc
import Testing

extension Scratch {
    /// Runs `vatoolbox decode`, which must end with a status.
    @discardableResult
    func decode(
        _ arguments: String...,
        status: Int32 = 0,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> [String: Any] {
        let result = try run([Self.vatoolbox, "decode"] + arguments + ["--json"])
        try #require(result.status == status, "\(arguments): \(result.output)", sourceLocation: sourceLocation)
        let value = try JSONSerialization.jsonObject(with: Data(result.output.utf8))
        return try #require(value as? [String: Any], sourceLocation: sourceLocation)
    }

    /// The hashes of the pictures that FFmpeg decodes from a file, each once.
    ///
    /// - Parameter options: Options of the output.
    func pictureHashes(_ name: String, _ options: [String] = []) throws -> [String] {
        let hashes = try tool(
            ["ffmpeg", "-v", "error", "-i", path(name), "-map", "0:v:0"] + options
                + ["-fps_mode", "passthrough", "-f", "framemd5", "-"]
        )
        return hashes.split(separator: "\n").filter { !$0.hasPrefix("#") }.compactMap { line in
            line.split(separator: ",").last.map { $0.trimmingCharacters(in: .whitespaces) }
        }
    }
}

@Suite struct DecodeTests {
    /// A stream of each kind: the codec's options, and the pixel format of the pictures.
    private static let streams: [(name: String, options: [String])] = [
        ("b.mp4", ["-c:v", "libx264", "-bf", "3", "-g", "25", "-pix_fmt", "yuv420p"]),
        ("open.ts", ["-c:v", "libx264", "-x264-params", "open-gop=1:keyint=12:bframes=3", "-pix_fmt", "yuv420p"]),
        ("fields.mkv", ["-c:v", "libx264", "-x264-params", "interlaced=1:slices=3", "-pix_fmt", "yuv420p"]),
        ("odd.mov", ["-vf", "scale=161:91", "-c:v", "libx264", "-pix_fmt", "yuv444p"]),
        ("high.mp4", ["-c:v", "libx264", "-pix_fmt", "yuv422p10le"]),
        ("cra.mkv", ["-c:v", "libx265", "-x265-params", "open-gop=1:keyint=12:bframes=4:log-level=none"]),
        ("ten.ts", ["-c:v", "libx265", "-x265-params", "log-level=none", "-pix_fmt", "yuv420p10le"]),
        ("raw.hevc", ["-c:v", "libx265", "-x265-params", "log-level=none:bframes=2", "-pix_fmt", "yuv420p"]),
    ]

    @Test(arguments: streams.map(\.name)) func writesThePicturesThatFFmpegDecodes(name: String) throws {
        let scratch = try Scratch()
        let options = try #require(Self.streams.first { $0.name == name }).options
        try scratch.generate("testsrc2=size=160x96:rate=25:duration=2", options + [scratch.path(name)])
        let document = try scratch.decode(name, "-o", "pictures.y4m")
        #expect(try scratch.pictureHashes("pictures.y4m") == scratch.pictureHashes(name))
        #expect(document["pictures"] as? Int == 50)
        #expect(document["damagedPictures"] as? Int == 0)
        let decoder = try #require(document["decoder"] as? [String: Any])
        #expect(decoder["name"] as? String == "libavcodec")
        let output = try #require(document["output"] as? [String: Any])
        let attributes = try FileManager.default.attributesOfItem(atPath: scratch.path("pictures.y4m"))
        #expect(output["bytes"] as? Int == (attributes[.size] as? NSNumber)?.intValue)
        #expect(scratch.names == [name, "pictures.y4m"].sorted())
    }

    @Test(arguments: [("b.mp4", 0.48, 0.4), ("b.mp4", 1.0, 0.2), ("cra.mkv", 0.6, 0.3), ("open.ts", 1.3, 0.5)])
    func beginsAndEndsAtExactPictures(name: String, start: Double, duration: Double) throws {
        let scratch = try Scratch()
        let options = try #require(Self.streams.first { $0.name == name }).options
        try scratch.generate("testsrc2=size=160x90:rate=25:duration=2", options + [scratch.path(name)])
        try scratch.decode(name, "-o", "part.y4m", "--start", "\(start)", "--duration", "\(duration)")
        // Rounded to pictures, which begin every 40 ms.
        let all = try scratch.pictureHashes(name)
        let (first, end) = (Int((start * 25).rounded(.up)), Int(((start + duration) * 25 - 0.001).rounded(.up)))
        #expect(try scratch.pictureHashes("part.y4m") == Array(all[first..<min(end, all.count)]))
    }

    @Test func countsWhenThereIsNoOutput() throws {
        let scratch = try Scratch()
        try scratch.makeFilm("film.mp4", seconds: 1)
        let all = try scratch.decode("film.mp4", "-o", "null", "--decoder-threads", "1")
        #expect(all["pictures"] as? Int == 25 && all["output"] is NSNull)
        let overview = try scratch.decode("film.mp4", "-o", "null", "--skip-disposable")
        let (shown, skipped) = (overview["pictures"] as? Int ?? 0, overview["skippedSamples"] as? Int ?? 0)
        #expect(skipped > 0 && shown + skipped == 25)
        let result = try scratch.run(Scratch.vatoolbox, "decode", "film.mp4", "-o", "null")
        #expect(result.status == 0)
        for text in ["input", "h264, 160x90", "decoder", "libavcodec", "25 pictures, i420", "fps"] {
            #expect(result.errors.contains(text), "\(text): \(result.errors)")
        }
        #expect(scratch.names == ["film.mp4"])
    }

    @Test func writesToStandardOutput() throws {
        let scratch = try Scratch()
        try scratch.makeFilm("film.mp4", seconds: 1)
        let command = "\(Scratch.vatoolbox) decode film.mp4 -o - --quiet | cat > piped.y4m"
        try scratch.tool("sh", "-c", command)
        #expect(try scratch.pictureHashes("piped.y4m") == scratch.pictureHashes("film.mp4"))
    }

    @Test func statesRangeShapeAndChroma() throws {
        let scratch = try Scratch()
        try scratch.generate(
            "testsrc2=size=64x48:rate=30000/1001:duration=0.5",
            [
                "-vf", "setsar=4/3", "-c:v", "libx264", "-x264-params", "chromaloc=1", "-color_range", "pc", "-pix_fmt",
                "yuv420p",
            ]
                + [scratch.path("full.mp4")]
        )
        try scratch.decode("full.mp4", "-o", "full.y4m")
        let header = try #require(scratch.data("full.y4m").split(separator: 10).first)
        let text = String(decoding: header, as: UTF8.self)
        #expect(text == "YUV4MPEG2 W64 H48 F30000:1001 Ip A4:3 C420jpeg XCOLORRANGE=FULL")
    }

    @Test func damageIsReportedAndDecodingGoesOn() throws {
        let scratch = try Scratch()
        try scratch.makeFilm("film.ts")
        var bytes = try scratch.data("film.ts")
        let middle = bytes.count / 2
        for index in stride(from: middle, to: middle + 3_000, by: 7) { bytes[index] ^= 0x55 }
        try bytes.write(to: URL(fileURLWithPath: scratch.path("damaged.ts")))
        let document = try scratch.decode("damaged.ts", "-o", "pictures.y4m", status: 3)
        #expect(document["status"] as? String == "damaged-input")
        let count = try #require(document["pictures"] as? Int)
        #expect(count > 80)
        #expect(try scratch.pictureHashes("pictures.y4m").count == count)
        let wholeEnd = try scratch.pictureHashes("film.ts").suffix(20)
        #expect(try scratch.pictureHashes("pictures.y4m").suffix(20) == wholeEnd)
    }

    @Test func aDamagedParameterSetEndsNothing() throws {
        let scratch = try Scratch()
        let options = [
            "-c:v", "libx264", "-x264-params", "keyint=10:scenecut=0:repeat-headers=1", "-pix_fmt", "yuv420p",
        ]
        try scratch.generate("testsrc2=size=160x96:rate=25:duration=2", options + [scratch.path("film.h264")])
        var bytes = try scratch.data("film.h264")
        let set = Data([0, 0, 0, 1, 0x67])
        let first = try #require(bytes.range(of: set))
        let second = try #require(bytes.range(of: set, in: first.upperBound..<bytes.endIndex))
        for index in second.upperBound + 3..<second.upperBound + 9 { bytes[index] = 0xFF }
        try bytes.write(to: URL(fileURLWithPath: scratch.path("damaged.h264")))
        let document = try scratch.decode("damaged.h264", "-o", "null", status: 3)
        let count = try #require(document["pictures"] as? Int)
        #expect(count >= 40)
        #expect(document["damagedSamples"] as? Int ?? 0 > 0)
    }

    @Test func aChangeOfSizeEndsTheFileAndNothingIsLeft() throws {
        let scratch = try Scratch()
        for (name, size) in [("a.h264", "160x90"), ("b.h264", "128x72")] {
            let options = ["-c:v", "libx264", "-pix_fmt", "yuv420p", scratch.path(name)]
            try scratch.generate("testsrc2=size=\(size):rate=25:duration=1", options)
        }
        try scratch.tool("sh", "-c", "cat a.h264 b.h264 > both.h264")
        let counted = try scratch.decode("both.h264", "-o", "null")
        #expect(counted["pictures"] as? Int == 50)
        let refused = try scratch.decode("both.h264", "-o", "both.y4m", status: 1)
        let error = try #require(refused["error"] as? [String: Any])
        #expect(error["code"] as? String == "unsupported")
        #expect(error["given"] as? String == "128x72 420mpeg2")
        #expect(!scratch.names.contains { $0.hasSuffix(".y4m") || $0.hasPrefix(".vatoolbox") })
    }

    @Test func badInputIsRefusedWithAReason() throws {
        let scratch = try Scratch()
        try scratch.makeFilm("film.mp4", seconds: 1)
        try scratch.generate("testsrc2=size=64x48:duration=0.2", ["-c:v", "mpeg4", scratch.path("other.mp4")])
        try scratch.tool("sh", "-c", "echo text > text.mp4; : > exists.y4m")
        let cases: [(arguments: [String], status: Int32, text: String)] = [
            (["film.mp4", "-o", "film.avi"], 2, "ends with .y4m or .png"),
            (["film.mp4", "-o", "exists.y4m"], 2, "already exists"),
            (["film.mp4", "-o", "null", "--decoder-threads", "65"], 2, "allowed 0...64"),
            (["film.mp4", "-o", "null", "--decoder-threads", "x"], 2, "a whole number"),
            (["film.mp4", "-o", "null", "--start", "60"], 2, "start"),
            (["nothing.mp4", "-o", "null"], 1, "does not exist"),
            (["text.mp4", "-o", "null"], 1, "cannot be opened as media"),
            (["other.mp4", "-o", "null"], 1, "given mpeg4"),
            (["film.mp4"], 2, "output"),
        ]
        for (arguments, status, text) in cases {
            let result = try scratch.run([Scratch.vatoolbox, "decode"] + arguments)
            #expect(result.status == status, "\(arguments): \(result.errors)")
            #expect(result.errors.contains(text), "\(arguments): \(result.errors)")
        }
        #expect(scratch.data(ofExisting: "exists.y4m")?.isEmpty == true)
    }

    @Test func aSignalCompletesTheOutput() throws {
        let scratch = try Scratch()
        try scratch.makeFilm("film.mp4", seconds: 20)
        try scratch.tool("mkfifo", scratch.path("pictures.y4m"), scratch.path("go"))
        let script = "exec 3< pictures.y4m; head -c 100000 <&3 > part; echo begun >&2; read line < go; cat <&3 >> part"
        let reader = try RunningProgram(["sh", "-c", script], in: scratch)
        let program = try RunningProgram([Scratch.vatoolbox, "decode", "film.mp4", "-o", "pictures.y4m"], in: scratch)
        try reader.wait(untilErrorsContain: "begun")
        // The pipe is full, and decoding waits for its reader.
        program.signal(SIGINT)
        try program.wait(untilErrorsContain: "interrupted: finishing the output")
        try scratch.tool("sh", "-c", "echo > go")
        #expect(program.end() == 130)
        #expect(reader.end() == 0)
        let count = try scratch.data("part").count
        let picture = "FRAME\n".utf8.count + 160 * 90 * 3 / 2
        let header = try #require(scratch.data("part").split(separator: 10).first).count + 1
        #expect((count - header) % picture == 0)
        let pictures = (count - header) / picture
        #expect(pictures > 4 && pictures < 500, "\(pictures) of 500")
    }
}

extension Scratch {
    fileprivate func data(ofExisting name: String) -> Data? { try? data(name) }
}
