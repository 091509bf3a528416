// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import Testing

@testable import Capture

/// Devices as people name them.
@Suite struct DeviceAddressTests {
    @Test(arguments: [
        ("test", "test", "", [String]()),
        ("x11::0", "x11", ":0", []),
        ("x11", "x11", "", []),
        ("x11::1.0,region=640x480+10+20,cursor=off", "x11", ":1.0", ["region=640x480+10+20", "cursor=off"]),
        ("v4l2:/dev/video0,rate=30", "v4l2", "/dev/video0", ["rate=30"]),
        ("pulse:alsa_input.usb-1\\,2,gain=3", "pulse", "alsa_input.usb-1,2", ["gain=3"]),
        ("alsa:hw:0", "alsa", "hw:0", []),
        ("test,flag", "test", "", ["flag="]),
        ("x11:a\\b", "x11", "a\\b", []),
    ]) func parsing(text: String, kind: String, name: String, options: [String]) throws {
        let address = try DeviceAddress(text)
        #expect(address.kind == kind)
        #expect(address.name == name)
        #expect(address.options.map { "\($0.name)=\($0.value)" } == options)
    }

    @Test(arguments: ["", ":0", ",a=b", "x11:0,", "x11:0,=3"]) func refusals(text: String) {
        let error = #expect(throws: MediaError.self) { try DeviceAddress(text) }
        #expect(error?.code == .invalidArgument)
        #expect(error?.given == text)
    }

    @Test func unknownOptionsAreNamed() throws {
        let address = try DeviceAddress("test,size=1x1,colour=red")
        let error = #expect(throws: MediaError.self) { try address.options(["size", "rate"]) }
        #expect(error?.given == "colour")
        #expect(error?.allowed == "size, rate")
        #expect(throws: MediaError.self) { try DeviceAddress("test,size=1x1,size=2x2").options(["size"]) }
    }

    @Test(arguments: [
        ("30", Rational(30)), ("29.97", Rational(30000, 1001)), ("59.94", Rational(60000, 1001)),
        ("23.976", Rational(24000, 1001)), ("30000/1001", Rational(30000, 1001)), ("12.5", Rational(25, 2)),
    ]) func rates(text: String, rate: Rational) throws {
        let parsed = try OptionValue.rate(text, option: "rate")
        #expect(Int64(parsed.numerator) * Int64(rate.denominator) == Int64(rate.numerator) * Int64(parsed.denominator))
    }

    @Test(arguments: ["0", "-1", "241", "x", "1/0", "30/", ""]) func impossibleRates(text: String) {
        #expect(throws: MediaError.self) { try OptionValue.rate(text, option: "rate") }
    }
}
