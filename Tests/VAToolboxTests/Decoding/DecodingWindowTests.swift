// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import Testing

@testable import VAToolbox

@Suite struct DecodingWindowTests {
    private func window(_ stream: ModelStream, mostBytes: Int = .max) -> DecodingWindow {
        var window = DecodingWindow(mostBytes: mostBytes)
        for sample in stream.samples {
            let number = window.add(sample)
            window.accepted(number)
        }
        return window
    }

    @Test func itBeginsAtTheLastPointFromWhichAllThatIsMissingCanBeDecoded() {
        var stream = ModelStream()
        stream.add(.closed)
        stream.add(.none)
        stream.add(.open, leading: 2)
        stream.add(.none)
        stream.add(.closed)
        var window = window(stream)
        #expect(window.restart == 0)
        _ = window.returned(0)
        _ = window.returned(1)
        // The two pictures before the open point in presentation order refer to the group before it.
        #expect(window.restart == 0)
        _ = window.returned(3)
        #expect(window.restart == 0)
        _ = window.returned(4)
        #expect(window.restart == 2)
        _ = window.returned(2)
        #expect(window.restart == 2)
        _ = window.returned(5)
        #expect(window.restart == 6)
        #expect(window.entries.map(\.number) == [6])
        #expect(!window.isSettled)
        _ = window.returned(6)
        #expect(window.isSettled)
    }

    @Test func whatIsOvertakenDoesNotComeAnyMore() {
        var stream = ModelStream()
        stream.add(.closed)
        stream.add(.none, leading: 2)
        stream.add(.closed)
        var window = window(stream)
        // Pictures come in presentation order, which is 0, 2, 3, 1, 4.
        #expect(window.returned(2).missing.map(\.number) == [0])
        #expect(window.returned(4).missing.map(\.number) == [1, 3])
        #expect(window.isSettled)
    }

    /// The decode times of a broken file in place of its presentation times: the decoder's order is right.
    @Test func wrongTimesLoseNothing() {
        var stream = ModelStream()
        stream.add(.closed)
        for _ in 0..<4 { stream.add(.none) }
        var window = window(stream)
        let order: [Int64] = [0, 2, 3, 1, 4]
        let returned = order.map { window.returned($0) }
        #expect(returned.map { $0.entry?.number } == order)
        #expect(returned.map(\.wasMissing) == [false, false, false, true, false])
        #expect(window.returned(1).entry == nil)
    }

    @Test func unusableSamplesTakeNoRoom() {
        var window = DecodingWindow(mostBytes: .max)
        var stream = ModelStream()
        stream.add(.closed)
        window.accepted(window.add(stream.samples[0]))
        _ = window.returned(0)
        for _ in 0..<10_000 { window.addUnusable(stream.samples[0]) }
        #expect(window.entries.count == 2 && window.isSettled)
        let number = window.add(stream.samples[0])
        window.accepted(number)
        #expect(!window.returned(number).isDamaged)
        #expect(window.entries.count == 1)
    }

    @Test func timesThatBeginAgainAtAnIDRPictureOvertakeNothingAfterIt() {
        var first = ModelStream()
        first.add(.closed)
        first.add(.none)
        var second = ModelStream()
        second.add(.closed)
        var window = DecodingWindow(mostBytes: .max)
        for sample in first.samples + second.samples { window.accepted(window.add(sample)) }
        #expect(window.returned(1).missing.map(\.number) == [0])
        #expect(window.returned(2).entry?.number == 2)
    }

    @Test func decodingAgainReturnsNothingTwice() {
        var stream = ModelStream()
        stream.add(.closed)
        for _ in 0..<3 { stream.add(.none) }
        var window = window(stream)
        _ = window.returned(0)
        _ = window.returned(1)
        #expect(window.begin(at: window.restart).isEmpty)
        #expect(window.submitted == -1 && window.next?.number == 0)
        #expect(window.returned(0).entry == nil)
        #expect(window.returned(1).entry == nil)
        #expect(window.returned(2).entry?.number == 2)
    }

    @Test func intraRefreshRecoversAfterItsDistance() {
        var stream = ModelStream()
        stream.add(.closed)
        for _ in 0..<2 { stream.add(.none) }
        stream.add(.gradual(distance: 2))
        for _ in 0..<4 { stream.add(.none) }
        var window = window(stream)
        window.noteDamage(from: 1)
        let damaged = (0..<8).map { window.returned($0).isDamaged }
        #expect(damaged == [false, true, true, true, true, false, false, false])
    }

    @Test func damageBeforeAndAfterARandomAccessPointIsKeptApart() {
        var stream = ModelStream()
        for _ in 0..<2 {
            stream.add(.closed)
            stream.add(.none)
            stream.add(.none)
        }
        var window = window(stream)
        window.noteDamage(from: 5)
        window.noteDamage(from: 1)
        let damaged = (0..<6).map { window.returned($0).isDamaged }
        #expect(damaged == [false, true, true, false, false, true])
    }

    @Test func damageToWhatLeadsAnOpenPointEndsWithThePoint() {
        var stream = ModelStream()
        stream.add(.closed)
        stream.add(.open, leading: 2)
        stream.add(.none)
        var window = window(stream)
        // The first of the leading pictures, in both orders.
        window.noteDamage(from: 2)
        let damaged = [0, 2, 3, 1, 4].map { window.returned($0).isDamaged }
        #expect(damaged == [false, true, true, false, false])
    }

    @Test func releasedSamplesAreLostAndDecodingBeginsAtTheNextPoint() {
        var stream = ModelStream()
        stream.add(.closed)
        for _ in 0..<4 { stream.add(.none) }
        stream.add(.gradual(distance: 1))
        stream.add(.none)
        var window = window(stream, mostBytes: 30)
        window.releaseExcess()
        #expect(window.byteCount <= 30)
        #expect(window.restart == 5)
        #expect(window.begin(at: window.restart).map(\.number) == [0, 1, 2, 3, 4])
        #expect(window.entries.map(\.number) == [5, 6])
        #expect(window.returned(5).isDamaged)
        #expect(!window.returned(6).isDamaged)
    }

    @Test func aLongStreamWithoutRandomAccessPointsTakesNoMoreThanItsLimit() {
        var stream = ModelStream()
        stream.add(.closed)
        for _ in 0..<5_000 { stream.add(.none) }
        var window = DecodingWindow(mostBytes: 1_000)
        for sample in stream.samples {
            let number = window.add(sample)
            window.accepted(number)
            _ = window.returned(number)
            window.releaseExcess()
            #expect(window.byteCount <= 1_000 && window.entries.count <= 200)
        }
    }
}
