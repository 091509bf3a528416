// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import Testing

@testable import LiveHLS

/// The addresses of live HLS.
struct HLSAddressTests {
    @Test func aFolder() throws {
        let address = try HLSAddress("hls:/srv/live?segment=6&window=120")
        #expect(address.place == .folder("/srv/live", replacesOlder: false))
        #expect(address.options.segment == 6)
        #expect(address.options.part == nil)
        #expect(address.options.window == MediaTime(value: 120, timescale: 1))
        #expect(address.description == "hls:/srv/live")
        #expect(try HLSAddress("hls:live?part=0.5&overwrite=1").options.part == MediaTime(value: 500, timescale: 1000))
        #expect(try HLSAddress("HLS:live?dvr=all").options.window == nil)
    }

    @Test func aServer() throws {
        let address = try HLSAddress("hls:http://[::]:8080/?dvr=3600")
        #expect(address.place == .server(host: "::", port: 8080, tls: nil))
        #expect(address.options.part == MediaTime(value: 1, timescale: 1))
        #expect(address.options.window == MediaTime(value: 3600, timescale: 1))
        #expect(address.description == "hls:http://[::]:8080/")
        let secure = try HLSAddress("hls:https://0.0.0.0:443?cert=/a.pem&key=/b.pem&part=none")
        let tls = HLSAddress.TLS(certificate: "/a.pem", key: "/b.pem")
        #expect(secure.place == .server(host: "0.0.0.0", port: 443, tls: tls))
        #expect(secure.options.part == nil)
    }

    @Test(arguments: [
        ("rtmp://host/app", "hls:FOLDER"), ("hls:", "hls:FOLDER"), ("hls:?segment=4", "hls:FOLDER"),
        ("hls://host:80/", "hls:FOLDER"), ("hls:ftp://host:80/", "hls:http://"),
        ("hls:http://host/", "http://host:port/"), ("hls:http://host:80/path", "http://host:port/"),
        ("hls:http://user@host:80/", "http://host:port/"), ("hls:http://host:99999/", "1...65535"),
        ("hls:http://host:0/", "1...65535"), ("hls:http://:80/", "0.0.0.0"),
        ("hls:https://host:443/", "cert=FILE"), ("hls:live?segment=0", "1 to 30"), ("hls:live?segment=31", "1 to 30"),
        ("hls:live?segment=2.5", "whole seconds"), ("hls:live?part=0.1", "0.2 to 2"), ("hls:live?part=-1", "0.2 to 2"),
        ("hls:live?part=nan", "0.2 to 2"), ("hls:live?window=23", "24 to 86400"), ("hls:live?dvr=1e9", "24 to 86400"),
        ("hls:live?speed=1", "segment="), ("hls:live?segment", "segment="), ("hls:live?overwrite=yes", "0, 1"),
        ("hls:http://host:80/?dvr=all", "a folder"),
    ])
    func anErrorSaysWhatIsAllowed(text: String, allowed: String) {
        #expect {
            _ = try HLSAddress(text)
        } throws: { error in
            let error = error as? MediaError
            return error?.code == .invalidArgument && error?.description.contains(allowed) == true
        }
    }

    @Test(arguments: [
        "hls:live?cert=a", "hls:http://host:80/?key=a", "hls:http://h:80/?overwrite=1", "hls:l?part=1&part=1",
    ])
    func whatDoesNotFitIsRefused(text: String) {
        #expect(throws: MediaError.self) { try HLSAddress(text) }
    }

    @Test func keyFramesMustFitIntoSegments() throws {
        let address = try HLSAddress("hls:live?segment=4")
        let five = MediaTime(value: 5, timescale: 1)
        #expect {
            _ = try HLSDestination(address, keyFrameInterval: five)
        } throws: { error in
            (error as? MediaError)?.remedies.first?.contains("segment=5") == true
        }
    }
}
