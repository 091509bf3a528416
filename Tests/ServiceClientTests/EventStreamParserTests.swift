// SPDX-License-Identifier: GPL-2.0-or-later

import ServiceAPI
import Testing

@testable import ServiceClient

@Suite("The parser of event streams")
struct EventStreamParserTests {
    private static let stream = [
        ": a comment", "retry: 2000", "", "id: 7", "event: started", "data: {\"a\":1}", "", "data:first",
        "data: second",
        "data", "id", "unknown: x", "", "event: empty", "", "id: 9", "data: ümlaut", "", "data: unfinished",
    ]
    private static let expected = [
        ServerSentEvent(id: "7", type: "started", data: "{\"a\":1}"),
        ServerSentEvent(id: "", type: "message", data: "first\nsecond\n"),
        ServerSentEvent(id: "9", type: "message", data: "ümlaut"),
    ]

    private static func text(_ ending: String) -> [UInt8] { Array(stream.map { $0 + ending }.joined().utf8) }

    @Test(
        "All line endings give the same events, wherever the stream is split in two",
        arguments: ["\n", "\r", "\r\n"]
    )
    func everySplit(ending: String) {
        let bytes = Self.text(ending)
        for split in 0...bytes.count {
            var parser = EventStreamParser()
            let events = parser.feed(bytes[..<split]) + parser.feed(bytes[split...])
            #expect(events == Self.expected, "split at \(split)")
            #expect(parser.lastID == "9")
        }
    }

    @Test("A stream that comes byte by byte gives the same events", arguments: ["\n", "\r", "\r\n"])
    func singleBytes(ending: String) {
        var parser = EventStreamParser()
        #expect(Self.text(ending).flatMap { parser.feed([$0]) } == Self.expected)
    }

    @Test("Line endings may be mixed")
    func mixedEndings() {
        var parser = EventStreamParser()
        let events = parser.feed(Array("data: a\r\rdata: b\r\n\ndata: c\n\r\n".utf8))
        #expect(events.map(\.data) == ["a", "b", "c"])
    }

    @Test("A byte order mark at the beginning is no part of the first name, and later it is")
    func byteOrderMark() {
        var parser = EventStreamParser()
        let events = parser.feed(Array("\u{FEFF}data: a\n\n\u{FEFF}data: b\n\n".utf8))
        #expect(events.map(\.data) == ["a"])
    }

    @Test("The ID of an event that is not complete does not count: that event is missing")
    func idOfUnfinishedEvent() {
        var parser = EventStreamParser(lastID: "1")
        _ = parser.feed(Array("id: 2\ndata: a\n\nid: 3\ndata: b\n".utf8))
        #expect(parser.lastID == "2")
        #expect(parser.feed([UInt8(ascii: "\n")]).map(\.id) == ["3"])
        #expect(parser.lastID == "3")
    }

    @Test("An ID with a zero byte is ignored")
    func zeroInID() {
        var parser = EventStreamParser(lastID: "5")
        #expect(parser.feed(Array("id: 1\u{0}2\ndata: a\n\n".utf8)).map(\.id) == ["5"])
    }

    @Test("An endless line is noticed instead of filling the memory")
    func endlessLine() {
        var parser = EventStreamParser()
        _ = parser.feed(repeatElement(UInt8(ascii: "x"), count: EventStreamParser.limit))
        #expect(!parser.isTooLong)
        _ = parser.feed([UInt8(ascii: "x")])
        #expect(parser.isTooLong)
    }

    @Test("Events and progress become values, and unknown ones are skipped")
    func values() throws {
        var event = Event()
        event.number = 3
        event.job = "j"
        event.type = "started"
        let sent = ServerSentEvent(id: "3", type: "started", data: event.json.text)
        #expect(try ServiceEvent(sent) == .event(event))
        var progress = Progress()
        progress.fraction = 0.5
        event.type = "progress"
        event.data = progress.json
        let told = ServerSentEvent(type: "progress", data: event.json.text)
        #expect(try ServiceEvent(told) == .progress(job: "j", progress))
        #expect(try ServiceEvent(ServerSentEvent(type: "later", data: "{}")) == nil)
        let error = #expect(throws: ClientError.self) { try ServiceEvent(ServerSentEvent(data: "{")) }
        #expect(error?.kind == .unexpectedAnswer)
    }
}
