// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import Streaming
import TestSupport
import Testing

/// What a queue keeps and drops.
@Suite struct LiveQueueTests {
    private var limits: LiveQueue.Limits {
        var limits = LiveQueue.Limits()
        (limits.age, limits.oldest) = (1, 4)
        return limits
    }

    private func labels(_ queue: LiveQueue) -> [String] {
        var (queue, labels) = (queue, [String]())
        while let unit = queue.next() { labels.append(unit.label) }
        return labels
    }

    @Test func theBeginningWaitsForTheFirstConnection() {
        var queue = LiveQueue(hasVideo: true, limits: limits)
        queue.add(LiveUnits.audio(0), at: 0)
        queue.add(LiveUnits.picture(0, isKeyFrame: true), at: 0)
        for time in 1...3 { queue.add(LiveUnits.picture(Int64(time * 1000)), at: Double(time)) }
        queue.open(at: 3.5)
        #expect(labels(queue) == ["K0", "P1000", "P2000", "P3000"])
        #expect(queue.age(at: 3.5) == 0)
        #expect(queue.drops.audio == [.beforeKeyFrame: 1])
    }

    @Test func aLongFirstAttemptBeginsWithALaterKeyFrame() {
        var queue = LiveQueue(hasVideo: true, limits: limits)
        queue.add(LiveUnits.picture(0, isKeyFrame: true), at: 0)
        queue.add(LiveUnits.picture(5000), at: 5)
        #expect(queue.count == 0)
        #expect(queue.needsKeyFrame)
        #expect(queue.drops.pictures == [.age: 2])
    }

    @Test func nothingIsKeptWithoutAConnection() {
        var queue = LiveQueue(hasVideo: true, limits: limits)
        queue.open(at: 0)
        queue.add(LiveUnits.picture(0, isKeyFrame: true), at: 0)
        queue.close()
        queue.add(LiveUnits.picture(40, isKeyFrame: true), at: 0.04)
        #expect(queue.count == 0)
        #expect(queue.byteCount == 0)
        #expect(queue.drops.pictures == [.disconnected: 2])
    }

    @Test func anotherConnectionBeginsWithAKeyFrame() {
        var queue = LiveQueue(hasVideo: true, limits: limits)
        queue.open(at: 0)
        queue.close()
        queue.open(at: 1)
        #expect(queue.needsKeyFrame)
        queue.add(LiveUnits.picture(1000), at: 1)
        queue.add(LiveUnits.audio(1000), at: 1)
        queue.add(LiveUnits.picture(1040, isKeyFrame: true), at: 1.04)
        queue.add(LiveUnits.audio(1040), at: 1.04)
        #expect(!queue.needsKeyFrame)
        #expect(labels(queue) == ["K1040", "A1040"])
    }

    @Test func picturesThatNobodyNeedsAreDroppedFirst() {
        var queue = LiveQueue(hasVideo: true, limits: limits)
        queue.open(at: 0)
        queue.add(LiveUnits.picture(0, isKeyFrame: true), at: 0)
        queue.add(LiveUnits.picture(40, isReference: false), at: 0.04)
        queue.add(LiveUnits.audio(40), at: 0.04)
        queue.add(LiveUnits.picture(900), at: 0.9)
        queue.add(LiveUnits.picture(1020), at: 1.02)
        #expect(labels(queue) == ["K0", "A40", "P900", "P1020"])
        #expect(queue.drops.pictures == [.age: 1])
        #expect(!queue.needsKeyFrame)
    }

    @Test func theRestOfAGroupIsDroppedAndSoundStays() {
        var queue = LiveQueue(hasVideo: true, limits: limits)
        queue.open(at: 0)
        queue.add(LiveUnits.picture(0, isKeyFrame: true), at: 0)
        queue.add(LiveUnits.picture(40), at: 0.04)
        queue.add(LiveUnits.audio(50), at: 0.05)
        queue.add(LiveUnits.picture(80), at: 0.08)
        queue.add(LiveUnits.audio(1100), at: 1.1)
        #expect(labels(queue) == ["K0", "A50", "A1100"])
        #expect(queue.needsKeyFrame)
        queue.add(LiveUnits.picture(1120), at: 1.12)
        queue.add(LiveUnits.picture(1160, isKeyFrame: true), at: 1.16)
        #expect(labels(queue) == ["K0", "A50", "A1100", "K1160"])
        #expect(queue.drops.pictures == [.age: 2, .beforeKeyFrame: 1])
        #expect(queue.drops.audio.isEmpty)
    }

    @Test func onlyPicturesUpToTheNextKeyFrameAreDropped() {
        var queue = LiveQueue(hasVideo: true, limits: limits)
        queue.open(at: 0)
        queue.add(LiveUnits.picture(0, isKeyFrame: true), at: 0)
        _ = queue.next()
        queue.add(LiveUnits.picture(40), at: 0.04)
        queue.add(LiveUnits.picture(500, isKeyFrame: true), at: 0.5)
        queue.add(LiveUnits.picture(540), at: 0.54)
        queue.add(LiveUnits.picture(1100), at: 1.1)
        #expect(labels(queue) == ["K500", "P540", "P1100"])
        #expect(!queue.needsKeyFrame)
    }

    @Test func everythingThatIsTooOldIsDropped() {
        var queue = LiveQueue(hasVideo: true, limits: limits)
        queue.open(at: 0)
        queue.add(LiveUnits.picture(0, isKeyFrame: true), at: 0)
        queue.add(LiveUnits.audio(0), at: 0)
        queue.add(LiveUnits.audio(5000), at: 5)
        #expect(queue.count == 0)
        #expect(queue.needsKeyFrame)
        #expect(queue.byteCount == 0)
    }

    @Test func memoryIsBounded() {
        var limits = limits
        limits.byteCount = 1000
        var queue = LiveQueue(hasVideo: false, limits: limits)
        queue.open(at: 0)
        for time in 0..<1000 { queue.add(LiveUnits.audio(Int64(time)), at: 0) }
        #expect(queue.byteCount <= 1000)
        #expect(!queue.needsKeyFrame)
    }

    /// Whatever happens, a receiver never gets a picture whose references are missing, and times never go back.
    @Test(arguments: 0..<200) func noPictureFollowsAGap(seed: Int) {
        var random = SplitMix(UInt64(seed))
        var queue = LiveQueue(hasVideo: true, limits: limits)
        var (now, number, isIntact, latest) = (0.0, 0, false, -1)
        // The pictures of the present group that the receiver has, by their numbers.
        var expected = 0
        queue.open(at: 0)
        for _ in 0..<2000 {
            now += Double.random(in: 0...0.1, using: &random)
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<6:
                queue.add(LiveUnits.picture(Int64(number), isKeyFrame: number % 50 == 0), at: now)
                number += 1
            case 6 where Int.random(in: 0..<20, using: &random) == 0:
                queue.close()
                queue.open(at: now)
                isIntact = false
            default:
                guard let unit = queue.next() else { continue }
                let time = Int(unit.decodeTime.converted(to: 1000).value)
                #expect(time > latest)
                latest = time
                if unit.isKeyFrame { (isIntact, expected) = (true, time) }
                #expect(isIntact)
                #expect(time == expected, "picture \(time) came where \(expected) was expected")
                expected += 1
            }
        }
    }
}
