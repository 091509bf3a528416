// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import Testing

@testable import LiveSessions

/// The decisions of a ladder.
@Suite struct LadderTests {
    @Test func aLineDropsTheOldestPictureThatIsNoKeyFrame() {
        var line = PictureLine<Int>()
        line.add(0, isKeyFrame: true)
        for number in 1...5 { line.add(number, isKeyFrame: false) }
        #expect(line.dropped == 3)
        #expect(!line.hasRoom)
        #expect([line.next()?.element, line.next()?.element, line.next()?.element] == [0, 4, 5])
        #expect(line.next() == nil)
        #expect(line.hasRoom && line.isEmpty)
    }

    @Test func aLineOfKeyFramesIsBoundedToo() {
        var line = PictureLine<Int>()
        for number in 0..<10 { line.add(number, isKeyFrame: true) }
        #expect(line.dropped == 7)
        #expect(line.next()?.element == 7)
    }

    @Test func aNewPictureIsDroppedBeforeKeyFramesAre() {
        var line = PictureLine<Int>()
        for number in 0..<3 { line.add(number, isKeyFrame: true) }
        line.add(3, isKeyFrame: false)
        #expect(line.dropped == 1)
        #expect([line.next()?.element, line.next()?.element, line.next()?.element] == [0, 1, 2])
    }

    @Test func keyFramesKeepTheirGrid() {
        var grid = KeyFrameGrid(interval: MediaTime(value: 2, timescale: 1))
        // Pictures that jitter by less than their distance, and a pause.
        let times = [5.0, 5.03, 6.98, 7.02, 7.06, 9.01, 9.04, 10.99, 11.0, 20.5, 20.6, 22.4, 22.5]
        let keys = times.filter { grid.isDue(at: MediaTime(seconds: $0, preferredTimescale: 1000)) }
        #expect(keys == [5.0, 7.02, 9.01, 11.0, 20.5, 22.5])
    }

    @Test func renditionsAreChecked() {
        func rendition(_ name: String, _ height: Int, _ bitRate: Int = 1_000_000) -> LiveRendition {
            LiveRendition(name: name, height: height, bitRate: bitRate)
        }
        #expect(throws: Never.self) { try LiveRendition.validate([rendition("high", 1080), rendition("low_1", 480)]) }
        for wrong in [
            [rendition("a", 480), rendition("b", 1080)], [rendition("a", 480), rendition("a", 360)],
            [rendition("a/b", 480)], [rendition("", 480)], [rendition("a", 481)], [rendition("a", 8)],
            [rendition("a", 480, 0)], (0..<13).map { rendition("r\($0)", 480) },
        ] {
            let error = #expect(throws: MediaError.self) { try LiveRendition.validate(wrong) }
            #expect(error?.code == .invalidArgument)
        }
    }

    @Test func aLadderTakesThePlaceOfSizeAndBitrate() throws {
        var settings = LiveSettings()
        settings.renditions = [LiveRendition(name: "low", height: 120, bitRate: 100_000)]
        #expect(throws: Never.self) { try settings.validate() }
        settings.bitRate = 1_000_000
        #expect(throws: MediaError.self) { try settings.validate() }
        settings.bitRate = nil
        let picture = try PixelBuffer(.init(format: .nv12, width: 640, height: 360))
        let configuration = settings.configuration(
            for: LiveContents(),
            first: picture,
            rendition: settings.renditions[0]
        )
        #expect((configuration.width, configuration.height) == (214, 120))
        #expect(configuration.rateControl.bitsPerSecond == 100_000)
    }
}
