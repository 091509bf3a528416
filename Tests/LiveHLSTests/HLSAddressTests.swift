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

    @Test func anotherServer() throws {
        let address = try HLSAddress("hls:put:https://joe:se%20cret@host:8443/live/x?segment=2&dvr=all")
        guard case .upload(let target) = address.place else { throw MediaError(.invalidState, "another place") }
        #expect(target.url == "https://host:8443/live/x/")
        #expect(target.credentials == .basic(user: "joe", password: "se cret"))
        #expect(address.description == "hls:put:https://host:8443/live/x/")
        #expect(address.options.part == nil && address.options.window == nil)
        for text in ["\(address)", "\(target)", String(reflecting: target), "\(address.place)"] {
            #expect(!text.contains("cret"), "\(text)")
        }
        let plain = try HLSAddress("HLS:PUT:http://[::1]", authorization: "Bearer abc")
        guard case .upload(let other) = plain.place else { throw MediaError(.invalidState, "another place") }
        #expect(other.url == "http://[::1]/")
        #expect(other.credentials == .header("Bearer abc"))
        #expect(!String(reflecting: other).contains("abc"))
        #expect(try HLSAddress("hls:put:http://host/a%2Fb/").description == "hls:put:http://host/a%2Fb/")
    }

    @Test(arguments: [
        "hls:put:", "hls:put:host/live", "hls:put:ftp://host/", "hls:put:http:///live", "hls:put:http://host:0/",
        "hls:put:http://host/a b", "hls:put:http://host/%zz", "hls:put:http://host/#a", "hls:put:http://:secret@host/",
        "hls:put:http://host/?cert=a", "hls:put:http://host/?overwrite=1", "hls:put:http://host/?part=9",
        "hls:put:http://joe:secret@host:99999/", "hls:put:http://joe:secret@ho[st/", "hls:put:http://joe:secret@/",
    ])
    func noOtherServer(text: String) {
        #expect {
            _ = try HLSAddress(text)
        } throws: { error in
            let error = error as? MediaError
            return error?.code == .invalidArgument && error?.description.contains("secret") == false
        }
    }

    @Test(arguments: ["", "a\nb", "Bearer \u{e9}"])
    func noAuthorization(value: String) {
        #expect(throws: MediaError.self) { try HLSAddress("hls:put:http://host/", authorization: value) }
        #expect(throws: MediaError.self) { try HLSAddress("hls:put:http://joe@host/", authorization: "Bearer a") }
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
