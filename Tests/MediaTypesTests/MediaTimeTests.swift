// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import Testing

@Suite struct MediaTimeTests {
    @Test func equalTimesOfDifferentTimescalesAreEqualAndHashAlike() {
        let half = MediaTime(value: 1, timescale: 2)
        let same = MediaTime(value: 45000, timescale: 90000)
        #expect(half == same)
        #expect(Set([half, same]).count == 1)
        #expect(MediaTime(value: 1001, timescale: 30000) < MediaTime(value: 1, timescale: 29))
    }

    @Test func comparisonIsExactWhereDoublesAreNot() {
        let large = MediaTime(value: .max, timescale: 90000)
        let smaller = MediaTime(value: .max - 1, timescale: 90000)
        #expect(large.seconds == smaller.seconds)
        #expect(smaller < large)
        #expect(large != smaller)
    }

    @Test(arguments: [
        (MediaTime.Rounding.nearest, Int64(2), Int64(-2)), (.down, 1, -2), (.up, 2, -1),
    ])
    func conversionRoundsAsStated(rounding: MediaTime.Rounding, positive: Int64, negative: Int64) {
        let time = MediaTime(value: 3, timescale: 2)
        let minus = MediaTime(value: -3, timescale: 2)
        #expect(time.converted(to: 1, rounding: rounding).value == positive)
        #expect(minus.converted(to: 1, rounding: rounding).value == negative)
    }

    @Test func sumsAreExactInTheCommonTimescale() {
        let sum = MediaTime(value: 1, timescale: 3) + MediaTime(value: 1, timescale: 4)
        #expect(sum.value == 7)
        #expect(sum.timescale == 12)
        let difference = MediaTime(value: 1, timescale: 4) - MediaTime(value: 1, timescale: 3)
        #expect(difference == MediaTime(value: -1, timescale: 12))
    }

    @Test func sumsBeyondTheTimescaleRangeRoundToTheLargerTimescale() {
        let left = MediaTime(value: 1, timescale: .max)
        let right = MediaTime(value: 1, timescale: .max - 1)
        let sum = left + right
        #expect(sum.timescale == .max)
        #expect(sum.value == 2)
    }

    @Test func overflowAndInvalidOperandsGiveInvalid() {
        let large = MediaTime(value: .max, timescale: 1)
        #expect(!(large + large).isValid)
        #expect(!(large * 2).isValid)
        #expect(!large.converted(to: 2).isValid)
        #expect(!(MediaTime.invalid + .zero).isValid)
        #expect(!MediaTime(value: 1, timescale: -5).isValid)
        #expect(!MediaTime.zero.converted(to: 0).isValid)
        #expect((MediaTime(value: .min, timescale: 1) * -1) == .invalid)
        #expect(MediaTime(seconds: .nan, preferredTimescale: 600) == .invalid)
        #expect(MediaTime(seconds: 1e300, preferredTimescale: 600) == .invalid)
    }

    @Test func invalidTimesSortLast() {
        let times = [MediaTime.invalid, .zero, MediaTime(value: -1, timescale: 1)].sorted()
        #expect(times.map(\.isValid) == [true, true, false])
    }

    @Test func rationalsReduceAndFallBackToMicroseconds() {
        #expect(MediaTime.rational(3, numerator: 1001, denominator: 30000) == MediaTime(value: 3003, timescale: 30000))
        let large = MediaTime.rational(1, numerator: 1, denominator: 3_000_000_007)
        #expect(large == MediaTime(value: 0, timescale: 1_000_000))
        #expect(MediaTime.rational(5, numerator: 2, denominator: -10) == MediaTime(value: -1, timescale: 1))
        #expect(MediaTime.rational(1, numerator: 1, denominator: 0) == .invalid)
    }

    @Test(arguments: [Int64.min, -1, 0, 1, .max])
    func rationalsOfHugeNumbersAreRightOrInvalid(ticks: Int64) {
        for numerator in [Int64.min, -3, 0, 1, .max] {
            for denominator in [Int64.min, -1, 3, 3_000_000_007, .max] {
                let time = MediaTime.rational(ticks, numerator: numerator, denominator: denominator)
                let exact = Double(ticks) * Double(numerator) / Double(denominator)
                if time.isValid {
                    #expect(abs(time.seconds - exact) <= abs(exact) * 1e-9 + 1e-6)
                } else {
                    #expect(abs(exact) > 9e12)
                }
            }
        }
        #expect(MediaTime.rational(.max, numerator: .max, denominator: .max - 1) == .invalid)
    }

    @Test func additionUndoesSubtractionForRandomTimes() {
        var generator = SystemRandomNumberGenerator()
        let timescales: [Int32] = [1, 25, 600, 30000, 90000, 1_000_000]
        for _ in 0..<1000 {
            let left = MediaTime(
                value: .random(in: -1_000_000_000...1_000_000_000, using: &generator),
                timescale: timescales.randomElement(using: &generator) ?? 1
            )
            let right = MediaTime(
                value: .random(in: -1_000_000_000...1_000_000_000, using: &generator),
                timescale: timescales.randomElement(using: &generator) ?? 1
            )
            #expect((left - right) + right == left)
            #expect((left < right) == (left - right < .zero))
        }
    }
}
