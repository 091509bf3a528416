// SPDX-License-Identifier: GPL-2.0-or-later

import MediaIO
import MediaTypes
import Testing

@testable import Transcoding

@Suite struct FrameRateConverterTests {
    private let buffer: PixelBuffer

    init() throws { buffer = try PixelBuffer(.init(format: .i420, width: 2, height: 2)) }

    private func convert(_ milliseconds: [Int64], duration: Int64, to rate: Rational) -> [MediaTime] {
        var converter = FrameRateConverter(frameRate: rate)
        var frames: [VideoFrame] = []
        for time in milliseconds {
            let frame = VideoFrame(
                buffer: buffer,
                presentationTime: MediaTime(value: time, timescale: 1000),
                duration: MediaTime(value: duration, timescale: 1000)
            )
            frames += converter.convert(frame)
        }
        return (frames + converter.finish()).map(\.presentationTime)
    }

    private func ticks(_ range: Range<Int64>, _ rate: Rational) -> [MediaTime] {
        range.map { MediaTime(value: $0 * Int64(rate.denominator), timescale: rate.numerator) }
    }

    @Test func theSameRateKeepsEveryFrame() {
        #expect(convert([0, 40, 80, 120], duration: 40, to: Rational(25)) == ticks(0..<4, Rational(25)))
    }

    @Test func twiceTheRateRepeatsAndHalfTheRateDrops() {
        #expect(convert([0, 40, 80, 120], duration: 40, to: Rational(50)) == ticks(0..<8, Rational(50)))
        #expect(convert([0, 20, 40, 60, 80, 100], duration: 20, to: Rational(25)).count == 3)
    }

    @Test func gapsAreFilledAndRoundedTimesStayOnTheirTicks() {
        #expect(convert([0, 33, 67, 500], duration: 33, to: Rational(30)) == ticks(0..<16, Rational(30)))
        let ntsc = Rational(30000, 1001)
        #expect(convert([0, 33, 67, 100, 133], duration: 33, to: ntsc) == ticks(0..<5, ntsc))
    }

    @Test func oneFrameIsShownForItsDuration() {
        #expect(convert([0], duration: 1000, to: Rational(10)).count == 10)
        #expect(convert([], duration: 1, to: Rational(10)).isEmpty)
    }
}
