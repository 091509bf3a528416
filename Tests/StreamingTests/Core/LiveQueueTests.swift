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
        queue.add(LiveUnits.audio(1130), at: 1.13)
        queue.add(LiveUnits.picture(1160, isKeyFrame: true), at: 1.16)
        #expect(labels(queue) == ["K0", "A50", "A1100", "A1130", "K1160"])
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
    ///
    /// After the first key frame of a connection, sound is dropped only with everything else, when the queue is too old.
    @Test(arguments: 0..<200) func noPictureFollowsAGap(seed: Int) {
        var random = SplitMix(UInt64(seed))
        var stream = Stream()
        var queue = LiveQueue(hasVideo: true, limits: limits)
        var (now, latest, received) = (0.0, -1, 0)
        // The group that the receiver has, and its number of reference pictures.
        var (group, references) = (-1, 0)
        var hasKeyFrame = false
        queue.open(at: 0)
        for _ in 0..<2000 {
            now += Double.random(in: 0...0.1, using: &random)
            let (drops, age) = (queue.drops.audio, queue.age(at: now))
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<4:
                let unit = stream.picture(isReference: !random.isOne(of: 3))
                queue.add(unit, at: now)
                hasKeyFrame = hasKeyFrame || unit.isKeyFrame
            case 4..<6: queue.add(stream.sound(), at: now)
            case 6 where random.isOne(of: 20):
                queue.close()
                queue.open(at: now)
                (hasKeyFrame, group) = (false, -1)
                continue
            case 7 where seed % 3 == 0, 8 where seed % 3 == 0, 9 where seed % 6 == 0: continue
            default:
                guard let unit = queue.next() else { continue }
                received += 1
                let time = Int(unit.decodeTime.converted(to: 1000).value)
                #expect(time > latest)
                latest = time
                guard let needs = stream.needs[time] else {
                    #expect(group >= 0, "sound came before the first key frame")
                    continue
                }
                if unit.isKeyFrame { (group, references) = (needs.group, 0) }
                #expect(group == needs.group)
                #expect(references == needs.references, "picture \(time) lacks a reference")
                if needs.isReference { references += 1 }
            }
            if queue.drops.audio != drops { #expect(!hasKeyFrame || age > limits.oldest) }
        }
        #expect(received > 50)
    }

    /// A stream of groups of 50 pictures, with sound, and what each picture needs.
    private struct Stream {
        var needs: [Int: (group: Int, references: Int, isReference: Bool)] = [:]
        private var (number, pictures, references) = (0, 0, 0)

        mutating func picture(isReference: Bool) -> LiveUnit {
            let isKeyFrame = pictures % 50 == 0
            if isKeyFrame { references = 0 }
            let isReference = isReference || isKeyFrame
            needs[number] = (pictures / 50, references, isReference)
            if isReference { references += 1 }
            defer { (number, pictures) = (number + 1, pictures + 1) }
            return LiveUnits.picture(Int64(number), isKeyFrame: isKeyFrame, isReference: isReference)
        }

        mutating func sound() -> LiveUnit {
            defer { number += 1 }
            return LiveUnits.audio(Int64(number))
        }
    }
}
