// SPDX-License-Identifier: GPL-2.0-or-later

import ServiceAPI
import Testing

@Suite("Parameters of queries")
struct QueryTests {
    @Test("Texts become values of the declared types")
    func readsParameters() throws {
        let query = try JobQuery.decode(query: [
            ("state", "running"), ("label", "a:1"), ("limit", "200"), ("label", "b:x:y"), ("share", "12"),
            ("label", "c:"),
        ])
        #expect(query.state == .running && query.limit == 200 && query.share == "12" && query.cursor == nil)
        #expect(query.labels.map(\.key) == ["a", "b", "c"])
        #expect(query.labels.map(\.value) == ["1", "x:y", ""])
        #expect(try JobQuery.decode(query: []) == JobQuery())
        #expect(try SubmitQuery.decode(query: [("dryRun", "true")]).dryRun)
        let stream = try StreamQuery.decode(query: [
            ("format", "mkv"), ("bitDepth", "10"), ("codec", "hevc"), ("quality", "23.5"), ("audio", "opus"),
            ("audioBitRate", "96000"), ("keyFrameInterval", "2"),
        ])
        #expect(stream.video.bitDepth == .bits10 && stream.video.quality == 23.5 && stream.video.keyFrameInterval == 2)
        #expect(stream.audioSettings.codec == .opus && stream.audioSettings.bitRate == 96_000)
        #expect(try StreamQuery.decode(query: [("bitDepth", "source")]).video.bitDepth == .source)
        #expect(stream.output.name == "output.mkv")
        #expect(throws: Never.self) { try stream.output.validate() }
    }

    @Test(
        "Parameters that are refused",
        arguments: [
            ([("limit", "0")], "limit"), ([("limit", "201")], "limit"), ([("limit", "ten")], "limit"),
            ([("limit", "")], "limit"),
            ([("limit", "1e9")], "limit"), ([("limit", "null")], "limit"), ([("limit", "5"), ("limit", "6")], "limit"),
            ([("state", "done")], "state"), ([("label", "a:1"), ("label", "b")], "label"), ([("label", ":a")], "label"),
            ([("label", "a\u{301}:1")], "label"), ([("queue", "Ä")], "queue"), ([("share", "a\u{0}")], "share"),
            ([("Limit", "5")], "Limit"), ([("a/b", "5")], "a/b"),
        ] as [([(String, String)], String)]
    )
    func refusesParameters(query: [(String, String)], field: String) throws {
        let error = try #require(throws: APIError.self) {
            try JobQuery.decode(query: query.map { (name: $0.0, value: $0.1) })
        }
        #expect(error.code == .invalidParameter)
        #expect(error.field == field)
        #expect(error.allowed != nil)
    }

    @Test(
        "Parts of paths that are refused",
        arguments: [
            ("getJob", "id", "01HZ"), ("getJob", "id", "mvayknzjhnkgzjknnvvnjh5pzu"), ("putUpload", "name", "../a"),
            ("putUpload", "name", ".a"), ("getUpload", "name", "a/b"), ("getQueue", "name", "a b"),
            ("getFile", "path", "a/../b"), ("getFile", "path", "/etc/passwd"), ("getFile", "path", "a//b"),
            ("getFile", "path", ".."), ("getFile", "path", "a/\u{301}/../b"), ("getFile", "path", "a\u{0}"),
        ]
    )
    func refusesPathParameters(operation: String, name: String, text: String) throws {
        let found = try #require(Operation.all.first { $0.id == operation })
        let parameter = try #require(found.pathParameters.first { $0.name == name })
        let error = try #require(throws: APIError.self) { try parameter.check(text) }
        #expect(error.code == .invalidParameter && error.field == name && error.value == .string(text))
    }

    @Test("Parts of paths that are accepted")
    func acceptsPathParameters() throws {
        for (operation, texts) in [
            ("getFile", ["mvayknzjhnkgzjknnvvnjh5pzj", "show/720p/index.m3u8"]), ("putUpload", ["Ein Film.mov"]),
            ("redeliver", ["mvayknzjhnkgzjknnvvnjh5pzj", "12"]), ("getError", ["not-found"]),
        ] {
            let found = try #require(Operation.all.first { $0.id == operation })
            #expect(found.pathParameters.count == texts.count)
            for (parameter, text) in zip(found.pathParameters, texts) {
                #expect(throws: Never.self) { try parameter.check(text) }
            }
        }
    }

    @Test("Clients write what the service reads")
    func writesParameters() throws {
        let query = JobQuery {
            $0.state = .failed
            $0.label = ["a:1", "b:true"]
            $0.share = "12"
            $0.limit = 7
        }
        let items = query.queryItems
        #expect(items.map(\.name) == ["state", "label", "label", "share", "limit"])
        #expect(items.map(\.value) == ["failed", "a:1", "b:true", "12", "7"])
        #expect(try JobQuery.decode(query: items) == query)
        #expect(JobQuery().queryItems.isEmpty)
        let stream = StreamQuery {
            $0.format = .h265
            $0.video.bitDepth = .bits10
            $0.video.quality = 22.5
            $0.requireHardware = true
        }
        #expect(try StreamQuery.decode(query: stream.queryItems) == stream)
    }

    @Test("Settings that contradict each other")
    func refusesContradictions() throws {
        for (query, field) in [
            ([("quality", "20"), ("bitRate", "1000000")], "quality"), ([("audioBitRate", "96000")], "audioBitRate"),
            ([("format", "h264"), ("codec", "hevc")], "codec"), ([("format", "h265"), ("profile", "high")], "profile"),
            ([("inputFrameRate", "0")], "inputFrameRate"), ([("dryRun", "1")], "dryRun"),
        ] {
            let error = try #require(throws: APIError.self) {
                try StreamQuery.decode(query: query.map { (name: $0.0, value: $0.1) })
            }
            #expect(error.code == .invalidParameter)
            #expect(error.field == field)
        }
    }
}
