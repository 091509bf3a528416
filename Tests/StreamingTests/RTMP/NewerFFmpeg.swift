// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import Testing

/// An ffmpeg that reads HEVC in FLV, which came with FFmpeg 6.1: that of the system, or that of the Python package
/// `imageio-ffmpeg`, which is installed into an environment of its own in `.build` the first time.
enum NewerFFmpeg {
    static let path = Result {
        if try isNewEnough("ffmpeg") { return "ffmpeg" }
        let folder = try #require(packageFolder).appendingPathComponent(".build/ffmpeg-python").path
        if program(in: folder) == nil { try install(in: folder) }
        let path = try #require(program(in: folder), "\(package) has no ffmpeg for this machine")
        try #require(try isNewEnough(path), "\(path) is too old for HEVC in FLV")
        return path
    }

    private static let package = "imageio-ffmpeg==0.8.1"

    /// Installs the package beside the folder, which is then renamed, so that it is whole.
    private static func install(in folder: String) throws {
        let scratch = "\(folder)-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: scratch) }
        try RTMPTool.run("python3", ["-m", "venv", scratch])
        let options = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        try RTMPTool.run("\(scratch)/bin/python", options + [package])
        try? FileManager.default.removeItem(atPath: folder)
        try FileManager.default.moveItem(atPath: scratch, toPath: folder)
    }

    private static func program(in folder: String) -> String? {
        let files = (try? FileManager.default.subpathsOfDirectory(atPath: folder)) ?? []
        return files.first { $0.contains("/imageio_ffmpeg/binaries/ffmpeg-") }.map { "\(folder)/\($0)" }
    }

    private static var packageFolder: URL? {
        var folder = URL(fileURLWithPath: #filePath)
        while folder.path != "/" {
            folder.deleteLastPathComponent()
            let manifest = folder.appendingPathComponent("Package.swift").path
            if FileManager.default.fileExists(atPath: manifest) { return folder }
        }
        return nil
    }

    private static func isNewEnough(_ program: String) throws -> Bool {
        let output = try RTMPTool.run(program, ["-v", "error", "-version"]).output
        let version = String(decoding: output, as: UTF8.self).split(separator: " ").dropFirst(2).first ?? ""
        let numbers = version.drop { !$0.isNumber }.prefix { $0.isNumber || $0 == "." }.split(separator: ".")
        let (major, minor) = (
            numbers.first.flatMap { Int($0) } ?? 0, numbers.dropFirst().first.flatMap { Int($0) } ?? 0
        )
        return (major, minor) >= (6, 1)
    }
}
