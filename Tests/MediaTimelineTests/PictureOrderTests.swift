// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTimeline
import Testing

@Suite struct PictureOrderTests {
    /// The presentation times of pictures with these counts; a sequence begins at each zero.
    private func times(_ counts: [Int], durations: [Int64]? = nil) -> [PictureOrder.Times] {
        var order = PictureOrder()
        var times: [PictureOrder.Times] = []
        for (index, count) in counts.enumerated() {
            let duration = durations?[index] ?? 2
            times += order.add(count: count, beginsSequence: count == 0, duration: duration)
        }
        return times + order.finish()
    }

    @Test func picturesAreShownInTheOrderOfTheirCounts() {
        let found = times([0, 8, 4, 2, 6, 0, 4, 2])
        #expect(found.map(\.presentation) == [0, 8, 4, 2, 6, 10, 14, 12])
        #expect(found.map(\.decode) == [0, 2, 4, 6, 8, 10, 12, 14])
    }

    @Test func countsBelowZeroPrecedeTheFirstPicture() {
        #expect(times([0, -4, -2, 4]).map(\.presentation) == [4, 0, 2, 6])
    }

    @Test func fieldsLastHalfAsLong() {
        let found = times([0, 1, 4, 2, 3], durations: [1, 1, 2, 1, 1])
        #expect(found.map(\.presentation) == [0, 1, 4, 2, 3])
        #expect(found.map(\.decode) == [0, 1, 2, 4, 5])
    }

    /// However long a sequence is, times come out after as many pictures as a decoder can hold.
    @Test func aLongSequenceIsNotHeld() {
        var order = PictureOrder()
        var (given, returned) = (0, 0)
        for index in 0..<1000 {
            returned += order.add(count: 2 * index, beginsSequence: index == 0, duration: 1).count
            given += 1
            #expect(given - returned <= PictureOrder.largestDepth)
        }
        #expect(order.finish().count == given - returned)
    }

    @Test(arguments: 0...3) func decodeTimesFollowTheOrderOfPresentation(depth: Int) {
        // Groups of as many reordered pictures.
        var shown: [Int64] = [0]
        for group in 0..<5 {
            let first = Int64(group * (depth + 1)) + 1
            shown.append((first + Int64(depth)) * 40)
            shown += (0..<depth).map { (first + Int64($0)) * 40 }
        }
        var times = DecodeTimes(depth: depth > 0 ? 1 : 0)
        var decode: [Int64] = []
        for time in shown { decode += times.add(time, duration: 40) }
        decode += times.finish()
        #expect(decode.count == shown.count)
        #expect(zip(decode, shown).allSatisfy { $0 <= $1 })
        #expect(zip(decode, decode.dropFirst()).allSatisfy { $0 < $1 })
        #expect(decode.first == (depth > 0 ? -40 : 0))
    }

    @Test func aShortTrackHasDecodeTimesToo() {
        var times = DecodeTimes(depth: 3)
        #expect(times.add(0).isEmpty)
        #expect(times.add(80).isEmpty)
        #expect(times.finish() == [-80, 0])
        #expect(times.finish().isEmpty)
        var none = DecodeTimes(depth: 2)
        #expect(none.finish().isEmpty)
    }

    @Test func timesOfADamagedFileDoNotTrap() {
        var times = DecodeTimes(depth: 2)
        let found = [Int64.max, .min + 1, .max, .min + 1].flatMap { times.add($0, duration: .max) }
        #expect(found.count == 4)
    }

    @Test func timesThatGoBackStillIncrease() {
        var times = DecodeTimes(depth: 0)
        #expect(times.add(100) + times.add(100) + times.add(50) == [100, 101, 102])
    }
}
