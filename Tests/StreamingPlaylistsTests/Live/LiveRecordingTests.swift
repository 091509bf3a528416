// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import MediaTypes
import StreamingPlaylists
import Testing

/// Simulated servers, whose responses are recorded and judged by `Tests/Streaming/live/check_live.py`.
@Suite struct LiveRecordingTests {
    @Test(arguments: LiveSimulationTests.settings)
    func theJudgeFindsNoError(settings: SimulatedStream.Settings) throws {
        let date = try #require(WallClockTime("2026-01-31T12:00:00Z"))
        var stream = try SimulatedStream(settings, date: date)
        let recording = try Recording()
        for step in 0..<250 {
            let before = (stream.now, stream.playlists.map(\.hint))
            _ = try stream.step()
            try recording.visit(&stream, since: before.0, hints: before.1, step: step)
        }
        let last = stream.now
        try stream.finish()
        try recording.visit(&stream, since: last, hints: stream.playlists.map { _ in nil }, step: 251)
        let (status, output) = try recording.judge()
        #expect(status == 0, "\(output)")
        #expect(
            output.contains(" \(settings.renditions) playlists, \(251 * settings.renditions) versions"),
            "\(output)"
        )
    }

    /// A server with a fault is caught, so the judge does read what is recorded.
    @Test func theJudgeFindsAFault() throws {
        let date = try #require(WallClockTime("2026-01-31T12:00:00Z"))
        var stream = try SimulatedStream(LiveSimulationTests.settings[0], date: date)
        let recording = try Recording()
        recording.change = { $0.replacing("CAN-SKIP-UNTIL=24.000", with: "CAN-SKIP-UNTIL=23.000") }
        for step in 0..<20 {
            let now = stream.now
            _ = try stream.step()
            try recording.visit(&stream, since: now, hints: [nil, nil], step: step)
        }
        let (status, output) = try recording.judge()
        #expect(status == 1 && output.contains("error: rule 4.4.3.8b:"), "\(output)")
    }
}

/// A recording in the form of `Tests/Streaming/live/live_recording.py`.
private final class Recording {
    let folder: URL
    var change: (String) -> String = { $0 }
    private var lines: [String] = []
    private var bodies = 0

    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "live-recording-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    /// Records what clients of all playlists get, who asked for the newest part before it was there.
    func visit(
        _ stream: inout SimulatedStream,
        since: MediaTime,
        hints: [LiveMediaPlaylist.Hint?],
        step: Int
    ) throws {
        for index in stream.playlists.indices {
            let playlist = stream.playlists[index]
            let report = try #require(playlist.report(as: ""))
            var query = "_HLS_msn=\(report.number)" + (report.part.map { "&_HLS_part=\($0)" } ?? "")
            if step % 3 > 0 { query += "&_HLS_skip=YES" }
            guard case .send(let delta) = BlockingRequest(query: query).answer(at: playlist.edge) else {
                Issue.record("\(query) waits")
                return
            }
            let reports = stream.playlists.indices.filter { $0 != index }.compactMap {
                stream.playlists[$0].report(as: "../\($0)/index.m3u8")
            }
            let text = playlist.text(reports: reports, skipping: step == 0 ? nil : delta)
            try record("\(index)/index.m3u8?\(query)", since, stream.now, 200, change(text))
            if let hint = hints[index], let part = playlist.hint, part != hint, hint.firstByte == nil {
                let isMissing =
                    text.contains("\"\(hint.path)\",INDEPENDENT=YES,GAP=YES")
                    || text.contains("\"\(hint.path)\",GAP=YES")
                try record("\(index)/\(hint.path)", since, stream.now, isMissing ? 404 : 200)
            }
            for path in stream.playlists[index].takeExpiredFiles(at: stream.now) {
                try record("\(index)/\(path)", stream.now, stream.now, 404)
            }
        }
    }

    private func record(
        _ url: String,
        _ sent: MediaTime,
        _ time: MediaTime,
        _ status: Int,
        _ text: String? = nil
    ) throws {
        var line = """
            {"url": "/live/\(url)", "sent": \(sent.seconds), "time": \(time.seconds), "status": \(status), \
            "protocol": "h2", "headers": {"content-type": "application/vnd.apple.mpegurl", "content-encoding": "gzip"}
            """
        if let text {
            bodies += 1
            try Data(text.utf8).write(to: folder.appending(path: "\(bodies).m3u8"))
            line += ", \"body\": \"\(bodies).m3u8\""
        }
        lines.append(line + "}")
    }

    func judge() throws -> (status: Int32, output: String) {
        try Data("[\(lines.joined(separator: ",\n"))]".utf8).write(to: folder.appending(path: "log.json"))
        let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        let script = tests.appending(path: "Streaming/live/check_live.py").path
        process.arguments = ["python3", script, folder.path]
        process.standardInput = FileHandle.nullDevice
        let output = Pipe()
        (process.standardOutput, process.standardError) = (output, output)
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: data, as: UTF8.self))
    }
}
