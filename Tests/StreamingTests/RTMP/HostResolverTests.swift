// SPDX-License-Identifier: GPL-2.0-or-later

import HostSystem
import MediaTypes
import Testing

@testable import Streaming

@Suite(.blocks) struct HostResolverTests {
    @Test func numbersNeedNoNameServer() throws {
        let stop = try StopSignal()
        let resolver = HostResolver { (_, _) throws(MediaError) in
            throw MediaError(.unavailable, "not to be called")
        }
        for (host, text) in [("127.0.0.1", "127.0.0.1:7"), ("::1", "[::1]:7")] {
            let found = try resolver.addresses(of: host, port: 7, stop: stop, deadline: Deadline(milliseconds: 0))
            #expect(found.map(\.description) == [text])
            #expect(found.map(\.host) == [host])
        }
        #expect(HostResolver.address("a.test", port: 7) == nil)
    }

    @Test func namesAreFound() throws {
        let deadline = Deadline(milliseconds: 60_000)
        let found = try HostResolver().addresses(of: "localhost", port: 7, stop: try StopSignal(), deadline: deadline)
        #expect(found.contains { $0.description == "127.0.0.1:7" || $0.description == "[::1]:7" })
        #expect(Set(found).count == found.count)
    }

    @Test func addressesThatAreNotAllowedAreLeftOut() throws {
        let stop = try StopSignal()
        var resolver = HostResolver { (_, port) throws(MediaError) in
            ["127.0.0.1", "fe80::1%lo", "8.8.8.8"].compactMap { HostResolver.address($0, port: port) }
        }
        func find(_ host: String) throws(MediaError) -> [String] {
            let deadline = Deadline(milliseconds: 60_000)
            return try resolver.addresses(of: host, port: 1, stop: stop, deadline: deadline).map(\.host)
        }
        resolver.policy = AddressPolicy(exceptions: [])
        #expect(try find("a.test") == ["8.8.8.8"])
        for host in ["127.0.0.1", "::1", "::ffff:10.0.0.1", "239.1.1.1", "0.0.0.0"] {
            let error = mediaError { () throws(MediaError) in _ = try find(host) }
            #expect(error?.code == .invalidArgument && error?.message.contains("not public") == true, "\(host)")
            #expect(error?.isPermanent == true)
        }
        resolver.policy = AddressPolicy(exceptions: [try #require(AddressRange("127.0.0.0/8"))])
        #expect(try find("a.test") == ["127.0.0.1", "8.8.8.8"])
        #expect(try find("127.0.0.9") == ["127.0.0.9"])
        resolver.lookUp = { (_, port) throws(MediaError) in
            ["10.0.0.1"].compactMap { HostResolver.address($0, port: port) }
        }
        let error = mediaError { () throws(MediaError) in _ = try find("a.test") }
        #expect(error?.code == .invalidArgument && error?.isPermanent == false, "the name may get another address")
    }

    @Test func kindsOfAddresses() throws {
        func address(_ host: String) throws -> SocketAddress { try #require(HostResolver.address(host, port: 258)) }
        for host in ["224.0.0.1", "239.255.255.255", "ff02::1"] { #expect(try address(host).isMulticast) }
        for host in ["223.0.0.1", "240.0.0.1", "fe80::ff"] { #expect(try !address(host).isMulticast) }
        for host in ["0.0.0.0", "::"] { #expect(try address(host).isWildcard) }
        for host in ["127.0.0.1", "::1"] { #expect(try !address(host).isWildcard) }
        #expect(try address("::1").port == 258)
        #expect(try address("10.0.0.1").with(port: 513).description == "10.0.0.1:513")
    }

    @Test func lookUpsEndAtTheDeadlineAndAtTheStop() throws {
        let gate = try StopSignal()
        defer { gate.stop() }
        let stop = try StopSignal()
        let resolver = HostResolver { (_, _) throws(MediaError) in
            try gate.wait(for: [], until: nil)
            return []
        }
        func find(_ milliseconds: Int32) -> MediaError? {
            mediaError { () throws(MediaError) in
                let deadline = Deadline(milliseconds: milliseconds)
                _ = try resolver.addresses(of: "a.test", port: 1, stop: stop, deadline: deadline)
            }
        }
        #expect(find(50)?.code == .deadlineExceeded)
        let work = try ThreadWork {
            mediaError { () throws(MediaError) in
                let deadline = Deadline(milliseconds: 3_600_000)
                _ = try resolver.addresses(of: "a.test", port: 1, stop: stop, deadline: deadline)
            }
        }
        stop.stop()
        #expect(try work.value()?.code == .cancelled)
    }

    @Test(arguments: ["no-such-host.invalid", "no such host"])
    func unknownHosts(name: String) throws {
        let stop = try StopSignal()
        let error = mediaError { () throws(MediaError) in
            let deadline = Deadline(milliseconds: 60_000)
            _ = try HostResolver().addresses(of: name, port: 1, stop: stop, deadline: deadline)
        }
        #expect(error?.code == .unavailable)
        #expect(error?.message.contains("the host name cannot be resolved") == true)
        #expect(error?.isPermanent == false)
        #expect(error?.given == name)
    }

    @Test func hostsWithoutAddresses() throws {
        let stop = try StopSignal()
        let error = mediaError { () throws(MediaError) in
            let deadline = Deadline(milliseconds: 60_000)
            _ = try HostResolver { (_, _) throws(MediaError) in [] }
                .addresses(of: "a.test", port: 1, stop: stop, deadline: deadline)
        }
        #expect(error?.code == .unavailable)
        #expect(error?.isPermanent == false)
    }
}

@Suite(.blocks) struct URLPartTests {
    @Test(
        arguments: [
            ("host", "host", nil), ("host:1", "host", 1), ("[::1]", "::1", nil),
            ("[fe80::1%25eth0]:65535", "fe80::1%eth0", 65535),
            (":9", "", 9), ("", "", nil), ("bücher.example:80", "bücher.example", 80),
        ] as [(String, String, UInt16?)]
    )
    func hostsAndPorts(text: String, host: String, port: UInt16?) throws {
        let parts = try HostAndPort(text[...])
        #expect(parts.host == host)
        #expect(parts.port == port)
    }

    @Test(arguments: ["h:", "h:0", "h:+1", "h:65536", "h:secret", "::1", "[h]", "]", "[", "a b", "%41", "[::1]x"])
    func wrongHostsAndPorts(text: String) {
        let error = mediaError { () throws(MediaError) in _ = try HostAndPort(text[...]) }
        #expect(error?.code == .invalidArgument)
        #expect(error?.given != nil)
        let hidden = mediaError { () throws(MediaError) in _ = try HostAndPort(text[...], isSecret: true) }
        #expect(hidden?.code == .invalidArgument)
        #expect(hidden?.given == nil)
    }

    @Test func percentEncoding() {
        #expect(PercentEncoding.decoded("a%20b%C3%a9") == "a bé")
        for text in ["%", "%4", "%+1", "%4g", "%%41"] {
            #expect(PercentEncoding.decoded(text[...]) == nil)
            let kept = text == "%%41" ? "%A" : text
            #expect(PercentEncoding.decoded(text[...], keepsOthers: true) == kept)
        }
        #expect(PercentEncoding.decoded("%ff") == nil)
        #expect(PercentEncoding.decoded("%ff", keepsOthers: true) == nil)
    }
}
