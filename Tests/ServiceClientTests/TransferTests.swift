// SPDX-License-Identifier: GPL-2.0-or-later

import ServiceAPI
import Testing

@testable import ServiceClient

@Suite("Transfers")
struct TransferTests {
    private static var file: ResultFile {
        var file = ResultFile()
        file.path = "show/720p/index.m3u8"
        file.size = 100
        file.sha256 = String(repeating: "ab", count: 32)
        return file
    }

    @Test("The rest is asked for, provided that the file is the same")
    func headers() {
        #expect(PartialDownload(file: Self.file, present: 0).headers.isEmpty)
        let headers = PartialDownload(file: Self.file, present: 40).headers
        #expect(headers.map(\.name) == ["Range", "If-Range"])
        #expect(headers.map(\.value) == ["bytes=40-", "\"\(Self.file.sha256)\""])
    }

    @Test("Only the rest is appended")
    func decisions() {
        let cases: [(present: Int, status: Int, range: String?, decision: ResumeDecision)] = [
            (0, 200, nil, .restart), (40, 200, nil, .restart), (40, 206, "bytes 40-99/100", .append),
            (40, 206, "bytes 41-99/100", .refuse), (40, 206, "bytes 40-98/100", .refuse),
            (40, 206, "bytes 40-99/101", .refuse), (40, 206, nil, .refuse), (40, 416, nil, .discard),
            (140, 416, "bytes */100", .discard), (0, 416, nil, .refuse), (0, 204, nil, .refuse),
        ]
        for (present, status, range, decision) in cases {
            let download = PartialDownload(file: Self.file, present: present)
            #expect(download.decision(status: status, contentRange: range) == decision, "\(present) \(status)")
        }
    }

    @Test("A partial file is in the folder of the whole one, and only its bytes are continued")
    func partialNames() {
        #expect(PartialDownload.name(of: Self.file, at: "/a/b.mp4") == "/a/.b.mp4.abababababababab.part")
        #expect(PartialDownload.name(of: Self.file, at: "b.mp4") == ".b.mp4.abababababababab.part")
        let long = String(repeating: "ü", count: 120) + ".mp4"
        let name = PartialDownload.name(of: Self.file, at: "/a/\(long)").dropFirst("/a/".count)
        #expect(name.utf8.count <= 255)
        var other = Self.file
        other.sha256 = String(repeating: "cd", count: 32)
        #expect(PartialDownload.name(of: other, at: "b") != PartialDownload.name(of: Self.file, at: "b"))
    }

    @Test("Names of uploads are allowed, and keep the extension")
    func uploadNames() {
        for path in [
            "/a/film.mov", "film.mov", ".hidden.mov", "a\u{7}b.mov", String(repeating: "ü", count: 300) + ".mov",
        ] {
            let name = ServiceClient.uniqueName(of: path)
            #expect(name.hasSuffix(".mov"), "\(name)")
            #expect(name.utf8.count <= 200 && !name.hasPrefix(".") && !name.contains("/"), "\(name)")
            #expect(name.unicodeScalars.allSatisfy { $0.value >= 0x20 }, "\(name)")
            #expect(ServiceClient.uniqueName(of: path) != name)
        }
        #expect(ServiceClient.uniqueName(of: "/a/README").hasPrefix("README-"))
    }

    @Test("Paths are encoded segment by segment")
    func paths() {
        #expect(ServicePath("jobs", "a/b c").text == "/v1/jobs/a%2Fb%20c")
        #expect(
            ServicePath("jobs", "x", "files").appending(path: "show/ü.m3u8").text == "/v1/jobs/x/files/show/%C3%BC.m3u8"
        )
        let query = ServicePath("jobs").query("state", nil).query("label", "a:b&c").query("limit", "2")
        #expect(query.text == "/v1/jobs?label=a%3Ab%26c&limit=2")
    }

    @Test("URLs need a scheme and a host, and have no user, query or fragment")
    func addresses() throws {
        for (given, text) in [
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080"), ("HTTPS://Media.example/", "https://Media.example"),
            ("http://[::1]:80/encode//", "http://[::1]:80/encode"),
        ] {
            #expect(try ServiceAddress(given).text == text)
        }
        for given in [
            "", "127.0.0.1:8080", "ftp://host", "http://", "http://:80", "http://a/?q", "http://a/#f", "http://ä/",
        ] {
            let error = #expect(throws: ClientError.self, "\(given)") { try ServiceAddress(given) }
            #expect(error?.kind == .invalidValue)
        }
        let error = #expect(throws: ClientError.self) { try ServiceAddress("http://user:secret@host/") }
        #expect(error?.description.contains("secret") == false)
    }

    @Test(
        "A key with spaces or line breaks is refused before it becomes a header",
        arguments: ["", "a b", "a\r\nX: y"]
    )
    func keys(key: String) {
        let error = #expect(throws: ClientError.self) { try ServiceClient(url: "http://localhost", key: key) }
        #expect(error?.kind == .invalidValue)
    }
}
