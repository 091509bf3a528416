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
            if let converted = converter.convert(frame) { frames += converted }
        }
        if let rest = converter.finish() { frames += rest }
        return frames.map(\.presentationTime)
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

    /// The last frame is nearer to the end than to any tick before it.
    @Test func lastFrameAddsNothingBeyondTheEnd() {
        let times = (0..<150).map { Int64($0 * 40) }
        #expect(convert(times, duration: 40, to: Rational(10)) == ticks(0..<60, Rational(10)))
        #expect(convert([0], duration: 1, to: Rational(10)).count == 1)
    }

    @Test func framesOfALongGapAreMadeOneByOne() throws {
        var converter = FrameRateConverter(frameRate: Rational(1_000_000))
        let hours = MediaTime(value: 300 * 3600, timescale: 1)
        let tick = MediaTime(value: 1, timescale: 1_000_000)
        let first = converter.convert(VideoFrame(buffer: buffer, presentationTime: .zero, duration: tick))
        #expect(first?.count == nil)
        let next = converter.convert(VideoFrame(buffer: buffer, presentationTime: hours, duration: tick))
        let gap = try #require(next)
        #expect(gap.count == 1_080_000_000_000)
        #expect(gap.prefix(2).map(\.presentationTime) == [.zero, tick])
    }
}
