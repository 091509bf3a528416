// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import Glibc
import TestSupport
import Testing

@Suite struct KilledRecordingTests {
    /// What a killed recording lacks is at most a fragment, and what the muxer held to interleave it: half a second.
    @Test(.timeLimit(.minutes(60)))
    func killedRecordingsPlay() async throws {
        let seed = ProcessInfo.processInfo.environment["VATOOLBOX_KILL_SEED"].flatMap(UInt64.init) ?? 25
        let count = ProcessInfo.processInfo.environment["VATOOLBOX_KILLS"].flatMap(Int.init) ?? 4
        var random = SplitMix(seed)
        for number in 0..<count {
            let interval = [0.5, 1, 2][number % 3]
            // Later than the first fragment.
            let moment = 3 * interval + Double(random.below(30_000)) / 1000
            let (written, playable) = try await kill(after: moment, interval: interval)
            #expect(
                written - playable <= interval + 0.5,
                "\(written) s written, \(playable) s playable, fragments of \(interval) s"
            )
        }
    }

    /// A track that delivers nothing, such as a microphone that is muted, does not hold the file back.
    @Test(.timeLimit(.minutes(60)))
    func recordingsWithASilentTrack() async throws {
        let (written, playable) = try await kill(after: 8, interval: 0.5, isSilent: true)
        #expect(written - playable <= 1.5, "\(written) s written, \(playable) s playable")
    }

    /// Kills a recording after it says that it has written a number of seconds.
    ///
    /// - Returns: The seconds that it had written by its last word, and those in the file.
    private func kill(
        after seconds: Double,
        interval: Double,
        isSilent: Bool = false
    ) async throws -> (written: Double, playable: Double) {
        let folder = FileManager.default.temporaryDirectory.appending(path: "killed-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let log = folder.appending(path: "log")
        try Data().write(to: log)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: try BuiltProgram.path("Recorder"))
        process.arguments = [folder.appending(path: "out.mp4").path, "\(interval)"] + (isSilent ? ["silent"] : [])
        process.standardOutput = try FileHandle(forWritingTo: log)
        process.standardInput = FileHandle.nullDevice
        try process.run()
        @Sendable func lines() -> [Substring] {
            ((try? String(contentsOf: log, encoding: .utf8)) ?? "").split(separator: "\n")
        }
        @Sendable func written() -> Double { lines().dropFirst().compactMap { Double($0) }.max() ?? 0 }
        let isReached = await Patience.wait { written() >= seconds }
        Glibc.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        try #require(isReached)
        let file = try #require(lines().first.map(String.init))
        #expect(!FileManager.default.fileExists(atPath: folder.appending(path: "out.mp4").path))

        // Each track plays without an error, as far as it goes: by itself, since ffmpeg keeps the frames of one output until
        // all of them have begun, and a silent one never does.
        var playable = Double.infinity
        for stream in isSilent ? ["v"] : ["v", "a"] {
            let played = try output(
                ["ffmpeg", "-v", "error", "-xerror", "-i", file, "-map", "0:\(stream)", "-f", "null", "-"],
                folder
            )
            #expect(played.isEmpty, "\(played)")
            let times = try output(
                [
                    "ffprobe", "-v", "error", "-select_streams", stream, "-show_entries", "packet=pts_time", "-of",
                    "csv=p=0", file,
                ],
                folder
            )
            let last = times.split(whereSeparator: \.isNewline).compactMap { Double($0.prefix { $0 != "," }) }.max()
            playable = min(playable, try #require(last))
        }
        return (written(), playable)
    }

    /// Runs a tool, and returns what it says on both outputs.
    private func output(_ arguments: [String], _ folder: URL) throws -> String {
        let file = folder.appending(path: "output")
        try Data().write(to: file)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = arguments
        process.standardInput = FileHandle.nullDevice
        let handle = try FileHandle(forWritingTo: file)
        process.standardOutput = handle
        process.standardError = handle
        try process.run()
        process.waitUntilExit()
        return try String(contentsOf: file, encoding: .utf8)
    }
}
