// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import Testing

@testable import VAToolbox

/// What pictures say about themselves, and what a session makes of it.
@Suite(.timeLimit(.minutes(2))) struct PictureTests {
    private static let shape = Shape(reorderDepth: 0, isVariable: false)

    @Test func aPictureThatCannotBeConvertedIsRefusedAndTheSessionGoesOn() async throws {
        var configuration = Self.shape.configuration
        configuration.color = .bt709
        let rig = try await SessionRig(Self.shape, [{ _ in Self.shape.script }], configuration: configuration)
        let ictcp = ColorDescription(primaries: .bt2020, transfer: .pq, matrix: .init(rawValue: 14), range: .limited)
        let bad = try rig.bank.make(color: ictcp)
        try await rig.encode(0)
        let error = await MediaError.of {
            try await rig.session.encode(bad, presentationTime: Self.shape.time(1).presentation)
        }
        #expect(error?.code == .unsupported)
        let accepted = try await rig.encode(1..<4)
        try await rig.session.finish()
        expectContract(await rig.consume().value, accepted: rig.feeds(0..<1) + accepted)
        #expect(await rig.session.statistics.failedEncoders == 0)
    }
}
