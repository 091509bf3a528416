// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import MediaTypes
import TestSupport
import Testing

@testable import VAToolbox

/// What is asked of a single frame is honoured, refused, or reported as left out.
@Suite struct FrameOptionTests {
    struct Refusal: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var code = MediaError.Code.invalidArgument
        var given: String
        var allowed: String
        var options: FrameOptions
    }

    private static let time = MediaTime(value: 1, timescale: 30)

    static let refusals: [Refusal] = [
        Refusal(testDescription: "quantizer", given: "52", allowed: "10...40", options: .init(quantizer: 52)),
        Refusal(
            testDescription: "quantizer below those allowed",
            given: "9",
            allowed: "10...40",
            options: .init(quantizer: 9)
        ),
        Refusal(testDescription: "third of two", given: "2", allowed: "0...1", options: .init(longTermReference: 2)),
        Refusal(
            testDescription: "before the first",
            given: "-1",
            allowed: "0...1",
            options: .init(longTermReference: -1)
        ),
        Refusal(
            testDescription: "lost up to no time",
            given: "invalid",
            allowed: "valid",
            options: .init(lostFrames: time...MediaTime.invalid)
        ),
        Refusal(
            testDescription: "decoded at no time",
            given: "invalid",
            allowed: "valid",
            options: .init(decodedFrame: .invalid)
        ),
    ]

    @Test(arguments: refusals) func valuesOutOfRangeAreRefused(_ refusal: Refusal) throws {
        let play = OptionPlay([.all])
        let error = try #require(play.refusal(of: refusal.options))
        #expect(error.code == refusal.code)
        #expect(error.given?.contains(refusal.given) == true, "\(error)")
        #expect(error.allowed?.contains(refusal.allowed) == true, "\(error)")
        #expect(play.refusal(of: .init()) == nil)
    }

    @Test func withoutLongTermReferencesNoneCanBeMarked() {
        let play = OptionPlay([.all]) { $0.longTermReferences = 0 }
        #expect(play.refusal(of: .init(longTermReference: 0))?.allowed?.contains("none") == true)
    }

    static let wishes: [FrameOptions] = [
        .init(quantizer: 20), .init(longTermReference: 1), .init(lostFrames: time...time), .init(decodedFrame: time),
    ]

    @Test(arguments: wishes) func whatTheEncoderDoesNotHonourIsRefused(_ wish: FrameOptions) throws {
        let play = OptionPlay([.none])
        let error = try #require(play.refusal(of: wish))
        #expect(error.code == .unsupported)
        #expect(error.given != nil && error.allowed == "none")
        #expect(play.submitted.isEmpty)
        #expect(play.refusal(of: .init(forceKeyFrame: true)) == nil)

        let able = OptionPlay([.all])
        #expect(able.refusal(of: wish) == nil)
        #expect(able.submitted.map(\.options) == [wish])
        #expect(able.adjustments.isEmpty)
    }

    /// An accepted frame must not fail because another encoder took over.
    @Test(arguments: wishes) func anEncoderThatTakesOverIsSparedWhatItDoesNotHonour(_ wish: FrameOptions) {
        let play = OptionPlay([.all, .none])
        var keyed = wish
        keyed.forceKeyFrame = true
        for options in [wish, keyed] { #expect(play.refusal(of: options) == nil) }
        play.failForGood()
        #expect(play.submitted.map(\.options) == [wish, keyed, .init(), .init(forceKeyFrame: true)])
        #expect(play.submitted.map(\.number) == [0, 1, 0, 1])
        #expect(play.adjustments.map(\.used) == ["none"])
        #expect(play.adjustments.allSatisfy { $0.requested == "those of the frames" })
    }

    /// With intra refresh the time of key frames is the time of the wave.
    @Test(arguments: [true, false]) func noKeyFrameIsDueWithIntraRefresh(_ usesIntraRefresh: Bool) {
        let play = OptionPlay([.all]) {
            $0.isFrameRateVariable = true
            $0.usesIntraRefresh = usesIntraRefresh
            $0.keyFrameInterval = KeyFrameInterval(duration: MediaTime(value: 1, timescale: 10))
        }
        for _ in 0..<5 { #expect(play.refusal(of: .init()) == nil) }
        #expect(play.submitted.map(\.options.forceKeyFrame) == [false, false, false, !usesIntraRefresh, false])
    }
}

extension Set<EncoderOption> {
    fileprivate static let all: Self = [.frameQuantizer, .longTermReferences, .lossReports]
    fileprivate static let none: Self = []
}

/// A machine whose encoders are ready at once, honour what they are said to honour, and code nothing.
private final class OptionPlay {
    private var machine: SessionMachine
    private let supported: [Set<EncoderOption>]
    private var calls: UInt64 = 0
    private var instance = 0
    private(set) var submitted: [EncoderFrame] = []
    private(set) var adjustments: [Adjustment] = []
    private var answers: [UInt64: MediaError] = [:]

    /// - Parameter supported: By candidate.
    init(_ supported: [Set<EncoderOption>], _ change: (inout EncoderConfiguration) -> Void = { _ in }) {
        var configuration = EncoderConfiguration(width: 16, height: 16)
        configuration.color = .unspecified
        configuration.pixelAspectRatio = .one
        configuration.longTermReferences = 2
        configuration.quantizerRange = 10...40
        change(&configuration)
        var options = SessionOptions()
        options.limits.framesAhead = 100
        let script: @Sendable (Int) -> InstanceScript = { _ in InstanceScript() }
        machine = SessionMachine(
            configuration: configuration,
            selection: SessionRig.selection(Array(repeating: script, count: supported.count), Stage()),
            options: options,
            now: .now
        )
        self.supported = supported
        input(.start(0))
    }

    /// - Returns: Why a frame with these options was not accepted.
    func refusal(of options: FrameOptions) -> MediaError? {
        calls += 1
        guard let buffer = try? PixelBuffer(.init(format: .nv12, width: 16, height: 16)) else { return nil }
        let time = MediaTime(value: Int64(calls), timescale: 30)
        let frame = EncoderFrame(number: 0, buffer: buffer, presentationTime: time, options: options)
        input(.encode(frame, token: nil, calls))
        return answers[calls]
    }

    /// Fails the present encoder in a way that is not tried again.
    func failForGood() {
        input(.instance(instance, .failed(MediaError(.unsupported, "gone"))))
    }

    private func input(_ input: SessionMachine.Input) {
        for action in machine.handle(input, at: .now) {
            switch action {
            case .create(let id, let creation):
                instance = id
                self.input(.instance(id, .created(properties(of: creation.candidate))))
            case .submit(_, let frame): submitted.append(frame)
            case .report(.adjusted(let adjustment)): adjustments.append(adjustment)
            case .resume(let call, .failure(let error)): answers[call] = error
            default: break
            }
        }
    }

    private func properties(of candidate: Int) -> EncoderProperties {
        EncoderProperties(
            name: "simulated",
            profile: "",
            level: "",
            reorderDepth: 0,
            maximumDelay: 100,
            pixelFormats: [.nv12],
            supportedProperties: supported[candidate],
            formatDescription: FormatDescription(codec: .h264, width: 16, height: 16, parameterSets: [])
        )
    }
}
