// SPDX-License-Identifier: GPL-2.0-or-later

import AudioCoding
import BitstreamSyntax
import Foundation
import Glibc
import MediaTypes
import TestSupport
import Testing

@testable import Streaming

/// A short video with sound from ffmpeg's encoders, with the times that a live stream would have.
struct RTMPClip: Sendable {
    static let frameRate: Int32 = 25

    /// A clip of two seconds in H.264, made once.
    static let shared = Result { try RTMPClip() }

    let stream: CodedStream
    let video: [SampleBuffer]
    let audio: [AudioSample]
    let audioDescription: AudioStreamDescription
    /// What ffmpeg's encoder of the audio wrote.
    let adts: [UInt8]

    /// - Parameter reordering: The number of pictures by which decoding is ahead of presentation.
    init(_ codec: VideoCodec = .h264, frames: Int = 50, reordering: Int = 2, size: String = "192x112") throws {
        let options =
            codec == .h264
            ? "-bf \(reordering) -g 25 -x264-params b-pyramid=none"
            : "-bf \(reordering) -g 25 -x265-params log-level=none:b-pyramid=0"
        stream = try CodedStream(codec, source: "testsrc2=size=\(size):rate=25", frames: frames, options)
        var samples = stream.samples
        for (position, index) in try stream.presentationOrder().enumerated() {
            samples[index].presentationTime = MediaTime(
                value: Int64(position + (reordering > 0 ? 1 : 0)),
                timescale: Self.frameRate
            )
        }
        try #require(samples.allSatisfy { $0.presentationTime >= $0.decodeTime })
        video = samples

        let seconds = Double(frames) / Double(Self.frameRate)
        let result = try RTMPTool.run(
            "ffmpeg",
            ["-v", "error", "-nostdin", "-f", "lavfi", "-i", "sine=440:r=48000:d=\(seconds)"]
                + ["-ac", "2", "-c:a", "aac", "-f", "adts", "-"]
        )
        adts = result.output
        var rest = adts[...]
        var packets: [AudioSample] = []
        var description: AudioStreamDescription?
        while !rest.isEmpty {
            let header = try ADTSHeader(bytes: rest.prefix(9))
            let packet = rest.prefix(Int(header.frameLength)).dropFirst(header.byteCount)
            rest = rest.dropFirst(Int(header.frameLength))
            let time = MediaTime(value: Int64(packets.count * 1024), timescale: 48000)
            packets.append(AudioSample(data: CodedData(packet), presentationTime: time))
            if description == nil {
                description = AudioStreamDescription(
                    codecName: "aac",
                    sampleRate: 48000,
                    layout: .standard(channelCount: 2),
                    configuration: try header.configuration.bytes()
                )
            }
        }
        audio = packets
        audioDescription = try #require(description)
    }

    var tracks: LiveTracks {
        LiveTracks(
            video: video[0].formatDescription,
            frameRate: Rational(Self.frameRate),
            videoBitRate: 1_000_000,
            audio: [audioDescription]
        )
    }

    /// All units by decode time.
    var units: [LiveUnit] {
        (video.map { LiveUnit.video($0) } + audio.map { LiveUnit.audio($0, track: 0) })
            .enumerated()
            .sorted { ($0.element.decodeTime, $0.offset) < ($1.element.decodeTime, $1.offset) }
            .map(\.element)
    }

    /// The hashes of the decoded frames.
    func frameHashes() throws -> [String] {
        let folder = try RTMPFolder()
        let path = folder.path("stream")
        try Data(stream.bytes).write(to: URL(fileURLWithPath: path))
        return try RTMPTool.frameHashes(of: path, "-f", stream.codec == .h264 ? "h264" : "hevc")
    }

    /// The hashes of the packets of audio.
    func audioHashes() throws -> [String] {
        let folder = try RTMPFolder()
        let path = folder.path("sound")
        try Data(adts).write(to: URL(fileURLWithPath: path))
        return try RTMPTool.hashes(
            ["-f", "aac", "-i", path],
            ["-map", "0:a", "-c", "copy", "-bsf:a", "aac_adtstoasc"]
        )
    }
}

/// A folder that is deleted with the object.
final class RTMPFolder: Sendable {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "vatoolbox-rtmp-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func path(_ name: String) -> String { "\(path)/\(name)" }

    func write(_ text: String, to name: String) throws {
        try text.write(toFile: path(name), atomically: true, encoding: .utf8)
    }
}

/// Programs of other projects.
enum RTMPTool {
    /// Runs a program to its end.
    @discardableResult
    static func run(_ name: String, _ arguments: [String]) throws -> (output: [UInt8], errors: String) {
        let folder = try RTMPFolder()
        let program = try start(name, arguments, in: folder)
        program.waitUntilExit()
        let errors = try String(contentsOfFile: folder.path("errors"), encoding: .utf8)
        try #require(program.terminationStatus == 0, "\(name) \(arguments.joined(separator: " "))\n\(errors)")
        return ([UInt8](try Data(contentsOf: URL(fileURLWithPath: folder.path("output")))), errors)
    }

    /// Starts a program whose output goes to the files `output` and `errors` in a folder.
    static func start(_ name: String, _ arguments: [String], in folder: RTMPFolder) throws -> Process {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: name.hasPrefix("/") ? name : "/usr/bin/env")
        process.arguments = name.hasPrefix("/") ? arguments : [name] + arguments
        process.environment = ProcessInfo.processInfo.environment.merging(
            ["PATH": "\(ProcessInfo.processInfo.environment["PATH"] ?? ""):/usr/sbin"]
        ) { $1 }
        process.standardInput = FileHandle.nullDevice
        func file(_ name: String) throws -> FileHandle {
            try folder.write("", to: name)
            return try FileHandle(forWritingTo: URL(fileURLWithPath: folder.path(name)))
        }
        process.standardOutput = try file("output")
        process.standardError = try file("errors")
        try process.run()
        return process
    }

    /// Ends a program at once: it may have inherited blocked signals.
    static func kill(_ process: Process) {
        if process.isRunning { Glibc.kill(process.processIdentifier, SIGKILL) }
    }

    /// The hashes of the decoded video frames of a file; an error of the decoder fails.
    static func frameHashes(of path: String, _ input: String...) throws -> [String] {
        try hashes(
            ["-xerror", "-err_detect", "explode"] + input + ["-i", path],
            ["-map", "0:v", "-fps_mode", "passthrough"]
        )
    }

    /// The hashes that ffmpeg's format `framemd5` states.
    static func hashes(_ input: [String], _ output: [String], mayComplain: Bool = false) throws -> [String] {
        let result = try run("ffmpeg", ["-v", "error", "-nostdin"] + input + output + ["-f", "framemd5", "-"])
        try #require(mayComplain || result.errors.isEmpty, "\(result.errors)")
        return String(decoding: result.output, as: UTF8.self).split(separator: "\n").filter { !$0.hasPrefix("#") }
            .map { $0.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) } }
            .map { $0.count > 5 ? $0[5] : "" }
    }
}
