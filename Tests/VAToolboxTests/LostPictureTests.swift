// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import TestSupport
import Testing

@testable import VAToolbox

/// Pictures on a GPU that are lost with its driver: their frames fail, and not the encoders.
@Suite(.timeLimit(.minutes(60)), .usesHelpers) struct LostPictureTests {
    private final class LostSurface: DeviceSurface {
        let device = "/dev/dri/renderD128"
        var isReadable: Bool { true }
        func copy(_ picture: PixelBuffer.Description) throws(MediaError) -> PixelBuffer {
            throw MediaError(.pictureLost, "a test has lost it")
        }
    }

    struct Run: Sendable, CustomTestStringConvertible {
        var shape: Shape
        var lost: Set<Int>
        /// Whether the encoder fails in between.
        var fails = false
        var testDescription: String { "\(shape), lost \(lost.sorted())\(fails ? ", and a failure" : "")" }

        static let all = Shape.all.flatMap { shape in
            [
                Run(shape: shape, lost: [5]), Run(shape: shape, lost: [0, 1, 7, 8, 9, 19]),
                Run(shape: shape, lost: Set(0..<20)), Run(shape: shape, lost: [0, 3, 10, 11, 12], fails: true),
            ]
        }
    }

    /// A picture of another size, which has to be read in any case.
    private func lostPicture() throws -> PixelBuffer {
        try PixelBuffer(.init(format: .nv12, width: 32, height: 32), surface: LostSurface())
    }

    @Test(arguments: Run.all) func theirFramesAreEmptyAndTheEncoderIsKept(run: Run) async throws {
        let rig = try await SessionRig(
            run.shape,
            [{ attempt in run.shape.with { if run.fails, attempt == 0 { $0.steps = [6: .fail] } } }]
        )
        let consumer = rig.consume()
        for index in 0..<20 {
            let (time, duration) = run.shape.time(index)
            try await rig.session.encode(
                try run.lost.contains(index) ? lostPicture() : rig.bank.make(),
                presentationTime: time,
                duration: duration,
                token: index
            )
        }
        try await rig.session.finish()
        let consumed = await consumer.value
        #expect(consumed.error == nil)
        let shown = consumed.samples.sorted { $0.presentationTime < $1.presentationTime }
        #expect(shown.map { $0.token as? Int } == Array(0..<20))
        #expect(Set(shown.filter(\.isDropped).compactMap { $0.token as? Int }) == run.lost)
        for sample in shown where !sample.isDropped {
            #expect(CodedPayload(sample)?.number == Int64(sample.token as? Int ?? -1))
        }
        #expect(consumed.samples.allSatisfy { $0.decodeTime <= $0.presentationTime })
        #expect(zip(consumed.samples, consumed.samples.dropFirst()).allSatisfy { $0.decodeTime < $1.decodeTime })
        let told = await rig.events().compactMap { event -> Int? in
            if case .frameLost(_, let token, let error) = event, error.code == .pictureLost {
                token as? Int
            } else {
                nil
            }
        }
        #expect(told.count == run.lost.count && Set(told) == run.lost)
        let statistics = await rig.session.statistics
        #expect(statistics.lostFrames == run.lost.count)
        #expect(statistics.failedEncoders == (run.fails ? 1 : 0))
        #expect(rig.bank.areAllBack)
    }

    /// A frame that must become a key frame leaves that to the next one that is accepted.
    @Test func aLostKeyFrameIsMadeUpFor() async throws {
        let rig = try await SessionRig(Shape(reorderDepth: 0, isVariable: false), [{ _ in InstanceScript() }])
        let consumer = rig.consume()
        try await rig.encode(0)
        let (time, duration) = rig.shape.time(1)
        try await rig.session.encode(
            lostPicture(),
            presentationTime: time,
            duration: duration,
            options: FrameOptions(forceKeyFrame: true)
        )
        try await eventually { await rig.session.statistics.lostFrames == 1 }
        _ = try await rig.encode(2..<4)
        try await rig.session.finish()
        let keys = await consumer.value.samples.map(\.isKeyFrame)
        #expect(keys[2] && !keys[3])
    }
}
