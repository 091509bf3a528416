// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import Testing

@testable import Transcoding

@Suite struct ThumbnailScheduleTests {
    private func seconds(_ value: Int64, _ scale: Int32 = 1) -> MediaTime { MediaTime(value: value, timescale: scale) }

    private func intervals(
        _ schedule: ThumbnailSchedule,
        _ start: MediaTime,
        _ end: MediaTime?,
        most: Int = 100
    ) -> [ThumbnailSchedule.Interval] {
        var found: [ThumbnailSchedule.Interval] = []
        while found.count < most, let next = schedule.interval(found.count, from: start, to: end) { found.append(next) }
        return found
    }

    @Test func intervalsOfATimeBeginAtTheStart() {
        let found = intervals(.every(seconds(10)), seconds(5), seconds(32))
        #expect(found.map(\.time.seconds) == [5, 15, 25] && found.map(\.start) == found.map(\.time))
        #expect(found.map { $0.end?.seconds } == [15, 25, 32])
        #expect(ThumbnailSchedule.every(seconds(10)).count(in: seconds(27)) == 3)
        // None is at the end itself.
        #expect(intervals(.every(seconds(10)), .zero, seconds(20)).count == 2)
        #expect(ThumbnailSchedule.every(seconds(10)).count(in: seconds(20)) == 2)
        #expect(intervals(.every(seconds(10)), .zero, nil, most: 7).count == 7)
    }

    @Test(
        arguments: [1, 2, 3, 7, 1000],
        [MediaTime(value: 10, timescale: 1), MediaTime(value: 1_234_567, timescale: 90000)]
    )
    func equalPartsCoverTheWhole(count: Int, length: MediaTime) throws {
        let start = seconds(1, 3)
        let found = intervals(.count(count), start, start + length, most: 2000)
        #expect(found.count == count && found.first?.start == start && found.last?.end == start + length)
        for (part, next) in zip(found, found.dropFirst()) { #expect(part.end == next.start) }
        for part in found {
            let end = try #require(part.end)
            #expect(abs((part.time - part.start).seconds - (end - part.time).seconds) < 1e-6)
            #expect(abs((end - part.start).seconds * Double(count) - length.seconds) < 1e-3)
        }
    }

    @Test func equalPartsNeedAnEnd() {
        #expect(intervals(.count(3), .zero, nil).isEmpty)
        #expect(intervals(.count(3), seconds(5), seconds(5)).isEmpty)
    }

    @Test func oneIsAtTheStart() {
        #expect(
            intervals(.first, seconds(3), seconds(9)) == [.init(start: seconds(3), end: seconds(9), time: seconds(3))]
        )
    }

    /// Times that no file has do not overflow.
    @Test func extremeTimesAreHarmless() {
        let large = MediaTime(value: .max / 2, timescale: 1)
        #expect(intervals(.every(large), .zero, nil, most: 9).count < 9)
        #expect(intervals(.count(3), .zero, large).count == 3)
        #expect(ThumbnailSchedule.every(seconds(1, 1000)).count(in: large) != 0)
    }
}
