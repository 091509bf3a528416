// SPDX-License-Identifier: GPL-2.0-or-later

import HostSystem
import MediaTypes
import Testing

@testable import LiveSessions

@Suite struct PinnedInputTests {
    private static let local = AddressPolicy(exceptions: [AddressRange("10.0.0.0/8")].compactMap(\.self))

    private static func pin(_ url: String, _ found: [String] = []) throws(MediaError) -> PinnedInput {
        try PinnedInput(InputAddress(text: url), local) { host in
            found.isEmpty ? [IPAddress(host)].compactMap(\.self) : found.compactMap { IPAddress($0) }
        }
    }

    @Test(arguments: [
        ("rtmp://a.test/app/key?x=y#z", "rtmp://8.8.8.8/app/key?x=y#z", "flv"),
        ("rtmp://u:p@ss@a.test:1935/app/key", "rtmp://u:p@ss@8.8.8.8:1935/app/key", "flv"),
        ("srt://a.test:9000?latency=1", "srt://8.8.8.8:9000?latency=1", "mpegts"),
        ("udp://[2001:4860::1]:5000", "udp://8.8.8.8:5000", "mpegts"),
        ("SRT://a.test:9000", "srt://8.8.8.8:9000", "mpegts"),
        ("rtp://a.test:5004/", "rtp://8.8.8.8:5004/", "rtp"),
    ])
    func theAddressTakesThePlaceOfTheHost(url: String, pinned: String, format: String) throws {
        // The first that is allowed, of all that the name server tells.
        let input = try Self.pin(url, ["127.0.0.1", "8.8.8.8", "9.9.9.9"])
        #expect(input == PinnedInput(url: pinned, format: format))
    }

    @Test func addressesOfIPv6GetBrackets() throws {
        #expect(try Self.pin("srt://a.test:1", ["2001:4860::1"]).url == "srt://[2001:4860::1]:1")
        #expect(try Self.pin("srt://[2001:4860::1]:1").url == "srt://[2001:4860::1]:1")
    }

    @Test(arguments: [
        "http://8.8.8.8/x.m3u8", "rtmps://8.8.8.8/app/key", "tcp://8.8.8.8:1", "srt://127.0.0.1:1", "srt://[::1]:1",
        "udp://:5000", "udp://0.0.0.0:5000", "rtp://239.1.1.1:5004", "rtsp://8.8.8.8/x", "srt://[::ffff:127.0.0.1]:1",
    ])
    func othersAreRefused(url: String) {
        do throws(MediaError) {
            let input = try Self.pin(url)
            Issue.record("\(input)")
        } catch {
            #expect(error.code == .invalidArgument && error.allowed != nil && error.isPermanent)
        }
    }

    @Test(arguments: ["srt://a.test:1", "rtsp://a.test/1"])
    func aNameMayGetAnotherAddress(url: String) {
        do throws(MediaError) {
            let input = try Self.pin(url, ["127.0.0.1"])
            Issue.record("\(input)")
        } catch {
            #expect(error.code == .invalidArgument && !error.isPermanent)
        }
    }

    @Test func serversOfRTSPAreNamedByTheOperator() throws {
        #expect(try Self.pin("rtsp://camera.test/1", ["8.8.8.8", "10.1.1.1"]).url == "rtsp://10.1.1.1/1")
    }

    @Test func aHostThatIsUnknownMayBeKnownLater() {
        do throws(MediaError) {
            _ = try PinnedInput(InputAddress(text: "srt://a.test:1"), Self.local) { _ in [] }
            Issue.record("it has an address")
        } catch {
            #expect(error.code == .unavailable && !error.isPermanent)
        }
    }
}
