// SPDX-License-Identifier: GPL-2.0-or-later

import Streaming
import Testing

/// The order of units of several tracks.
@Suite struct InterleaverTests {
    @Test func unitsLeaveInTheOrderOfTheirTimes() {
        var interleaver = Interleaver(tracks: 2)
        #expect(interleaver.add(LiveUnits.audio(0), track: 1, at: 0).isEmpty)
        #expect(interleaver.add(LiveUnits.audio(20), track: 1, at: 0).isEmpty)
        #expect(
            interleaver.add(LiveUnits.picture(10, isKeyFrame: true), track: 0, at: 0).map(\.label) == ["A0", "K10"]
        )
        #expect(interleaver.add(LiveUnits.picture(50), track: 0, at: 0).map(\.label) == ["A20"])
        #expect(interleaver.finish().map(\.label) == ["P50"])
    }

    @Test func aTrackThatDeliversNothingIsNotWaitedForLong() {
        var interleaver = Interleaver(tracks: 2, patience: 0.5)
        #expect(interleaver.add(LiveUnits.picture(0, isKeyFrame: true), track: 0, at: 0).isEmpty)
        #expect(interleaver.add(LiveUnits.picture(400), track: 0, at: 0.4).isEmpty)
        #expect(interleaver.add(LiveUnits.picture(600), track: 0, at: 0.6).map(\.label) == ["K0"])
        // When it is back, its units are not lost.
        #expect(interleaver.add(LiveUnits.audio(300), track: 1, at: 0.61).map(\.label) == ["A300"])
    }

    @Test func oneTrackIsPassedOn() {
        var interleaver = Interleaver(tracks: 1)
        #expect(interleaver.add(LiveUnits.picture(0), track: 0, at: 0).map(\.label) == ["P0"])
        #expect(interleaver.add(LiveUnits.audio(0), track: 5, at: 0).map(\.label) == ["A0"])
    }
}
