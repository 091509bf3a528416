// SPDX-License-Identifier: GPL-2.0-or-later

import Dispatch
import FoundationEssentials
import Glibc
import HostSystem
import ServiceAPI
import Testing

@testable import EncodingService

@Suite struct FetchTests {
    private typealias Answer = FetchState.Answer

    private func whole(_ length: Int?, tag: String? = "\"a\"") -> Answer {
        var answer = Answer(status: 200)
        answer.fields["content-length"] = length.map { "\($0)" }
        answer.fields["etag"] = tag
        return answer
    }

    @Test func theRestIsAskedForByVersion() throws {
        var state = FetchState(limit: 100)
        #expect(state.requestFields.isEmpty)
        #expect(try state.begin(whole(10)) == .read)
        try state.add(4)
        #expect(throws: TransferFailure.self) { try state.end() }
        #expect(state.requestFields.map(\.name) == ["range", "if-range"])
        #expect(state.requestFields.map(\.value) == ["bytes=4-", "\"a\""])
        #expect(try state.begin(Answer(status: 206, fields: ["content-range": "bytes 4-9/10"])) == .read)
        try state.add(6)
        try state.end()
        #expect(state.offset == 10)
    }

    @Test func anotherVersionBeginsAnew() throws {
        var state = FetchState(limit: 100)
        _ = try state.begin(whole(10))
        try state.add(4)
        #expect(try state.begin(whole(20, tag: "\"b\"")) == .readAnew)
        #expect(state.offset == 0 && state.size == 20 && state.validator == "\"b\"")
        try state.add(3)
        #expect(try state.begin(Answer(status: 416)) == .startOver)
        #expect(state.offset == 0 && state.requestFields.isEmpty)
        #expect(throws: TransferFailure.self) { try state.begin(Answer(status: 416)) }
    }

    /// A weak tag says nothing about bytes.
    @Test func weakTagsDoNotCount() throws {
        var state = FetchState(limit: 100)
        _ = try state.begin(whole(10, tag: "W/\"a\""))
        try state.add(4)
        #expect(state.requestFields.isEmpty)
    }

    @Test(arguments: ["bytes 0-9/10", "bytes 5-9/10", "bytes 4-9/11", "bytes */10", "", "bytes -4-9/10", "4-9/10"])
    func anotherRangeIsRefused(_ range: String) throws {
        var state = FetchState(limit: 100)
        _ = try state.begin(whole(10))
        try state.add(4)
        #expect(throws: TransferFailure.self) {
            try state.begin(Answer(status: 206, fields: ["content-range": range]))
        }
    }

    @Test func aRangeThatNobodyAskedForIsRefused() {
        var state = FetchState(limit: 100)
        #expect(throws: TransferFailure.self) {
            try state.begin(Answer(status: 206, fields: ["content-range": "bytes 0-9/10"]))
        }
    }

    @Test func sizesHaveALimit() throws {
        var state = FetchState(limit: 10)
        #expect(throws: TransferFailure.self) { try state.begin(whole(11)) }
        _ = try state.begin(whole(nil))
        try state.add(10)
        let error = #expect(throws: TransferFailure.self) { try state.add(1) }
        #expect(error?.code == .inputTooLarge && error?.isRetriable == false)
        var announced = FetchState(limit: 10)
        _ = try announced.begin(whole(5))
        #expect(throws: TransferFailure.self) { try announced.add(6) }
    }

    @Test(arguments: [(404, false), (403, false), (204, false), (500, true), (503, true), (429, true)])
    func statusesAreFailures(_ status: Int, _ isTransient: Bool) {
        var state = FetchState(limit: 10)
        let error = #expect(throws: TransferFailure.self) { try state.begin(Answer(status: status)) }
        #expect(error?.isRetriable == isTransient && error?.isInterruption == isTransient)
        #expect(error?.message.contains("\(status)") == true)
    }

    @Test(arguments: [
        ("https://a/b", "http://a/c"), ("http://a/", "ftp://a/"), ("http://a/", "file:///etc/passwd"),
        ("http://a/", "http://me:word@a/"), ("http://a/", "http:///x"), ("https://a/", "javascript:x"),
        ("http://a/", "http://1.2.3.4:70000/"), ("http://a/", "//%5B/x"), ("http://a/", "//[]/"),
    ])
    func redirectsThatAreNotFollowed(_ from: String, _ to: String) throws {
        let location = try WebLocation(from)
        #expect(throws: TransferFailure.self) { try location.redirected(to: to) }
    }

    @Test(arguments: [
        ("https://a/b/c", "d", "https://a/b/d"), ("https://a/b", "//c/d", "https://c/d"),
        ("http://a/b", "https://a/b", "https://a/b"), ("http://a:8/b?x=1", "/c?y=2", "http://a:8/c?y=2"),
    ])
    func redirectsThatAreFollowed(_ from: String, _ to: String, _ whole: String) throws {
        #expect(try WebLocation(from).redirected(to: to).text == whole)
    }

    @Test(
        arguments: [
            ("http://a", "a", nil), ("http://a:/", "a", nil), ("http://1.1.1.1:65535/", "1.1.1.1", 65535),
            ("https://[2001:db8::1]:1/x", "2001:db8::1", 1),
            ("http://b\u{FC}cher.example/", "b\u{FC}cher.example", nil),
        ] as [(String, String, Int?)]
    )
    func hosts(_ text: String, _ name: String, _ port: Int?) throws {
        let host = try WebHost(of: URL(string: text))
        #expect(host.port == port)
        // A name that is not ASCII may be given in its encoded form.
        #expect(host.name == name || host.name.hasPrefix("xn--"))
    }

    /// The HTTP client traps for some of these.
    @Test(arguments: [
        "http://1.1.1.1:99999/x", "http://1.1.1.1:65536/", "http://a:0/", "http://a:99999999999999999999/",
        "http://a:-1/", "http://%5B/x", "http://%5D/", "http://%5B%5D/", "http://[]/", "http://[::1%25lo]/", "x", "",
        "http://%00/", "http://a%20b/", "http://a%0D%0Ab/", "http://a%2Fb/", "http://a%40b/", "http://a%25b/",
        "http:///x", "http://",
    ])
    func malformedHosts(_ text: String) async {
        #expect(throws: WebHost.Malformed.self) { try WebHost(of: URL(string: text)) }
        #expect(throws: TransferFailure.self) { try WebLocation(text) }
        let client = PinnedClient(policy: AddressPolicy(exceptions: [])) { _ in [] }
        await #expect(throws: AddressRefusal.self) { try await client.withClient(for: text) { _ in } }
    }

    @Test func playlistsAreRecognised() {
        func kind(_ text: String) -> String? { Playlist.kind(ofFileBeginningWith: text.utf8) }
        #expect(kind("#EXTM3U\n") == "HLS")
        #expect(kind("\u{FEFF}#EXTM3U") == "HLS")
        #expect(kind("<?xml version=\"1.0\"?>\n<MPD>") == "DASH")
        #expect(kind("ffconcat version 1.0") == "ffconcat")
        #expect(kind("text\n<mpD>") == "DASH")
        #expect(kind("<smoothstreamingmedia>") == "Smooth Streaming")
        #expect(kind(String(repeating: " ", count: 4092) + "<MPD") == "DASH")
        #expect(kind(String(repeating: " ", count: 4093) + "<MPD") == nil)
        #expect(kind("") == nil)
        #expect(kind("<html>") == nil)
        #expect(kind("\u{0}\u{0}\u{0}\u{18}ftypisom #EXTM3U <MPD") == nil)
    }

    /// A file may come in parts, each from another connection.
    @Test func playlistsAreRecognisedInParts() throws {
        var beginning = FileBeginning()
        for (offset, byte) in "#EXTM3U\n".utf8.enumerated() { try beginning.add([byte], at: offset) }
        #expect(throws: TransferFailure.self) { try beginning.end() }
        // Another version.
        try beginning.add("RIFF".utf8, at: 0)
        try beginning.end()
        // As soon as it can be known, and not only at the end.
        try beginning.add("#EXTM3U".utf8, at: 0)
        try beginning.add(Array(repeating: 0x0A, count: 4000), at: 7)
        #expect(throws: TransferFailure.self) { try beginning.add(Array(repeating: 0x0A, count: 4000), at: 4007) }
        // Not by what is behind.
        var media = FileBeginning()
        try media.add(Array(repeating: 1, count: 5000), at: 0)
        try media.add("#EXTM3U <MPD".utf8, at: 5000)
        try media.end()
    }

    // MARK: Addresses

    /// A name server that does not answer holds up neither the caller for long, nor work on files.
    @Test func lookUpsEnd() async throws {
        let held = DispatchSemaphore(value: 0)
        let resolve: @Sendable (String) -> [IPAddress] = { _ in
            held.wait()
            return []
        }
        let client = PinnedClient(policy: AddressPolicy(exceptions: []), resolve: resolve, lookupLimit: 0.05)
        for _ in 0..<8 {
            do {
                try await client.withClient(for: "http://slow.invalid/") { _ in }
                Issue.record("there was an answer")
            } catch let error as PinnedClient.UnknownHost {
                #expect(error.description.contains("within 0.05 seconds"))
            }
        }
        // Addresses are not looked up.
        for url in ["http://10.0.0.1/", "http://[fd00::1]/"] {
            await #expect(throws: AddressRefusal.self) { try await client.withClient(for: url) { _ in } }
        }
        #expect(try await FileWork.run { 1 } == 1)
        #expect(try await WaitingThreads.mediaRoots.run { 2 } == 2)
        for _ in 0..<8 { held.signal() }
    }

    /// A name is looked up once, and the connection goes to the address that was checked, whatever its name server says
    /// afterwards.
    @Test func aConnectionIsPinnedToTheAddressThatWasChecked() async throws {
        let server = try LocalServer()
        let lookups = Lookups(["127.0.0.1"], then: ["10.0.0.1"])
        let client = PinnedClient(policy: AddressPolicy(exceptions: [try #require(AddressRange("127.0.0.1"))])) {
            lookups.next($0)
        }
        let origin = WebOrigin(url: "http://rebinding.invalid:\(server.port)/", client: client)
        var status = 0
        try await origin.get([], patience: 30) { response in status = FetchState.Answer(response).status }
        #expect(status == 200)
        #expect(lookups.hosts == ["rebinding.invalid"])
        // The second connection asks again, and the new answer is checked, too.
        await #expect(throws: AddressRefusal.self) { try await origin.get([], patience: 30) { _ in } }
        #expect(server.connections == 1)
    }
}

/// Answers of a name server that changes its mind.
private final class Lookups: @unchecked Sendable {
    private var answers: [[String]]
    private(set) var hosts: [String] = []

    init(_ first: [String], then second: [String]) { answers = [first, second] }

    func next(_ host: String) -> [IPAddress] {
        hosts.append(host)
        return answers.removeFirst().compactMap(IPAddress.init)
    }
}

/// A server on 127.0.0.1 that answers each connection once.
private final class LocalServer: @unchecked Sendable {
    let port: Int
    private let descriptor: Int32
    private var count = 0
    private var lock = pthread_mutex_t()

    init() throws {
        pthread_mutex_init(&lock, nil)
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(listener, pointer, length) == 0 && listen(listener, 8) == 0
                    && getsockname(listener, pointer, &length) == 0
            }
        }
        try #require(isBound)
        port = Int(UInt16(bigEndian: address.sin_port))
        descriptor = listener
        var thread = pthread_t()
        let reference = Unmanaged.passRetained(self)
        pthread_create(
            &thread,
            nil,
            { argument in
                guard let argument else { return nil }
                Unmanaged<LocalServer>.fromOpaque(argument).takeRetainedValue().serve()
                return nil
            },
            reference.toOpaque()
        )
        pthread_detach(thread)
    }

    var connections: Int {
        pthread_mutex_lock(&lock)
        defer { pthread_mutex_unlock(&lock) }
        return count
    }

    private func serve() {
        while case let connection = accept(descriptor, nil, nil), connection >= 0 {
            pthread_mutex_lock(&lock)
            count += 1
            pthread_mutex_unlock(&lock)
            var buffer = [UInt8](repeating: 0, count: 4096)
            _ = read(connection, &buffer, buffer.count)
            let answer = Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".utf8)
            _ = write(connection, answer, answer.count)
            close(connection)
        }
    }
}
