// SPDX-License-Identifier: GPL-2.0-or-later

import MediaIO
import Testing

@Suite struct FilePropertiesTests {
    private func track(_ index: Int, _ kind: MediaTrack.Kind, _ values: [String: String] = [:]) -> FileProperties.Track
    {
        FileProperties.Track(index: index, kind: kind, values: values)
    }

    @Test func whatIsMissingOrDifferentIsLost() {
        let given = FileProperties(
            tracks: [track(0, .video, ["rotation": "90"]), track(1, .audio, ["language": "deu", "title": "One"])],
            values: ["title": "Film"]
        )
        var copy = given
        #expect(given.losses(in: copy, tracks: [0, 1]).isEmpty)
        copy.tracks[0].values["rotation"] = "180"
        copy.tracks[1].values["language"] = nil
        copy.values = ["title": "Film", "encoder": "Lavf"]
        let losses = given.losses(in: copy, tracks: [0, 1])
        #expect(losses.map(\.property) == ["rotation", "language"])
        #expect(losses.map(\.track) == [0, 1])
    }

    @Test func tracksCorrespondByKindAndOrder() {
        let given = FileProperties(
            tracks: [track(0, .audio, ["title": "A"]), track(3, .video), track(5, .audio, ["title": "B"])],
            values: [:]
        )
        let copy = FileProperties(
            tracks: [track(0, .audio, ["title": "A"]), track(1, .audio, ["title": "B"]), track(2, .video)],
            values: [:]
        )
        #expect(given.losses(in: copy, tracks: [0, 3, 5]).isEmpty)
        // Only the second is copied.
        let one = FileProperties(tracks: [track(0, .audio, ["title": "B"])], values: [:])
        #expect(given.losses(in: one, tracks: [5]).isEmpty)
        #expect(given.losses(in: one, tracks: [0, 5]).map(\.property) == ["title", "audio"])
    }

    @Test func attachmentsCorrespondByName() {
        let given = FileProperties(
            tracks: [track(0, .attachment, ["name": "a.ttf"]), track(1, .attachment, ["name": "b.ttf"])],
            values: [:]
        )
        let copy = FileProperties(
            tracks: [track(2, .attachment, ["name": "b.ttf"]), track(3, .attachment, ["name": "a.ttf"])],
            values: [:]
        )
        #expect(given.losses(in: copy, tracks: [0, 1]).isEmpty)
    }
}
