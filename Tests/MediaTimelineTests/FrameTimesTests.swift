// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTimeline
import Testing

@Suite struct FrameTimesTests {
    private func place(_ said: [Int64?], duration: Int64 = 40) -> (times: [Int64], repaired: Int) {
        var times = FrameTimes()
        return (said.map { times.place($0, duration: duration) }, times.repaired)
    }

    @Test func timesInOrderStay() {
        let (times, repaired) = place([-5, 0, 3, 1000])
        #expect(times == [-5, 0, 3, 1000])
        #expect(repaired == 0)
    }

    @Test func missingDuplicateAndBackwardTimesFollowTheFrameBefore() {
        #expect(place([0, nil, 80]).times == [0, 40, 80])
        #expect(place([0, 40, 40, 120]).times == [0, 40, 80, 120])
        #expect(place([1000, 0, 40, 80]).times == [1000, 1040, 1080, 1120])
        #expect(place([nil, nil, nil]).times == [0, 40, 80])
        #expect(place([nil, nil, nil]).repaired == 3)
        #expect(place([7, 7], duration: 0).times == [7, 8])
    }

    @Test func noiseDoesNotOverflow() {
        let (times, repaired) = place([.max, .max - 1, .min, .min + 1, FrameTimes.largest, .max], duration: .max)
        #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 })
        #expect(repaired == 5)
    }
}
