// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import MediaTypes

/// A folder for one test, removed with its last reference.
final class Scratch: Sendable {
    let folder: URL

    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("x264-tests-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    func path(_ name: String) -> String { folder.appendingPathComponent(name).path }

    func write(_ data: Data, to name: String) throws -> String {
        try data.write(to: folder.appendingPathComponent(name))
        return path(name)
    }

    func read(_ name: String) throws -> [UInt8] {
        try Array(Data(contentsOf: folder.appendingPathComponent(name)))
    }

    /// Runs a program to its end, with a file as standard input if one is named, and returns what it wrote to standard error and output.
    @discardableResult
    func run(_ arguments: [String], input: String? = nil) throws -> String {
        let log = path("log-\(UUID().uuidString)")
        try Data().write(to: URL(fileURLWithPath: log))
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: log))
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = arguments
        process.standardInput =
            try input.map { try FileHandle(forReadingFrom: URL(fileURLWithPath: $0)) } ?? .nullDevice
        process.standardOutput = handle
        process.standardError = handle
        try process.run()
        process.waitUntilExit()
        let text = try String(decoding: Data(contentsOf: URL(fileURLWithPath: log)), as: UTF8.self)
        guard process.terminationStatus == 0 else { throw ToolFailure(command: arguments, log: text) }
        return text
    }

    /// What ffmpeg decodes of a stream, as raw samples.
    func decode(_ stream: Data, pixelFormat: String = "yuv420p", codec: String = "h264") throws -> [UInt8] {
        let input = try write(stream, to: "\(UUID().uuidString).\(codec)")
        let name = "\(UUID().uuidString).raw"
        try run([
            "ffmpeg", "-v", "error", "-xerror", "-i", input, "-fps_mode", "passthrough", "-pix_fmt", pixelFormat, "-f",
            "rawvideo", path(name),
        ])
        return try read(name)
    }

    /// The instructions with which x264 gives the same stream every time.
    static let reproducible = SoftwareEncoderOptions.InstructionSet.sse2

    /// The stream that the `x264` command line makes of a clip, with ``reproducible`` instructions.
    func commandLine(_ y4m: Data, _ options: [String]) throws -> [UInt8] {
        let input = try write(y4m, to: "input.y4m")
        let name = "\(UUID().uuidString).h264"
        try run(
            ["x264", "--quiet", "--no-progress", "--asm", Self.reproducible.rawValue] + options + [
                "-o", path(name), input,
            ]
        )
        return try read(name)
    }
}

extension Scratch {
    /// The stream that the `x265` command line makes of a clip. It reads the clip from standard input, where it cannot
    /// count the frames, which it would write into its message.
    func x265CommandLine(_ y4m: Data, _ options: [String]) throws -> [UInt8] {
        let input = try write(y4m, to: "input.y4m")
        let name = "\(UUID().uuidString).hevc"
        try run(
            ["x265", "--log-level", "none", "--no-progress", "--y4m", "--input", "-", "--repeat-headers"] + options + [
                "-o", path(name),
            ],
            input: input
        )
        return try read(name)
    }
}

struct ToolFailure: Error {
    let command: [String]
    let log: String
}
