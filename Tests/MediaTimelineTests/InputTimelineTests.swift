// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTimeline
import MediaTypes
import Testing

@Suite struct InputTimelineTests {
    private func time(_ value: Int64, _ timescale: Int32 = 10) -> MediaTime {
        MediaTime(value: value, timescale: timescale)
    }

    @Test func theEarliestStreamIsZero() {
        let timeline = InputTimeline(starts: [time(14), time(1440, 1000), time(15)])
        #expect(timeline.origin == time(14) && timeline.beginning == time(14))
        #expect(timeline.place(time(15)) == time(1))
        #expect(timeline.place(time(13)) == time(-1))
        #expect(timeline.end == nil && timeline.remaining(of: time(30)) == time(30))
        #expect(timeline.remaining(of: nil) == nil)
    }

    /// The unit of one track has no influence on the times of another.
    @Test func theOriginIsInLowestTerms() {
        let timeline = InputTimeline(starts: [time(44100, 44100), time(2, 1)])
        #expect(timeline.place(time(1, 25)).timescale == 25)
    }

    @Test func aPartStartsLaterAndEnds() {
        let timeline = InputTimeline(starts: [time(14)], start: time(20), duration: time(10))
        #expect(timeline.origin == time(34) && timeline.end == time(44))
        #expect(timeline.remaining(of: time(25)) == time(5) && timeline.remaining(of: time(90)) == time(10))
        #expect(timeline.remaining(of: nil) == time(10) && timeline.remaining(of: time(5)) == .zero)
        #expect(timeline.clip(time(4), from: time(8)) == time(2) && timeline.clip(time(4), from: time(20)) == .zero)
        #expect(timeline.clip(time(4), from: .zero) == time(4) && timeline.clip(.invalid, from: .zero) == .invalid)
        let chapter = timeline.place(time(30), time(50))
        #expect(chapter?.start == .zero && chapter?.end == time(10))
        #expect(timeline.place(time(0), time(34)) == nil && timeline.place(time(44), time(50)) == nil)
        #expect(timeline.place(.invalid, time(50)) == nil && timeline.place(time(30), .invalid)?.end == time(10))
        // The first picture does not change where a part starts.
        var same = timeline
        same.begin(atPicture: time(36), isOnlyStart: false)
        #expect(same == timeline)
    }

    @Test func theFirstPictureMayPrecedeTheStatedStart() {
        var timeline = InputTimeline(starts: [time(14)])
        timeline.begin(atPicture: time(15), isOnlyStart: false)
        #expect(timeline.origin == time(14))
        timeline.begin(atPicture: time(12), isOnlyStart: false)
        #expect(timeline.origin == time(12))
        var unknown = InputTimeline(starts: [])
        #expect(unknown.origin == .zero)
        unknown.begin(atPicture: time(12), isOnlyStart: true)
        #expect(unknown.origin == time(12))
    }

    @Test func nonsenseDoesNotTrap() {
        let far = InputTimeline(starts: [time(.max, 1), .invalid], start: time(.max, 1), duration: time(.max, 1))
        #expect(!far.origin.isValid && far.end?.isValid == false)
        #expect(far.place(time(.min, 1), time(.max, 1)) == nil)
        let negative = InputTimeline(starts: [time(14)], start: time(-5))
        #expect(negative.start == nil && negative.origin == time(14))
    }
}
