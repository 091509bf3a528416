// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import ServiceAPI
import Testing

@testable import EncodingService

@Suite struct WatchMemoryTests {
    private func file(_ path: String, size: Int = 1, modified: Int64 = 1) -> WatchedFile {
        WatchedFile(path: path, size: size, modified: modified)
    }

    @Test func aFileIsReadyWhenItHasNotChangedForAWhile() {
        var memory = WatchMemory()
        func look(_ file: WatchedFile, at now: Double) -> [WatchedFile] {
            memory.observe([file], at: now, date: 0, settle: 10)
        }
        #expect(look(file("a"), at: 0) == [])
        #expect(look(file("a"), at: 9) == [])
        #expect(memory.settlingCount == 1)
        #expect(look(file("a", size: 2), at: 10) == [], "it has grown")
        #expect(look(file("a", size: 2, modified: 2), at: 19) == [], "its time has changed")
        #expect(look(file("a", size: 2, modified: 2), at: 28) == [])
        let ready = look(file("a", size: 2, modified: 2), at: 29)
        #expect(ready.map(\.path) == ["a"])
        #expect(look(ready[0], at: 30) == ready, "again, until it has become a job")
    }

    @Test func aFileBecomesOneJob() {
        var memory = WatchMemory()
        let files = [file("b"), file("a")]
        #expect(memory.observe(files, at: 0, date: 0, settle: 0).map(\.path) == ["a", "b"])
        memory.finish(file("a"), date: 0)
        #expect(memory.observe(files, at: 1, date: 1, settle: 0).map(\.path) == ["b"])
        memory.finish(file("b"), date: 1)
        #expect(memory.observe(files, at: 2, date: 2, settle: 0) == [])
        #expect(memory.settlingCount == 0)
        #expect(memory.observe([file("a", modified: 2)], at: 3, date: 3, settle: 0).map(\.path) == ["a"], "a new one")
    }

    /// A file that is away for a scan begins to settle anew.
    @Test func aFileThatWasGoneBeginsAnew() {
        var memory = WatchMemory()
        #expect(memory.observe([file("a")], at: 0, date: 0, settle: 10) == [])
        #expect(memory.observe([], at: 5, date: 0, settle: 10) == [])
        #expect(memory.observe([file("a")], at: 11, date: 0, settle: 10) == [])
        #expect(memory.observe([file("a")], at: 21, date: 0, settle: 10).count == 1)
    }

    /// A file system that is away looks like an empty folder.
    @Test func filesThatAreGoneAreRemembered() {
        var memory = WatchMemory()
        memory.finish(file("a"), date: 0)
        let later = WatchMemory.forgetfulness - 1
        #expect(memory.observe([], at: later, date: later, settle: 0) == [])
        #expect(memory.observe([file("a")], at: later, date: later, settle: 0) == [])
        let end = later + WatchMemory.forgetfulness
        #expect(memory.observe([], at: end, date: end, settle: 0) == [])
        #expect(memory.done.count == 1, "nothing is forgotten of what may be away")
        _ = memory.observe([file("b")], at: end, date: end, settle: 0)
        #expect(memory.done.isEmpty)
    }

    @Test func theMemoryIsKept() throws {
        var memory = WatchMemory()
        for path in ["a", "é/b c", "a\"b"] { memory.finish(file(path, modified: .max), date: 1.5) }
        let read = WatchMemory(json: try JSONValue(parsing: memory.json.text))
        #expect(read.done == memory.done)
        #expect(WatchMemory(json: [["path": "x"], 7, ["identity": "y", "seen": 1]]).done.isEmpty)
    }

    @Test(arguments: [
        ("a.mp4", true), ("A.MKV", true), ("a.tar.ts", true), ("mp4", false), ("a.mp4.part", false), ("a.tmp", false),
        ("a.srt", false), ("a.", false), ("a", false),
    ])
    func namesOfMedia(name: String, isMedia: Bool) { #expect(FolderScan.isMedia(name) == isMedia) }

    @Test func aScanFollowsNoLinks() throws {
        let folder = try TemporaryFolder()
        let manager = FileManager.default
        for name in ["deep/er", "other"] {
            try manager.createDirectory(atPath: "\(folder.path)/\(name)", withIntermediateDirectories: true)
        }
        for name in ["a.mp4", ".b.mp4", "c.mp4.part", "deep/d.mkv", "deep/er/e.ts"] {
            try "x".write(toFile: "\(folder.path)/\(name)", atomically: false, encoding: .utf8)
        }
        try "".write(toFile: "\(folder.path)/empty.mp4", atomically: false, encoding: .utf8)
        try manager.createSymbolicLink(atPath: "\(folder.path)/link.mp4", withDestinationPath: "a.mp4")
        try manager.createSymbolicLink(atPath: "\(folder.path)/loop", withDestinationPath: ".")
        #expect(mkfifo("\(folder.path)/pipe.mp4", 0o600) == 0)
        let all = try FolderScan(of: folder.path, recursive: true)
        #expect(all.files.map(\.path) == ["a.mp4", "deep/d.mkv", "deep/er/e.ts"])
        #expect(all.files.allSatisfy { $0.size == 1 && $0.modified > 0 } && all.problem == nil)
        #expect(try FolderScan(of: folder.path, recursive: false).files.map(\.path) == ["a.mp4"])
        #expect(try FolderScan(of: folder.path + "/none", recursive: true).files == [])
    }

    private func link(_ folder: String, _ destination: String, recursive: Bool = true) -> WatchLoops.Link {
        WatchLoops.Link(folder: folder, isRecursive: recursive, destination: destination)
    }

    @Test func resultsMustNotComeBack() {
        #expect(WatchLoops.hasLoop(link("/in", "/in"), []))
        #expect(WatchLoops.hasLoop(link("/in", "/in/done"), []))
        #expect(!WatchLoops.hasLoop(link("/in", "/in-done"), []))
        #expect(!WatchLoops.hasLoop(link("/in/a", "/in"), []))
        #expect(!WatchLoops.hasLoop(link("/in", "/in/done", recursive: false), []))
        #expect(WatchLoops.hasLoop(link("/a", "/b/x"), [link("/b", "/c"), link("/c", "/a/y")]))
        #expect(!WatchLoops.hasLoop(link("/a", "/b/x"), [link("/b", "/c"), link("/d", "/a")]))
        // A loop of others is not this one's.
        #expect(!WatchLoops.hasLoop(link("/a", "/b"), [link("/b", "/c"), link("/c", "/b")]))
    }
}
