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

    /// The captions of each frame that comes out, where frame `n` of the input has the triplet `n n n`.
    private func captions(_ count: Int, _ rate: Int32, to target: Rational) throws -> [[UInt8]] {
        var converter = FrameRateConverter(frameRate: target)
        var frames: [VideoFrame] = []
        for number in 0..<count {
            let frame = try frame(number, rate, captions: [UInt8](repeating: UInt8(number), count: 3))
            if let converted = try converter.convert(frame) { frames += converted }
        }
        if let rest = try converter.finish() { frames += rest }
        #expect(frames.allSatisfy { $0.buffer.attachments.regionsOfInterest.count == 1 })
        return frames.map { $0.buffer.attachments.captions }
    }

    private func frame(_ number: Int, _ rate: Int32, captions: [UInt8]) throws -> VideoFrame {
        let region = RegionOfInterest(x: 0, y: 0, width: 2, height: 2, quantizerOffset: 1)
        let attachments = PixelAttachments(captions: captions, regionsOfInterest: [region])
        return VideoFrame(
            buffer: try PixelBuffer(.init(format: .i420, width: 2, height: 2, attachments: attachments)),
            presentationTime: MediaTime(value: Int64(number), timescale: rate),
            duration: MediaTime(value: 1, timescale: rate)
        )
    }

    @Test func captionsComeOnce() throws {
        #expect(try captions(3, 25, to: Rational(50)) == [[0, 0, 0], [], [1, 1, 1], [], [2, 2, 2], []])
        #expect(try captions(3, 25, to: Rational(25)) == [[0, 0, 0], [1, 1, 1], [2, 2, 2]])
        let halved = try captions(6, 25, to: Rational(25, 2))
        #expect(halved.count == 3)
        #expect(halved.flatMap { $0 } == (0..<6).flatMap { [UInt8](repeating: $0, count: 3) })
        // The last one of 60 is nearest to the end, so it is left out.
        let film = try captions(60, 60, to: Rational(24000, 1001))
        #expect(film.flatMap { $0 } == (0..<59).flatMap { [UInt8](repeating: $0, count: 3) })
    }

    @Test func repeatedPicturesShareTheirMemory() throws {
        var converter = FrameRateConverter(frameRate: Rational(75))
        let first = try frame(0, 25, captions: [0xFC, 0x41, 0x61])
        _ = try converter.convert(first)
        let frames = try #require(try converter.convert(frame(1, 25, captions: [])))
        let addresses = try frames.map { frame in
            try frame.buffer.withPlanes { planes in planes.map { Int(bitPattern: $0.baseAddress) } }
        }
        #expect(addresses.count == 3)
        #expect(Set(addresses).count == 1)
    }

    /// A frame takes so many and no more; what the next ones cannot take either is told.
    @Test func captionsStayWithinTheirBound() throws {
        let most = PixelAttachments.maximumCaptionBytes
        var converter = FrameRateConverter(frameRate: Rational(1))
        var frames: [VideoFrame] = []
        for number in 0..<100 {
            let frame = try frame(number, 50, captions: (0..<300).map { [0xFC, 0x41, 0x61][$0 % 3] })
            if let converted = try converter.convert(frame) { frames += converted }
        }
        if let rest = try converter.finish() { frames += rest }
        let kept = frames.map { $0.buffer.attachments.captions.count }
        #expect(kept.count == 2)
        #expect(kept.allSatisfy { $0 <= most && $0 % 3 == 0 })
        #expect(converter.lostCaptionBytes > 0)
        #expect(kept.reduce(0, +) + converter.lostCaptionBytes == 30000)
        #expect(converter.adjustment?.description.contains("\(converter.lostCaptionBytes) bytes fewer") == true)
    }

    /// Nothing is shown behind the last frame here, so it is left out: what it says is lost, and told if it says anything.
    @Test(arguments: [([0xFC, 0x41, 0x61], 3), ([0xFC, 0x80, 0x80, 0xFA, 0, 0], 0)] as [([UInt8], Int)])
    func captionsOfALastFrameThatIsLeftOutAreTold(captions: [UInt8], lost: Int) throws {
        var converter = FrameRateConverter(frameRate: Rational(10))
        var count = 0
        for number in 0..<150 {
            count += try converter.convert(frame(number, 25, captions: number == 149 ? captions : []))?.count ?? 0
        }
        count += try converter.finish()?.count ?? 0
        #expect(count == 60)
        #expect(converter.lostCaptionBytes == lost)
        #expect((converter.adjustment == nil) == (lost == 0))
    }
}
