// SPDX-License-Identifier: GPL-2.0-or-later

import HostSystem
import Testing

@testable import EncodingService

@Suite struct AddressTests {
    private let policy = AddressPolicy(exceptions: [])

    @Test(arguments: [
        "0.0.0.0", "10.1.2.3", "100.64.0.1", "127.0.0.1", "127.255.255.254", "169.254.169.254", "172.16.0.1",
        "172.31.255.255",
        "192.168.1.1", "198.18.0.1", "224.0.0.1", "255.255.255.255", "::", "::1", "fc00::1", "fd12:3456::1", "fe80::1",
        "ff02::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::10.0.0.1", "2002:7f00:1::", "2001:db8::1",
        "::127.0.0.1",
    ])
    func privateAddressesAreRefused(_ text: String) throws {
        #expect(!policy.allows(try #require(IPAddress(text))))
    }

    @Test(arguments: [
        "1.1.1.1", "172.32.0.1", "172.15.255.255", "100.128.0.1", "2606:4700::1111", "64:ff9b::8.8.8.8",
        "2002:0808:0808::",
    ])
    func publicAddressesAreAllowed(_ text: String) throws {
        #expect(policy.allows(try #require(IPAddress(text))))
    }

    @Test func exceptionsAreExact() throws {
        let policy = AddressPolicy(exceptions: [
            try #require(AddressRange("10.1.0.0/16")), try #require(AddressRange("::1")),
        ])
        #expect(policy.allows(try #require(IPAddress("10.1.255.1"))))
        #expect(policy.allows(try #require(IPAddress("::ffff:10.1.0.1"))))
        #expect(!policy.allows(try #require(IPAddress("10.2.0.1"))))
        #expect(policy.allows(try #require(IPAddress("::1"))))
        #expect(!policy.allows(try #require(IPAddress("::2"))))
    }

    @Test(arguments: ["10.0.0.0/33", "10.0.0/8", "::/129", "a", "", "10.0.0.0/8/8", "10.0.0.0/-1"])
    func malformedRangesAreNone(_ text: String) { #expect(AddressRange(text) == nil) }
}
