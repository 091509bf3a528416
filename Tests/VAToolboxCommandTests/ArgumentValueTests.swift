// SPDX-License-Identifier: GPL-2.0-or-later

import CommandLineSupport
import MediaIO
import MediaTypes
import Testing

@testable import VAToolboxCommand

@Suite struct ArgumentValueTests {
    @Test(arguments: [
        ("5M", 5_000_000), ("800k", 800_000), ("800K", 800_000), ("2.5M", 2_500_000), ("5000000", 5_000_000),
        ("1G", 1_000_000_000), ("0", 0), ("0.0015k", 2),
    ])
    func bitRates(text: String, value: Int) {
        #expect(BitRate(argument: text)?.bitsPerSecond == value)
    }

    @Test(arguments: ["", "M", "5m", "-5", "5Mb", "1e6", "0x10", "nan", "inf", "5 M", "1.2.3", "9999999999999999"])
    func noBitRates(text: String) { #expect(BitRate(argument: text) == nil) }

    @Test(arguments: [("200k", 200_000), ("1.5M", 1_500_000), ("65536", 65536)])
    func byteCounts(text: String, value: Int) { #expect(ByteCount(argument: text)?.bytes == value) }

    @Test(arguments: ["", "k", "-1", "1 k", "1kB"])
    func noByteCounts(text: String) { #expect(ByteCount(argument: text) == nil) }

    @Test(arguments: [("1,2,3,4,-5", -5), ("1,2,3,4,+5", 5), ("1,2,3,4,5", 5), ("1,2,3,4,99", 99)])
    func regions(text: String, offset: Int) {
        let region = RegionOfInterest(x: 1, y: 2, width: 3, height: 4, quantizerOffset: offset)
        #expect(RegionOfInterest(argument: text) == region)
    }

    @Test(arguments: [
        "", "1,2,3,4", "1,2,3,4,5,6", "1,2,3,4,", "-1,2,3,4,5", "1,2,3,4,--5", "1,2,3,4,1.5", "1,2,3x4,5",
    ])
    func noRegions(text: String) { #expect(RegionOfInterest(argument: text) == nil) }

    @Test(arguments: [
        ("90", 90.0), ("1.5", 1.5), ("01:30", 90), ("1:02:03.25", 3723.25), ("0", 0), (".5", 0.5), ("100:00", 6000),
    ])
    func times(text: String, seconds: Double) { #expect(ClockTime(argument: text)?.time.seconds == seconds) }

    @Test(arguments: ["", ":", "1:", ":1", "1:60", "1:60:00", "1:2:3:4", "-1", "1.5:00", "1s", "9999999999:00:00"])
    func noTimes(text: String) { #expect(ClockTime(argument: text) == nil) }

    @Test(arguments: [
        ("pixels=1", InputLimits(pixels: 1)), ("tracks=1000,duration=5", InputLimits(tracks: 1000, duration: 5)),
        (
            "duration=2147483647,pixels=2147483647,tracks=1",
            InputLimits(pixels: 2_147_483_647, tracks: 1, duration: 2_147_483_647)
        ),
    ])
    func inputLimits(text: String, limits: InputLimits) { #expect(InputLimits(argument: text) == limits) }

    @Test(arguments: [
        "", ",", "pixels", "pixels=", "pixels=0", "pixels=2147483648", "pixels=-1", "pixels=1.5", "pixels=1,",
        "tracks=1001",
        "pixels=1,pixels=1", "depth=1", "pixels=1 tracks=1", "=1", "pixels==1", "Pixels=1",
        "duration=99999999999999999999",
    ])
    func noInputLimits(text: String) { #expect(InputLimits(argument: text) == nil) }

    @Test func timesAreExact() {
        #expect(ClockTime(argument: "0.1")?.time == MediaTime(value: 1, timescale: 10))
        #expect(
            ClockTime(argument: "1:00:00.000000001")?.time
                == MediaTime(value: 3_600_000_000_001, timescale: 1_000_000_000)
        )
    }

    @Test(arguments: [("25", 25, 1), ("12.5", 25, 2), ("30000/1001", 30000, 1001), ("29.97", 2997, 100)])
    func frameRates(text: String, numerator: Int32, denominator: Int32) {
        #expect(Rational(argument: text) == Rational(numerator, denominator))
    }

    @Test(arguments: ["", "/", "25/", "/1", "1/0", "1.5/2", "a", "99999999999", "1/99999999999"])
    func noFrameRates(text: String) { #expect(Rational(argument: text) == nil) }

    @Test func sizes() {
        #expect(PictureSize(argument: "1280x720")?.width == 1280)
        #expect(PictureSize(argument: "1280x720")?.height == 720)
        for text in ["", "x", "1280", "1280x", "x720", "1280x720x3", "1280X720", "12.5x10", "-2x2"] {
            #expect(PictureSize(argument: text) == nil, "\(text)")
        }
    }

    @Test func keyFrameIntervals() {
        #expect(KeyFrameInterval(argument: "150") == KeyFrameInterval(frames: 150))
        #expect(KeyFrameInterval(argument: "2.5s") == KeyFrameInterval(duration: MediaTime(value: 5, timescale: 2)))
        for text in ["", "s", "1.5", "5m", "-1"] { #expect(KeyFrameInterval(argument: text) == nil, "\(text)") }
    }

    @Test func choices() {
        #expect(BFrames(argument: "off") == .off && BFrames(argument: "0") == .off)
        #expect(BFrames(argument: "auto") == .automatic && BFrames(argument: "3") == .maximum(3))
        #expect(BFrames(argument: "some") == nil)
        #expect(DeviceChoice(argument: "/dev/dri/renderD129") == .renderNode("/dev/dri/renderD129"))
        #expect(DeviceChoice(argument: "0000:03:00.0") == .renderNode("0000:03:00.0"))
        #expect(["03:00.0", "0000:03:00.8", "pci-0000:03:00.0"].allSatisfy { DeviceChoice(argument: $0) == nil })
        #expect(DeviceChoice(argument: "software") == .software && DeviceChoice(argument: "renderD128") == nil)
        #expect(StreamLevel(argument: "4.0")?.h264?.name == "4" && StreamLevel(argument: "4.0")?.hevc?.name == "4")
        #expect(StreamLevel(argument: "1b")?.hevc == nil && StreamLevel(argument: "7") == nil)
    }

    @Test func errorNamesOptionGivenAndAllowed() {
        let text = ArgumentText<BitRate>(argument: "fast")
        #expect(
            throws: MediaError(
                .invalidArgument,
                "--bitrate is not valid",
                given: "fast",
                allowed: BitRate.allowedText
            )
        ) {
            try text.value(of: "--bitrate")
        }
    }
}
