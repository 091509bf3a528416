// SPDX-License-Identifier: GPL-2.0-or-later

import ServiceAPI
import Testing

@Suite("Addresses of live jobs")
struct LiveAddressTests {
    @Test(
        "Secrets are not shown",
        arguments: [
            ("rtmp://a/app/key", "rtmp://a/app/***", ["key"]),
            (
                "rtmp://u:pass@a:1935/app/inst/key?x=y", "rtmp://***@a:1935/app/***",
                ["inst/key?x=y", "u:pass", "pass", "inst", "key", "x=y"]
            ),
            ("rtmp://a/app?token=1", "rtmp://a/app/***", ["token=1"]),
            ("srt://a:9000", "srt://a:9000", []),
            (
                "srt://a:9000?latency=20&passphrase=1234567890&streamid=#!::r=x",
                "srt://a:9000?latency=20&passphrase=***&streamid=***", ["1234567890", "#!::r=x"]
            ),
            ("udp://239.1.1.1:5000?ttl=4", "udp://239.1.1.1:5000?ttl=4", []),
            (
                "rtsp://u:pass@[::1]:554/cam/1?key=abc", "rtsp://***@[::1]:554/cam/1?***",
                ["key=abc", "abc", "u:pass", "pass"]
            ),
            ("rtsp://u:p@ss@a/x", "rtsp://***@a/x", ["u:p@ss", "p@ss"]),
        ]
    )
    func shown(url: String, shown: String, secrets: [String]) {
        let address = LiveAddress(url)
        #expect(address.shown == shown)
        #expect(Set(address.secrets) == Set(secrets))
        #expect(address.secrets.map(\.utf8.count) == address.secrets.map(\.utf8.count).sorted(by: >))
    }
}
