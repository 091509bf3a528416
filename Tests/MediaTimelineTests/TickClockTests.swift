// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTimeline
import MediaTypes
import Testing

@Suite struct TickClockTests {
    private func time(_ value: Int64, _ timescale: Int32) -> MediaTime { MediaTime(value: value, timescale: timescale) }

    @Test func wholeTicksAreNeverMoved() throws {
        var clock = TickClock(timescale: 90000, order: .increasing)
        for frame in Int64(0)..<1000 {
            let times = try clock.ticks(
                presentation: time(frame * 1001, 30000),
                decode: time(frame * 1001 - 2002, 30000)
            )
            #expect(times == (frame * 3003, frame * 3003 - 6006))
        }
    }

    @Test func timesThatFallTogetherAreMovedApartAndNeverBehindTheirPresentation() throws {
        // 1/3000 s is a third of a tick; after three frames time stands still long enough to catch up.
        var clock = TickClock(timescale: 1000, order: .increasing)
        var last = Int64.min
        for frame in [0, 1, 2, 12, 13, 14, 24] as [Int64] {
            let times = try clock.ticks(presentation: time(frame, 3000), decode: time(frame, 3000))
            #expect(times.dts > last)
            #expect(times.pts >= times.dts)
            #expect(abs(times.pts * 3 - frame) <= 6)
            last = times.dts
        }
        #expect(last == 8)
    }

    @Test func reorderedTimesKeepTheirOrderAfterRounding() throws {
        var clock = TickClock(timescale: 1000, order: .increasing)
        var last = Int64.min
        let presentations: [Int64] = [0, 3, 1, 2, 6, 4, 5]
        for (frame, presentation) in presentations.enumerated() {
            let times = try clock.ticks(
                presentation: time(presentation * 1001, 24000),
                decode: time((Int64(frame) - 1) * 1001, 24000)
            )
            #expect(times.pts == time(presentation * 1001, 24000).converted(to: 1000).value)
            #expect(times.dts > last && times.dts <= times.pts)
            last = times.dts
        }
    }

    @Test func timesThatMayBeEqualAreNotMoved() throws {
        var clock = TickClock(timescale: 1000, order: .nondecreasing)
        for frame in Int64(0)..<10000 {
            let times = try clock.ticks(presentation: time(frame, 5000), decode: time(frame, 5000))
            #expect(times.pts == time(frame, 5000).converted(to: 1000).value)
        }
    }

    @Test func timesThatGoBackAreRefused() throws {
        for order in [TickClock.Order.increasing, .nondecreasing] {
            var clock = TickClock(timescale: 90000, order: order)
            _ = try clock.ticks(presentation: time(10, 1), decode: time(10, 1))
            let error = #expect(throws: MediaError.self) {
                try clock.ticks(presentation: self.time(9, 1), decode: self.time(9, 1))
            }
            #expect(error?.code == .malformedData)
            // A refused time leaves the clock as it was.
            #expect(try clock.ticks(presentation: time(11, 1), decode: time(11, 1)) == (990_000, 990_000))
        }
    }

    @Test func framesCloserThanTicksAreRefusedOnceTheyDrift() throws {
        var clock = TickClock(timescale: 1000, order: .increasing)
        let error = #expect(throws: MediaError.self) {
            for frame in Int64(0)..<1000 {
                _ = try clock.ticks(presentation: self.time(frame, 100_000), decode: self.time(frame, 100_000))
            }
        }
        #expect(error?.code == .malformedData)
    }

    @Test(arguments: [Int64.max, Int64.min, Int64.min + 1, 1 << 51])
    func timesBeyondTheContainerAreRefused(value: Int64) throws {
        for timescale in [1, 1_000_000] as [Int32] {
            var clock = TickClock(timescale: 1_000_000, order: .increasing)
            let far = time(value, timescale)
            let error = #expect(throws: MediaError.self) { try clock.ticks(presentation: far, decode: far) }
            #expect(error?.code == .unsupported)
        }
        var clock = TickClock(timescale: 1000, order: .increasing)
        #expect(throws: MediaError.self) { try clock.ticks(presentation: .invalid, decode: .zero) }
    }

    @Test func stepsThatDoNotFitAreRefused() throws {
        var clock = TickClock(timescale: 1_000_000, order: .increasing, largestStep: Int64(Int32.max) - 1)
        _ = try clock.ticks(presentation: .zero, decode: .zero)
        let error = #expect(throws: MediaError.self) {
            try clock.ticks(presentation: self.time(3000, 1), decode: self.time(3000, 1))
        }
        #expect(error?.code == .unsupported)
        #expect(throws: MediaError.self) { try clock.ticks(presentation: self.time(3000, 1), decode: self.time(1, 1)) }
        #expect(try clock.ticks(presentation: time(2000, 1), decode: time(2000, 1)).dts == 2_000_000_000)
    }

    @Test(
        arguments: [
            ([25, 25, 25], 90000), ([30000, 30000, 1], 30000), ([24000, 1], 24000), ([1000, 1000], 90000),
            ([1, 1], 90000),
            ([2997, 2997], 2997), ([90000, 25], 90000), ([1_000_000_000], 1_000_000), ([48000, 44100], 1_000_000),
        ] as [([Int32], Int32)]
    )
    func timescales(of times: [Int32], expected: Int32) {
        #expect(TickClock.exactTimescale(of: times.map { MediaTime(value: 1, timescale: $0) }) == expected)
        #expect(TickClock.exactTimescale(of: [.invalid] + times.map { MediaTime(value: 1, timescale: $0) }) == expected)
    }

    /// Times of a source whose sound comes first are sums of both tracks' units.
    @Test func unitsThatNoTimeNeedsDoNotCount() {
        let times = [time(0, 44100), time(1001 * 147, 4_410_000), time(1, 30000)]
        #expect(TickClock.exactTimescale(of: times) == 990_000)
        // Of a variable rate the first times say little: the unit stays as it is while it fits.
        #expect(TickClock.exactTimescale(of: [time(0, 24000), time(1000, 24000)]) == 24000)
    }
}
