// SPDX-License-Identifier: GPL-2.0-or-later

import EncodingBenchmark
import Foundation
import MediaTypes
import Testing

@Suite struct PlanDocumentTests {
    private func document(_ text: String) throws -> PlanDocument { try PlanDocument(text: text, name: "plan.yaml") }

    /// The error of a text that is no plan.
    private func refusal(_ text: String, sourceLocation: SourceLocation = #_sourceLocation) throws -> MediaError {
        let error = #expect(throws: MediaError.self, sourceLocation: sourceLocation) { try document(text) }
        let refusal = try #require(error, sourceLocation: sourceLocation)
        #expect(refusal.code == .invalidArgument, sourceLocation: sourceLocation)
        return refusal
    }

    @Test func everyKeyIsRead() throws {
        let read = try document(
            """
            name: mine
            clips: [chart, ./film.mp4]
            sizes: [1920x1080, 640x360]
            frameRate: 30000/1001
            frames: 120
            bitDepth: 10
            pictureMemory: 104857600
            encoders: [x264:fast, x265]
            points: [1M, 2.5M, 800k, 4000000]
            modes: [throughput, real-time, low-latency]
            repeats: 5
            warmups: 2
            density: {mode: low-latency, rateShare: 0.95, latencyBound: 0.2, seconds: 5, maximumStreams: 8, confirmations: 5}
            price: 0.75
            """
        )
        let plan = read.plan
        #expect(plan.name == "mine" && plan.clips == [.generated(.chart), .file("./film.mp4")])
        #expect(plan.sizes.map(\.text) == ["1920x1080", "640x360"] && plan.frameRate.text == "30000/1001")
        #expect(plan.frames == 120 && plan.bitDepth == 10 && plan.pictureMemory == 104_857_600)
        #expect(plan.points == [.bitRate(1_000_000), .bitRate(2_500_000), .bitRate(800_000), .bitRate(4_000_000)])
        #expect(plan.modes == [.throughput, .realTime, .lowLatency] && plan.repeats == 5 && plan.warmups == 2)
        #expect(plan.price == 0.75)
        let density = try #require(plan.density)
        #expect(density.mode == .lowLatency && density.rateShare == 0.95 && density.latencyBound == 0.2)
        #expect(density.seconds == 5 && density.maximumStreams == 8 && density.confirmations == 5)
        #expect(read.encoders.flatMap { $0.encoders(hardware: []) }.map(\.text) == ["x264:fast", "x265:medium"])
    }

    @Test func jsonIsAPlanToo() throws {
        let plan = try document(#"{"encoders": ["x264:fast"], "points": ["crf=20", "crf=30"], "repeats": 1}"#).plan
        #expect(plan.points == [.quality(20), .quality(30)] && plan.repeats == 1)
        #expect(plan.clips == BenchmarkPlan().clips)
    }

    @Test func thePlanOfAReportIsAPlan() throws {
        var plan = BenchmarkPlan.quick
        plan.encoders = ["x264:fast", "/dev/dri/renderD128:hevc:low-power:4"].compactMap(BenchmarkEncoder.init(text:))
        plan.density = DensityPlan()
        plan.price = 2
        plan.modes = BenchmarkMode.allCases
        plan.points = ["qp=20", "qp=30"].compactMap(BenchmarkPoint.init(text:))
        let text = String(decoding: try JSONEncoder().encode(plan), as: UTF8.self)
        let read = try document(text)
        var again = read.plan
        again.encoders = read.encoders.flatMap { $0.encoders(hardware: []) }
        #expect(again == plan)
        #expect(try JSONDecoder().decode(BenchmarkPlan.self, from: Data(text.utf8)) == plan)
    }

    @Test(arguments: [
        ("encoders: x264\nclip: chart", "clip", "clips"),
        ("encoders: x264\ndensity:\n  streams: 3", "density.streams", "maximumStreams"),
        ("encoders: x264\nclips: rain", "rain", "chart, noise"),
        ("encoders: x264\nsizes: 1281x720", "1281x720", "even"),
        ("encoders: x264\nframes: 1", "1", "2 to 1000000"),
        ("encoders: x264\npoints: [2X]", "2X", "crf=0"),
        ("encoders: x264\nmodes: fast", "fast", "real-time"),
        ("encoders: x264:quick", "x264:quick", "x264:PRESET"),
        ("encoders: x264:slow...fast", "x264:slow...fast", "x264:PRESET"),
        ("encoders: x264\nbitDepth: 9", "9", "8, 10"),
        ("encoders: x264\nprice: cheap", "cheap", "a number"),
        ("encoders: x264\ndensity: {mode: throughput}", "throughput", "low-latency"),
    ])
    func whatIsWrongIsNamed(_ text: String, _ given: String, _ allowed: String) throws {
        let error = try refusal(text)
        #expect(error.given == given)
        #expect(error.allowed?.contains(allowed) == true, "\(error)")
        #expect(error.message.contains("plan.yaml, line"), "\(error)")
    }

    @Test func whatIsNoPlanIsRefused() throws {
        for text in ["", "[", "x264", "clips: chart", "encoders: []\n", "encoders: x264\nencoders: x265"] {
            _ = try refusal(text)
        }
    }

    @Test func wordsStandForSeveralEncoders() throws {
        let gpus = ["/dev/dri/renderD128:h264:full", "/dev/dri/renderD129:h264:low-power"]
            .compactMap(BenchmarkEncoder.init(text:))
        func encoders(_ text: String) throws -> [String] {
            try #require(EncoderWord(text: text)).encoders(hardware: gpus).map(\.text)
        }
        #expect(try encoders("x264:ultrafast...veryfast") == ["x264:ultrafast", "x264:superfast", "x264:veryfast"])
        #expect(try encoders("hardware") == gpus.map(\.text))
        #expect(try encoders("/dev/dri/renderD129") == [gpus[1].text])
        #expect(
            EncoderWord(text: "x264:fast")?.needsHardware == false
                && EncoderWord(text: "hardware")?.needsHardware == true
        )
    }

    @Test(arguments: [
        "x264:medium", "x265:ultrafast", "/dev/dri/renderD128:h264:full", "/dev/dri/renderD130:hevc:low-power:7",
    ])
    func encodersAreWrittenAsTheyAreRead(_ text: String) {
        #expect(BenchmarkEncoder(text: text)?.text == text)
    }

    @Test(arguments: [
        "", "x266:fast", "x264:fast:1", "/dev/dri/renderD128", "/dev/dri/renderD128:h264:half",
        "/dev/dri/renderD128:vp9:full",
        "/dev/dri/renderD128:h264:full:0", "/dev/dri/renderD128:h264:full:x",
    ])
    func otherWordsAreNoEncoders(_ text: String) {
        #expect(BenchmarkEncoder(text: text) == nil)
    }
}
