// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTimeline
import Testing

@Suite struct DiscontinuitiesTests {
    @Test func jumpsAreClosedForAllTracksAlike() {
        var jumps = Discontinuities()
        let second: Int64 = 1_000_000
        _ = jumps.note(track: 0, decodeTime: 100 * second, duration: second)
        _ = jumps.note(track: 1, decodeTime: 100 * second, duration: second)
        _ = jumps.note(track: 0, decodeTime: 105 * second, duration: second)
        #expect(jumps.shift == 0)
        _ = jumps.note(track: 0, decodeTime: 3 * second, duration: second)
        #expect(jumps.shift == 103 * second)
        _ = jumps.note(track: 1, decodeTime: 3 * second, duration: second)
        #expect(jumps.shift == 103 * second)
        #expect(jumps.count == 1)
        _ = jumps.note(track: 0, decodeTime: .min + 1, duration: .max)
        #expect(jumps.count == 1)
    }

    @Test func stepsBackAreJumpsAndLatePacketsKeepTheirClock() {
        var jumps = Discontinuities()
        let tenth: Int64 = 100_000
        func note(_ track: Int, _ tenths: Int64) -> Int64 {
            jumps.note(track: track, decodeTime: tenths * tenth, duration: tenth) / tenth
        }
        #expect((0..<10).map { note(0, $0) } == Array(repeating: 0, count: 10))
        #expect((0..<9).map { note(1, $0) } == Array(repeating: 0, count: 9))
        // A pause and a little disorder are none.
        #expect(note(0, 60) == 0)
        #expect(note(0, 59) == 0)
        #expect(note(0, 0) == 60)
        // Of before the jump, read after it.
        #expect(note(1, 59) == 0)
        #expect(note(1, 0) == 60)
        #expect(jumps.count == 1)
    }
    /// A gap at the end of the clock's period stays, and a jump there is still one.
    @Test(arguments: [1, -1])
    func clocksWithFewBitsFallBack(direction: Int64) {
        let (period, second): (Int64, Int64) = (95_443_717_689, 1_000_000)
        var jumps = Discontinuities(period: period)
        #expect(jumps.note(track: 0, decodeTime: 100 * second, duration: second) == 0)
        #expect(jumps.note(track: 1, decodeTime: 100 * second, duration: second) == 0)
        // Four seconds are missing.
        let later = 105 * second - direction * period
        #expect(jumps.note(track: 0, decodeTime: later, duration: second) == direction * period)
        #expect(jumps.count == 0 && jumps.shift == direction * period)
        // Of before, read after it.
        #expect(jumps.note(track: 1, decodeTime: 101 * second, duration: second) == 0)
        #expect(jumps.note(track: 1, decodeTime: later - second, duration: second) == direction * period)
        #expect(jumps.note(track: 0, decodeTime: later + 50 * second, duration: second) != direction * period)
        #expect(jumps.count == 1)
        var plain = Discontinuities()
        _ = plain.note(track: 0, decodeTime: 100 * second, duration: second)
        #expect(plain.note(track: 0, decodeTime: later, duration: second) == 101 * second - later)
    }
}
