// SPDX-License-Identifier: GPL-2.0-or-later

import CommandLineSupport
import Foundation
import MediaTypes
import Testing
import Transcoding

@testable import VAToolboxCommand

/// What is shown and printed, as pure functions of what is known.
@Suite struct TextTests {
    @Test func quantities() {
        #expect(Readable.number(3.14159, places: 2) == "3.14")
        #expect(Readable.number(0.05, places: 1) == "0.1" && Readable.number(2, places: 0) == "2")
        #expect(Readable.number(-0.001, places: 2) == "0.00" && Readable.number(-1.5, places: 1) == "-1.5")
        #expect(Readable.number(.nan, places: 1) == "-" && Readable.number(1e300, places: 1) == "-")
        #expect(Readable.bitRate(999) == "999 bit/s" && Readable.bitRate(5_120_000) == "5.12 Mbit/s")
        #expect(Readable.bitRate(999_499) == "999 kbit/s" && Readable.bitRate(999_500) == "1.00 Mbit/s")
        #expect(Readable.byteCount(999) == "999 bytes" && Readable.byteCount(3_249_000) == "3.2 MB")
        #expect(Readable.clock(59.9) == "0:59" && Readable.clock(3723) == "1:02:03" && Readable.clock(.infinity) == "-")
        #expect(Readable.oneLine("a\nb\u{1B}[2Jc") == "a b [2Jc")
    }

    @Test func json() throws {
        let document: JSON = .object([
            "text": .string("a \"quoted\" \\ line\nnext\u{1}ü"), "empty": .array([]), "none": .null,
            "numbers": .array([.integer(-5), .number(0.1), .number(.infinity), .number(1e21)]),
            "nested": .object(["flag": .bool(true), "nothing": .object([:])]),
        ])
        let value = try JSONSerialization.jsonObject(with: Data(document.text.utf8))
        let read = try #require(value as? [String: Any])
        #expect(read["text"] as? String == "a \"quoted\" \\ line\nnext\u{1}ü")
        #expect((read["empty"] as? [Any])?.isEmpty == true && read["none"] is NSNull)
        let numbers = try #require(read["numbers"] as? [Any])
        #expect(numbers[0] as? Int == -5 && numbers[1] as? Double == 0.1)
        #expect(numbers[2] is NSNull && numbers[3] as? Double == 1e21)
        #expect((read["nested"] as? [String: Any])?["flag"] as? Bool == true)
        #expect(document.text.hasPrefix("{\n  \"text\": "))
    }

    private var halfway: TranscodeProgress {
        var progress = TranscodeProgress()
        progress.framesIn = 750
        progress.framesOut = 700
        progress.bytesOut = 3_500_000
        progress.time = MediaTime(value: 30, timescale: 1)
        progress.expectedDuration = MediaTime(value: 60, timescale: 1)
        progress.expectedFrames = 1500
        return progress
    }

    @Test func progressLine() {
        let line = ProgressLine(progress: halfway, elapsed: 10)
        #expect(line.text(width: 120) == "50 %  750 frames  0:30 of 1:00  75 fps  3.00x  1.00 Mbit/s  0:10 left")
        #expect(line.text(width: 60) == "50 %  750 frames  0:30 of 1:00  75 fps  3.00x  0:10 left")
        #expect(line.text(width: 30) == "50 %  750 frames  0:10 left")
        #expect(line.text(width: 10) == "750 frames" && line.text(width: 4) == "750 ")
        for width in 0..<100 { #expect(line.text(width: width).count <= width) }
    }

    @Test func progressOfUnknownLength() {
        var progress = halfway
        progress.expectedFrames = nil
        progress.expectedDuration = nil
        let line = ProgressLine(progress: progress, elapsed: 10).text(width: 100)
        #expect(line == "750 frames  0:30  75 fps  3.00x  1.00 Mbit/s")
        #expect(ProgressLine(progress: .init(), elapsed: 0).text(width: 100) == "0 frames  0:00")
    }

    @Test func dropsAreToldOnceASecond() {
        var drops = DropCount()
        let start = ContinuousClock.now
        let time = MediaTime(value: 1, timescale: 2)
        #expect(drops.add(time, now: start) == "a frame was dropped to keep up, the last at 0.500 s")
        #expect(drops.add(time, now: start + .milliseconds(10)) == nil)
        #expect(drops.add(time, now: start + .milliseconds(20)) == nil)
        #expect(drops.add(time, now: start + .seconds(1))?.hasPrefix("3 frames were dropped") == true)
        #expect(drops.rest() == nil)
    }

    @Test func pageBreaksWordsButNoCommands() {
        var page = TextPage(width: 30)
        page.paragraph("one two three four five six seven", indentation: 2)
        page.list(
            ["short: do this", "this one is too long for it: sudo a --very --long --command --line"],
            indentation: 2
        )
        page.entry("name", "words that flow in a column", indentation: 0)
        #expect(
            page.text == """
                  one two three four five six
                  seven
                  - short: do this
                  - this one is too long for
                    it:
                      sudo a --very --long --command --line
                name      words that flow in a
                          column

                """
        )
    }
}
