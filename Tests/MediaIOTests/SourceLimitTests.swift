// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import MediaTypes
import Testing

@testable import MediaIO

/// What an input may have at most.
@Suite struct SourceLimitTests {
    let folder: ClipFolder

    init() throws { folder = try ClipFolder() }

    private func clip(_ name: String = "a.mkv", size: String = "128x96", seconds: Int = 2) throws -> String {
        let sources = "-f lavfi -i testsrc2=size=\(size):rate=25:duration=\(seconds) -f lavfi -i sine=d=\(seconds)"
        return try folder.ffmpeg("\(sources) -c:v libx264 -preset ultrafast -pix_fmt yuv420p -c:a aac \(name)")
    }

    private func options(_ limits: InputLimits) -> MediaSource.Options {
        var options = MediaSource.Options()
        options.limits = limits
        return options
    }

    @Test func anInputAtTheLimitsIsRead() throws {
        let limits = InputLimits(pixels: 128 * 96, tracks: 2, duration: 3)
        let source = try MediaSource(path: clip(), options: options(limits))
        #expect(try Reading(source).frames.count == 50)
    }

    @Test(arguments: [
        (InputLimits(pixels: 128 * 96 - 1), "128x96", "at most 12287 pixels"),
        (InputLimits(tracks: 1), "2", "at most 1"),
        (InputLimits(duration: 1), "2", "at most 1 seconds"),
    ])
    func whatExceedsALimitIsRefused(limits: InputLimits, given: String, allowed: String) throws {
        let path = try clip()
        var inspection = MediaInspector.Options()
        inspection.limits = limits
        let attempts: [() throws -> Void] = [
            { _ = try MediaSource(path: path, options: options(limits)) },
            { _ = try MediaInspector.report(on: path, options: inspection) },
            {
                _ = try PictureFinder(
                    path: path,
                    format: nil,
                    limits: limits,
                    logger: nil,
                    cancellation: Cancellation()
                )
            },
        ]
        for attempt in attempts {
            let error = #expect(throws: MediaError.self) { try attempt() }
            #expect(error?.code == .unsupported && error?.allowed == allowed, "\(String(describing: error))")
            #expect(error?.given?.hasPrefix(given) == true)
        }
    }

    /// The headers say nothing of the pictures that come later, so libavcodec refuses these.
    @Test func picturesThatGrowLaterAreDamage() throws {
        _ = try (clip("a.ts"), clip("b.ts", size: "640x480"))
        let bytes = try folder.contents("a.ts") + folder.contents("b.ts")
        let path = try folder.write("c.ts", bytes)
        let source = try MediaSource(path: path, options: options(InputLimits(pixels: 128 * 96)))
        let frames = try Reading(source).frames
        #expect(frames.count == 50)
        #expect(source.problems.isLossy)
        #expect(try Reading(MediaSource(path: path)).frames.count == 100, "all are read without a limit")
    }

    @Test(arguments: [InputLimits(pixels: 0), InputLimits(tracks: 1001), InputLimits(duration: -1)])
    func limitsHaveRanges(limits: InputLimits) throws {
        let path = try clip()
        let error = #expect(throws: MediaError.self) { try MediaSource(path: path, options: options(limits)) }
        #expect(error?.code == .invalidArgument, "\(String(describing: error))")
    }
}
