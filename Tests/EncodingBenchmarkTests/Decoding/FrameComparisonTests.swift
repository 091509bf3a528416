// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import Testing

@testable import EncodingBenchmark

@Suite struct FrameComparisonTests {
    /// Frames of 25 per second, with their numbers as digests.
    private func frames(_ numbers: [Int]) -> [DecodedFrameRecord] {
        numbers.map { number in
            DecodedFrameRecord(presentationTime: time(number), digest: UInt64(number))
        }
    }

    private func time(_ number: Int) -> MediaTime { MediaTime(value: Int64(number), timescale: 25) }

    private let reference = Array(0..<5)

    private func comparison(
        of numbers: [Int],
        _ change: (inout [DecodedFrameRecord]) -> Void = { _ in }
    ) -> FrameComparison {
        var frames = frames(numbers)
        change(&frames)
        return FrameComparison(of: frames, with: self.frames(reference))
    }

    @Test func equalFramesAreEqual() {
        let comparison = comparison(of: reference)
        #expect(comparison.compared == 5 && comparison.differing == 0 && comparison.first == nil)
        #expect(FrameComparison(of: [], with: []).compared == 0)
    }

    @Test func theFirstOfOtherSamplesIsNamed() {
        let comparison = comparison(of: reference) { frames in
            frames[4].digest = 99
            frames[2].digest = 99
        }
        #expect(comparison.compared == 5 && comparison.differing == 2)
        #expect(comparison.first == .init(index: 2, presentationTime: time(2), kind: .samples))
    }

    @Test func missingAndSurplusFramesDiffer() {
        let missing = comparison(of: [0, 1, 2, 4])
        #expect(missing.compared == 4 && missing.differing == 1)
        #expect(missing.first == .init(index: 3, presentationTime: time(3), kind: .missing))
        let surplus = comparison(of: [0, 1, 2, 3, 4, 5])
        #expect(surplus.compared == 5 && surplus.differing == 1)
        #expect(surplus.first == .init(index: 5, presentationTime: time(5), kind: .surplus))
        #expect(comparison(of: []).differing == 5)
    }

    /// Another presentation time is a missing frame and a surplus one.
    @Test func timesBelongToFrames() {
        let comparison = comparison(of: reference) { $0[3].presentationTime = MediaTime(value: 13, timescale: 100) }
        #expect(comparison.compared == 4 && comparison.differing == 2)
        #expect(comparison.first?.index == 3)
    }

    @Test func theOrderCounts() {
        let comparison = comparison(of: [0, 2, 1, 3, 4])
        #expect(comparison.differing == 1)
        #expect(comparison.first == .init(index: 2, presentationTime: time(2), kind: .order))
    }

    @Test func framesAtTheSameTimeArePairedInTheirOrder() {
        let twice = frames([0, 1, 1, 2])
        #expect(FrameComparison(of: twice, with: twice).differing == 0)
        let once = FrameComparison(of: frames([0, 1, 2]), with: twice)
        #expect(once.first == .init(index: 2, presentationTime: time(1), kind: .missing))
        let untimed = [1, 2].map { DecodedFrameRecord(presentationTime: .invalid, digest: $0) }
        #expect(FrameComparison(of: untimed, with: untimed).compared == 2)
        #expect(FrameComparison(of: untimed.reversed(), with: untimed).differing == 2)
    }

    @Test func damagedFramesAreNotCompared() {
        var damaged = frames(reference)
        damaged[1].isDamaged = true
        // One decoder conceals damage, the other one returns no frame, or one of its own.
        for numbers in [[0, 1, 2, 3, 4], [0, 2, 3, 4]] {
            let comparison = FrameComparison(of: frames(numbers), with: damaged)
            #expect(comparison.compared == 4 && comparison.damaged == 1 && comparison.differing == 0)
        }
        let other = comparison(of: [0, 1, 2, 3, 4, 5]) { frames in
            (frames[3].isDamaged, frames[3].digest, frames[5].isDamaged) = (true, 99, true)
        }
        #expect(other.compared == 4 && other.damaged == 2 && other.differing == 0)
    }
}
