// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import MediaTypes
import TestSupport
import Testing

@testable import VAToolbox

/// A stream keeps its codec: who may take over from whom where the codec was open at first.
@Suite(.timeLimit(.minutes(60))) struct StreamCodecTests {
    private static let shape = Shape(reorderDepth: 1, isVariable: false)

    /// What `auto` means on a machine with two GPUs: HEVC on them, H.264 on them, H.264 on the CPU, and HEVC there for
    /// streams that have begun.
    private static func selection(
        _ stage: Stage,
        _ scripts: [String: @Sendable (Int) -> InstanceScript]
    ) -> EncoderSelection {
        let candidates: [(name: String, codec: VideoCodec, device: String?)] = [
            ("hevc 128", .hevc, "128"), ("hevc 129", .hevc, "129"), ("h264 128", .h264, "128"),
            ("cpu h264", .h264, nil),
            ("cpu hevc", .hevc, nil),
        ]
        return EncoderSelection(
            candidates: candidates.map { name, codec, device in
                let factory = ScriptedFactory(
                    name,
                    codec: codec,
                    device: device,
                    on: stage,
                    .inProcess,
                    .init(),
                    script: scripts[name] ?? { _ in shape.script }
                )
                var candidate = EncoderSelection.Candidate(factory: factory, reason: "scripted")
                candidate.onlyContinues = name == "cpu hevc"
                return candidate
            }
        )
    }

    private static let refusal = shape.with { $0.creation = .failPermanently }
    private static let failure = shape.with { $0.steps = [8: .failPermanently] }
    private static let firstFailure = shape.with { $0.steps = [0: .failPermanently] }

    /// Encodes 20 frames and says who was asked, in order, and how it ended.
    private func run(
        _ scripts: [String: @Sendable (Int) -> InstanceScript]
    ) async throws -> (asked: [String], encoder: EncoderDescription, consumed: Consumed, error: (any Error)?) {
        let stage = Stage()
        let session = try await CompressionSession(
            configuration: Self.shape.configuration,
            selection: Self.selection(stage, scripts)
        )
        let rig = SessionRig(Self.shape, stage, session)
        let consumer = rig.consume()
        var failure: (any Error)?
        do {
            _ = try await rig.encode(0..<20)
            try await session.finish()
        } catch {
            failure = error
        }
        return (stage.attempts.map(\.candidate), session.encoder, await consumer.value, failure)
    }

    @Test func hevcOnAGPUComesFirst() async throws {
        let run = try await run([:])
        #expect(run.asked == ["hevc 128"] && run.error == nil && run.encoder.rejected.isEmpty)
    }

    @Test func beforeSamplesHaveLeftTheCodecIsOpen() async throws {
        var run = try await run(["hevc 128": { _ in Self.refusal }, "hevc 129": { _ in Self.refusal }])
        #expect(run.asked == ["hevc 128", "hevc 129", "h264 128"] && run.error == nil)
        run = try await self.run(["hevc 128": { _ in Self.firstFailure }, "hevc 129": { _ in Self.firstFailure }])
        #expect(run.asked == ["hevc 128", "hevc 129", "h264 128"] && run.error == nil)
        #expect(run.consumed.samples.count == 20)
        let refused = ["hevc 128", "hevc 129", "h264 128"].map { ($0, { @Sendable (_: Int) in Self.refusal }) }
        run = try await self.run(Dictionary(uniqueKeysWithValues: refused))
        #expect(run.asked.last == "cpu h264" && run.error == nil)
    }

    @Test func aStreamOfHEVCGoesOnAsHEVC() async throws {
        let run = try await run(["hevc 128": { _ in Self.failure }, "hevc 129": { _ in Self.failure }])
        #expect(run.asked == ["hevc 128", "hevc 129", "cpu hevc"] && run.error == nil)
        #expect(run.consumed.samples.count == 20)
        #expect(run.encoder.identity.codec == .hevc)
        let passedOver = run.encoder.rejected.filter { $0.reason == "the stream is HEVC and cannot change its codec" }
        #expect(passedOver.map(\.name) == ["h264 128 on 128", "cpu h264"])
    }

    @Test func aStreamOfH264IsNotTurnedIntoHEVC() async throws {
        let failing = ["hevc 128": Self.refusal, "hevc 129": Self.refusal, "h264 128": Self.failure]
        var scripts = failing.mapValues { script -> @Sendable (Int) -> InstanceScript in { _ in script } }
        var run = try await run(scripts)
        #expect(run.asked == ["hevc 128", "hevc 129", "h264 128", "cpu h264"] && run.error == nil)
        #expect(run.consumed.samples.count == 20)
        scripts["cpu h264"] = { _ in Self.refusal }
        run = try await self.run(scripts)
        #expect(run.asked.last == "cpu h264" && run.error != nil)
    }

    /// Nobody comes after it, so its pictures need not be kept.
    @Test func theReserveDoesNotKeepPictures() async throws {
        let refused = ["hevc 128", "hevc 129", "h264 128"]
        var scripts = Dictionary(
            uniqueKeysWithValues: refused.map { ($0, { @Sendable (_: Int) in Self.refusal }) }
        )
        scripts["cpu h264"] = { _ in
            Self.shape.with {
                $0.isFailureFinal = true
                $0.steps = [8: .fail]
            }
        }
        let run = try await run(scripts)
        #expect(run.asked.filter { $0.hasPrefix("cpu") } == ["cpu h264"] && run.error != nil)
    }
}
