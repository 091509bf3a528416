// SPDX-License-Identifier: GPL-2.0-or-later

import AudioCoding
import BitstreamSyntax
import Foundation
import MediaIO
import MediaTypes
import Testing

@testable import Transcoding

/// A good file, and files with planted faults.
@Suite struct OutputVerificationTests {
    /// A good file, and what it contains.
    private struct Good {
        let data: Data
        private(set) var expectation: OutputExpectation

        /// Made once, since reading its pictures takes debug builds a second.
        static let shared = Result { try Good() }

        private init() throws {
            let file = FileManager.default.temporaryDirectory.appending(path: "good-\(UUID().uuidString).mkv")
            defer { try? FileManager.default.removeItem(at: file) }
            expectation = OutputExpectation(codecName: "h264", width: 160, height: 90, hasTimes: true)
            try Files.ffmpeg([
                "-f", "lavfi", "-i", "testsrc2=size=160x90:rate=25:duration=4,fade=d=4", "-f", "lavfi", "-i",
                "sine=frequency=440:duration=4", "-c:v", "libx264", "-preset", "ultrafast", "-g", "25", "-pix_fmt",
                "yuv420p", "-c:a", "aac", file.path,
            ])
            data = try Data(contentsOf: file)
            let source = try MediaSource(path: file.path)
            while let event = try source.next() {
                guard case .frame(let frame) = event else { continue }
                expectation.times.append(frame.presentationTime)
                expectation.signatures[frame.presentationTime] = try PictureSignature(frame.buffer)
            }
            expectation.audio = [
                .init(codecName: "aac", duration: MediaTime(value: 4, timescale: 1), isAudible: true)
            ]
        }
    }

    /// A folder with the good file.
    private final class Files {
        let folder = FileManager.default.temporaryDirectory.appending(path: "verification-\(UUID().uuidString)")
        let good: Good

        init() throws {
            good = try Good.shared.get()
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try good.data.write(to: URL(fileURLWithPath: path("good.mkv")))
        }

        deinit { try? FileManager.default.removeItem(at: folder) }

        func path(_ name: String) -> String { folder.appending(path: name).path }

        func verify(_ name: String) throws(MediaError) -> OutputVerification {
            try OutputVerification(path: path(name), expectation: good.expectation)
        }

        static func ffmpeg(_ arguments: [String]) throws {
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
            process.arguments = ["ffmpeg", "-v", "error", "-y"] + arguments
            process.standardInput = FileHandle.nullDevice
            try process.run()
            process.waitUntilExit()
            try #require(process.terminationStatus == 0, "\(arguments)")
        }
    }

    private static let encoding = "-c:v libx264 -preset ultrafast -g 25 -fps_mode passthrough -c:a copy"

    @Test func goodFilesPass() throws {
        let files = try Files()
        for (name, options) in [
            ("good.mkv", ""), ("copy.mp4", "-c copy"), ("copy.ts", "-c copy"),
            ("low.mp4", "-c:v libx264 -qp 44 -fps_mode passthrough -c:a copy"),
            ("sound.mkv", "-c:v copy -c:a aac -b:a 24k"),
        ] {
            if !options.isEmpty {
                let words = options.split(separator: " ").map(String.init)
                try Files.ffmpeg(["-i", files.path("good.mkv")] + words + [files.path(name)])
            }
            let result = try files.verify(name)
            #expect(result.findings == [], "\(name)")
            #expect(result.pictureCount == 100 && result.comparedPictureCount == 100 && result.audioTrackCount == 1)
        }
    }

    /// What a fault is made by, and a part of what is found.
    @Test(arguments: [
        ("-vf select=not(between(n\\,25\\,49)) \(encoding)", "s from its time"),
        ("-vf select=not(eq(n\\,30)) \(encoding)", "99 pictures were decoded instead of 100"),
        ("-vf loop=loop=1:size=1:start=30 \(encoding)", "101 pictures were decoded instead of 100"),
        ("-vf drawbox=enable=eq(n\\,30):color=green:t=fill \(encoding)", "picture 30 at 1.2"),
        ("-vf drawbox=enable=eq(n\\,99):color=black:t=fill \(encoding)", "picture 99 at"),
        ("-vf reverse \(encoding)", "pictures are not those that were encoded"),
        ("-vf setpts=1.1*PTS \(encoding)", "pictures are not at their times"),
        ("-vf setpts=PTS+if(gt(N\\,50)\\,1/TB\\,0) \(encoding)", "picture 51 is 1"),
        ("-vf swapuv \(encoding)", "is not the one that was encoded"),
        ("-vf vflip \(encoding)", "is not the one that was encoded"),
        ("-vf negate \(encoding)", "is not the one that was encoded"),
        ("-vf eq=brightness=0.3 \(encoding)", "is not the one that was encoded"),
        ("-vf il=luma_swap=1:chroma_swap=1 \(encoding)", "the fields of the pictures are swapped"),
        ("-vf crop=80:90:0:0,scale=160:90 \(encoding)", "is not the one that was encoded"),
        ("-vf scale=320x180 \(encoding)", "the pictures are 320x180 instead of 160x90"),
        ("-c:v libx265 -x265-params log-level=none -c:a copy", "the codec is hevc instead of h264"),
        ("-c:v copy -an", "0 audio tracks instead of 1"),
        ("-c:v copy -c:a aac -af volume=0", "audio track 1 is silent"),
        ("-c:v copy -c:a aac -af atrim=end=3", "audio track 1 lasts 3"),
        ("-c:v copy -c:a aac -af apad=pad_dur=1", "audio track 1 lasts 5"),
        ("-c:v copy -c:a aac -af atempo=1.2", "audio track 1 lasts 3"),
        ("-c:v copy -c:a flac", "audio track 1 is flac instead of aac"),
        ("-map 0:v -map 0:a -map 0:a -c copy", "2 audio tracks instead of 1"),
        ("-c copy -bsf:v noise=amount=200", "the output is damaged"),
        ("-c copy -t 2", "instead of 100"),
    ])
    func plantedFaultsAreFound(options: String, finding: String) throws {
        let files = try Files()
        let words = options.split(separator: " ").map(String.init)
        try Files.ffmpeg(["-i", files.path("good.mkv")] + words + [files.path("bad.mkv")])
        let result = try files.verify("bad.mkv")
        #expect(result.findings.contains { $0.contains(finding) }, "\(result.findings)")
    }

    /// A PSNR that was asked for and not measured is no success.
    @Test func picturesMustBeMeasured() throws {
        let files = try Files()
        var expectation = files.good.expectation
        expectation.leastPSNR = 30
        let result = try OutputVerification(path: files.path("good.mkv"), expectation: expectation)
        #expect(result.findings == ["no picture could be measured against the input"] && result.psnr == nil)
    }

    @Test func damagedFilesAreFound() throws {
        let files = try Files()
        let good = files.good.data
        for (name, data) in [
            ("half.mkv", good.prefix(good.count / 2)), ("empty.mkv", Data()), ("text.mkv", Data("not a film".utf8)),
        ] {
            try data.write(to: URL(fileURLWithPath: files.path(name)))
            #expect(try !files.verify(name).findings.isEmpty, "\(name)")
        }
        #expect(try !files.verify("missing.mkv").findings.isEmpty)
    }

    @Test func signaturesOfEveryFormat() throws {
        for format in PixelFormat.allCases {
            func picture(_ luma: Int) throws -> PixelBuffer {
                let pool = try PixelBufferPool(PixelBuffer.Description(format: format, width: 64, height: 48))
                let buffer = try pool.make()
                try buffer.withPlanes { planes throws(MediaError) in
                    for (plane, extent) in zip(planes, buffer.planeExtents) {
                        memset(plane.baseAddress, Int32(luma), extent.rows * plane.bytesPerRow)
                    }
                }
                return buffer
            }
            guard let dark = try PictureSignature(picture(1)), let bright = try PictureSignature(picture(15)) else {
                #expect(format == .bgra)
                continue
            }
            #expect(dark.resembles(dark) && bright.resembles(bright) && !dark.resembles(bright), "\(format)")
        }
    }
}
