// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import HelperIPC
import MediaTypes
import Testing

@testable import VAToolbox

/// Which encoders work in a helper process.
@Suite(.usesHelpers) struct IsolationTests {
    private struct NoFactory: EncoderFactory {
        let identity: EncoderIdentity
        func makeEncoder(_ request: EncoderRequest) throws(MediaError) -> any EncoderBackend {
            throw MediaError(.unsupported, "never asked")
        }
    }

    /// A GPU first, then the CPU.
    private let selection = EncoderSelection(
        candidates: [
            .init(
                factory: NoFactory(identity: .init(name: "gpu", codec: .h264, device: "/dev/dri/renderD128")),
                reason: "a"
            ),
            .init(factory: NoFactory(identity: .init(name: "cpu", codec: .h264)), reason: "b"),
        ],
        rejected: [.init(name: "other", reason: "c")]
    )

    @Test(arguments: [
        (EncoderIsolation.automatic, [true, false]), (.inProcess, [false, false]), (.process, [true, true]),
    ]) func theChoice(isolation: EncoderIsolation, areInHelpers: [Bool]) {
        let isolated = selection.isolated(isolation, in: .standard, limits: .init())
        #expect(isolated.candidates.map(\.isInHelper) == areInHelpers)
        #expect(isolated.candidates.map(\.identity) == selection.candidates.map(\.identity))
        #expect(isolated.candidates.map(\.reason) == ["a", "b"] && isolated.rejected == selection.rejected)
    }

    /// What hangs in this process is tried again in a helper, where it can be ended.
    @Test func aGPUThatHangsMovesToAHelper() {
        var candidates = selection.isolated(.inProcess, in: .standard, limits: .init()).candidates
        let areInHelpers = candidates.indices.map { candidates[$0].moveToHelper() }
        #expect(areInHelpers == [true, false])
        #expect(candidates.map(\.isInHelper) == [true, false])
        #expect(candidates.map(\.identity) == selection.candidates.map(\.identity))
    }

    /// Buffers suit the encoder that works, not one that came before it and could not be made.
    @Test(arguments: [false, true]) func buffersSuitTheEncoder(isInHelper: Bool) async throws {
        var options = SessionOptions()
        options.policy = .requireSoftware
        let configuration = EncoderConfiguration(width: 64, height: 64)
        var missing = HelperPool.Options()
        missing.path = "/no/such/helper"
        let lost = selection.isolated(.automatic, in: try HelperPool(missing), limits: options.limits)
        let software = try EncoderSelector().select(for: configuration, policy: .requireSoftware)
            .isolated(isInHelper ? .process : .inProcess, in: .standard, limits: options.limits)
        let session = try await CompressionSession(
            configuration: configuration,
            options: options,
            selection: EncoderSelection(candidates: [lost.candidates[0], software.candidates[0]])
        )
        #expect(session.encoder.isInHelper == isInHelper)
        #expect(session.encoder.rejected.map(\.name) == ["gpu on /dev/dri/renderD128"])
        #expect(session.pixelBufferPool.memory == (isInHelper ? .shared : .owned))
        #expect(await session.statistics.failedEncoders == 1)
        try await session.finish()
    }

    /// A helper that is stuck is given up before the session takes it for an encoder in its own process.
    @Test func deadlinesAreWithinThoseOfTheSession() throws {
        var limits = SessionLimits()
        limits.creationDeadline = .seconds(8)
        limits.frameDeadline = .seconds(4)
        let isolated = selection.isolated(.process, in: .standard, limits: limits)
        let factory = try #require(isolated.candidates[0].factory as? RemoteEncoderFactory)
        #expect(factory.deadlines.start + factory.deadlines.creation < limits.creationDeadline)
        #expect(factory.deadlines.call < limits.frameDeadline)
    }
}
