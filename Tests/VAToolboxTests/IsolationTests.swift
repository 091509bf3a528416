// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import EncoderIPC
import MediaTypes
import Testing

@testable import VAToolbox

/// Which encoders work in a helper process.
@Suite struct IsolationTests {
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
        #expect(isolated.preferredMemory == (areInHelpers[0] ? .shared : .owned))
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
