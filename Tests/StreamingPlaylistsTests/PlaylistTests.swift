// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import StreamingPlaylists
import Testing

@Suite struct MediaPlaylistTests {
    private func segment(_ path: String, _ value: Int64, _ timescale: Int32) -> PlaylistSegment {
        PlaylistSegment(resource: PlaylistResource(path: path), duration: MediaTime(value: value, timescale: timescale))
    }

    @Test func onDemandOfFragmentedMP4() {
        let maps = ["init-1.mp4", "init-1.mp4", "init-2.mp4"]
        var segments = (1...3).map { segment("\($0).m4s", 180 * 1001, 30000) }
        for index in segments.indices { segments[index].initialization = PlaylistResource(path: maps[index]) }
        segments[0].date = WallClockTime("2026-01-31T13:00:00.5+01:00")
        let expected = """
            #EXTM3U
            #EXT-X-VERSION:7
            #EXT-X-TARGETDURATION:6
            #EXT-X-MEDIA-SEQUENCE:0
            #EXT-X-PLAYLIST-TYPE:VOD
            #EXT-X-INDEPENDENT-SEGMENTS
            #EXT-X-MAP:URI="init-1.mp4"
            #EXT-X-PROGRAM-DATE-TIME:2026-01-31T12:00:00.500Z
            #EXTINF:6.006,
            1.m4s
            #EXTINF:6.006,
            2.m4s
            #EXT-X-MAP:URI="init-2.mp4"
            #EXTINF:6.006,
            3.m4s
            #EXT-X-ENDLIST

            """
        #expect(MediaPlaylist(kind: .onDemand, segments: segments).text == expected)
    }

    @Test func liveWindow() {
        var playlist = MediaPlaylist(kind: .live, segments: [segment("a.ts", 4, 1), segment("b.ts", 4, 1)])
        playlist.firstNumber = 70
        playlist.discontinuityNumber = 2
        playlist.segments[1].isDiscontinuity = true
        playlist.isIndependent = false
        let expected = """
            #EXTM3U
            #EXT-X-VERSION:3
            #EXT-X-TARGETDURATION:4
            #EXT-X-MEDIA-SEQUENCE:70
            #EXT-X-DISCONTINUITY-SEQUENCE:2
            #EXTINF:4.000,
            a.ts
            #EXT-X-DISCONTINUITY
            #EXTINF:4.000,
            b.ts

            """
        #expect(playlist.text == expected)
    }

    /// The durations of thousands of segments that are no multiple of a microsecond add up to a microsecond.
    @Test func durationsDoNotDrift() throws {
        let count = 5000
        let segments = (0..<count).map { segment("\($0).ts", 59 * 1001, 24000) }
        let lines = MediaPlaylist(kind: .onDemand, segments: segments).text.split(separator: "\n")
        let durations = lines.filter { $0.hasPrefix("#EXTINF:") }.compactMap { line -> Int? in
            let parts = line.dropFirst(8).dropLast().split(separator: ".")
            let places = parts[1] + String(repeating: "0", count: 6 - parts[1].count)
            return Int(parts[0] + places)
        }
        #expect(durations.count == count)
        let exact = Double(count) * 59 * 1001 / 24000
        #expect(abs(Double(durations.reduce(0, +)) - exact * 1_000_000) <= 1)
    }

    @Test func targetDurationIsRounded() {
        let times = [MediaTime(value: 6499, timescale: 1000), MediaTime(value: 1, timescale: 10)]
        #expect(MediaPlaylist.targetDuration(of: times) == 6)
        #expect(MediaPlaylist.targetDuration(of: [MediaTime(value: 13, timescale: 2)]) == 7)
        #expect(MediaPlaylist.targetDuration(of: []) == 1)
    }

    @Test func pathsAndTextsCannotBreakALine() {
        var segment = segment("ä b\n#EXT?&%\"/1.ts", 1, 1)
        segment.initialization = PlaylistResource(path: "i\".mp4", bytes: 10..<30)
        let text = MediaPlaylist(kind: .event, segments: [segment]).text
        #expect(text.contains("\n%C3%A4%20b%0A%23EXT%3F%26%25%22/1.ts\n"))
        #expect(text.contains("\n#EXT-X-MAP:URI=\"i%22.mp4\",BYTERANGE=\"20@10\"\n"))
        #expect(text.contains("\n#EXT-X-PLAYLIST-TYPE:EVENT\n") && !text.contains("ENDLIST"))
    }
}

@Suite struct MultivariantPlaylistTests {
    private typealias BitRates = MultivariantPlaylist.BitRates

    @Test func ladderWithAudio() {
        var playlist = MultivariantPlaylist(
            variants: [
                .init(
                    path: "show/720p/index.m3u8",
                    bitRates: BitRates(peak: 3_000_000, average: 2_000_000),
                    codec: "avc1.64001f",
                    width: 1280,
                    height: 720,
                    frameRate: Rational(30000, 1001)
                )
            ],
            iFrames: [
                .init(
                    path: "show/720p/iframes.m3u8",
                    bitRates: BitRates(peak: 300, average: 200),
                    codec: "avc1.64001f",
                    width: 1280,
                    height: 720
                )
            ],
            audio: [
                .init(path: "a.m3u8", name: "My \"mix\"", language: nil, channelCount: 2, codec: "mp4a.40.2"),
                .init(path: "b.m3u8", name: "de", language: "de", channelCount: 6, codec: "ac-3"),
            ],
            audioBitRates: BitRates(peak: 500, average: 400)
        )
        playlist.audio[0].isDefault = true
        playlist.captionLanguage = "en"
        let expected = """
            #EXTM3U
            #EXT-X-VERSION:6
            #EXT-X-INDEPENDENT-SEGMENTS
            #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="audio",NAME="My 'mix'",LANGUAGE="und",DEFAULT=YES,AUTOSELECT=YES,\
            CHANNELS="2",URI="a.m3u8"
            #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="audio",NAME="de",LANGUAGE="de",DEFAULT=NO,AUTOSELECT=YES,CHANNELS="6",\
            URI="b.m3u8"
            #EXT-X-MEDIA:TYPE=CLOSED-CAPTIONS,GROUP-ID="captions",NAME="CC1",LANGUAGE="en",DEFAULT=NO,AUTOSELECT=YES,\
            INSTREAM-ID="CC1"
            #EXT-X-STREAM-INF:BANDWIDTH=3000500,AVERAGE-BANDWIDTH=2000400,CODECS="avc1.64001f,mp4a.40.2,ac-3",\
            RESOLUTION=1280x720,FRAME-RATE=29.970,VIDEO-RANGE=SDR,AUDIO="audio",CLOSED-CAPTIONS="captions"
            show/720p/index.m3u8
            #EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=300,AVERAGE-BANDWIDTH=200,CODECS="avc1.64001f",RESOLUTION=1280x720,\
            VIDEO-RANGE=SDR,URI="show/720p/iframes.m3u8"

            """
        #expect(playlist.text == expected)
    }

    /// The definition of RFC 8216 4.1, by every contiguous set.
    @Test func peakIsThatOfSetsNearTheTarget() {
        var state: UInt64 = 1
        func random(_ limit: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int((state >> 33) % UInt64(limit))
        }
        for _ in 0..<200 {
            let segments = (0..<(1 + random(12))).map { _ in
                (duration: MediaTime(value: Int64(1 + random(6000)), timescale: 1000), byteCount: random(1_000_000))
            }
            let target = MediaPlaylist.targetDuration(of: segments.map(\.duration))
            var peak = 0.0
            for first in segments.indices {
                for last in first..<segments.count {
                    let seconds = segments[first...last].reduce(0) { $0 + $1.duration.seconds }
                    let bytes = segments[first...last].reduce(0) { $0 + $1.byteCount }
                    guard seconds >= Double(target) / 2, seconds <= Double(target) * 1.5 else { continue }
                    peak = max(peak, Double(bytes) * 8 / seconds)
                }
            }
            let whole = segments.reduce(0) { $0 + $1.duration.seconds }
            let average = Double(segments.reduce(0) { $0 + $1.byteCount }) * 8 / whole
            let rates = BitRates(of: segments, targetDuration: target)
            #expect(abs(Double(rates.average) - average) <= 1)
            #expect(abs(Double(rates.peak) - max(peak, average)) <= 1)
        }
        #expect(BitRates(of: [], targetDuration: 6) == BitRates(peak: 0, average: 0))
    }
}

@Suite struct WallClockTimeTests {
    @Test(arguments: [
        ("1970-01-01T00:00:00Z", 0, "1970-01-01T00:00:00.000Z"),
        ("2000-02-29T23:59:59.9999Z", 951_868_799_999, "2000-02-29T23:59:59.999Z"),
        ("2026-11-25T06:00:00+05:30", 1_795_566_600_000, "2026-11-25T00:30:00.000Z"),
        ("1969-12-31 23:59:59.25z", -750, "1969-12-31T23:59:59.250Z"),
        ("0000-03-01T00:00:00Z", -62_162_035_200_000, "0000-03-01T00:00:00.000Z"),
        ("9999-12-31T23:59:59Z", 253_402_300_799_000, "9999-12-31T23:59:59.000Z"),
    ])
    func parsesAndPrints(text: String, milliseconds: Int64, printed: String) throws {
        let time = try #require(WallClockTime(text))
        #expect(time.milliseconds == milliseconds)
        #expect("\(time)" == printed)
    }

    @Test(arguments: [
        "", "now", "2026-11-25", "2026-11-25T06:00Z", "2026-13-25T06:00:00Z", "2026-02-29T06:00:00Z",
        "2026-11-25T24:00:00Z", "2026-11-25T06:00:00", "2026-11-25T06:00:00.Z", "2026-11-25T06:00:00Zx",
        "２０２６-11-25T06:00:00Z", "2026-11-25T06:00:00+5:30", "0000-01-01T00:00:00+01:00",
    ])
    func refusesOthers(text: String) { #expect(WallClockTime(text) == nil) }

    @Test func everyDayOfFourCenturies() throws {
        let start = try #require(WallClockTime("1999-12-31T12:00:00Z"))
        var last = "\(start)"
        for day in 1..<(400 * 366) {
            let time = start.advanced(by: MediaTime(value: Int64(day) * 86400, timescale: 1))
            let text = "\(time)"
            #expect(text > last)
            #expect(WallClockTime(text) == time)
            last = text
        }
        let far = start.advanced(by: MediaTime(value: 1 << 50, timescale: 1))
        #expect("\(far)" == "9999-12-31T23:59:59.999Z")
    }
}

@Suite struct LanguageTagTests {
    @Test(arguments: [
        ("eng", "en"), ("GER", "de"), ("deu", "de"), ("zho-Hant", "zh-Hant"), ("und", "und"), ("en-US", "en-US"),
        ("gsw", "gsw"), ("", ""), ("fre", "fr"), ("zul", "zu"), ("per", "fa"),
    ])
    func shortens(language: String, expected: String) { #expect(LanguageTag.shortest(language) == expected) }
}

@Suite struct DASHManifestTests {
    @Test func renditions() {
        var video = DASHManifest.Representation(
            id: "720p",
            codec: "avc1.64001f",
            bitRate: 3_000_000,
            initialization: "a&b/init-1.mp4",
            media: "a&b/$Number%05d$.m4s",
            durations: (0..<3).map { _ in MediaTime(value: 180_180, timescale: 30000) }
                + [MediaTime(value: 30030, timescale: 30000)]
        )
        (video.width, video.height, video.frameRate) = (1280, 720, Rational(60000, 2002))
        var audio = DASHManifest.Representation(
            id: "audio-1",
            codec: "mp4a.40.2",
            bitRate: 64000,
            initialization: "i.mp4",
            media: "$Number%05d$.m4s",
            durations: [MediaTime(value: 1, timescale: 3), MediaTime(value: 2, timescale: 7)]
        )
        (audio.sampleRate, audio.channelCount, audio.language) = (48000, 2, "\"en<")
        let text = DASHManifest(video: [video], audio: [audio], bufferTime: 6).text
        #expect(text.contains("mediaPresentationDuration=\"PT19.019S\" minBufferTime=\"PT6S\""))
        #expect(text.contains("<S t=\"0\" d=\"180180\" r=\"2\"/>\n            <S d=\"30030\"/>"))
        #expect(text.contains("width=\"1280\" height=\"720\" frameRate=\"30000/1001\""))
        #expect(text.contains("media=\"a%26b/$Number%05d$.m4s\""))
        // Without a common unit, microseconds that add up.
        #expect(text.contains("timescale=\"1000000\"") && text.contains("<S t=\"0\" d=\"333333\"/>"))
        #expect(text.contains("<S d=\"285715\"/>"))
        audio.start = MediaTime(value: 21, timescale: 1000)
        let later = DASHManifest(video: [], audio: [audio], bufferTime: 6).text
        #expect(later.contains("<S t=\"21000\" d=\"333333\"/>"))
        #expect(later.contains("mediaPresentationDuration=\"PT0.640S\""))
        #expect(text.contains(" lang=\"&quot;en&lt;\""))
    }
}
