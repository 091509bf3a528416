// SPDX-License-Identifier: GPL-2.0-or-later

import MediaIO
import MediaTypes
import Testing

@testable import Transcoding

@Suite struct FrameRateConverterTests {
    private let buffer: PixelBuffer

    init() throws { buffer = try PixelBuffer(.init(format: .i420, width: 2, height: 2)) }

    private func convert(_ milliseconds: [Int64], duration: Int64, to rate: Rational) throws -> [MediaTime] {
        var converter = FrameRateConverter(frameRate: rate)
        var frames: [VideoFrame] = []
        for time in milliseconds {
            let frame = VideoFrame(
                buffer: buffer,
                presentationTime: MediaTime(value: time, timescale: 1000),
                duration: MediaTime(value: duration, timescale: 1000)
            )
            if let converted = try converter.convert(frame) { frames += converted }
        }
        if let rest = try converter.finish() { frames += rest }
        return frames.map(\.presentationTime)
    }

    private func ticks(_ range: Range<Int64>, _ rate: Rational) -> [MediaTime] {
        range.map { MediaTime(value: $0 * Int64(rate.denominator), timescale: rate.numerator) }
    }

    @Test func theSameRateKeepsEveryFrame() throws {
        #expect(try convert([0, 40, 80, 120], duration: 40, to: Rational(25)) == ticks(0..<4, Rational(25)))
    }

    @Test func twiceTheRateRepeatsAndHalfTheRateDrops() throws {
        #expect(try convert([0, 40, 80, 120], duration: 40, to: Rational(50)) == ticks(0..<8, Rational(50)))
        #expect(try convert([0, 20, 40, 60, 80, 100], duration: 20, to: Rational(25)).count == 3)
    }

    @Test func gapsAreFilledAndRoundedTimesStayOnTheirTicks() throws {
        #expect(try convert([0, 33, 67, 500], duration: 33, to: Rational(30)) == ticks(0..<16, Rational(30)))
        let ntsc = Rational(30000, 1001)
        #expect(try convert([0, 33, 67, 100, 133], duration: 33, to: ntsc) == ticks(0..<5, ntsc))
    }

    @Test func oneFrameIsShownForItsDuration() throws {
        #expect(try convert([0], duration: 1000, to: Rational(10)).count == 10)
        #expect(try convert([], duration: 1, to: Rational(10)).isEmpty)
    }

    /// The last frame is nearer to the end than to any tick before it.
    @Test func lastFrameAddsNothingBeyondTheEnd() throws {
        let times = (0..<150).map { Int64($0 * 40) }
        #expect(try convert(times, duration: 40, to: Rational(10)) == ticks(0..<60, Rational(10)))
        #expect(try convert([0], duration: 1, to: Rational(10)).count == 1)
    }

    @Test func framesOfALongGapAreMadeOneByOne() throws {
        var converter = FrameRateConverter(frameRate: Rational(1_000_000))
        let hours = MediaTime(value: 20 * 3600, timescale: 1)
        let tick = MediaTime(value: 1, timescale: 1_000_000)
        let first = try converter.convert(VideoFrame(buffer: buffer, presentationTime: .zero, duration: tick))
        #expect(first?.count == nil)
        let next = try converter.convert(VideoFrame(buffer: buffer, presentationTime: hours, duration: tick))
        let gap = try #require(next)
        #expect(gap.count == 72_000_000_000)
        #expect(gap.prefix(2).map(\.presentationTime) == [.zero, tick])
    }

    /// A damaged time of this kind would fill the disk.
    @Test(arguments: [86_401, 1 << 40] as [Int64]) func gapOfMoreThanADayIsRefused(seconds: Int64) throws {
        var converter = FrameRateConverter(frameRate: Rational(25))
        let tick = MediaTime(value: 1, timescale: 25)
        _ = try converter.convert(VideoFrame(buffer: buffer, presentationTime: .zero, duration: tick))
        let far = VideoFrame(
            buffer: buffer,
            presentationTime: MediaTime(value: seconds, timescale: 1),
            duration: tick
        )
        let error = #expect(throws: MediaError.self) { try converter.convert(far) }
        #expect(error?.code == .malformedData)
        let given = "\(Double(seconds)) s after the picture at 0.0 s"
        #expect(error?.description.contains(given) == true, "\(error as Any)")
    }

    @Test func pictureThatIsShownForMoreThanADayIsRefused() throws {
        var converter = FrameRateConverter(frameRate: Rational(25))
        let days = MediaTime(value: 3 * 86_400, timescale: 1)
        _ = try converter.convert(VideoFrame(buffer: buffer, presentationTime: .zero, duration: days))
        #expect(throws: MediaError.self) { try converter.finish() }
    }
}
