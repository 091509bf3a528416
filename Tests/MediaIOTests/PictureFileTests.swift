// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import MediaTypes
import TestSupport
import Testing

@testable import MediaIO

/// The names of numbered files, and what is left of them.
@Suite struct PictureFileTests {
    @Test(arguments: [
        ("%d.png", 1, "1.png"), ("a/b-%05d.png", 42, "a/b-00042.png"), ("%02d.png", 123, "123.png"),
        ("100%%-%d%%.png", 7, "100%-7%.png"), ("50%%/a.png", 3, "50%/a.png"),
    ])
    func numbersReplaceTheirPattern(text: String, number: Int, path: String) throws {
        let pattern = try FileNamePattern(text)
        #expect(pattern.path(number) == path)
        #expect(pattern.hasNumber == (text != "50%%/a.png"))
        let name = String(path.split(separator: "/").last ?? "")
        #expect(pattern.number(ofName: name) == (pattern.hasNumber ? number : nil))
    }

    @Test(arguments: ["x-001.png", "x-0.png", "x--1.png", "x-.png", "y-1.png", "x-1.jpg", "x-+1.png", "x-"])
    func otherNamesHaveNoNumber(name: String) throws {
        #expect(try FileNamePattern("folder/x-%d.png").number(ofName: name) == nil)
    }

    @Test(arguments: ["%", "%%%", "%x", "%0d", "%00d", "%1d", "%021d", "%-2d", "%d%d", "%d/a", "%D"])
    func otherPatternsAreRefused(text: String) {
        #expect(throws: MediaError.self) { try FileNamePattern(text) }
    }

    /// Another process creates the second file before all have their names.
    @Test func filesOfOthersStayAndOwnOnesGo() throws {
        let folder = try ScratchFolder()
        let files = try NumberedFiles(
            try FileNamePattern("\(folder.folder)/%d.png"),
            overwrite: false,
            inputPath: "",
            cancellation: Cancellation(),
            abandonment: Cancellation()
        )
        for text in ["one", "two", "three"] {
            try Array(text.utf8).withUnsafeBytes { try files.write($0) }
        }
        try WholeFile.write(Array("other".utf8), to: folder.path("2.png"))
        let error = #expect(throws: MediaError.self) { try files.commit() }
        #expect(error?.code == .invalidArgument && error?.given == folder.path("2.png"))
        #expect(FileTree.names(in: folder.folder) == ["2.png"])
    }

    /// A folder has come into the place of the second file. Of the first one, which is replaced then, there is a whole
    /// version, and the third one is that of before.
    @Test func anErrorAmongReplacedFilesDeletesNone() throws {
        let folder = try ScratchFolder()
        for name in ["1.png", "3.png"] { try WholeFile.write(Array("old".utf8), to: folder.path(name)) }
        let files = try NumberedFiles(
            try FileNamePattern("\(folder.folder)/%d.png"),
            overwrite: true,
            inputPath: "",
            cancellation: Cancellation(),
            abandonment: Cancellation()
        )
        for text in ["one", "two", "three"] {
            try Array(text.utf8).withUnsafeBytes { try files.write($0) }
        }
        try FileManager.default.createDirectory(atPath: folder.path("2.png"), withIntermediateDirectories: false)
        let error = #expect(throws: MediaError.self) { try files.commit() }
        #expect(error?.code == .inputOutput)
        #expect(FileTree.names(in: folder.folder)?.sorted() == ["1.png", "2.png", "3.png"])
        #expect(try String(contentsOfFile: folder.path("1.png"), encoding: .utf8) == "one")
        #expect(try String(contentsOfFile: folder.path("3.png"), encoding: .utf8) == "old")
    }
}
