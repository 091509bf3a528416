// SPDX-License-Identifier: GPL-2.0-or-later

import ArgumentParser
import CommandLineSupport
import Foundation
import Testing
import Transcoding
import VAToolbox

@testable import VAToolboxCommand

/// What the command says of frames that are missing in its output because a GPU has failed.
///
/// Both the driver and the decoding on the CPU must fail for that, so the losses are written into a real report.
@Suite struct LostFrameTests {
    let scratch: Scratch

    init() throws { scratch = try Scratch() }

    /// Encodes a clip, and returns the outcome with losses that it did not have.
    private func outcome(
        interrupted: Bool = false,
        _ lose: (inout TranscodeReport) -> Void
    ) async throws -> EncodeOutcome {
        let clip = try scratch.makeClip()
        let command = try EncodeCommand.parse([clip, "-o", scratch.path("out.mp4"), "--device", "software"])
        let request = try command.request(inputIsLive: false)
        var report = try await Transcoder(request).run()
        lose(&report)
        return EncodeOutcome(
            input: clip,
            request: request.first,
            report: report,
            elapsed: 1,
            wasInterrupted: interrupted
        )
    }

    @Test func withoutLossTheStatusIsZero() async throws {
        let outcome = try await outcome { _ in }
        #expect(outcome.status == .done && outcome.losses == [])
    }

    @Test func picturesThatTheEncoderCouldNotRead() async throws {
        let outcome = try await outcome { $0.statistics.lostFrames = 2 }
        #expect(outcome.status == .damagedInput)
        #expect(outcome.losses == ["2 frames lost because a GPU failed"])
        let document = try JSONSerialization.jsonObject(with: Data(outcome.document.text.utf8)) as? [String: Any]
        #expect(document?["status"] as? String == "damaged-input" && document?["exitStatus"] as? Int == 3)
        #expect((document?["frames"] as? [String: Int])?["lost"] == 2)
    }

    @Test func picturesThatCouldNotBeDecodedAgain() async throws {
        let outcome = try await outcome { report in
            var statistics = DecompressionStatistics()
            statistics.lostFrames = 1
            report.decoding.statistics = statistics
        }
        #expect(outcome.status == .damagedInput)
        #expect(outcome.losses == ["1 frame lost because a GPU failed"])
        let document = try JSONSerialization.jsonObject(with: Data(outcome.document.text.utf8)) as? [String: Any]
        #expect((document?["decoder"] as? [String: Any])?["lostPictures"] as? Int == 1)
        #expect((document?["frames"] as? [String: Int])?["lost"] == 0)
    }

    @Test func anInterruptionTakesPrecedence() async throws {
        let outcome = try await outcome(interrupted: true) { $0.statistics.lostFrames = 1 }
        #expect(outcome.status == .interrupted)
    }
}
