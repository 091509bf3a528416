// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import Logging
import MediaTypes
import Streaming
import Synchronization
import Testing

@testable import LiveHLS

/// The server, asked by curl.
@Suite(.serialized) struct HLSOriginTests {
    /// A stream that goes on when the test says so.
    final class Live: Sendable {
        let stream: SimulatedStream
        let store: MemoryStore
        let origin: HLSOrigin
        let presentation: LivePresentation
        let stop: StopSignal
        private let position = Mutex(0.0)

        init(segment: Int = 4, part: Double = 1, mostWaiting: Int = 100) async throws {
            stream = try LivePackagerTests.clip.get()
            store = MemoryStore(mostWaiting: mostWaiting)
            var options = HLSOptions()
            options.segment = segment
            options.part = MediaTime(seconds: part, preferredTimescale: 1000)
            options.keyFrameInterval = MediaTime(value: 2, timescale: 1)
            presentation = try LivePresentation(options, store: store)
            var logger = Logger(label: "test")
            logger.logLevel = .critical
            origin = HLSOrigin(store, host: "127.0.0.1", port: 0, tls: nil, logger: logger)
            stop = try StopSignal()
            try await Tool.apart { [origin] in try origin.start(within: 600_000) }
            try presentation.begin(stream.tracks)
        }

        deinit { origin.stop() }

        func go(_ seconds: Double) throws {
            let start = position.withLock { position in
                defer { position += seconds }
                return position
            }
            for unit in stream.units(from: start, to: start + seconds) { try presentation.add(unit) }
        }

        var url: String { "http://127.0.0.1:\(origin.port ?? 0)" }

        /// The status, the headers and the body.
        func get(_ path: String, _ more: String...) async throws -> (status: Int, head: String, body: String) {
            let arguments = ["curl", "-s", "-i", "--path-as-is", "--max-time", "90"] + more + ["\(url)\(path)"]
            let text = try await Tool.apart { try Tool.run(arguments).output }.replacing("\r\n", with: "\n")
            let end = text.range(of: "\n\n")?.lowerBound ?? text.endIndex
            let head = text[..<end]
            let status = head.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
            return (status, head.lowercased(), String(text[end...].dropFirst(2)))
        }
    }

    @Test func whatThereIs() async throws {
        let live = try await Live()
        try live.go(14.5)
        let multivariant = try await live.get("/index.m3u8")
        #expect(multivariant.status == 200)
        #expect(multivariant.body.contains("video/index.m3u8"))
        let playlist = try await live.get("/video/index.m3u8")
        #expect(playlist.head.contains("content-type: application/vnd.apple.mpegurl"))
        #expect(playlist.head.contains("access-control-allow-origin: *"))
        #expect(playlist.head.contains("cache-control: public, max-age=2\n"))
        let listed = Listed(playlist.body)
        #expect(listed.segments.count == 3)
        let blocked = try await live.get("/video/index.m3u8?_HLS_msn=2&_HLS_part=0")
        #expect(blocked.head.contains("max-age=24"))
        let name = try #require(Listed(try await live.get("/audio-1/index.m3u8").body).segments.first)
        let format = "%{http_code} %{size_download} %{content_type}"
        let file = "\(live.url)/audio-1/\(name)"
        let size = try await Tool.apart {
            try Tool.run(["curl", "-s", "--max-time", "90", "-o", "/dev/null", "-w", format, file]).output
        }
        #expect(size.hasPrefix("200 "))
        #expect(size.hasSuffix(" audio/mp4"))
        let compressed = try await live.get("/video/index.m3u8", "--compressed")
        #expect(compressed.head.contains("content-encoding: gzip"))
        #expect(compressed.body == playlist.body)
        #expect(try await live.get("/video/index.m3u8", "-H", "Accept-Encoding: gzip;q=0").body == playlist.body)
        let head = try await live.get("/video/index.m3u8", "-I")
        #expect(head.status == 200 && head.body.isEmpty)
        #expect(try await live.get("/").body.contains("<video"))
        #expect(try await live.get("/", "-X", "OPTIONS").head.contains("access-control-allow-methods: get"))
        #expect(try await live.get("/", "-X", "POST").status == 405)
    }

    @Test(arguments: [
        "/nothing", "/video", "/video/", "/video/../index.m3u8", "/../../../../etc/passwd", "/%2e%2e/etc/passwd",
        "/video%2Findex.m3u8", "//index.m3u8", "/video/t-part-999999.m4s", "/index.m3u8/", "/video/index.m3u8%00",
    ])
    func otherPathsAreNotFound(path: String) async throws {
        let live = try await Live()
        try live.go(5)
        #expect(try await live.get(path).status == 404)
    }

    @Test(arguments: [
        "_HLS_part=0", "_HLS_msn=99", "_HLS_msn=x", "_HLS_msn=1&_HLS_msn=1", "_HLS_msn=3&_HLS_part=50",
        "_HLS_skip=maybe",
    ])
    func wrongDirectivesAreRefused(query: String) async throws {
        let live = try await Live()
        try live.go(14)
        #expect(try await live.get("/video/index.m3u8?\(query)").status == 400)
    }

    @Test func requestsWaitForWhatTheyAskFor() async throws {
        let live = try await Live()
        try live.go(6.2)
        let hint = try #require(Listed(try await live.get("/video/index.m3u8").body).hint)
        let url = live.url
        let waiting = ["/video/index.m3u8?_HLS_msn=1&_HLS_part=2", "/video/\(hint)"].map { path in
            Task.detached {
                let options = ["--max-time", "90", "-o", "/dev/null", "-w", "%{http_code} %{size_download}"]
                return try await Tool.apart { try Tool.run(["curl", "-s"] + options + ["\(url)\(path)"]).output }
            }
        }
        let count = live.store.requestCount
        let end = ContinuousClock.now + .seconds(60)
        while live.store.requestCount < count + 2, .now < end { try await Task.sleep(for: .milliseconds(5)) }
        try live.go(1)
        for task in waiting {
            let words = try await task.value.split(separator: " ")
            #expect(words.first == "200")
            #expect(words.last.flatMap { Int($0) } ?? 0 > 100)
        }
        // The server ends with it.
        withExtendedLifetime(live) {}
    }

    @Test func aStreamThatStopsIsUnavailable() async throws {
        let live = try await Live(segment: 2, part: 0.5)
        #expect(try await live.get("/video/index.m3u8").status == 404)
        try live.go(5)
        let begun = ContinuousClock.now
        let answer = try await live.get("/video/index.m3u8?_HLS_msn=3")
        #expect(answer.status == 503)
        #expect(answer.head.contains("retry-after: 1"))
        #expect(answer.head.contains("cache-control: no-store"))
        #expect(ContinuousClock.now - begun >= .seconds(6))
    }

    @Test func tooManyRequestsAreUnavailable() async throws {
        let live = try await Live(mostWaiting: 0)
        try live.go(6)
        #expect(try await live.get("/video/index.m3u8?_HLS_msn=2").status == 503)
        #expect(try await live.get("/video/index.m3u8").status == 200)
    }

    @Test func theEndAnswersAll() async throws {
        let live = try await Live()
        try live.go(6)
        let url = live.url
        let waiting = Task.detached {
            try await Tool.apart {
                try Tool.run(["curl", "-s", "--max-time", "90", "\(url)/video/index.m3u8?_HLS_msn=2"]).output
            }
        }
        let count = live.store.requestCount
        let end = ContinuousClock.now + .seconds(60)
        while live.store.requestCount < count + 1, .now < end { try await Task.sleep(for: .milliseconds(5)) }
        try live.presentation.close(isLast: true)
        #expect(try await waiting.value.hasSuffix("#EXT-X-ENDLIST\n"))
        withExtendedLifetime(live) {}
    }

    @Test func aPortInUse() async throws {
        let live = try await Live()
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        let port = try #require(live.origin.port.flatMap { UInt16(exactly: $0) })
        let other = HLSOrigin(MemoryStore(), host: "127.0.0.1", port: port, tls: nil, logger: logger)
        await #expect {
            try await Tool.apart { try other.start(within: 600_000) }
        } throws: { error in
            (error as? MediaError)?.code == .unavailable && (error as? MediaError)?.message.contains("in use") == true
        }
        let tls = HLSAddress.TLS(certificate: "/nothing.pem", key: "/nothing.pem")
        let secure = HLSOrigin(MemoryStore(), host: "127.0.0.1", port: 0, tls: tls, logger: logger)
        await #expect(throws: MediaError.self) { try await Tool.apart { try secure.start(within: 600_000) } }
    }
}
