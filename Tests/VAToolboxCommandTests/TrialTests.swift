// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import CommandLineSupport
import Foundation
import Glibc
import HelperIPC
import MediaTypes
import SoftwareEncoder
import Synchronization
import Testing
import Transcoding

@testable import VAAPI
@testable import VAToolbox
@testable import VAToolboxCommand

/// Which combinations are tried, and what is made of what comes of them.
@Suite struct TrialTests {
    /// A driver with these encoders: profile, entrypoint, and by number attributes (va.h: rate control 5, references 13,
    /// slices 14, slice structure 15).
    private func driver(_ encoders: [(Int32, UInt32, [UInt32: UInt32])]) -> ProbedDriver {
        let report = DriverReport(
            majorVersion: 1,
            minorVersion: 17,
            vendor: "a driver",
            file: nil,
            profiles: encoders.map { .init(number: $0.0, entrypoints: [.init(number: $0.1)]) }
        )
        return ProbedDriver(
            report,
            encoders.map { profile, entrypoint, attributes in
                DriverReport.Encoder(
                    profile: profile,
                    entrypoint: entrypoint,
                    attributes: attributes.map { .init(number: $0.key, value: $0.value) }
                )
            }
        )
    }

    private func listed(_ attributes: [UInt32: UInt32], profile: Int32 = 7) -> [String] {
        Trial.listed(by: driver([(profile, 6, attributes)])).map { "\($0.mode) \($0.bFrames) \($0.slices)" }
    }

    // MARK: - The list

    @Test func combinationsAreThoseThatTheDriverLists() {
        // CBR 2, CQP 16; two lists; 2 slices of any rows.
        let full: [UInt32: UInt32] = [5: 0x12, 13: 0x2_0003, 14: 2, 15: 0x10]
        #expect(
            listed(full) == [
                "CBR 0 1", "CBR 0 2", "CBR 2 1", "CBR 2 2", "CQP 0 1", "CQP 0 2", "CQP 2 1", "CQP 2 2",
            ]
        )
        // Constrained Baseline has no B-frames, whatever the driver says.
        #expect(listed(full, profile: 13) == ["CBR 0 1", "CBR 0 2", "CQP 0 1", "CQP 0 2"])
        // A driver that says nothing encodes with constant quantizers and one slice; so does one that says in how many
        // slices, and not in which.
        #expect(listed([:]) == ["CQP 0 1"] && listed([14: 128]) == ["CQP 0 1"])
        #expect(listed(full, profile: 17) == listed(full))
        // VP9 is not tried, nor is what is no encoder of slices.
        #expect(listed(full, profile: 19) == [])
        #expect(Trial.listed(by: driver([(7, 7, full)])).isEmpty)
    }

    @Test func whatIsNotTriedHasAReason() {
        // VBR 4 and TCBRC 0x1000; the profiles H264StereoHigh 16 and HEVCMain 17; VP9 is of no interest.
        let untried = Trial.untried(
            of: driver([(7, 6, [5: 0x1004]), (16, 6, [5: 4]), (7, 7, [:]), (17, 6, [5: 0x1004]), (19, 6, [5: 0x1004])])
        )
        #expect(
            untried.map { "\($0.profile) \($0.mode)" } == [
                "H264High TCBRC", "H264StereoHigh none", "H264High none", "HEVCMain TCBRC",
            ]
        )
        #expect(untried.allSatisfy { !$0.reason.isEmpty })
    }

    @Test func configurationsAskForOneThing() throws {
        let modes: [UInt32: UInt32] = [5: 0x2 | 0x4 | 0x10 | 0x40 | 0x400 | 0x800, 13: 0x1_0001]
        let trials = Trial.listed(by: driver([(7, 8, modes)]))
        let controls = try trials.map { try $0.configuration.validated(for: .h264).configuration.rateControl }
        #expect(Set(controls).count == Set(trials.map(\.mode)).count)
        for trial in trials {
            #expect(trial.configuration.hardware.lowPower == .required && trial.configuration.profile == .h264High)
            #expect(trial.configuration.bFrames == (trial.bFrames == 0 ? .off : .maximum(2)))
        }
    }

    // MARK: - The stages

    private func ending(_ error: MediaError, frames: Int = 1) -> TestEncode.Ending {
        .init(encodingFailedBy: error, framesUnderWay: frames, depth: 4)
    }

    private func stage(_ ending: TestEncode.Ending) -> TrialStage? {
        guard case .failed(let stage, _) = ending else { return nil }
        return stage
    }

    @Test(arguments: [
        ("vaCreateConfig", TrialStage.config), ("vaCreateContext", .context), ("vaCreateSurfaces", .context),
        ("vaCreateBuffer", .context), ("vaInitialize", .device), ("/usr/bin/vatoolbox-helper", .config),
    ])
    func callsOfTheCreation(call: String, expected: TrialStage) {
        let error = MediaError(.creationFailed, "no", call: call, status: 1)
        #expect(stage(.init(creationFailedBy: error)) == expected)
    }

    @Test(arguments: [
        ("vaCreateBuffer", TrialStage.submit), ("vaBeginPicture", .submit), ("vaRenderPicture", .submit),
        ("vaEndPicture", .submit), ("vaPutImage", .submit), ("vaSyncBuffer", .sync), ("vaSyncSurface", .sync),
        ("vaMapBuffer", .sync), ("/usr/bin/vatoolbox-helper", .submit),
    ])
    func callsOfTheEncode(call: String, expected: TrialStage) {
        #expect(stage(ending(MediaError(.frameFailed, "no", call: call, status: 1))) == expected)
    }

    @Test func errorsWithoutACall() {
        #expect(stage(ending(MediaError(.frameFailed, "nothing"))) == .bytes)
        #expect(stage(ending(MediaError(.malformedData, "noise"))) == .parses)
        #expect(stage(ending(MediaError(.deadlineExceeded, "late"), frames: 1)) == .submit)
        #expect(stage(ending(MediaError(.deadlineExceeded, "late"), frames: 5)) == .sync)
        #expect(stage(.init(creationFailedBy: MediaError(.deadlineExceeded, "late"))) == .config)
        let refusal = TestEncode.Ending(creationFailedBy: MediaError(.unsupported, "no such rate control"))
        #expect(TrialResult.Ending(refusal) == .refused(reason: "no such rate control"))
    }

    // MARK: - The samples

    private static let trial = Trial(
        profile: Profile(rawValue: 7),
        entrypoint: Entrypoint(rawValue: 6),
        mode: .cqp,
        bFrames: 2,
        slices: 4,
        width: 320,
        height: 240
    )

    /// x264 with B-frames wherever they may be, as GPUs have them; by itself it would see a new scene in every picture.
    private struct GoodEncoder: EncoderFactory {
        var identity: EncoderIdentity { X264EncoderFactory().identity }

        func makeEncoder(_ request: EncoderRequest) throws(MediaError) -> any EncoderBackend {
            var request = request
            request.configuration.software.preset = .ultrafast
            return try X264EncoderFactory().makeEncoder(request)
        }
    }

    /// An encoder that is known to be good passes, and is found out where it does something else.
    @Test func aGoodEncoderPasses() {
        let run = TrialRun(patience: .seconds(600)) { _ in GoodEncoder() }
        let result = run.result(of: Self.trial)
        // What x264 leaves out for speed it says.
        #expect([TrialResult.Status.passed, .altered].contains(result.status), "\(result)")
    }

    /// Frames of an encoder that is known to be good.
    private func frames() throws -> (frames: [CodedFrame], format: FormatDescription) {
        let frames = Mutex<[CodedFrame]>([])
        let request = EncoderRequest(configuration: Self.trial.configuration) { output in
            if case .coded(let frame) = output { frames.withLock { $0.append(frame) } }
        }
        let encoder = try GoodEncoder().makeEncoder(request)
        for number in 0..<Int64(Trial.frameCount) {
            let buffer = try PixelBuffer(.init(format: .nv12, width: 320, height: 240))
            try TestPattern.draw(Int(number), into: buffer)
            let time = MediaTime(value: number, timescale: 30)
            try encoder.encode(EncoderFrame(number: number, buffer: buffer, presentationTime: time))
        }
        try encoder.drain()
        return (frames.withLock { $0 }, encoder.properties.formatDescription)
    }

    /// A decoder that shows every picture at its neighbour's time.
    private struct Swapping: SampleVerifier {
        func decode(
            _ samples: [SampleBuffer],
            codec: VideoCodec,
            show: (PixelBuffer, MediaTime) throws(MediaError) -> Void
        ) throws(MediaError) {
            try DecodingVerifier().decode(samples, codec: codec) { (picture, time) throws(MediaError) in
                try show(picture, MediaTime(value: time.value ^ 1, timescale: time.timescale))
            }
        }
    }

    @Test func picturesInAnotherOrder() throws {
        let (frames, format) = try frames()
        let trial = Self.trial
        var stream = TestStream(.h264, width: trial.width, height: trial.height, frameCount: Trial.frameCount)
        stream.expectation = trial.expectation
        for frame in frames { stream.add(frame, format) }
        #expect(stream.failure(DecodingVerifier()) == nil)
        let failure = stream.failure(Swapping())
        #expect(failure?.stage == .decodes && "\(failure as Any)".contains("out of order"), "\(failure as Any)")
    }

    /// What was done to the samples, and where it is seen.
    @Test func samplesThatAreNot() throws {
        let (frames, format) = try frames()
        func failure(_ trial: Trial = Self.trial, _ change: (inout [CodedFrame]) -> Void) -> TrialStage? {
            let count = Trial.frameCount
            var stream = TestStream(.h264, width: trial.width, height: trial.height, frameCount: count)
            stream.expectation = trial.expectation
            var changed = frames
            change(&changed)
            for frame in changed { stream.add(frame, format) }
            return stream.failure(DecodingVerifier())?.stage
        }
        func bytes(_ frame: CodedFrame) -> [UInt8] { frame.data.withUnsafeBytes { Array($0) } }
        #expect(failure { _ in } == nil)
        #expect(failure { $0.removeLast() } == .bytes)
        #expect(failure { $0[3].data = CodedData([]) } == .bytes)
        #expect(failure { $0[3].data = CodedData([1, 2, 3]) } == .parses)
        #expect(failure { $0.swapAt(0, 1) } == .parses)
        // Another type of unit: no slice.
        #expect(failure { $0[1].data = CodedData([0, 0, 0, 2, 9, 0x10]) } == .parses)
        // The samples of the second half of the last slice are gone.
        #expect(
            failure { frames in
                var cut = bytes(frames[0])
                for index in (cut.count - 40)..<cut.count { cut[index] = 0 }
                frames[0].data = CodedData(cut)
            } == .decodes
        )
        var other = Self.trial
        other.slices = 2
        #expect(failure(other) { _ in } == .parses)
        other = Self.trial
        other.bFrames = 0
        #expect(failure(other) { _ in } == .parses)
        other = Self.trial
        other.width = 336
        #expect(failure(other) { _ in } == .decodes)
    }

    // MARK: - The report

    private func result(_ ending: TrialResult.Ending, _ adjustments: [Adjustment] = []) -> TrialResult {
        let trial = Trial(
            profile: Profile(rawValue: 7),
            entrypoint: Entrypoint(rawValue: 8),
            mode: .qvbr,
            bFrames: 0,
            slices: 4,
            width: 320,
            height: 240
        )
        return TrialResult(trial: trial, ending: ending, adjustments: adjustments, duration: .milliseconds(1500))
    }

    @Test func aTableFitsIntoATerminal() {
        var trials = NodeTrials(driver([(7, 8, [5: 0x1012, 14: 4, 15: 0x10])]))
        let adjustment = Adjustment(property: "slices", requested: "4", used: "15", reason: "the driver has rows only")
        trials.results = [
            result(.passed), result(.passed, [adjustment]), result(.failed(.sync, reason: "vaSyncBuffer: no")),
            result(.refused(reason: "no such thing")),
        ]
        #expect(trials.count(.passed) == 1 && !trials.allPassed)
        var page = TextPage(width: 80)
        page.add(trials, indentation: 4)
        #expect(
            page.text == """

                    H264High by EncSliceLP
                      rate  B  slices  config  context  submit  sync    bytes   parses  decodes
                      QVBR  0  4       ok      ok       ok      ok      ok      ok      ok
                      QVBR  0  4       ok      ok       ok      ok      ok      ok      ok
                      QVBR  0  4       ok      ok       ok      failed  -       -       -
                      QVBR  0  4       -       -        -       -       -       -       -
                      1 altered: slices 4 becomes 15: the driver has rows only
                      1 failed at sync: vaSyncBuffer: no
                      1 refused: no such thing

                    not tried: H264High by EncSliceLP TCBRC: this version does not support this
                    rate control mode
                    Of 4 combinations: 1 passed, 1 altered, 1 failed at sync, 1 refused by the
                    encoder.

                """
        )
        for line in page.text.split(separator: "\n") { #expect(line.count <= 79, "\(line)") }
    }

    @Test func theDocumentSaysTheSame() throws {
        var trials = NodeTrials(driver([(7, 8, [5: 0x10])]))
        trials.results = [result(.failed(.sync, reason: "vaSyncBuffer: no"))]
        let value = try JSONSerialization.jsonObject(with: Data(trials.document.text.utf8)) as? [String: Any]
        #expect(["listed", "passed", "failed", "refused", "altered"].map { value?[$0] as? Int } == [1, 0, 1, 0, 0])
        let combination = try #require((value?["combinations"] as? [[String: Any]])?.first)
        let stages = try #require(combination["stages"] as? [String: Any])
        #expect(["config", "context", "submit"].allSatisfy { stages[$0] as? String == "ok" })
        #expect(stages["sync"] as? String == "failed")
        #expect(["bytes", "parses", "decodes"].allSatisfy { stages[$0] is NSNull })
        #expect(combination["failedStage"] as? String == "sync" && combination["status"] as? String == "failed")
        #expect(combination["reason"] as? String == "vaSyncBuffer: no" && combination["seconds"] as? Double == 1.5)
    }
}
