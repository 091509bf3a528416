// SPDX-License-Identifier: GPL-2.0-or-later

import Capture
import Foundation
import MediaTypes
import TestSupport
import Testing

@testable import LiveSessions

/// Files that are played.
@Suite(.timeLimit(.minutes(60))) struct FilePlayerTests {
    /// Makes a file of 400 ms of pictures with a pixel aspect ratio of 4:3, and passes its path on.
    private func withFile(_ body: (String) async throws -> Void) async throws {
        let path = NSTemporaryDirectory() + "file-player-\(UUID().uuidString).mkv"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/ffmpeg")
        process.arguments = ["-v", "error", "-f", "lavfi", "-i", "testsrc=s=64x48:r=25:d=0.4", "-vf", "setsar=4/3"]
        process.arguments? += ["-c:v", "ffv1", path]
        try process.run()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0)
        try await body(path)
    }

    /// Reads the times of the first pictures.
    private func times(_ reader: LiveInput.Reader, count: Int) async throws -> [MediaTime] {
        var times: [MediaTime] = []
        while times.count < count, let event = await reader.next() {
            switch event {
            case .item(.picture(let picture)): times.append(picture.time)
            case .failed(let error), .gone(let error): throw error
            default: continue
            }
        }
        return times
    }

    @Test func theShapeOfPixelsIsKnown() async throws {
        try await withFile { path in
            let input = LiveInput.files([path])
            let reader = try LiveInput.Reader(name: "test", options: input.options, open: input.open)
            guard case .opened(let contents) = await reader.next() else {
                Issue.record("it was not opened")
                return
            }
            #expect(contents.pixelAspectRatio == Rational(4, 3))
            #expect(contents.pictures?.width == 64)
        }
    }

    @Test func anInputCanBeUsedAgain() async throws {
        try await withFile { path in
            let input = LiveInput.files([path])
            input.interrupt()
            for _ in 0..<3 {
                let reader = try LiveInput.Reader(name: "test", options: input.options, open: input.open)
                #expect(try await times(reader, count: 2).count == 2)
                reader.stop()
                input.interrupt()
            }
        }
    }

    @Test func aLoopContinues() async throws {
        try await withFile { path in
            let input = LiveInput.files([path, path], isLooped: true)
            let reader = try LiveInput.Reader(name: "test", options: input.options, open: input.open)
            let times = try await times(reader, count: 35).map(\.seconds)
            #expect(times.count == 35)
            for (index, time) in times.enumerated() { #expect(abs(time - times[0] - Double(index) * 0.04) < 0.002) }
        }
    }

    @Test func aFileEnds() async throws {
        try await withFile { path in
            let input = LiveInput.files([path, path])
            let reader = try LiveInput.Reader(name: "test", options: input.options, open: input.open)
            #expect(try await times(reader, count: 100).count == 20)
        }
    }
}
