// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import MediaTypes
import Testing
import VAToolbox

@testable import EncodingBenchmark

/// What follows from the runs of decoders that were never run.
@Suite struct DecodersReportTests {
    private static let node = "/dev/dri/renderD128"

    private static func decoder(_ transfer: DecodersReport.Transfer?, name: String = "some driver")
        -> DecodersReport.Decoder
    {
        let device = transfer == nil ? nil : node
        let frames = (0..<100).map {
            DecodedFrameRecord(presentationTime: MediaTime(value: $0, timescale: 25), digest: 1)
        }
        return DecodersReport.Decoder(
            id: DecodersReport.Decoder.id(device: device, transfer: transfer),
            device: device,
            transfer: transfer,
            name: name,
            isFakeNode: false,
            frames: 100,
            damagedFrames: 0,
            comparison: device.map { _ in .value(FrameComparison(of: frames, with: frames)) }
        )
    }

    /// A report of 100 frames that take 1 s on the CPU, and a tenth of its processor time on the GPU.
    ///
    /// - Parameter times: What the decoder on the GPU takes in each round, in seconds.
    private static func report(_ times: [Double], transfers: [DecodersReport.Transfer] = [.download]) -> DecodersReport
    {
        var report = DecodersReport(
            program: "vatoolbox 0.0.0",
            environment: SampleReport.environment,
            input: .init(
                path: "/films/film.mp4",
                container: "mov",
                codec: .h264,
                width: 1920,
                height: 1080,
                samples: 100,
                bytes: 2_000_000,
                losses: 0
            ),
            repeats: times.count,
            threadCount: 0
        )
        report.decoders = [decoder(nil, name: "libavcodec")] + transfers.map { decoder($0) }
        for (round, time) in ([100] + times).enumerated() {
            for decoder in report.decoders {
                let isOnGPU = decoder.device != nil
                let measurement = DecodersReport.Measurement(
                    wallTime: isOnGPU ? time : 1,
                    frames: 100,
                    timeToFirstFrame: 0.05,
                    processorTime: isOnGPU ? 0.2 : 2,
                    copiedFrames: decoder.transfer == .download ? 100 : 0,
                    failures: 0
                )
                report.runs.append(.init(decoder: decoder.id, round: round, result: .value(measurement)))
            }
        }
        return report
    }

    private func figures(_ report: DecodersReport, _ index: Int) -> [DecoderFigure: Double] {
        Dictionary(
            uniqueKeysWithValues: report.figures(of: report.decoders[index]).map { ($0.figure, $0.interval.median) }
        )
    }

    @Test func figuresAreMediansWithoutTheWarmUp() {
        let report = Self.report([0.5, 0.25, 0.5])
        #expect(
            figures(report, 1) == [
                .framesPerSecond: 200, .timeToFirstFrame: 0.05, .processorPerFrame: 0.002, .copiesPerFrame: 1,
            ]
        )
        #expect(figures(report, 0)[.copiesPerFrame] == 0 && figures(report, 0)[.processorPerFrame] == 0.02)
    }

    @Test(arguments: [
        ([0.5, 0.6, 0.5, 0.7, 0.5, 0.5], PairedRatio.Verdict.firstIsLarger),
        ([2, 2.1, 2, 2, 2, 2], .secondIsLarger),
        ([0.9, 1.1, 0.9, 1.1, 0.9, 1.1], .equalWithinNoise),
        ([0.5, 0.5, 0.5, 0.5, 0.5], nil),
    ])
    func nothingIsClaimedUnlessTheIntervalPermitsIt(times: [Double], verdict: PairedRatio.Verdict?) throws {
        let comparison = try #require(Self.report(times).comparisons.first)
        #expect(comparison.decoder == "renderD128 download")
        let speed = try #require(comparison.speed.value)
        #expect(speed.confidentVerdict == verdict && speed.interval.count == times.count)
    }

    /// Only runs of the same round are compared.
    @Test func roundsArePairs() throws {
        var report = Self.report([0.5, 0.5, 0.5])
        for index in report.runs.indices where report.runs[index].round == 2 && report.runs[index].decoder == "software"
        {
            report.runs[index].result = .absent("the decoder failed")
        }
        let comparison = try #require(report.comparisons.first)
        #expect(try #require(comparison.speed.value).ratios == [2, 2])
        #expect(report.warnings.contains { $0.subject == "software" && $0.message.contains("the decoder failed") })
        report.runs.removeAll { $0.decoder == "software" }
        #expect(report.comparisons.first?.speed.absence == "nothing was measured")
        report.runs.removeAll()
        #expect(report.comparisons.isEmpty)
    }

    @Test func aDecoderIsWrongUnlessItsFramesAreEqual() {
        var report = Self.report([0.5])
        #expect(!report.hasWrongDecoders)
        report.decoders[1].comparison = .value(
            FrameComparison(of: [], with: [.init(presentationTime: .zero, digest: 1)])
        )
        #expect(report.hasWrongDecoders)
        let text = "renderD128 download: 1 frame differs from the software decoder's; the first is frame 0 at 0.000 s: "
        #expect(report.decoders[1].agreement == text + "it is missing")
        report.decoders[1].comparison = .absent("the driver crashed")
        #expect(report.hasWrongDecoders)
        #expect(
            report.decoders[1].agreement?.hasSuffix(": the frames could not be compared: the driver crashed") == true
        )
        report.decoders[1].comparison = .value(FrameComparison(of: [], with: []))
        #expect(report.decoders[1].agreement == "renderD128 download: no frame could be compared")
    }

    // MARK: - Warnings

    private func messages(_ report: DecodersReport) -> String { report.warnings.map(\.message).joined(separator: "\n") }

    @Test func whatAffectsFiguresIsWarnedOf() {
        var report = Self.report([1, 1, 1, 1, 1, 1])
        #expect(report.warnings.isEmpty, "\(report.warnings)")
        report.input.limit = .samples
        report.input.losses = 2
        report.decoders[0].damagedFrames = 3
        let text = messages(report)
        #expect(text.contains("Only the first 100 samples"))
        #expect(text.contains("2 parts could not be read"))
        #expect(text.contains("3 frames may be wrong, left out of the comparison"))
        report.input.limit = .bytes
        #expect(messages(report).contains("more than 2.0 MB are not kept in memory"))
        #expect(messages(Self.report([1, 1.5, 1, 1, 1, 1])).contains("from round to round: renderD128 download."))
        #expect(messages(Self.report([0.1, 0.1])).contains("Runs take only 100 ms"))
        #expect(messages(Self.report([1, 1])).contains("With 2 repeats per decoder"))
        report.environment.loadAverage = 8
        #expect(messages(report).contains("The machine was not idle"))
    }

    @Test func failuresAndCopiesOfRunsAreWarnedOf() throws {
        var report = Self.report([1, 1, 1, 1, 1, 1], transfers: [.zeroCopy])
        #expect(report.warnings.isEmpty, "\(report.warnings)")
        let index = try #require(report.runs.firstIndex { $0.round == 1 && $0.decoder == "renderD128 zero-copy" })
        var measurement = try #require(report.runs[index].result.value)
        (measurement.copiedFrames, measurement.failures, measurement.frames) = (5, 1, 99)
        report.runs[index].result = .value(measurement)
        let text = messages(report)
        #expect(text.contains("Pictures were copied to memory") && text.contains("The decoder failed 1 time"))
        #expect(text.contains("Not every run returned the 100 frames"))
    }

    @Test func whatIsNoGPUIsMarkedFirst() {
        var report = Self.report([1, 1, 1, 1, 1, 1])
        report.decoders[1].name = "VAToolbox reference driver"
        report.decoders[1].isFakeNode = true
        #expect(report.warnings.map(\.weight) == [.banner, .banner])
        #expect(report.text(width: 80).hasPrefix("!!!!"))
    }

    // MARK: - Text

    @Test func theTextFitsATerminal() {
        var report = Self.report([1.05, 0.8, 1.1, 0.9, 1, 1.2], transfers: [.download, .zeroCopy])
        report.rejections = [
            .init(
                name: "/dev/dri/renderD129",
                reason: "permission denied",
                remedies: ["join the group: --group-add 105"]
            )
        ]
        let text = report.text(width: 80)
        for line in text.split(separator: "\n") { #expect(line.count <= 80, "\(line)") }
        for part in [
            "film.mp4: H.264, 1920x1080, 100 samples (2.0 MB)\n", "software: libavcodec, a thread per processor\n",
            "renderD128 zero-copy: some driver\n", "83.3…125.0", "0.98x (0.83…1.25) unclear", "0.10x (0.10…0.10) less",
            "renderD128 download: 100 frames, equal to the software decoder's\n",
            "not measured: /dev/dri/renderD129: permission denied\ntry: join the group: --group-add 105\n",
        ] { #expect(text.contains(part), "\(part) is not in \(text)") }
        #expect(!text.contains("no verdict"))
    }

    /// A decoder that was not measured has its place among the decoders only.
    @Test func whatIsUnknownIsADash() {
        var report = Self.report([1, 1, 1, 1, 1, 1], transfers: [.download, .zeroCopy])
        report.threadCount = 4
        report.runs.removeAll { $0.decoder == "renderD128 zero-copy" }
        for index in report.runs.indices where report.runs[index].decoder == "renderD128 download" {
            report.runs[index].result = .absent("the driver did not start")
        }
        let text = report.text(width: 80)
        let rows = text.split(separator: "\n").filter { $0.hasPrefix("  renderD128") }
        #expect(
            rows.map { $0.split(separator: " ").dropFirst(2) } == [["-", "-", "-", "-", "-"], ["-", "-"]],
            "\(text)"
        )
        #expect(text.contains("software: libavcodec, threads: 4\n") && text.contains("the driver did not start"))
        #expect(!text.contains("no verdict"))
    }

    @Test(arguments: [
        ([0, 1, 2], "the software decoder has no such frame"), ([1, 0], "it is out of order"), ([0], "it is missing"),
    ])
    func differencesAreExplained(numbers: [Int64], words: String) {
        func frames(_ numbers: [Int64]) -> [DecodedFrameRecord] {
            numbers.map { DecodedFrameRecord(presentationTime: MediaTime(value: $0, timescale: 25), digest: 1) }
        }
        var decoder = Self.decoder(.download)
        decoder.comparison = .value(FrameComparison(of: frames(numbers), with: frames([0, 1])))
        #expect(decoder.agreement?.hasSuffix(": \(words)") == true, "\(decoder.agreement ?? "")")
        #expect(decoder.isWrong)
    }

    @Test func tooFewRoundsAreTold() {
        let text = Self.report([0.5, 0.5]).text(width: 80)
        #expect(text.contains("no verdict at 95 %") && !text.contains("faster"), "\(text)")
        #expect(Self.report([0.5, 0.5, 0.5, 0.5, 0.5, 0.5]).text(width: 80).contains("2.00x (2.00…2.00) faster"))
    }
}
