// SPDX-License-Identifier: GPL-2.0-or-later

import Dispatch
import Foundation
import MediaTypes
import NIOCore
import Streaming
import StreamingPlaylists
import Synchronization
import Testing

@testable import LiveHLS

/// A store in memory that checks what the packager promises: what is listed exists, and is complete.
final class CheckingStore: LiveStore {
    struct State {
        var files: [String: [UInt8]] = [:]
        var everWritten: [String] = []
        var latest: PresentationState?
        var publications = 0
        var problems: [String] = []
        /// The number of writes until one fails.
        var writesLeft: Int?
        var mostFiles = 0
    }

    let holdsRequests: Bool
    let state = Mutex(State())

    init(holdsRequests: Bool = true) { self.holdsRequests = holdsRequests }

    func write(_ path: String, _ content: [ByteBuffer]) throws(MediaError) {
        let isFull = state.withLock { state -> Bool in
            if let left = state.writesLeft {
                state.writesLeft = left - 1
                if left <= 0 { return true }
            }
            if state.files[path] != nil { state.problems.append("\(path) is written twice") }
            state.files[path] = content.flatMap { Array($0.readableBytesView) }
            state.everWritten.append(path)
            state.mostFiles = max(state.mostFiles, state.files.count)
            return false
        }
        if isFull { throw MediaError(.inputOutput, "the disk is full", given: path) }
    }

    func publish(_ presentation: PresentationState) throws(MediaError) {
        state.withLock { state in
            state.publications += 1
            state.latest = presentation
            for index in presentation.entries.indices where !presentation.entries[index].isEmpty {
                let folder = presentation.entries[index].folder
                let listed = Listed(presentation.text(index))
                for name in listed.maps + listed.segments + listed.parts where state.files["\(folder)/\(name)"] == nil {
                    state.problems.append("\(folder)/\(name) is listed and does not exist")
                }
                if let hint = listed.hint, state.files["\(folder)/\(hint)"] != nil {
                    state.problems.append("\(hint) is hinted and exists already")
                }
            }
        }
    }

    func remove(_ paths: [String]) { state.withLock { state in for path in paths { state.files[path] = nil } } }

    var problems: [String] { state.withLock { $0.problems } }
    var latest: PresentationState? { state.withLock { $0.latest } }

    func text(_ index: Int) -> String { latest?.text(index) ?? "" }

    /// The bytes of files in their order.
    func bytes(_ folder: String, _ names: [String]) -> [UInt8] {
        state.withLock { state in names.flatMap { state.files["\(folder)/\($0)"] ?? [] } }
    }

    /// All parts ever written to a folder, or all segments.
    func written(_ folder: String, _ kind: String) -> [String] {
        state.withLock { $0.everWritten }.filter { $0.hasPrefix("\(folder)/") && $0.contains("-\(kind)-") }
            .map { String($0.dropFirst(folder.count + 1)) }
    }
}

/// What a playlist lists.
struct Listed {
    var maps: [String] = []
    var segments: [String] = []
    var parts: [String] = []
    var gapParts = 0
    var gapSegments = 0
    var hint: String?
    var discontinuities = 0
    /// The durations of segments in microseconds.
    var durations: [Int64] = []
    var partDurations: [Double] = []
    var partTarget: Double?
    var isEnded = false

    init(_ text: String) {
        var isGap = false
        for line in text.split(separator: "\n").map(String.init) {
            let value = line.firstIndex(of: ":").map { String(line[line.index(after: $0)...]) } ?? ""
            if line.hasPrefix("#EXT-X-MAP:") {
                maps.append(Self.attribute("URI", value) ?? "")
            } else if line.hasPrefix("#EXT-X-PART:") {
                if value.contains("GAP=YES") { gapParts += 1 } else { parts.append(Self.attribute("URI", value) ?? "") }
                partDurations.append(Self.attribute("DURATION", value).flatMap(Double.init) ?? -1)
            } else if line.hasPrefix("#EXT-X-PART-INF:") {
                partTarget = Self.attribute("PART-TARGET", value).flatMap(Double.init)
            } else if line.hasPrefix("#EXT-X-PRELOAD-HINT:TYPE=PART") {
                hint = Self.attribute("URI", value)
            } else if line == "#EXT-X-DISCONTINUITY" {
                discontinuities += 1
            } else if line == "#EXT-X-GAP" {
                isGap = true
            } else if line == "#EXT-X-ENDLIST" {
                isEnded = true
            } else if line.hasPrefix("#EXTINF:") {
                durations.append(Int64(((Double(value.dropLast()) ?? -1) * 1_000_000).rounded()))
            } else if !line.hasPrefix("#") {
                if isGap { gapSegments += 1 } else { segments.append(line) }
                isGap = false
            }
        }
    }

    static func attribute(_ name: String, _ text: String) -> String? {
        guard let range = text.range(of: "\(name)=") else { return nil }
        let rest = text[range.upperBound...]
        if rest.hasPrefix("\"") {
            return rest.dropFirst().split(separator: "\"", omittingEmptySubsequences: false).first.map(String.init)
        }
        return rest.split(separator: ",").first.map(String.init)
    }
}

/// A folder that is deleted with the object.
final class Scratch: Sendable {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "vatoolbox-hls-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Writes bytes into a file and returns its path.
    func file(_ name: String, _ bytes: [UInt8]) throws -> String {
        let file = "\(path)/\(name)"
        try Data(bytes).write(to: URL(fileURLWithPath: file))
        return file
    }
}

/// Programs of FFmpeg.
enum Tool {
    /// Runs what blocks its thread on one that the server does not need.
    static func apart<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(with: Result(catching: body)) }
        }
    }

    static func run(_ arguments: [String]) throws -> (output: String, errors: String) {
        let scratch = try Scratch()
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = arguments
        func file(_ name: String) throws -> FileHandle {
            try FileHandle(forWritingTo: URL(fileURLWithPath: scratch.file(name, [])))
        }
        (process.standardOutput, process.standardError) = (try file("out"), try file("err"))
        process.standardInput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        let errors = try String(contentsOfFile: "\(scratch.path)/err", encoding: .utf8)
        try #require(process.terminationStatus == 0, "\(arguments.joined(separator: " ")): \(errors)")
        return (try String(contentsOfFile: "\(scratch.path)/out", encoding: .utf8), errors)
    }

    /// The fields of ffmpeg's framemd5: stream, dts, pts, duration, size, hash.
    static func frames(of path: String, _ input: [String] = [], _ output: [String]) throws -> [[String]] {
        let arguments =
            ["ffmpeg", "-v", "error", "-nostdin"] + input + ["-i", path] + output + ["-f", "framemd5", "-"]
        let result = try run(arguments)
        #expect(result.errors.isEmpty, "\(result.errors)")
        return result.output.split(separator: "\n").filter { !$0.hasPrefix("#") }.map { line in
            line.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
        }
    }
}

/// A packager on a clock of its own.
struct Rig {
    let store: CheckingStore
    var packager: LivePackager
    var now = 0.0
    static let date = 1_790_000_000_000.0

    init(
        segment: Int = 4,
        part: Double? = 1,
        window: Double? = nil,
        interval: Double? = 2,
        renditions: [String] = [],
        store: CheckingStore = .init()
    ) throws {
        var options = HLSOptions()
        options.segment = segment
        options.part = part.map { MediaTime(seconds: $0, preferredTimescale: 1000) }
        options.window = window.map { MediaTime(seconds: $0, preferredTimescale: 1000) }
        options.keyFrameInterval = interval.map { MediaTime(seconds: $0, preferredTimescale: 1000) }
        self.store = store
        packager = try LivePackager(options, store: store, token: "t", renditions: renditions)
    }

    var time: MediaTime { MediaTime(seconds: now, preferredTimescale: 1_000_000) }

    mutating func add(_ units: [LiveUnit], rendition: Int = 0) throws {
        for unit in units {
            now = max(now, unit.decodeTime.seconds)
            let date = try #require(WallClockTime(milliseconds: Int64(Self.date + now * 1000)))
            try packager.add(unit, rendition: rendition, at: time, date: date)
        }
    }
}
