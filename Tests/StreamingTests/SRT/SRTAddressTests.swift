// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import Testing

@testable import Streaming

struct SRTAddressTests {
    @Test(arguments: [
        ("srt://h:1", "srt://h:1?mode=caller&latency=120"),
        ("SRT://[::1]:9000/?latency=0", "srt://[::1]:9000?mode=caller&latency=0"),
        ("srt://:9000", "srt://:9000?mode=listener&latency=120"),
        ("srt://0.0.0.0:9000?mode=listener&latency=60000", "srt://0.0.0.0:9000?mode=listener&latency=60000"),
        ("srt://h:1?mode=rendezvous", "srt://h:1?mode=rendezvous&latency=120"),
        ("srt://h:1?passphrase=0123456789&pbkeylen=32", "srt://h:1?mode=caller&latency=120&passphrase=***&pbkeylen=32"),
        ("srt://h:1?streamid=#!::r=live/x,m=publish", "srt://h:1?mode=caller&latency=120&streamid=***"),
    ])
    func addresses(text: String, description: String) throws {
        #expect(try SRTAddress(text).description == description)
    }

    @Test(arguments: [
        ("#!::r=live/x,m=publish", "#!::r=live/x,m=publish"),
        ("%23!%3A%3Ar=live/x%2Cu=a%26b%25,m=publish", "#!::r=live/x,u=a&b%,m=publish"),
        ("publish:live:a+b?c=d", "publish:live:a+b?c=d"),
        ("caf%C3%A9", "café"),
    ])
    func streamIdentifiers(text: String, streamID: String) throws {
        #expect(try SRTAddress("srt://h:1?latency=5&streamid=\(text)&mode=caller").streamID == streamID)
    }

    @Test func valuesApartFromTheAddress() throws {
        let address = try SRTAddress("srt://h:1?pbkeylen=24", passphrase: "p%20ssphrase", streamID: "a&b=%")
        #expect(address.passphrase == "p%20ssphrase")
        #expect(address.streamID == "a&b=%")
        #expect(address.keyLength == 24)
    }

    @Test func greatestSizes() throws {
        for size in [10, 79] {
            let passphrase = String(repeating: "p", count: size)
            #expect(try SRTAddress("srt://h:1?passphrase=\(passphrase)").passphrase == passphrase)
        }
        let streamID = String(repeating: "s", count: 512)
        #expect(try SRTAddress("srt://h:1?streamid=\(streamID)").streamID == streamID)
    }

    @Test(arguments: [
        ("udp://h:1", "allowed srt://"), ("srt://h", "has no port"), ("srt://:1?mode=caller", "has no host"),
        ("srt://:1?mode=rendezvous", "has no host"),
        ("srt://h:1?mode=server", "given server, allowed caller, listener, rendezvous"),
        ("srt://h:1?latency=200000", "given 200000, allowed 0...60000 milliseconds"),
        ("srt://h:1?latency=1.5", "0...60000 milliseconds"), ("srt://h:1?latency=-1", "0...60000 milliseconds"),
        ("srt://h:1?passphrase=secret789", "given 9 bytes, allowed 10...79 bytes"),
        ("srt://h:1?passphrase=\(String(repeating: "secret90", count: 10))", "given 80 bytes"),
        ("srt://h:1?passphrase=%E2%82%AC%E2%82%ACsec", "given 9 bytes"),
        ("srt://h:1?passphrase=secretsecret%0", "passphrase of the address is not encoded"),
        ("srt://h:1?passphrase=secretsecret&passphrase=secretsecret", "passphrase twice"),
        ("srt://h:1?passphrase=", "has no value"),
        ("srt://h:1?pbkeylen=16", "without a passphrase"),
        ("srt://h:1?passphrase=secretsecret&pbkeylen=20", "given 20, allowed 16, 24, 32"),
        ("srt://h:1?streamid=\(String(repeating: "s", count: 513))", "given 513 bytes, allowed 1...512 bytes"),
        ("srt://h:1?mode=listener&streamid=secret", "given mode=listener, allowed mode=caller"),
        ("srt://h:1?mode=rendezvous&streamid=secret", "given mode=rendezvous"),
        ("srt://h:1?pkt_size=1316", "given pkt_size, allowed mode, latency, passphrase, pbkeylen, streamid"),
        ("srt://h:1?streamid=a&secret", "unknown parameter"), ("srt://h:1?passphrase:secret", "unknown parameter"),
        ("srt://h:1?passphrase=secretsecret&secret=1", "unknown parameter: allowed mode, "),
        ("srt://user:secret@h:1", "user name"),
    ])
    func wrongAddresses(text: String, message: String) {
        let error = mediaError { () throws(MediaError) in _ = try SRTAddress(text) }
        #expect(error?.code == .invalidArgument)
        #expect(error?.description.contains(message) == true, "\(String(describing: error))")
        #expect(error?.message.contains("secret") == false)
        #expect(error?.description.contains("secret") == false)
    }

    @Test func latenciesInMicrosecondsHaveARemedy() {
        let error = mediaError { () throws(MediaError) in _ = try SRTAddress("srt://h:1?latency=120000") }
        #expect(error?.remedies.first?.contains("FFmpeg") == true)
    }

    @Test func valuesThatAreGivenTwice() {
        let text = "srt://h:1?passphrase=secretsecret&streamid=secret"
        for (passphrase, streamID) in [("secretsecret", nil), (nil, "secret")] as [(String?, String?)] {
            let error = mediaError { () throws(MediaError) in
                _ = try SRTAddress(text, passphrase: passphrase, streamID: streamID)
            }
            #expect(error?.message.contains("given twice") == true)
            #expect(error?.description.contains("secret") == false)
        }
    }

    @Test func noTextShowsSecrets() throws {
        let address = try SRTAddress("srt://h:1?passphrase=secretsecret&streamid=#!::r=secret,u=secret")
        var dumped = ""
        dump([address], to: &dumped)
        let texts = ["\(address)", String(describing: address), String(reflecting: address), "\([address])", dumped]
        for text in texts { #expect(!text.contains("secret"), "\(text)") }
    }

    @Test func rejections() {
        func error(_ code: Int32) -> MediaError { SRTRejection(code: code).error("srt://h:1") }
        #expect(error(10).message.contains("passphrase is wrong"))
        #expect(error(10).isPermanent)
        #expect(error(11).message.contains("only one side has a passphrase"))
        #expect(error(16).code == .deadlineExceeded)
        #expect(error(1404).message.contains("does not know the stream (1404)"))
        #expect(!error(1404).isPermanent)
        #expect(!error(1409).isPermanent)
        #expect(error(1401).isPermanent)
        #expect(error(1999).message.contains("code 1999"))
        #expect(error(2042).message.contains("code 2042 of its own"))
        for code: Int32 in -3...20 { #expect(!error(code).message.isEmpty) }
    }
}
