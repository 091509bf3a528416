// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import MediaTypes
import Testing

@testable import MediaIO

@Suite struct SourceTimeTests {
    let folder: ClipFolder

    init() throws { folder = try ClipFolder() }

    private static let video = "-f lavfi -i testsrc2=size=64x48:rate=25:duration=4"
    private static let audio = "-f lavfi -i sine=frequency=440:sample_rate=48000:duration=4"
    private static let coding = "-c:v libx264 -preset veryfast -bf 3 -g 50 -pix_fmt yuv420p -c:a aac"

    private func probedTimes(_ path: String) throws -> [Double] {
        try Tool.probe(path, "frame=best_effort_timestamp_time").compactMap { Double($0.prefix { $0 != "," }) }
    }

    @Test(arguments: ["a.mkv", "a.mp4"])
    func variableFrameRateStaysAsItIs(name: String) throws {
        let path = try folder.ffmpeg(
            "\(Self.video) -vf select='not(mod(n\\,7))+not(mod(n\\,3))' -fps_mode vfr \(Self.coding) -an \(name)"
        )
        let source = try MediaSource(path: path)
        let reading = try Reading(source)
        let times = try probedTimes(path)
        #expect(reading.frames.count == times.count)
        #expect(zip(reading.seconds, times).allSatisfy { abs($0 - $1) < 0.000_002 })
        // The headers of this Matroska file claim a constant rate.
        #expect(source.video.isVariableFrameRate)
        #expect((10...12).contains(try #require(source.video.nominalFrameRate).doubleValue))
        #expect(source.problems.repairedTimes == 0)
    }

    /// Cutting without encoding leaves pictures before the cut in the file, which its edit list hides.
    @Test func editListHidesWhatItSaysAndKeepsSoundInSync() throws {
        try folder.ffmpeg("\(Self.video) \(Self.audio) \(Self.coding) a.mp4")
        let path = try folder.ffmpeg("-ss 2.5 -i a.mp4 -c copy b.mp4")
        let source = try MediaSource(path: path)
        let reading = try Reading(source)
        let times = try probedTimes(path)
        #expect(reading.frames.count == times.count)
        #expect(zip(reading.seconds, times).allSatisfy { abs($0 - $1) < 0.000_002 })
        #expect(try reading.pictures == Tool.pictures(path, format: .i420))
        #expect(try packets(reading) == copied(path))
    }

    /// What the copied packets are: time in seconds rounded to a microsecond, and size.
    private func packets(_ reading: Reading) throws -> [String] {
        reading.packets.map {
            "\($0.presentationTime.converted(to: 1_000_000).value) \($0.byteCount)"
        }
    }

    /// The same of `ffmpeg -c copy`.
    private func copied(_ path: String, _ arguments: String = "") throws -> [String] {
        let words = arguments.split(separator: " ").map(String.init)
        let output = try Tool.run(
            "ffmpeg",
            ["-v", "error", "-nostdin"] + words + [
                "-i", path, "-map", "0:v", "-map", "0:a", "-c", "copy", "-f", "framecrc", "-",
            ]
        )
        var scale = (Int64(1), Int64(1))
        var result: [String] = []
        for line in String(decoding: output, as: UTF8.self).split(separator: "\n") {
            if line.hasPrefix("#tb 1: ") {
                let parts = line.dropFirst(7).split(separator: "/").compactMap { Int64($0) }
                scale = (try #require(parts.first), try #require(parts.last))
            }
            guard line.hasPrefix("1,") else { continue }
            let fields = line.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
            let ticks = try #require(Int64(fields[2]))
            let time = MediaTime.rational(ticks, numerator: scale.0, denominator: scale.1).converted(to: 1_000_000)
            result.append("\(time.value) \(fields[4])")
        }
        return result
    }

    @Test(arguments: ["a.mp4", "a.mkv", "a.ts"])
    func copiedPacketsEqualThoseOfFFmpeg(name: String) throws {
        let path = try folder.ffmpeg(
            "\(Self.video) -itsoffset 0.3 \(Self.audio) \(Self.coding) -map 0 -map 1 \(name)"
        )
        let source = try MediaSource(path: path)
        let reading = try Reading(source)
        #expect(source.tracks.map(\.codecName) == ["aac"])
        #expect(try packets(reading) == copied(path))
        #expect(reading.packets.count > 150)
    }

    /// Frames from the start on, whatever the format can seek by, and sound that begins with them.
    @Test(arguments: ["a.mp4", "a.mkv", "a.ts", "a.avi"])
    func startAndDurationCutToTheFrame(name: String) throws {
        let path = try folder.ffmpeg("\(Self.video) \(Self.audio) \(Self.coding) \(name)")
        let whole = try Reading(path)
        let start = MediaTime(value: 251, timescale: 100)
        let duration = MediaTime(value: 1, timescale: 1)
        let source = try MediaSource(path: path, options: .init(start: start, duration: duration))
        let part = try Reading(source)
        let expected = whole.frames.filter { $0.presentationTime >= start && $0.presentationTime < start + duration }
        #expect(part.frames.map { $0.presentationTime + start } == expected.map(\.presentationTime))
        #expect(part.frames.count == 25)
        #expect(try part.pictures == expected.flatMap { try $0.buffer.bytes })
        let sound = whole.packets.filter { $0.presentationTime >= start && $0.presentationTime < start + duration }
        #expect(part.packets.count == sound.count)
        let first = try #require(part.packets.first).presentationTime
        #expect(first >= .zero && first < MediaTime(value: 1024, timescale: 44100))
        #expect(source.video.duration == duration)
        #expect(source.video.estimatedFrameCount == 25)
    }

    @Test func startBeyondTheEndIsRefused() throws {
        let path = try folder.ffmpeg("\(Self.video) \(Self.coding) a.mp4")
        let error = try openError(path, .init(start: MediaTime(value: 5, timescale: 1)))
        #expect(error.code == .invalidArgument)
        #expect(error.allowed == "below 4.0 s")
        #expect(try openError(path, .init(start: MediaTime(value: -1, timescale: 1))).code == .invalidArgument)
        #expect(try openError(path, .init(duration: .zero)).code == .invalidArgument)
        #expect(try openError(path, .init(threads: 65)).code == .invalidArgument)
    }

    @Test func subtitlesAreCopied() throws {
        try folder.write(
            "a.srt",
            "1\n00:00:01,000 --> 00:00:02,000\nOne\n\n2\n00:00:03,500 --> 00:00:03,900\nTwo\n".utf8
        )
        let path = try folder.ffmpeg(
            "\(Self.video) -i a.srt -map 0 -map 1 \(Self.coding) -c:s srt -metadata:s:s:0 language=fra a.mkv"
        )
        let source = try MediaSource(path: path)
        #expect(source.tracks.map(\.kind) == [.subtitles])
        #expect(source.tracks.map(\.language) == ["fra"])
        let times = try Reading(source).packets.map(\.presentationTime)
        #expect(times == [MediaTime(value: 1, timescale: 1), MediaTime(value: 35, timescale: 10)])
        let part = try Reading(path, .init(start: MediaTime(value: 2, timescale: 1)))
        #expect(part.packets.map(\.presentationTime) == [MediaTime(value: 15, timescale: 10)])
    }

    @Test func chaptersMoveWithTheTimeLine() throws {
        try folder.write(
            "chapters.txt",
            """
            ;FFMETADATA1
            [CHAPTER]
            TIMEBASE=1/10
            START=0
            END=10
            title=One
            [CHAPTER]
            TIMEBASE=1/10
            START=10
            END=40
            title=Two
            """.utf8
        )
        let path = try folder.ffmpeg("\(Self.video) -i chapters.txt -map_chapters 1 \(Self.coding) a.mkv")
        let second = { (tenths: Int64) in MediaTime(value: tenths, timescale: 10) }
        #expect(
            try MediaSource(path: path).chapters == [
                Chapter(start: .zero, end: second(10), title: "One"),
                Chapter(start: second(10), end: second(40), title: "Two"),
            ]
        )
        let part = try MediaSource(path: path, options: .init(start: second(20), duration: second(15)))
        #expect(part.chapters == [Chapter(start: .zero, end: second(15), title: "Two")])
    }

    /// Two recordings joined end to end: the clock jumps back by hours, the pictures go on.
    @Test func jumpsOfTheClockAreClosed() throws {
        let short = "-f lavfi -i testsrc2=size=64x48:rate=25:duration=1 -f lavfi -i sine=duration=1"
        try folder.ffmpeg("\(short) \(Self.coding) -bf 0 -output_ts_offset 7200 a.ts")
        try folder.ffmpeg("\(short) \(Self.coding) -bf 0 b.ts")
        let path = try folder.write("c.ts", folder.contents("a.ts") + folder.contents("b.ts"))
        let source = try MediaSource(path: path)
        let reading = try Reading(source)
        #expect(reading.frames.count == 50)
        #expect(source.problems.discontinuities == 1)
        #expect(source.problems.repairedTimes == 0)
        let steps = zip(reading.seconds, reading.seconds.dropFirst()).map { $1 - $0 }
        #expect(steps.allSatisfy { $0 > 0.01 && $0 < 0.1 })
        let sound = reading.packets.map(\.presentationTime.seconds)
        // The first recording's sound is a little longer than its pictures.
        #expect(zip(sound, sound.dropFirst()).allSatisfy { abs($1 - $0) < 0.1 })
    }

    /// The same recording twice, by `cat`: the clock goes back by seconds only.
    @Test func smallStepsBackAreClosed() throws {
        try folder.ffmpeg("\(Self.video) \(Self.audio) \(Self.coding) a.ts")
        let path = try folder.write("b.ts", folder.contents("a.ts") + folder.contents("a.ts"))
        let source = try MediaSource(path: path)
        let reading = try Reading(source)
        #expect(reading.frames.count == 200)
        #expect(source.problems.discontinuities == 1)
        let steps = zip(reading.seconds, reading.seconds.dropFirst()).map { $1 - $0 }
        #expect(steps.allSatisfy { $0 > 0.01 && $0 < 0.15 })
        let sound = reading.packets.map(\.presentationTime.seconds)
        #expect(zip(sound, sound.dropFirst()).allSatisfy { abs($1 - $0) < 0.15 })
    }

    /// The clock of a transport stream has 33 bits and passes zero after 95,443.7 s.
    @Test(arguments: [95440, 95442.3, 95442.32, 95442.34, 95442.36, 95442.4], [false, true])
    func clocksThatPassTheirEndGoOn(offset: Double, isPiped: Bool) throws {
        let clip = "-f lavfi -i testsrc2=size=64x48:rate=25:duration=6 -f lavfi -i sine=duration=6 \(Self.coding)"
        let plain = try Reading(folder.ffmpeg("\(clip) a.ts"))
        var path = try folder.ffmpeg("\(clip) -output_ts_offset \(offset) b.ts")
        if isPiped { path = try folder.pipe("b.ts") }
        let source = try MediaSource(path: path)
        let reading = try Reading(source)
        #expect(reading.frames.count == 150)
        #expect(reading.frames.map(\.presentationTime) == plain.frames.map(\.presentationTime))
        try expectSameSound(reading, plain)
        #expect(try reading.pictures == plain.pictures)
        #expect(source.problems == SourceProblems())
    }

    /// Expects the same times, except for rounding: the muxer rounds the sum of offset and time, and libavformat derives
    /// the times of packets that share a PES packet from rounded durations.
    private func expectSameSound(_ one: Reading, _ other: Reading) throws {
        #expect(one.packets.count == other.packets.count)
        let tolerance = MediaTime(value: 45, timescale: 90000)
        for (left, right) in zip(one.packets, other.packets) {
            let difference = left.presentationTime - right.presentationTime
            try #require(difference <= tolerance && difference >= .zero - tolerance, "\(difference)")
        }
    }

    @Test func partsBehindTheEndOfAClockAreFound() throws {
        let clip = "-f lavfi -i testsrc2=size=64x48:rate=25:duration=6 -f lavfi -i sine=duration=6 \(Self.coding)"
        let options = MediaSource.Options(start: MediaTime(value: 4, timescale: 1))
        let plain = try Reading(folder.ffmpeg("\(clip) a.ts"), options)
        let reading = try Reading(folder.ffmpeg("\(clip) -output_ts_offset 95440 b.ts"), options)
        #expect(reading.frames.count == 50)
        #expect(reading.frames.map(\.presentationTime) == plain.frames.map(\.presentationTime))
        try expectSameSound(reading, plain)
        #expect(try reading.pictures == plain.pictures)
    }

    /// Longer than the 26.5 hours of the clock: libavformat continues the times once, and falls back a period later.
    @Test(arguments: [1000, 90000])
    func clocksThatPassTheirEndTwice(first: Int) throws {
        let clip = "-f lavfi -i testsrc2=size=64x48:rate=25:duration=6 -f lavfi -i sine=duration=6 \(Self.coding)"
        var whole: [UInt8] = []
        // A minute before its first time is where libavformat's period ends.
        let offsets = [first, 50000, 80000, 95440, 20000, first - 63].sorted { a, b in
            ((a - first) + 95444) % 95444 < ((b - first) + 95444) % 95444
        }
        for offset in offsets {
            try folder.ffmpeg("\(clip) -output_ts_offset \(offset) part.ts")
            whole += try folder.contents("part.ts")
        }
        let path = try folder.write("whole.ts", whole)
        let source = try MediaSource(path: path)
        let reading = try Reading(source)
        #expect(reading.frames.count == 150 * offsets.count)
        let steps = zip(reading.seconds, reading.seconds.dropFirst()).map { $1 - $0 }
        #expect(steps.allSatisfy { $0 > 0.01 && $0 < 0.15 }, "\(steps.max() ?? 0) \(steps.min() ?? 0)")
        let sound = reading.packets.map(\.presentationTime.seconds)
        #expect(zip(sound, sound.dropFirst()).allSatisfy { abs($1 - $0) < 0.15 })
        #expect(source.problems.discontinuities == offsets.count - 1, "\(source.problems)")
    }

    @Test func lastFrameEndsWithTheDuration() throws {
        let path = try folder.ffmpeg("\(Self.video) \(Self.coding) a.mp4")
        let reading = try Reading(path, .init(duration: MediaTime(value: 1010, timescale: 1000)))
        let last = try #require(reading.frames.last)
        #expect(last.presentationTime == MediaTime(value: 1, timescale: 1))
        #expect(last.duration == MediaTime(value: 1, timescale: 100))
    }

    /// Frame threads hold several pictures; all that was read comes out.
    @Test func endOfTheInputGivesWhatTheDecoderHolds() throws {
        let path = try folder.ffmpeg("\(Self.video) \(Self.coding) a.mp4")
        let source = try MediaSource(path: path, options: .init(threads: 4))
        for _ in 0..<10 { _ = try #require(try source.next()) }
        source.cancel()
        source.endInput()
        let rest = try Reading(source).seconds
        #expect(rest.count >= 3 && rest.count < 50)
        #expect(rest.first.map { abs($0 - 0.4) < 0.001 } == true)
        #expect(!source.problems.isLossy)
    }
}

@Suite struct FrameRateEstimateTests {
    @Test func ratesAreChosenWithCare() {
        func estimate(_ base: Rational, _ average: Rational, _ isRegular: Bool? = nil) -> FrameRateEstimate {
            FrameRateEstimate(base: base, average: average, isRegular: isRegular)
        }
        let film = Rational(24000, 1001)
        // Rounded times of the container make the average inexact.
        #expect(estimate(film, Rational(23977, 1000)).rate == film)
        #expect(!estimate(film, Rational(23977, 1000)).isVariable)
        // Fields counted as frames.
        #expect(estimate(Rational(50), Rational(25)).rate == Rational(25))
        #expect(!estimate(Rational(50), Rational(25)).isVariable)
        // Truly variable, and variable only by the index.
        #expect(estimate(Rational(60), Rational(22)).rate == Rational(22))
        #expect(estimate(Rational(60), Rational(22)).isVariable)
        #expect(estimate(Rational(25), Rational(25), false).isVariable)
        #expect(!estimate(Rational(60), Rational(22), true).isVariable)
        // Nothing, and nonsense.
        #expect(estimate(Rational(0, 0), Rational(0, 0)).rate == nil)
        #expect(estimate(Rational(90000), Rational(30)).rate == Rational(30))
        #expect(estimate(Rational(25), Rational(0, 1)).rate == Rational(25))
    }

    @Test func indexIsRegularWithinOneTick() {
        let told = FrameRateEstimate(base: 30, average: 30, isRegular: nil)
        func checked(_ times: [Int64]) -> FrameRateEstimate { told.checked(against: times, in: Rational(1, 1000)) }
        #expect(checked([0, 33, 67, 100, 133]) == told && checked([0, 133]) == told && checked([]) == told)
        let slower = checked([0, 133, 267, 400, 533, 667, 800])
        #expect(slower.isVariable && slower.rate == Rational(15, 2), "\(slower)")
        #expect(checked([0, 33, 67, 100, 300, 500]).rate == 10)
        let proved = FrameRateEstimate(base: 30, average: 30, isRegular: true)
        #expect(proved.checked(against: [0, 133, 267, 400], in: Rational(1, 1000)) == proved)
        #expect(FrameRateEstimate.isRegular([0, 33, 67, 100]) == true)
        #expect(FrameRateEstimate.isRegular([0, 33, 99, 133]) == false)
        #expect(FrameRateEstimate.isRegular([0, 33]) == nil)
        #expect(FrameRateEstimate.isRegular([.min, .max, 0]) == false)
    }
}
