// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTimeline
import MediaTypes
import Testing

@Suite struct SessionTimelineTests {
    private func time(_ value: Int64) -> MediaTime { MediaTime(value: value, timescale: 10) }

    @Test func startsAtATime() {
        var timeline = SessionTimeline(.at(time(50)))
        #expect(timeline.placePicture(at: time(49)) == .beforeStart)
        #expect(timeline.placePicture(at: time(50)) == .at(.zero))
        #expect(timeline.placeAudio(at: time(40), duration: time(10)) == .beforeStart)
        #expect(timeline.placeAudio(at: time(40), duration: time(11)) == .at(time(-10)))
        #expect(timeline.placeAudio(at: time(51), duration: time(1)) == .at(time(1)))
        #expect(timeline.duration == nil)
    }

    @Test func waitsForTheFirstAudio() {
        var timeline = SessionTimeline(.firstAudio)
        #expect(timeline.placePicture(at: time(10)) == .beforeStart)
        #expect(timeline.origin == nil)
        #expect(timeline.placeAudio(at: time(20), duration: time(1)) == .at(.zero))
        #expect(timeline.placePicture(at: time(19)) == .beforeStart)
        #expect(timeline.placePicture(at: time(21)) == .at(time(1)))
    }

    @Test func startsWithWhateverIsFirst() {
        var picture = SessionTimeline(.first)
        #expect(picture.placePicture(at: time(7)) == .at(.zero))
        #expect(picture.placeAudio(at: time(6), duration: time(1)) == .beforeStart)
        var sound = SessionTimeline(.first)
        #expect(sound.placeAudio(at: time(7), duration: time(1)) == .at(.zero))
        #expect(sound.placePicture(at: time(9)) == .at(time(2)))
    }

    @Test func endsAtATime() {
        var timeline = SessionTimeline(.at(time(10)))
        timeline.end(at: time(30))
        #expect(timeline.duration == time(20))
        #expect(timeline.placePicture(at: time(29)) == .at(time(19)))
        #expect(timeline.placePicture(at: time(30)) == .afterEnd)
        #expect(timeline.placeAudio(at: time(29), duration: time(5)) == .at(time(19)))
        #expect(timeline.placeAudio(at: time(30), duration: time(5)) == .afterEnd)
        timeline.end(at: time(5))
        #expect(timeline.duration == .zero)
    }
}
