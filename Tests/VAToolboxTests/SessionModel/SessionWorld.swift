// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import HelperIPC
import MediaTypes
import TestSupport
import Testing

@testable import VAToolbox

/// What does not change while a session's inputs are explored: its options and what its encoders are like.
final class SessionWorld: Sendable, CustomTestStringConvertible {
    let name: String
    let reorderDepth: Int
    let framesAhead: Int
    let candidates: Int
    let isInHelper: Bool
    let realTime: RealTimeMode?
    /// Whether the configuration leaves the colour to the first picture, which has one.
    let adoptsColor: Bool
    /// Whether it is no use to try again when the last candidate fails.
    let isLastFinal: Bool
    let picture: PixelBuffer

    private let start = SuspendingClock.now
    private let formats: [FormatDescription]

    init(
        _ name: String,
        reorderDepth: Int = 0,
        framesAhead: Int = 1,
        candidates: Int = 2,
        isInHelper: Bool = false,
        realTime: RealTimeMode? = nil,
        adoptsColor: Bool = false,
        isLastFinal: Bool = false
    ) throws {
        self.name = name
        self.reorderDepth = reorderDepth
        self.framesAhead = framesAhead
        self.candidates = candidates
        self.isInHelper = isInHelper
        self.realTime = realTime
        self.adoptsColor = adoptsColor
        self.isLastFinal = isLastFinal
        picture = try PixelBuffer(.init(format: .nv12, width: 16, height: 16, color: .bt709))
        formats = (0..<candidates).map { candidate in
            FormatDescription(codec: .h264, width: 16, height: 16, parameterSets: [[UInt8(candidate)]])
        }
    }

    var testDescription: String { name }

    // MARK: - Times

    /// The deadlines of creations and of frames, in ticks of the clock.
    static let ticksToDeadline = 10

    func instant(_ tick: Int) -> SessionMachine.Instant { start + .seconds(tick) }
    func tick(_ instant: SessionMachine.Instant) -> Int { Int((instant - start) / .seconds(1)) }

    // MARK: - The session

    /// The rates between which updates switch.
    static let bitRates = [1_000_000, 2_000_000]
    static let invalidBitRate = 1

    var limits: SessionLimits {
        var limits = SessionLimits()
        limits.framesAhead = framesAhead
        limits.creationAttempts = 2
        limits.consecutiveFailedFrames = 2
        // Time passes by moves only.
        limits.creationPause = .zero
        limits.creationDeadline = .seconds(Self.ticksToDeadline)
        limits.frameDeadline = .seconds(Self.ticksToDeadline)
        return limits
    }

    func machine() -> SessionMachine {
        var configuration = EncoderConfiguration(width: 16, height: 16)
        configuration.color = adoptsColor ? nil : .unspecified
        configuration.rateControl = .averageBitRate(Self.bitRates[0])
        var options = SessionOptions()
        options.realTime = realTime
        options.limits = limits
        let candidates = (0..<candidates).map { candidate -> EncoderSelection.Candidate in
            let identity = identity(of: candidate)
            let remote = RemoteEncoderFactory(identity, pool: .standard)
            return .init(factory: isInHelper ? remote : NamedFactory(identity: identity), reason: "modelled")
        }
        return SessionMachine(
            configuration: configuration,
            selection: EncoderSelection(candidates: candidates),
            options: options,
            now: instant(0)
        )
    }

    // MARK: - Encoders

    func identity(of candidate: Int) -> EncoderIdentity {
        EncoderIdentity(name: "candidate \(candidate)", codec: .h264, device: isInHelper ? "a GPU" : nil)
    }

    func format(of candidate: Int) -> FormatDescription? {
        formats.indices.contains(candidate) ? formats[candidate] : nil
    }

    func isFailureFinal(_ candidate: Int?) -> Bool { isLastFinal && candidate == candidates - 1 }

    func properties(of candidate: Int, isTooDeep: Bool) -> EncoderProperties {
        EncoderProperties(
            name: "modelled",
            profile: "",
            level: "",
            reorderDepth: reorderDepth + (isTooDeep ? 1 : 0),
            maximumDelay: reorderDepth,
            isFailureFinal: isFailureFinal(candidate),
            pixelFormats: [.nv12],
            supportedProperties: [],
            formatDescription: formats[candidate]
        )
    }
}

/// Stands for an encoder that is never made.
private struct NamedFactory: EncoderFactory {
    let identity: EncoderIdentity

    func makeEncoder(_ request: EncoderRequest) throws(MediaError) -> any EncoderBackend {
        throw MediaError(.unavailable, "there is no encoder here")
    }
}
