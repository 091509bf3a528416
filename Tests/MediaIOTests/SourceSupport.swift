// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import MediaIO
import MediaTypes
import Testing

/// A temporary folder with clips that the ffmpeg command line makes; it goes when the object goes.
final class ClipFolder: Sendable {
    let path: String

    init() throws {
        let url = FileManager.default.temporaryDirectory.appending(path: "source-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        path = url.path
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func file(_ name: String) -> String { "\(path)/\(name)" }

    /// Runs `ffmpeg` with arguments separated by blanks; the last one is the name of a file in the folder.
    ///
    /// - Returns: The path of that file.
    @discardableResult
    func ffmpeg(_ arguments: String) throws -> String {
        var words = arguments.split(separator: " ").map(String.init)
        let output = file(words.removeLast())
        _ = try Tool.run("ffmpeg", ["-v", "error", "-y", "-nostdin"] + words + [output], in: path)
        return output
    }

    func contents(_ name: String) throws -> [UInt8] { [UInt8](try Data(contentsOf: URL(filePath: file(name)))) }

    @discardableResult
    func write(_ name: String, _ bytes: some Sequence<UInt8>) throws -> String {
        try Data(bytes).write(to: URL(filePath: file(name)))
        return file(name)
    }

    /// The path of a FIFO that another process writes a file of the folder into, as soon as somebody reads.
    func pipe(_ name: String) throws -> String {
        try #require(mkfifo(file("fifo"), 0o600) == 0)
        let (path, command) = (path, "cat '\(name)' > fifo")
        Thread { _ = try? Tool.run("sh", ["-c", command], in: path) }.start()
        return file("fifo")
    }
}

/// Command lines of other projects, as judges.
enum Tool {
    struct Failure: Error { var command: String, status: Int32, message: String }

    /// Runs a command and gives its standard output.
    static func run(_ name: String, _ arguments: [String], in folder: String? = nil) throws -> [UInt8] {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [name] + arguments
        if let folder { process.currentDirectoryURL = URL(filePath: folder) }
        let errors = FileManager.default.temporaryDirectory.appending(path: "errors-\(UUID().uuidString)")
        _ = FileManager.default.createFile(atPath: errors.path, contents: nil)
        defer { try? FileManager.default.removeItem(at: errors) }
        let output = Pipe()
        process.standardOutput = output
        process.standardError = try FileHandle(forWritingTo: errors)
        process.standardInput = FileHandle.nullDevice
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            let message = String(decoding: try Data(contentsOf: errors), as: UTF8.self)
            throw Failure(
                command: arguments.joined(separator: " "),
                status: process.terminationStatus,
                message: message
            )
        }
        return [UInt8](data)
    }

    /// What `ffprobe -show_entries` says, one line of comma-separated values for each frame, packet or stream.
    static func probe(_ path: String, _ entries: String, streams: String? = "v:0") throws -> [String] {
        let selection = streams.map { ["-select_streams", $0] } ?? []
        let output = try run(
            "ffprobe",
            ["-v", "quiet"] + selection + ["-show_entries", entries, "-of", "csv=p=0", path]
        )
        return String(decoding: output, as: UTF8.self).split(separator: "\n").map { $0.trimming(",") }
    }

    /// The pictures of a clip as ffmpeg decodes them, as raw bytes without padding.
    static func pictures(_ path: String, _ arguments: String = "", format: PixelFormat) throws -> [UInt8] {
        let name = [.i420: "yuv420p", .p010: "p010le", .yuy2: "yuyv422"][format] ?? format.rawValue
        let words = arguments.split(separator: " ").map(String.init)
        return try run(
            "ffmpeg",
            ["-v", "error", "-nostdin", "-i", path] + words + ["-map", "0:v:0", "-fps_mode", "passthrough"]
                + ["-pix_fmt", name, "-f", "rawvideo", "-"]
        )
    }
}

extension Substring {
    fileprivate func trimming(_ character: Character) -> String {
        String(reversed().drop { $0 == character }.reversed())
    }
}

/// Everything that a source gives.
struct Reading {
    var frames: [VideoFrame] = []
    var packets: [MediaPacket] = []

    init(_ source: MediaSource) throws {
        while let event = try source.next() {
            switch event {
            case .frame(let frame): frames.append(frame)
            case .packet(let packet): packets.append(packet)
            }
        }
    }

    init(_ path: String, _ options: MediaSource.Options = .init()) throws {
        try self.init(MediaSource(path: path, options: options))
    }

    var seconds: [Double] { frames.map(\.presentationTime.seconds) }
    /// All pictures one after the other, without padding.
    var pictures: [UInt8] { get throws { try frames.flatMap { try $0.buffer.bytes } } }
}

extension PixelBuffer {
    /// The samples without padding.
    var bytes: [UInt8] {
        get throws {
            var bytes: [UInt8] = []
            try withPlanes { planes throws(MediaError) in
                for (index, plane) in planes.enumerated() {
                    guard let extent = format.planeExtent(index, width: width, height: height) else { continue }
                    for row in 0..<extent.rows {
                        let start = plane.baseAddress + row * plane.bytesPerRow
                        bytes += UnsafeRawBufferPointer(start: start, count: extent.bytesPerRow)
                    }
                }
            }
            return bytes
        }
    }
}

/// The error that opening an input gives; a test fails if there is none.
func openError(_ path: String, _ options: MediaSource.Options = .init()) throws -> MediaError {
    try #require(throws: MediaError.self) { _ = try MediaSource(path: path, options: options) }
}
