// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTimeline
import MediaTypes
import Testing

/// Recordings that are paused, and connections that begin anew.
@Suite struct LiveTimelineTests {
    private func time(_ milliseconds: Int64) -> MediaTime { MediaTime(value: milliseconds, timescale: 1000) }

    @Test func pausesAreLeftOut() {
        var timeline = PausedTimeline()
        #expect(timeline.place(time(100)) == time(100))
        timeline.pause(at: time(1000))
        timeline.pause(at: time(1100))
        #expect(timeline.isPaused)
        #expect(timeline.place(time(999)) == time(999))
        #expect(timeline.place(time(1000)) == nil)
        #expect(timeline.place(time(90_000)) == nil)
        timeline.resume(at: time(3000))
        timeline.resume(at: time(4000))
        #expect(!timeline.isPaused)
        #expect(timeline.place(time(2999)) == nil)
        #expect(timeline.place(time(3000)) == time(1000))
        #expect(timeline.place(time(5000)) == time(3000))
        timeline.pause(at: time(6000))
        timeline.resume(at: time(6500))
        #expect(timeline.place(time(5000)) == time(3000))
        #expect(timeline.place(time(7000)) == time(4500))
    }

    @Test func aPauseThatEndsBeforeItBeginsIsEmpty() {
        var timeline = PausedTimeline()
        timeline.pause(at: time(1000))
        timeline.resume(at: time(500))
        #expect(timeline.place(time(1000)) == time(1000))
    }

    @Test func eachConnectionBeginsAtZero() {
        var timeline = ConnectionTimeline(restarts: true)
        timeline.begin()
        #expect(timeline.place(time(-40)) == time(40))
        #expect(timeline.place(time(0)) == time(40))
        timeline.begin()
        #expect(timeline.place(time(5000)) == time(-5000))
        #expect(timeline.place(time(4999)) == nil)
    }

    @Test func otherConnectionsContinue() {
        var timeline = ConnectionTimeline(restarts: false)
        timeline.begin()
        #expect(timeline.place(time(1000)) == time(-1000))
        timeline.begin()
        #expect(timeline.place(time(9000)) == time(-1000))
    }
}
