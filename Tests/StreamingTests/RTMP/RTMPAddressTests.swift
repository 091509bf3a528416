// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import Testing

@testable import Streaming

@Suite(.blocks) struct RTMPAddressTests {
    @Test func partsOfAnAddress() throws {
        let address = try RTMPAddress("rtmp://us%40er:p%3ass@live.example.com:1936/app/instance/key-1?a=b/c&d=e")
        #expect(!address.isSecure)
        #expect(address.host == "live.example.com")
        #expect(address.port == 1936)
        #expect(address.application == "app/instance")
        #expect(address.key == "key-1?a=b/c&d=e")
        #expect(address.user == "us@er")
        #expect(address.password == "p:ss")
        #expect(address.applicationAddress == "rtmp://live.example.com:1936/app/instance")
    }

    @Test(arguments: [
        ("rtmp://host/app/key", "host", 1935, "rtmp://host/app"),
        ("rtmps://host/app/key", "host", 443, "rtmps://host/app"),
        ("RTMPS://host:443/app/key", "host", 443, "rtmps://host/app"),
        ("rtmps://host:1935/app/key", "host", 1935, "rtmps://host:1935/app"),
        ("rtmp://192.0.2.1:19350/app/key", "192.0.2.1", 19350, "rtmp://192.0.2.1:19350/app"),
        ("rtmp://[2001:db8::1]/app/key", "2001:db8::1", 1935, "rtmp://[2001:db8::1]/app"),
        ("rtmp://[2001:db8::1]:99/app/key", "2001:db8::1", 99, "rtmp://[2001:db8::1]:99/app"),
    ])
    func portsAndHosts(text: String, host: String, port: UInt16, application: String) throws {
        let address = try RTMPAddress(text)
        #expect(address.host == host)
        #expect(address.port == port)
        #expect(address.applicationAddress == application)
    }

    @Test(arguments: [
        "", "secret", "http://host/app/secret", "rtmp:/host/app/secret", "rtmp:///app/secret", "rtmp://host",
        "rtmp://host/", "rtmp://host/secret", "rtmp://host/app/", "rtmp://host//secret", "rtmp://host/app//secret",
        "rtmp://host:0/app/secret", "rtmp://host:65536/app/secret", "rtmp://host:secret/app/key",
        "rtmp://:1935/app/secret", "rtmp://2001:db8::1/app/secret", "rtmp://[host]/app/secret",
        "rtmp://host/app/sec ret", "rtmp://host/app/secret\n", "rtmp://%ff:secret@host/app/key",
        "rtmp://host/app/secret" + String(repeating: "x", count: 5000),
    ])
    func invalidAddressesAreRefusedWithoutTheSecret(text: String) {
        let error = #expect(throws: MediaError.self) { try RTMPAddress(text) }
        #expect(error?.code == .invalidArgument)
        #expect(error?.description.contains("sec") == false)
    }

    @Test func noDescriptionShowsASecret() throws {
        let address = try RTMPAddress("rtmps://name:topsecret@host/app/hidden?token=covert")
        var dumped = ""
        dump(address, to: &dumped)
        let texts = ["\(address)", String(reflecting: address), String(describing: [address]), dumped]
        #expect(texts[0] == "rtmps://host/app/***")
        for text in texts {
            #expect(!["topsecret", "hidden", "covert", "name:"].contains { text.contains($0) }, "\(text)")
        }
    }

    @Test func textsOfServersAreRedacted() throws {
        let address = try RTMPAddress("rtmp://user:topsecret@host/app/hidden?token=covert")
        let text = address.redacted("Stream hidden?token=covert (hidden) of\ntopsecret is bad")
        #expect(text == "Stream *** (***) of *** is bad")
    }
}
