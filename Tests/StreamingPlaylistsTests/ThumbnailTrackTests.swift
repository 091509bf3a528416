// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import Testing

@testable import StreamingPlaylists

@Suite struct ThumbnailTrackTests {
    private func cue(_ start: Int64, _ end: Int64, _ path: String = "a-1.jpg", x: Int = 0) -> ThumbnailTrack.Cue {
        func time(_ value: Int64) -> MediaTime { MediaTime(value: value, timescale: 1000) }
        return .init(start: time(start), end: time(end), path: path, x: x, y: 0, width: 160, height: 90)
    }

    @Test func cuesHaveTimesAndAreas() {
        let track = ThumbnailTrack(cues: [cue(0, 1500), cue(1500, 3_725_040, "b c#1%.png", x: 160)])
        #expect(
            track.text == """
                WEBVTT

                00:00:00.000 --> 00:00:01.500
                a-1.jpg#xywh=0,0,160,90

                00:00:01.500 --> 01:02:05.040
                b%20c%231%25.png#xywh=160,0,160,90

                """
        )
    }

    /// WebVTT demands that a cue ends after its start, and hours have as many digits as they need.
    @Test func timesAreValid() {
        let thirds = MediaTime(value: 1, timescale: 3)
        var track = ThumbnailTrack(cues: [cue(500, 500), cue(360_000_000, 360_001_000)])
        track.cues[0].end = track.cues[0].start + MediaTime(value: 1, timescale: 90000)
        #expect(track.text == "WEBVTT\n\n100:00:00.000 --> 100:00:01.000\na-1.jpg#xywh=0,0,160,90\n")
        track.cues = [.init(start: .zero, end: thirds, path: "a", x: 0, y: 0, width: 2, height: 2)]
        #expect(track.text.contains("00:00:00.000 --> 00:00:00.333"))
        #expect(ThumbnailTrack(cues: []).text == "WEBVTT\n")
    }
}
