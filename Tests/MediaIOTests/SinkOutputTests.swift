// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import MediaTypes
import Testing

@testable import MediaIO

/// What becomes of names, folders and descriptors.
@Suite struct SinkOutputTests {
    private func expectRefusal(
        _ code: MediaError.Code,
        naming words: [String],
        path: String,
        _ options: MediaSink.Options = .init(),
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let error = #expect(throws: MediaError.self, sourceLocation: sourceLocation) {
            try MediaSink(path: path, options: options)
        }
        #expect(error?.code == code, sourceLocation: sourceLocation)
        for word in words {
            #expect(
                error?.description.contains(word) == true,
                "\(error?.description ?? "")",
                sourceLocation: sourceLocation
            )
        }
        #expect(error?.description.contains("\n") == false, sourceLocation: sourceLocation)
    }

    @Test func pathsThatCannotBeWrittenAreRefusedAtOnce() throws {
        let folder = try SinkFolder()
        try Data("x".utf8).write(to: folder.url.appending(path: "old.mp4"))
        try FileManager.default.createSymbolicLink(
            atPath: folder.path("dangling.mp4"),
            withDestinationPath: folder.path("nothing.mp4")
        )
        try FileManager.default.createDirectory(atPath: folder.path("folder.mp4"), withIntermediateDirectories: false)
        let before = try folder.contents
        let overwrite = MediaSink.Options { $0.overwrite = true }
        expectRefusal(
            .invalidArgument,
            naming: ["missing/a.mp4", "existing folder"],
            path: folder.path("missing/a.mp4")
        )
        expectRefusal(.inputOutput, naming: ["old.mp4/a.mp4"], path: folder.path("old.mp4/a.mp4"))
        expectRefusal(.invalidArgument, naming: ["old.mp4", "overwrite"], path: folder.path("old.mp4"))
        expectRefusal(.invalidArgument, naming: ["folder.mp4", "folder"], path: folder.path("folder.mp4"), overwrite)
        expectRefusal(.invalidArgument, naming: ["dangling.mp4", "link"], path: folder.path("dangling.mp4"), overwrite)
        expectRefusal(.invalidArgument, naming: ["path"], path: "", .init { $0.format = .mp4 })
        expectRefusal(.invalidArgument, naming: ["path"], path: folder.path("") + "/a\0.mp4")
        expectRefusal(.invalidArgument, naming: ["folder"], path: folder.path("folder.mp4") + "/", overwrite)
        expectRefusal(.invalidArgument, naming: ["folder"], path: folder.path("new") + "/", .init { $0.format = .mp4 })
        let input = MediaSink.Options {
            $0.overwrite = true
            $0.inputPaths = [folder.path("../\(folder.url.lastPathComponent)/old.mp4")]
        }
        expectRefusal(.invalidArgument, naming: ["old.mp4", "input"], path: folder.path("old.mp4"), input)
        expectRefusal(
            .inputOutput,
            naming: ["name too long"],
            path: folder.path(String(repeating: "a", count: 300) + ".mp4")
        )
        #expect(try folder.contents == before)
    }

    @Test func formatsThatCannotBeWrittenAreRefusedWithAllThatCan() throws {
        let folder = try SinkFolder()
        let all = [".h264", ".264", ".avc", ".mp4", ".m4v", ".mov", ".mkv", ".ts", "null"]
        for name in ["a.webm", "a", "a.", ".mp4", "mp4"] {
            expectRefusal(.invalidArgument, naming: all + [folder.path(name)], path: folder.path(name))
        }
        expectRefusal(.invalidArgument, naming: ["-", "mp4", "ts"], path: "-")
        expectRefusal(
            .invalidArgument,
            naming: ["mkv", "mp4, mov"],
            path: folder.path("a.mkv"),
            .init { $0.isFragmented = true }
        )
        let error = #expect(throws: MediaError.self) { try ContainerFormat(name: "webm", path: "a.mp4") }
        #expect(error?.allowed == "h264, hevc, mp4, mov, mkv, ts, null")
        #expect(try ContainerFormat(name: "MP4", path: "-") == .mp4)
        #expect(try ContainerFormat(name: "264", path: "a.mp4") == .h264)
        #expect(try ContainerFormat(name: nil, path: "/a.b/c.D.MKV") == .mkv)
        #expect(try ContainerFormat(name: nil, path: "x.hevc") == .hevc)
        #expect(try folder.contents == [])
    }

    @Test func aFolderThatCannotBeWrittenIsRefused() throws {
        let folder = try SinkFolder()
        let locked = folder.path("locked")
        try FileManager.default.createDirectory(atPath: locked, withIntermediateDirectories: false)
        try FileManager.default.setAttributes([.posixPermissions: 0o555], ofItemAtPath: locked)
        // Permissions do not hold root back, and nobody can make files under /proc.
        let path = getuid() == 0 ? "/proc/self" : locked
        expectRefusal(.inputOutput, naming: [path == locked ? locked : "/proc/"], path: path + "/a.mp4")
    }

    @Test func nothingIsUnderTheNameBeforeTheEnd() throws {
        let video = try EncodedVideo.standard.get()
        let folder = try SinkFolder()
        let sink = try MediaSink(path: folder.path("a.mp4"))
        for sample in video.samples { try sink.write(sample) }
        let during = try folder.contents
        #expect(during.count == 1)
        #expect(during.first?.hasPrefix(".") == true)
        _ = try sink.finish()
        #expect(try folder.contents == ["a.mp4"])
        sink.abort()
        #expect(try folder.contents == ["a.mp4"])
    }

    @Test(arguments: ["a.mp4", "a.h264", "a.mkv"], [0, 1, 16])
    func abortingLeavesNothing(name: String, count: Int) throws {
        let video = try EncodedVideo.standard.get()
        let folder = try SinkFolder()
        let sink = try MediaSink(path: folder.path(name))
        for sample in video.samples.prefix(count) { try sink.write(sample) }
        sink.abort()
        #expect(try folder.contents == [])
        #expect(throws: MediaError.self) { try sink.write(video.samples[0]) }
        #expect(throws: MediaError.self) { _ = try sink.finish() }
        do {
            let forgotten = try MediaSink(path: folder.path(name))
            for sample in video.samples.prefix(count) { try forgotten.write(sample) }
        }
        #expect(try folder.contents == [])
    }

    @Test func anOutputWithoutSamplesIsAnErrorAndLeavesNothing() throws {
        let folder = try SinkFolder()
        let sink = try MediaSink(path: folder.path("a.mp4"))
        let error = #expect(throws: MediaError.self) { _ = try sink.finish() }
        #expect(error?.code == .malformedData)
        #expect(try folder.contents == [])
    }

    @Test func overwritingReplacesTheFileAtTheEndAndKeepsItsPermissions() throws {
        let video = try EncodedVideo.standard.get()
        let folder = try SinkFolder()
        let path = folder.path("a.mp4")
        try Data("old".utf8).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: path)
        let options = MediaSink.Options { $0.overwrite = true }
        let sink = try MediaSink(path: path, options: options)
        for sample in video.samples { try sink.write(sample) }
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data("old".utf8))
        _ = try sink.finish()
        #expect(try frameHashes(of: path) == video.hashes)
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o640)
        #expect(try folder.contents == ["a.mp4"])
    }

    @Test func aSymbolicLinkStaysAndItsTargetIsReplaced() throws {
        let video = try EncodedVideo.standard.get()
        let folder = try SinkFolder()
        try FileManager.default.createDirectory(atPath: folder.path("real"), withIntermediateDirectories: false)
        try Data("old".utf8).write(to: folder.url.appending(path: "real/a.mp4"))
        try FileManager.default.createSymbolicLink(atPath: folder.path("link.mp4"), withDestinationPath: "real/a.mp4")
        try writeSamples(video.samples, to: folder.path("link.mp4"), .init { $0.overwrite = true })
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: folder.path("link.mp4")) == "real/a.mp4")
        #expect(try frameHashes(of: folder.path("real/a.mp4")) == video.hashes)
        #expect(try folder.contents == ["link.mp4", "real"])
    }

    @Test func ofTwoSinksWithOneNameTheFirstToFinishWins() throws {
        let video = try EncodedVideo.standard.get()
        let folder = try SinkFolder()
        let (first, second) = (try MediaSink(path: folder.path("a.mp4")), try MediaSink(path: folder.path("a.mp4")))
        #expect(try folder.contents.count == 2)
        for sample in video.samples {
            try first.write(sample)
            try second.write(sample)
        }
        _ = try second.finish()
        let error = #expect(throws: MediaError.self) { _ = try first.finish() }
        #expect(error?.code == .invalidArgument)
        #expect(error?.given == folder.path("a.mp4"))
        #expect(try folder.contents == ["a.mp4"])
        #expect(try frameHashes(of: folder.path("a.mp4")) == video.hashes)
    }

    @Test func aCallerElsewhereInTheFileSystemMakesNoDifference() throws {
        let video = try EncodedVideo.standard.get()
        let folder = try SinkFolder()
        let name = "sink-\(UUID().uuidString).mp4"
        guard case .file(let file) = try OutputTarget(path: name, overwrite: false, inputPaths: []) else {
            Issue.record("no regular file")
            return
        }
        #expect(file.folder == FileManager.default.currentDirectoryPath)
        // Names with what URLs and protocols would take for their own.
        for name in ["a b%20:c?.mp4", "file:x.mp4", "-.mp4", "ä\u{301}.mkv"] {
            try writeSamples(video.samples, to: folder.path(name))
            #expect(try frameHashes(of: "file:" + folder.path(name)) == video.hashes)
        }
    }
}
