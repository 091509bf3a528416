// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import FoundationEssentials
internal import FuzzSupport
internal import MediaTypes

@testable internal import EncodingBenchmark

// Plans and reports of benchmarks: a plan that was read is one again when it is written, as is a report, and any report
// that was read can be shown.
//
// Input: a byte (bit 0 a report), and the text.

/// What libFuzzer calls before anything else.
@c(LLVMFuzzerInitialize) public func initialize(_: UnsafeMutableRawPointer?, _: UnsafeMutableRawPointer?) -> CInt {
    FuzzProgram.start {
        let yaml = """
            clips: [mixed, film.mp4]
            sizes: [640x360, 1280x720]
            frameRate: 30000/1001
            frames: 120
            bitDepth: 10
            pictureMemory: 1048576
            encoders: [x264:ultrafast...slow, x265:medium, "/dev/dri/renderD128:hevc:low-power:4", hardware]
            points: [500k, 1M, crf=23, qp=30]
            modes: [throughput, real-time, low-latency]
            repeats: 2
            warmups: 0
            density: {seconds: 2, rateShare: 0.98, latencyBound: 3, maximumStreams: 8, confirmations: 1, mode: real-time}
            price: 0.80
            """
        let document = try PlanDocument(text: yaml, name: "plan")
        let plan = try JSONEncoder().encode(document.plan)
        return [
            [0] + Array(yaml.utf8), [0] + [UInt8](plan), [0] + Array("encoders: x264:veryfast".utf8),
            [1] + sampleReport,
        ]
    }
}

/// What libFuzzer calls for every input.
@c(LLVMFuzzerTestOneInput) public func test(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    var input = FuzzInput(bytes, count)
    let isReport = input.byte() & 1 == 1
    let data = input.remainder()
    do {
        if isReport { try readReport(data) } else { try readPlan(String(decoding: data, as: UTF8.self)) }
    } catch let error as MediaError {
        // What is told to people does not trap either.
        precondition(!error.description.isEmpty)
    } catch {
        fatalError("an error of another kind: \(error)")
    }
    return 0
}

private func readPlan(_ text: String) throws {
    let document = try PlanDocument(text: text, name: "plan")
    var plan = document.plan
    plan.encoders = document.encoders.flatMap { $0.encoders(hardware: []) }
    if plan.encoders.isEmpty { plan.encoders = [.software(.h264, .veryfast)] }
    let written = try JSONEncoder().encode(plan)
    let again = try PlanDocument(text: String(decoding: written, as: UTF8.self), name: "plan")
    var planAgain = again.plan
    planAgain.encoders = again.encoders.flatMap { $0.encoders(hardware: []) }
    precondition(planAgain == plan, "\(planAgain) was read from what \(plan) wrote")
}

private func readReport(_ data: [UInt8]) throws {
    let report = try BenchmarkReport(json: data, name: "report")
    let written = try report.json()
    let again = try BenchmarkReport(json: written, name: "report").json()
    precondition(again == written, "a report is written as another than was read")
    precondition(!report.text(width: 80).isEmpty && !report.csv.isEmpty && !report.html.isEmpty)
}
