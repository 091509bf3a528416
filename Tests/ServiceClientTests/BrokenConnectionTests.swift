// SPDX-License-Identifier: GPL-2.0-or-later

import Crypto
import Foundation
import Glibc
import ServiceAPI
import Synchronization
import Testing

@testable import ServiceClient

/// A server that gives one answer to each connection, and closes it: whole answers, parts of them, or none.
private final class ScriptedServer: Sendable {
    let url: String
    private let received = Mutex<[String]>([])

    init(_ answers: [String]) throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isReady = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                bind(listener, generic, length) == 0 && listen(listener, 16) == 0
                    && getsockname(listener, generic, &length) == 0
            }
        }
        try #require(isReady)
        url = "http://127.0.0.1:\(UInt16(bigEndian: address.sin_port))"
        Thread.detachNewThread { [self] in
            for answer in answers {
                let connection = accept(listener, nil, nil)
                guard connection >= 0 else { return }
                let request = Self.read(connection)
                received.withLock { $0.append(request) }
                _ = answer.withCString { send(connection, $0, strlen($0), Int32(MSG_NOSIGNAL)) }
                shutdown(connection, Int32(SHUT_RDWR))
                close(connection)
            }
            // Whoever still comes is refused.
            close(listener)
        }
    }

    var requests: [String] { received.withLock { $0 } }

    /// Reads a head and the body that it announces.
    private static func read(_ connection: Int32) -> String {
        var text = ""
        var buffer = [UInt8](repeating: 0, count: 65536)
        while true {
            if let end = text.range(of: "\r\n\r\n") {
                let found = text.firstMatch(of: /(?i)content-length: (\d+)/)
                let size = found.flatMap { Int($0.1) } ?? 0
                if text[end.upperBound...].utf8.count >= size { return text }
            }
            let count = recv(connection, &buffer, buffer.count, 0)
            guard count > 0 else { return text }
            text += String(decoding: buffer[..<count], as: UTF8.self)
        }
    }

    /// The value of a header field of a request.
    func header(_ name: String, of index: Int) -> String? {
        let lines = requests[index].components(separatedBy: "\r\n")
        return lines.first { $0.lowercased().hasPrefix(name.lowercased() + ": ") }
            .map { String($0.dropFirst(name.count + 2)) }
    }

    func client() throws -> ServiceClient {
        var settings = ServiceClient.Settings()
        // Tests of other suites may keep these from running for minutes.
        settings.patience = 1200
        settings.longPatience = 1200
        return try ServiceClient(url: url, settings: settings)
    }

    static func whole(_ body: String, status: String = "200 OK", _ headers: String...) -> String {
        let lines = ["HTTP/1.1 \(status)", "Content-Length: \(body.utf8.count)", "Connection: close"] + headers
        return lines.joined(separator: "\r\n") + "\r\n\r\n" + body
    }

    /// An answer in one chunk, with the end of the body or without.
    static func stream(_ body: String, type: String, isWhole: Bool) -> String {
        "HTTP/1.1 200 OK\r\nContent-Type: \(type)\r\nTransfer-Encoding: chunked\r\n\r\n"
            + String(body.utf8.count, radix: 16) + "\r\n\(body)\r\n" + (isWhole ? "0\r\n\r\n" : "")
    }

    static func problem(_ code: ErrorCode, _ headers: String) -> String {
        let body = Problem(APIError(code, "No"), requestID: "r").json.text
        return whole(body, status: "\(code.status) No", "Content-Type: \(Problem.mediaType)", headers)
    }
}

@Suite("Broken connections", .timeLimit(.minutes(60)))
struct BrokenConnectionTests {
    private static let id = String(repeating: "a", count: 26)

    private static func job(_ state: JobState) -> Job {
        var job = Job()
        job.id = id
        job.state = state
        return job
    }

    // MARK: Repetition

    @Test("A submission without an answer is repeated with the same key")
    func submission() async throws {
        let server = try ScriptedServer([
            "", "HTTP/1.1 201 Created\r\nContent-Le", ScriptedServer.problem(.unavailable, "Retry-After: 0"),
            ScriptedServer.whole(Self.job(.waiting).json.text, status: "201 Created"),
        ])
        let job = try await server.client().submit(JobRequest())
        #expect(job == Self.job(.waiting))
        #expect(server.requests.count == 4)
        let keys = (0..<4).map { server.header("Idempotency-Key", of: $0) }
        #expect(keys[0]?.utf8.count == 32 && Set(keys).count == 1)
    }

    @Test("A call that is not safe to repeat is sent once, unless the service has refused it for now")
    func unsafeCall() async throws {
        let lost = try ScriptedServer(["", ScriptedServer.whole(Self.job(.waiting).json.text)])
        let error = await #expect(throws: ClientError.self) { try await lost.client().retry(Self.id) }
        #expect(error?.kind == .interrupted)
        #expect(lost.requests.count == 1)
        let busy = try ScriptedServer([
            ScriptedServer.problem(.rateLimited, "Retry-After: 0"), ScriptedServer.whole(Self.job(.waiting).json.text),
        ])
        #expect(try await busy.client().retry(Self.id).state == .waiting)
        #expect(busy.requests.count == 2)
    }

    @Test("What a repeated deletion does not find was deleted before")
    func deletion() async throws {
        let server = try ScriptedServer(["", ScriptedServer.problem(.notFound, "X: y")])
        try await server.client().deleteJob(Self.id)
        #expect(server.requests.count == 2)
        let missing = try ScriptedServer([ScriptedServer.problem(.notFound, "X: y")])
        let error = await #expect(throws: ClientError.self) { try await missing.client().deleteJob(Self.id) }
        #expect(error?.code == .notFound)
    }

    // MARK: Streams

    private static func event(_ number: Int, _ type: String) -> String {
        var event = Event()
        event.number = number
        event.job = id
        event.type = type
        return "id: \(number)\nevent: \(type)\ndata: \(event.json.text)\n\n"
    }

    private static func stream(_ text: String, isWhole: Bool) -> String {
        ScriptedServer.stream(text, type: "text/event-stream", isWhole: isWhole)
    }

    @Test("Events go on after the last one, whether the stream breaks or a stopping service ends it")
    func events() async throws {
        let half = String(Self.event(3, "output-ready").prefix(30))
        let server = try ScriptedServer([
            Self.stream(Self.event(1, "waiting") + Self.event(2, "started") + half, isWhole: false), "",
            Self.stream(Self.event(3, "output-ready"), isWhole: true),
            Self.stream(Self.event(4, "succeeded"), isWhole: true),
        ])
        var numbers: [Int] = []
        for try await case .event(let event) in try server.client().events(of: Self.id) { numbers.append(event.number) }
        #expect(numbers == [1, 2, 3, 4])
        #expect((0..<4).map { server.header("Last-Event-ID", of: $0) } == [nil, "2", "2", "3"])
    }

    @Test("A break after the last event of a job is its end")
    func breakAtTheEnd() async throws {
        let text = Self.event(7, "failed") + Self.event(8, "waiting") + Self.event(9, "failed")
        let server = try ScriptedServer([Self.stream(text, isWhole: false)])
        var numbers: [Int] = []
        for try await case .event(let event) in try server.client().events(of: Self.id, after: 6) {
            numbers.append(event.number)
        }
        #expect(numbers == [7, 8, 9])
        #expect(server.header("Last-Event-ID", of: 0) == "6")
        #expect(server.requests.count == 1)
    }

    @Test("A stream of a job that does not exist fails at once")
    func missingJob() async throws {
        let server = try ScriptedServer([ScriptedServer.problem(.notFound, "X: y")])
        let client = try server.client()
        let error = await #expect(throws: ClientError.self) {
            for try await _ in client.events(of: Self.id) {}
        }
        #expect(error?.code == .notFound)
        #expect(server.requests.count == 1)
    }

    @Test("A log goes on where it broke, and ends with the job")
    func log() async throws {
        let text = "first line\nsecond line\nthird line\n"
        func answer(_ count: Int, isWhole: Bool) -> String {
            ScriptedServer.stream(String(text.prefix(count)), type: "text/plain", isWhole: isWhole)
        }
        let server = try ScriptedServer([
            answer(14, isWhole: false), answer(5, isWhole: false), answer(20, isWhole: true),
            ScriptedServer.whole(Self.job(.running).json.text), answer(text.count, isWhole: true),
            ScriptedServer.whole(Self.job(.succeeded).json.text),
        ])
        var bytes: [UInt8] = []
        for try await piece in try server.client().log(of: Self.id, follows: true) { bytes += piece }
        #expect(String(decoding: bytes, as: UTF8.self) == text)
        #expect(server.requests.count == 6)
    }

    // MARK: Downloads

    private static let content = "0123456789"
    private static var file: ResultFile {
        var file = ResultFile()
        file.path = "show/a b.txt"
        file.size = content.utf8.count
        file.sha256 = SHA256.hash(data: Array(content.utf8)).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
            .joined()
        return file
    }

    private static func withFolder(_ work: (String) async throws -> Void) async throws {
        let folder = NSTemporaryDirectory() + "/client-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await work(folder)
    }

    /// The head of the whole file, with fewer bytes than it announces.
    private static func part(_ count: Int) -> String {
        "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n" + content.prefix(count)
    }

    @Test("A download continues where it broke, in a later call, too")
    func resumedDownload() async throws {
        try await Self.withFolder { folder in
            let refused = try ScriptedServer([Self.part(4), ScriptedServer.problem(.internal, "X: y")])
            let error = await #expect(throws: ClientError.self) {
                try await refused.client().download(Self.file, of: Self.id, to: "\(folder)/x/out")
            }
            #expect(error?.code == .internal)
            #expect(
                try FileManager.default.contentsOfDirectory(atPath: "\(folder)/x").allSatisfy { $0.hasSuffix(".part") }
            )
            let server = try ScriptedServer([
                "HTTP/1.1 206 Partial\r\nContent-Length: 6\r\nContent-Range: bytes 4-9/10\r\n\r\n45",
                ScriptedServer.whole("6789", status: "206 Partial", "Content-Range: bytes 6-9/10"),
            ])
            try await server.client().download(Self.file, of: Self.id, to: "\(folder)/x/out")
            #expect(try String(contentsOfFile: "\(folder)/x/out", encoding: .utf8) == Self.content)
            #expect(try FileManager.default.contentsOfDirectory(atPath: "\(folder)/x") == ["out"])
            #expect(server.requests[0].hasPrefix("GET /v1/jobs/\(Self.id)/files/show/a%20b.txt HTTP/1.1\r\n"))
            #expect((0..<2).map { server.header("Range", of: $0) } == ["bytes=4-", "bytes=6-"])
            #expect(server.header("If-Range", of: 0) == "\"\(Self.file.sha256)\"")
        }
    }

    @Test("A service that sends the whole file again replaces what was there")
    func restartedDownload() async throws {
        try await Self.withFolder { folder in
            let server = try ScriptedServer([Self.part(4), ScriptedServer.whole(Self.content)])
            try await server.client().download(Self.file, of: Self.id, to: "\(folder)/out")
            #expect(try String(contentsOfFile: "\(folder)/out", encoding: .utf8) == Self.content)
        }
    }

    @Test("Other bytes than those of the digest do not get the name")
    func damagedDownload() async throws {
        try await Self.withFolder { folder in
            for answer in [ScriptedServer.whole("0123456780"), ScriptedServer.whole("0123456789+")] {
                let server = try ScriptedServer([answer])
                let error = await #expect(throws: ClientError.self) {
                    try await server.client().download(Self.file, of: Self.id, to: "\(folder)/out")
                }
                #expect(error?.kind == .damagedData)
                #expect(!FileManager.default.fileExists(atPath: "\(folder)/out"))
            }
        }
    }

    @Test("A file that exists is not replaced unless that is allowed")
    func existingFile() async throws {
        try await Self.withFolder { folder in
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            try "mine".write(toFile: "\(folder)/out", atomically: false, encoding: .utf8)
            let server = try ScriptedServer([ScriptedServer.whole(Self.content)])
            let client = try server.client()
            let error = await #expect(throws: ClientError.self) {
                try await client.download(Self.file, of: Self.id, to: "\(folder)/out")
            }
            #expect(error?.kind == .file)
            #expect(try String(contentsOfFile: "\(folder)/out", encoding: .utf8) == "mine")
            #expect(server.requests.isEmpty)
            try await client.download(Self.file, of: Self.id, to: "\(folder)/out", overwrites: true)
            #expect(try String(contentsOfFile: "\(folder)/out", encoding: .utf8) == Self.content)
        }
    }
}
