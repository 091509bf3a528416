// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import Testing

@testable import LiveSessions

/// Paths and URLs that are played.
@Suite struct InputAddressTests {
    @Test(arguments: [
        ("film.mp4", false), ("/a/b:c.mp4", false), ("file:///a.mp4", false), ("https://host/film.mp4", false),
        ("https://host/live/index.m3u8?token=1", true), ("rtsp://camera/stream", true), ("SRT://host:9000", true),
        ("udp://239.0.0.1:5000", true),
    ]) func liveness(text: String, isLive: Bool) { #expect(InputAddress(text: text).isLive == isLive) }

    @Test(arguments: [
        ("rtsp://user:secret@camera:554/stream", "rtsp://***@camera:554/stream"),
        ("rtsp://user:sec@ret@camera/a@b", "rtsp://***@camera/a@b"),
        ("rtsp://camera/a@b", "rtsp://camera/a@b"), ("a@b.mp4", "a@b.mp4"),
        ("https://user@host?x=@", "https://***@host?x=@"),
    ]) func secrets(text: String, shown: String) {
        let address = InputAddress(text: text)
        #expect(address.redacted == shown)
        let error = address.redacting(MediaError(.unavailable, "no answer of \(text)", given: text))
        #expect(error.given == shown)
        #expect(error.message == "no answer of \(shown)")
    }
}
