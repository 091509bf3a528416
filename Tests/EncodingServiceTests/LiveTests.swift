// SPDX-License-Identifier: GPL-2.0-or-later

import ServiceAPI
import Testing

@testable import EncodingService

@Suite("Live jobs, as values")
struct LiveTests {
    @Test("Pauses double, up to a minute, and begin again after a process that has run for long")
    func pauses() {
        var supervision = LiveSupervision(most: 9)
        var now = 0.0
        func fail(after seconds: Double) -> LiveSupervision.Step {
            supervision.begin(at: now)
            now += seconds
            return supervision.end(.failed, at: now)
        }
        let steps = (0..<8).map { _ in fail(after: 59) }
        #expect(steps == [1, 2, 4, 8, 16, 32, 60, 60].map { .wait($0) })
        #expect(fail(after: 60) == .wait(1))
        for _ in 0..<8 { #expect(fail(after: 0) != .giveUp) }
        #expect(fail(after: 0) == .giveUp, "the tenth in a row")
    }

    @Test("What has ended as asked is not started again, nor what cannot work")
    func ends() {
        var supervision = LiveSupervision(most: 1000)
        #expect(supervision.end(.finished, at: 1) == .end)
        #expect(supervision.end(.refused, at: 1) == .giveUp)
        var proven = LiveSupervision(most: 1)
        proven.hasWorked = true
        #expect(proven.end(.refused, at: 1) == .wait(1), "a name server may have told something else")
        #expect(proven.end(.refused, at: 2) == .giveUp)
        var never = LiveSupervision(most: 0)
        #expect(never.end(.failed, at: 1) == .giveUp)
    }

    @Test("A process that somebody else has told to end has failed; one whose files have ended has not")
    func signals() {
        func failure(_ document: String, _ exit: CommandExit = .status(0)) -> FailureInfo? {
            LiveJobs.failure(of: CommandResult(exit: exit, document: Array(document.utf8)))
        }
        #expect(failure(#"{"status": "done", "interrupted": false}"#) == nil)
        #expect(failure("") == nil)
        let told = failure(#"{"status": "done", "interrupted": true}"#)
        #expect(told?.code == "worker-killed" && told?.retriable == true)
        let early = #"{"status": "interrupted", "error": {"code": "cancelled", "message": "before the first picture"}}"#
        #expect(failure(early, .status(130))?.retriable == true)
        #expect(failure("", .signal("SIGTERM"))?.retriable == true)
        let wrong = #"{"status": "failed", "error": {"code": "invalid-argument", "message": "not public"}}"#
        #expect(failure(wrong, .status(1))?.retriable == false)
    }

    private static let request = LiveRequest {
        $0.name = "a"
        $0.inputs = [
            LiveInput { $0.url = "srt://a.example:9000?passphrase=secret-one,two" },
            LiveInput {
                $0.path = "media/a, b.mp4"
                $0.loop = true
            }, LiveInput { $0.test = LiveTestChart() },
        ]
        $0.outputs = [
            LiveOutput { $0.url = "rtmps://user:password@b.example/live/instance/the-key?token=abcdef" },
            LiveOutput { $0.hls = LiveHLS { $0.path = "media/show" } },
        ]
        $0.encoding.bitRate = 2_000_000
        $0.encoding.width = 640
        $0.encoding.height = 360
    }

    @Test("A process is told everything by standard input, and nothing on its command line")
    func arguments() {
        let arguments = LiveArguments(
            request: Self.request,
            places: .init(inputs: [1: "/srv/a, b.mp4"], outputs: [1: "/srv/show"]),
            allowedAddresses: ["10.0.0.0/8"]
        )
        let text = """
            --public-addresses
            --allow-address
            10.0.0.0/8
            --video
            url:srt://a.example:9000?passphrase=secret-one\\,two
            --video
            file:/srv/a\\, b.mp4,loop=on
            --video
            test,size=1280x720,rate=30
            --to
            rtmps://user:password@b.example/live/instance/the-key?token=abcdef
            --to
            hls:/srv/show?segment=4&window=60&overwrite=1
            --codec
            auto
            --bitrate
            2000000
            --size
            640x360
            --key-interval
            2
            --audio-bitrate
            128000

            use 3

            """
        #expect(arguments.text(input: 2) == text)
        #expect(arguments.text(input: 0) == text.replacing("use 3\n", with: ""))
        #expect(!LiveArguments.visible(progress: "/dev/fd/3").contains { $0.contains("example") })
    }

    @Test("What a process says has no secrets, limits, and our own names")
    func telemetry() throws {
        let telemetry = LiveTelemetry(Self.request)
        #expect(telemetry.safe("the-key, user:password, secret-one,two, abcdef") == "***, ***, ***, ***")
        #expect(telemetry.safe(String(repeating: "é", count: 1000)).unicodeScalars.count == 501)
        let drops = #"{"age": 1, "disconnected": 2, "before-key-frame": 3}"#
        let output =
            #"{"address": "the-key", "state": "waiting", "error": "no the-key", "reconnects": 1, "#
            + #""connectedFor": null, "sentFrames": 2, "sentBytes": 3, "rate": 4, "queueAge": 0.5, "droppedFrames": \#(drops)}"#
        let input = #"{"name": "password", "active": true, "width": null, "pictures": 1, "losses": 0, "more": 1}"#
        func line(_ phase: String, _ outputs: Int) -> [UInt8] {
            let outputs = [String](repeating: output, count: outputs).joined(separator: ",")
            let inputs = [String](repeating: input, count: 50).joined(separator: ",")
            let start = #"{"phase": "\#(phase)", "time": 1.5, "frames": 2, "repeated": 0, "bitrate": null, "#
            return Array((start + #""outputs": [\#(outputs)], "inputs": [\#(inputs)], "encoder": null}"#).utf8)
        }
        telemetry.add(progress: line("finishing", 1))
        #expect(!telemetry.report.isRunning, "it has never run")
        telemetry.add(progress: line("running", 100))
        telemetry.add(progress: Array(#"{"phase": "running"}"#.utf8))
        telemetry.add(progress: Array("nonsense".utf8))
        let report = telemetry.report
        #expect(report.isRunning && report.hasDelivered)
        let statistics = try #require(report.statistics)
        #expect(statistics.outputs.map(\.address) == ["rtmps://***@b.example/live/***", "hls:media/show"])
        #expect(statistics.outputs[0].error == "no ***")
        #expect(statistics.outputs[0].droppedFrames.sum == 6)
        let shown = "srt://a.example:9000?passphrase=***"
        #expect(statistics.inputs.map(\.name) == [shown, "media/a, b.mp4", "test chart", "test tone"])
        for number in 0..<30 { telemetry.add(message: "line \(number) of the-key") }
        #expect(telemetry.report.messages.first == "line 10 of ***")
        telemetry.reset()
        #expect(telemetry.report.statistics == nil && !telemetry.report.isRunning)
        #expect(telemetry.report.messages.count == 20, "they tell why it has ended")
    }

    @Test("A record is read as it was written")
    func records() throws {
        var record = LiveRecord(id: "a", request: Self.request, createdAt: 1.5, key: "client/key")
        record.input = 2
        #expect(try LiveRecord(id: "a", json: try JSONValue(parsing: record.json.bytes)) == record)
        record.end = LiveRecord.End(time: 2.5, failure: FailureInfo { $0.code = "stalled" })
        #expect(try LiveRecord(id: "a", json: try JSONValue(parsing: record.json.bytes)) == record)
    }
}
