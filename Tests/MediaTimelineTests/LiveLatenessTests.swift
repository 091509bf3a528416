// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTimeline
import MediaTypes
import Testing

/// When the times of a live input jump.
@Suite struct LiveLatenessTests {
    private func time(_ milliseconds: Int) -> MediaTime { MediaTime(value: Int64(milliseconds), timescale: 1000) }

    /// Passes on items, 25 a second from zero on, with the lateness of each.
    ///
    /// - Returns: The times of the jumps, and their lengths, in milliseconds.
    private func jumps(seconds: Int, lateness: (Int) -> Int) -> [[Int]] {
        var (decision, shift, jumps) = (LiveLateness(), 0, [[Int]]())
        for now in stride(from: 0, to: seconds * 1000, by: 40) {
            guard let jump = decision.shift(for: time(now - lateness(now) + shift), at: time(now)) else { continue }
            let length = Int(jump.converted(to: 1000).value)
            shift += length
            jumps.append([now, length])
        }
        return jumps
    }

    @Test(arguments: [-10_000, 0, 1000]) func whatIsNotVeryLateStays(lateness: Int) {
        #expect(jumps(seconds: 60) { _ in lateness }.isEmpty)
    }

    /// After a stall of 5 s, everything is 5 s late for ever: the times jump once.
    @Test func whatStaysLateJumpsOnce() {
        #expect(jumps(seconds: 60) { $0 < 10_000 ? 0 : 5000 } == [[12_000, 5000]])
    }

    /// What has waited arrives faster than real time.
    @Test func whatCatchesUpStays() {
        #expect(jumps(seconds: 60) { $0 < 10_000 ? 0 : max(5000 - ($0 - 10_000) * 3, 0) }.isEmpty)
    }

    @Test func oneItemInTimeIsEnough() {
        #expect(jumps(seconds: 60) { $0 % 2000 == 0 ? 0 : 5000 }.isEmpty)
    }

    /// The item that was least late sets the length, so that none comes too early.
    @Test func theLeastLatenessCounts() {
        #expect(jumps(seconds: 4) { 3000 + $0 % 400 } == [[2000, 3000]])
    }

    @Test func everyStallCounts() {
        #expect(
            jumps(seconds: 60) { $0 < 10_000 ? 0 : $0 < 30_000 ? 4000 : 9000 } == [[12_000, 4000], [32_000, 5000]]
        )
    }

    @Test func invalidTimesAreIgnored() {
        var decision = LiveLateness()
        for now in 0..<10_000 where now % 40 == 0 {
            #expect(decision.shift(for: .invalid, at: time(now)) == nil)
            #expect(decision.shift(for: time(0), at: .invalid) == nil)
        }
    }
}
