// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import Testing

@testable import VAToolbox

@Suite struct DecodeTimesTests {
    @Test func theFirstSamplesAreDecodedBeforeTheFirstPicture() {
        var times = DecodeTimes(depth: 2, frameRate: Rational(25))
        let group = (0..<5).map { MediaTime(value: Int64($0) * 40, timescale: 1000) }
        #expect(times.assign(presentationTimes: group).map(\.value) == [-80, -40, 0, 40, 80])
        let next = (5..<7).map { MediaTime(value: Int64($0) * 40, timescale: 1000) }
        #expect(times.assign(presentationTimes: next).map(\.value) == [120, 160])
    }

    @Test func coarseTimescalesStillGiveIncreasingTimes() {
        var times = DecodeTimes(depth: 1, frameRate: Rational(30))
        let group = [MediaTime(value: 7, timescale: 1), MediaTime(value: 8, timescale: 1)]
        #expect(times.assign(presentationTimes: group).map(\.value) == [6, 7])
    }
}
