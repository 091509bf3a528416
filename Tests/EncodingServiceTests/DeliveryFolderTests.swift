// SPDX-License-Identifier: GPL-2.0-or-later

import FoundationEssentials
import Glibc
import HostSystem
import Testing

@testable import EncodingService

@Suite struct DeliveryFolderTests {
    /// Calls `body` with a media root `films` in a folder of its own.
    private func withRoot(_ body: (WritableRoots, String) throws -> Void) throws {
        var template = Array("/tmp/root-XXXXXX".utf8CString)
        let path = try #require(mkdtemp(&template).map { String(cString: $0) })
        defer { try? Files.remove(path) }
        try body(WritableRoots(roots: ["films": path]), path)
    }

    private func mode(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    @Test func pathsAreSplitByBytes() {
        #expect(PathNames.split("films//a/\u{301}b/") == ["films", "a", "\u{301}b"])
        #expect(PathNames.parent("films/a/\u{301}b") == ("films/a", "\u{301}b"))
        #expect(PathNames.parent("b") == ("", "b"))
        for name in ["", ".", "..", "a/b", "/\u{301}", "a\0"] { #expect(!PathNames.isName(name)) }
        #expect(PathNames.isName("..a"))
    }

    @Test func namesWithSlashesAreRefused() throws {
        try withRoot { roots, path in
            let folder = try roots.open("films")
            try Files.makeFolder("\(path)/a")
            for name in ["a/b", "a/\u{301}b", ".."] {
                #expect(throws: FileError.self) { try NewFile(name, in: folder) }
                #expect(throws: FileError.self) { try folder.rename(name, to: "x", replaces: true) }
                #expect(throws: FileError.self) { try folder.rename("x", to: name, replaces: false) }
                #expect(throws: FileError.self) { try roots.remove(name, in: "films") }
            }
            #expect(try Files.names(in: "\(path)/a").isEmpty)
        }
    }

    @Test func foldersAreMadeForOthersToRead() throws {
        try withRoot { roots, path in
            _ = try roots.open("films/new/\u{301}folder")
            #expect(try mode("\(path)/new") == 0o755)
            #expect(try mode("\(path)/new/\u{301}folder") == 0o755)
            // One that is there stays as it is.
            chmod("\(path)/new", 0o700)
            _ = try roots.open("films/new")
            #expect(try mode("\(path)/new") == 0o700)
        }
    }

    /// File systems differ in what they can do: each way alone has the same result.
    @Test(arguments: WayToTakeName.allCases)
    func namesAreTakenOnce(_ way: WayToTakeName) throws {
        try withRoot { roots, path in
            let folder = try roots.open("films")
            for (number, text) in ["first", "second"].enumerated() {
                let file = try NewFile(".\(number)", in: folder)
                try file.write(Array(text.utf8))
                try file.finish()
                file.close()
                #expect(throws: FileError.self) { try file.write([0]) }
                #expect(throws: FileError.self) { try NewFile(".\(number)", in: folder) }
                let isTaken = try folder.rename(".\(number)", to: "out", replaces: false, ways: [way])
                #expect(isTaken == (number == 0))
                #expect(try Files.read("\(path)/out") == Array("first".utf8))
            }
            #expect(try mode("\(path)/out") == 0o644)
            #expect(try folder.rename(".1", to: "out", replaces: true))
            #expect(try Files.read("\(path)/out") == Array("second".utf8))
        }
    }

    @Test(arguments: WayToTakeName.allCases)
    func aFailureTakesNoName(_ way: WayToTakeName) throws {
        try withRoot { roots, path in
            let folder = try roots.open("films")
            let error = #expect(throws: FileError.self) {
                try folder.rename("none", to: "out", replaces: false, ways: [way])
            }
            #expect(error?.status == ENOENT)
            #expect(try Files.names(in: path).isEmpty)
        }
    }
}
