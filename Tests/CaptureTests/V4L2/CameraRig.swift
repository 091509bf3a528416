// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import TestSupport
import Testing

/// Runs scenarios on fake cameras. The library that shows them must be loaded before the program, so each run is a
/// process of its own.
enum CameraRig {
    /// What came of a run.
    struct Outcome {
        /// The exit status; above 1000 the signal that ended it.
        var status: Int32
        /// What the program said.
        var lines: [String]
        /// What it wrote to standard error.
        var errors: String

        /// Expects that the scenario came to its end.
        func expectDone(sourceLocation: SourceLocation = #_sourceLocation) {
            let isDone = status == 0 && lines.last == "done"
            #expect(isDone, "status \(status): \(lines.suffix(3)) \(errors)", sourceLocation: sourceLocation)
        }
    }

    /// Runs a scenario of CameraScenarios.
    static func run(_ scenario: String, _ arguments: [String] = []) throws -> Outcome {
        let scratch = try ScratchFolder()
        let cameras = scratch.path("cameras")
        try FileManager.default.createDirectory(atPath: cameras, withIntermediateDirectories: true)
        var environment = ProcessInfo.processInfo.environment
        // A sanitizer needs a library besides.
        let preloaded =
            (environment["CLIENT_PRELOAD"].map { [$0] } ?? []) + [try DriverRig.drivers() + "/libfake_camera.so"]
        environment["LD_PRELOAD"] = preloaded.joined(separator: ":")
        environment["FAKE_CAMERAS"] = cameras
        let process = Process()
        process.executableURL = URL(fileURLWithPath: try BuiltProgram.path("CameraScenarios"))
        process.arguments = [scenario] + arguments
        process.environment = environment
        let (output, errors) = (scratch.path("output"), scratch.path("errors"))
        for path in [output, errors] { _ = FileManager.default.createFile(atPath: path, contents: nil) }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle(forWritingAtPath: output)
        process.standardError = FileHandle(forWritingAtPath: errors)
        try process.run()
        process.waitUntilExit()
        return Outcome(
            status: process.terminationStatus + (process.terminationReason == .exit ? 0 : 1000),
            lines: text(output).split(separator: "\n").map(String.init),
            errors: text(errors)
        )
    }

    /// Runs ffmpeg.
    static func ffmpeg(_ arguments: String...) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["ffmpeg", "-v", "error", "-nostdin", "-y"] + arguments
        try process.run()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0, "ffmpeg \(arguments) failed")
    }

    private static func text(_ path: String) -> String {
        (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
    }
}

/// JPEG pictures in numbered files, and what ffmpeg decodes from them.
struct JPEGPictures {
    static let count = 8
    private let scratch: ScratchFolder
    private let format: String

    init(_ format: String) throws {
        self.format = format
        scratch = try ScratchFolder()
        let folder = scratch.path("jpeg")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let pattern = "\(folder)/%d"
        try CameraRig.ffmpeg(
            "-f",
            "lavfi",
            "-i",
            "testsrc2=size=322x242:rate=30",
            "-frames:v",
            "\(Self.count)",
            "-pix_fmt",
            format,
            "-c:v",
            "mjpeg",
            "-q:v",
            "4",
            "-f",
            "image2",
            "-start_number",
            "0",
            pattern
        )
        for (name, count) in [("all", Self.count), ("one", 1)] {
            try CameraRig.ffmpeg(
                "-f",
                "image2",
                "-c:v",
                "mjpeg",
                "-start_number",
                "0",
                "-i",
                pattern,
                "-frames:v",
                "\(count)",
                "-f",
                "rawvideo",
                "-pix_fmt",
                format,
                scratch.path(name)
            )
        }
    }

    /// The arguments of a scenario that compares some of them.
    func arguments(_ count: Int = Self.count) -> [String] {
        let pixels = format == "yuvj422p" ? "i422" : "i420"
        return [scratch.path("jpeg"), scratch.path(count == 1 ? "one" : "all"), "322", "242", pixels, "\(count)"]
    }
}
