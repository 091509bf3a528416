// SPDX-License-Identifier: GPL-2.0-or-later

import Testing

@testable import Capture

/// The time of frames, by reports of a server, in numbers.
@Suite(.blocks) struct PulseTimingTests {
    private let rate: Int64 = 48000
    private let second: Int64 = 1_000_000_000

    /// A report every 100 ms whose lateness varies by 20 ms.
    private func report(_ index: Int64, late: Int64 = 0, position shift: Int64 = 0, _ timing: inout PulseTiming)
        -> Int64
    {
        let time = index * second / 10 + late + [20, 3, 11, 0, 7][Int(index % 5)] * 1_000_000
        timing.note(position: index * rate / 10 + shift, captured: time)
        return timing.advance(to: index * rate / 10 + shift)
    }

    @Test func theLeastDelayedReportCounts() {
        var timing = PulseTiming(sampleRate: 48000)
        #expect(!timing.isKnown)
        #expect(timing.time(of: 0) == nil)
        for index in 1...40 as ClosedRange<Int64> {
            let lost = report(index, &timing)
            #expect(lost == 0)
            if index > 3 { #expect(timing.time(of: index * rate / 10 + 480) == index * second / 10 + second / 100) }
        }
    }

    /// A device that is slower by 300 ppm is followed within a millisecond, for an hour.
    @Test func driftIsFollowed() {
        var timing = PulseTiming(sampleRate: 48000)
        var largest: Int64 = 0
        for index in 1...36_000 as ClosedRange<Int64> {
            let time = index * second / 10 + index * 30_000
            timing.note(position: index * rate / 10, captured: time)
            guard timing.advance(to: index * rate / 10) == 0 else {
                Issue.record("a loss at \(index)")
                return
            }
            largest = max(largest, abs((timing.time(of: index * rate / 10) ?? 0) - time))
        }
        #expect(largest < 1_000_000)
    }

    /// A loss is noticed once, after four reports; a single late report is none.
    @Test func lossesAreCounted() {
        var timing = PulseTiming(sampleRate: 48000)
        var lost: [Int64] = []
        for index in 1...20 as ClosedRange<Int64> {
            lost.append(report(index, late: index == 10 ? second : 0, &timing))
        }
        #expect(lost.allSatisfy { $0 == 0 })
        lost = []
        for index in 21...40 as ClosedRange<Int64> { lost.append(report(index, late: second / 2, &timing)) }
        let total = lost.reduce(0, +)
        #expect(lost.filter { $0 != 0 }.count == 1)
        #expect(abs(total - 24000) < 960)
        #expect((timing.time(of: 4 * rate) ?? 0) - 4 * second - second / 2 == 0)
    }

    /// After an interruption, the first report shows how long it was.
    @Test func interruptionsAreMeasuredAtOnce() {
        var timing = PulseTiming(sampleRate: 48000)
        for index in 1...10 as ClosedRange<Int64> { _ = report(index, &timing) }
        timing.interrupt()
        #expect(!timing.isKnown)
        timing.interrupt()
        let lost = report(13, late: 2 * second, &timing)
        #expect(lost == 2 * rate)
        #expect(timing.isKnown)
    }

    /// A report about sound that is still queued waits for it.
    @Test func reportsWaitForTheirFrames() {
        var timing = PulseTiming(sampleRate: 48000)
        _ = report(1, &timing)
        timing.interrupt()
        timing.note(position: 100_000, captured: 3 * second)
        #expect(timing.advance(to: 10) > 0)
        let known = timing.time(of: 0)
        timing.note(position: 200_000, captured: 3 * second)
        #expect(timing.advance(to: 199_999) == 0)
        #expect(timing.time(of: 0) == known)
        #expect(timing.advance(to: 200_000) == 0)
        #expect((timing.time(of: 0) ?? 0) < known ?? 0)
    }
}
