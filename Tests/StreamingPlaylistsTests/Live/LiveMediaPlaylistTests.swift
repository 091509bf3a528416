// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import StreamingPlaylists
import Testing

@Suite struct LiveMediaPlaylistTests {
    typealias Playlist = LiveMediaPlaylist
    private let half = MediaTime(value: 1, timescale: 2)
    private let date: WallClockTime

    init() throws { date = try #require(WallClockTime("2026-01-31T12:00:00Z")) }

    private func playlist(_ window: Playlist.Window = .segments(6)) throws -> Playlist {
        var playlist = try Playlist(.init(targetDuration: 2, partTarget: half, window: window), date: date)
        try playlist.startSegment(initialization: PlaylistResource(path: "init-1.mp4"))
        return playlist
    }

    private func seconds(_ count: Int64) -> MediaTime { MediaTime(value: count, timescale: 1) }

    /// Appends parts of half a second, with hints.
    private func append(_ range: Range<Int>, to playlist: inout Playlist) throws {
        for number in range {
            try playlist.append(
                .init(resource: .init(path: "p\(number).m4s"), duration: half, isIndependent: number % 4 == 0),
                next: .init(path: "p\(number + 1).m4s"),
                at: MediaTime(value: Int64(number), timescale: 2)
            )
        }
    }

    @Test func growsByPartsAndSegments() throws {
        var playlist = try playlist()
        try append(0..<4, to: &playlist)
        try playlist.completeSegment(path: "s0.m4s", at: seconds(2))
        try append(4..<6, to: &playlist)
        let expected = """
            #EXTM3U
            #EXT-X-VERSION:6
            #EXT-X-TARGETDURATION:2
            #EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,CAN-SKIP-UNTIL=12.000,PART-HOLD-BACK=1.500
            #EXT-X-PART-INF:PART-TARGET=0.500
            #EXT-X-MEDIA-SEQUENCE:0
            #EXT-X-DISCONTINUITY-SEQUENCE:0
            #EXT-X-INDEPENDENT-SEGMENTS
            #EXT-X-MAP:URI="init-1.mp4"
            #EXT-X-PROGRAM-DATE-TIME:2026-01-31T12:00:00.000Z
            #EXT-X-PART:DURATION=0.500,URI="p0.m4s",INDEPENDENT=YES
            #EXT-X-PART:DURATION=0.500,URI="p1.m4s"
            #EXT-X-PART:DURATION=0.500,URI="p2.m4s"
            #EXT-X-PART:DURATION=0.500,URI="p3.m4s"
            #EXTINF:2.000,
            s0.m4s
            #EXT-X-PROGRAM-DATE-TIME:2026-01-31T12:00:02.000Z
            #EXT-X-PART:DURATION=0.500,URI="p4.m4s",INDEPENDENT=YES
            #EXT-X-PART:DURATION=0.500,URI="p5.m4s"
            #EXT-X-PRELOAD-HINT:TYPE=PART,URI="p6.m4s"
            #EXT-X-RENDITION-REPORT:URI="../360p/index.m3u8",LAST-MSN=1,LAST-PART=0

            """
        #expect(playlist.text(reports: [.init(path: "../360p/index.m3u8", number: 1, part: 0)]) == expected)
        #expect(playlist.report(as: "x") == .init(path: "x", number: 1, part: 1))
        #expect(playlist.text(skipping: .segments) == playlist.text())
    }

    @Test func filesThatHaveNotArrived() throws {
        var playlist = try playlist()
        for segment in 0..<5 {
            try append(segment * 4..<segment * 4 + 4, to: &playlist)
            try playlist.completeSegment(path: "s\(segment).m4s", at: seconds(Int64(segment * 2)))
        }
        try append(20..<22, to: &playlist)
        let before = playlist.text()
        #expect(playlist.withoutFiles(["x.m4s"]).text() == before)
        // One whose lines are kept, one with parts, and a part of the open segment.
        let text = playlist.withoutFiles(["s0.m4s", "s4.m4s", "p21.m4s"]).text()
        #expect(playlist.text() == before)
        let expected = before.replacing("#EXTINF:2.000,\ns0.m4s", with: "#EXT-X-GAP\n#EXTINF:2.000,\ns0.m4s")
            .replacing("#EXTINF:2.000,\ns4.m4s", with: "#EXT-X-GAP\n#EXTINF:2.000,\ns4.m4s")
            .replacing("URI=\"p21.m4s\"", with: "URI=\"p21.m4s\",GAP=YES")
        #expect(text == expected && text != before)
    }

    @Test func oneWindowLater() throws {
        var playlist = try playlist()
        for segment in 0..<9 {
            if segment == 1 {
                try playlist.startSegment(initialization: .init(path: "init-2.mp4"))
                #expect(playlist.text().contains("#EXT-X-PRELOAD-HINT:TYPE=MAP,URI=\"init-2.mp4\"\n"))
            }
            try append((segment * 4)..<(segment * 4 + 4), to: &playlist)
            #expect(!playlist.text().contains("TYPE=MAP"))
            try playlist.completeSegment(
                path: "s\(segment).m4s",
                isMissing: segment == 8,
                at: seconds(2 * Int64(segment) + 2)
            )
        }
        let text = playlist.text()
        // The first segment keeps its initialization section, and the removed discontinuity is counted.
        #expect(text.contains("#EXT-X-MEDIA-SEQUENCE:3\n#EXT-X-DISCONTINUITY-SEQUENCE:1\n"))
        #expect(
            text.contains(
                "INDEPENDENT-SEGMENTS\n#EXT-X-MAP:URI=\"init-2.mp4\"\n#EXT-X-PROGRAM-DATE-TIME:2026-01-31T12:00:06.000Z"
            )
        )
        #expect(
            !text.contains("#EXT-X-DISCONTINUITY\n")
                && text.hasSuffix("\n#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"p36.m4s\"\n")
        )
        #expect(text.contains("\n#EXT-X-GAP\n#EXTINF:2.000,\ns8.m4s\n"))
        // Parts of the last three target durations.
        #expect(!text.contains("p23.m4s") && text.contains("p24.m4s"))
        #expect(playlist.edge.lastNumber == 8 && playlist.edge.lastPartCount == 4)
    }

    @Test func discontinuityIsCountedWhenItsSegmentIsRemoved() throws {
        var playlist = try playlist()
        for segment in 0..<8 {
            if segment == 1 { try playlist.startSegment(isDiscontinuity: true) }
            try playlist.completeSegment(
                path: "s\(segment).m4s",
                duration: seconds(2),
                at: seconds(2 * Int64(segment) + 2)
            )
            if segment == 6 {
                #expect(playlist.discontinuityNumber == 0 && playlist.text().contains("#EXT-X-DISCONTINUITY\n"))
            }
        }
        #expect(playlist.firstNumber == 2 && playlist.discontinuityNumber == 1)
        #expect(!playlist.text().contains("#EXT-X-DISCONTINUITY\n"))
    }

    @Test func filesLiveAsLongAsPlayersNeedThem() throws {
        var playlist = try playlist()
        for segment in 0..<7 {
            try append((segment * 4)..<(segment * 4 + 4), to: &playlist)
            try playlist.completeSegment(path: "s\(segment).m4s", at: seconds(2 * Int64(segment) + 2))
        }
        // The parts of segment 0 left the list with a part that was added at 6 s.
        #expect(playlist.nextExpiry == seconds(12))
        #expect(playlist.takeExpiredFiles(at: seconds(11)).isEmpty)
        // Segment 0 was removed at 14 s, from a playlist of up to 14 s.
        #expect(playlist.takeExpiredFiles(at: MediaTime(value: 2999, timescale: 100)).allSatisfy { $0.hasPrefix("p") })
        #expect(playlist.takeExpiredFiles(at: seconds(30)) == ["s0.m4s"])
        #expect(playlist.takeExpiredFiles(at: seconds(3000)).isEmpty && playlist.nextExpiry == nil)
    }

    @Test func partsAreBytesOfTheirSegment() throws {
        var playlist = try playlist()
        try playlist.append(
            .init(resource: .init(path: "s0.m4s", bytes: 0..<100), duration: half),
            next: .init(path: "s0.m4s", firstByte: 100),
            at: .zero
        )
        #expect(playlist.text().hasSuffix("#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"s0.m4s\",BYTERANGE-START=100\n"))
        #expect(throws: MediaError.self) {
            try playlist.append(.init(resource: .init(path: "s0.m4s", bytes: 99..<200), duration: half), at: .zero)
        }
        try playlist.append(
            .init(resource: .init(path: "s0.m4s", bytes: 100..<200), duration: half),
            next: .init(path: "s0.m4s", firstByte: 200),
            at: .zero
        )
        #expect(playlist.text().contains("#EXT-X-PART:DURATION=0.500,URI=\"s0.m4s\",BYTERANGE=\"100@100\"\n"))
        #expect(throws: MediaError.self) {
            try playlist.completeSegment(path: "s0.m4s", next: .init(path: "s0.m4s", firstByte: 200), at: .zero)
        }
        try playlist.completeSegment(path: "s0.m4s", at: .zero)
        #expect(playlist.hint == nil)
        try playlist.replaceHint(.init(path: "s1.m4s", firstByte: 0))
        #expect(playlist.text().hasSuffix("\ns0.m4s\n#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"s1.m4s\",BYTERANGE-START=0\n"))
    }

    @Test func endsWithoutHintsAndReports() throws {
        var playlist = try playlist(.event)
        try append(0..<3, to: &playlist)
        #expect(throws: MediaError.self) { try playlist.finish(at: .zero) }
        try playlist.completeSegment(path: "s0.m4s", at: seconds(2))
        try playlist.finish(at: seconds(2))
        let text = playlist.text(reports: [.init(path: "x", number: 1)], skipping: .segments)
        #expect(text.contains("#EXT-X-PLAYLIST-TYPE:EVENT\n") && text.hasSuffix("s0.m4s\n#EXT-X-ENDLIST\n"))
        #expect(!text.contains("HINT") && !text.contains("REPORT"))
        let before = playlist
        #expect(throws: MediaError.self) { try playlist.finish(at: seconds(3)) }
        #expect(throws: MediaError.self) { try playlist.startSegment() }
        #expect(throws: MediaError.self) { try playlist.replaceHint(nil) }
        #expect(throws: MediaError.self) {
            try playlist.completeSegment(path: "s1.m4s", duration: half, at: seconds(3))
        }
        #expect(throws: MediaError.self) {
            try playlist.append(.init(resource: .init(path: "p9"), duration: half), at: seconds(3))
        }
        #expect(playlist == before)
    }

    /// What breaks a rule is refused, and changes nothing.
    @Test func refusesWhatBreaksARule() throws {
        var playlist = try playlist()
        try append(0..<2, to: &playlist)
        let before = playlist
        func refuses(_ code: MediaError.Code = .invalidArgument, _ change: (inout Playlist) throws -> Void) {
            do {
                try change(&playlist)
                Issue.record("accepted")
            } catch { #expect((error as? MediaError)?.code == code) }
            #expect(playlist == before)
        }
        func part(_ path: String, _ value: Int64, _ scale: Int32) -> Playlist.Part {
            .init(resource: .init(path: path), duration: MediaTime(value: value, timescale: scale))
        }
        refuses { try $0.append(part("p2.m4s", 501, 1000), at: .zero) }
        refuses { try $0.append(part("p2.m4s", 0, 1000), at: .zero) }
        refuses { try $0.append(part("p2.m4s", -1, 1000), at: .zero) }
        refuses { try $0.append(part("p2.m4s", 1, 0), at: .zero) }
        refuses { try $0.append(part("p2.m4s", 1, 2), at: .invalid) }
        refuses { try $0.append(part("p3.m4s", 1, 2), at: .zero) }
        for listed in ["p0.m4s", "p2.m4s", ""] {
            refuses { try $0.append(part("p2.m4s", 1, 2), next: .init(path: listed), at: .zero) }
        }
        refuses { try $0.append(part("p2.m4s", 1, 2), next: .init(path: "s0.m4s", firstByte: -1), at: .zero) }
        refuses { try $0.replaceHint(.init(path: "p1.m4s")) }
        refuses { try $0.completeSegment(path: "s0.m4s", duration: MediaTime(value: 3, timescale: 2), at: .zero) }
        refuses { try $0.completeSegment(path: "", at: .zero) }
        refuses { try $0.completeSegment(path: "init-1.mp4", at: .zero) }
        refuses { try $0.completeSegment(path: "s0.m4s", duration: .invalid, at: .zero) }
        refuses(.invalidState) { try $0.startSegment(isDiscontinuity: true) }
        refuses(.invalidState) { try $0.removeParts(at: .zero) }
        try playlist.replaceHint(nil)
        let withoutHint = playlist
        #expect(throws: MediaError.self) { try playlist.append(part("p0.m4s", 1, 2), at: .zero) }
        #expect(throws: MediaError.self) { try playlist.append(part("", 1, 2), at: .zero) }
        #expect(playlist == withoutHint)
    }

    @Test func segmentsRoundToTheTarget() throws {
        var playlist = try playlist()
        #expect(throws: MediaError.self) {
            try playlist.completeSegment(path: "s", duration: MediaTime(value: 5, timescale: 2), at: .zero)
        }
        // It would be written as 2.500.
        let almost = MediaTime(value: 2_499_999_999, timescale: 1_000_000_000)
        #expect(throws: MediaError.self) { try playlist.completeSegment(path: "s", duration: almost, at: .zero) }
        try playlist.completeSegment(path: "s", duration: MediaTime(value: 2499, timescale: 1000), at: .zero)
        // Five parts of half a second are too many.
        try append(0..<4, to: &playlist)
        #expect(throws: MediaError.self) { try append(4..<5, to: &playlist) }
    }

    @Test func shortPartsAreReported() throws {
        var playlist = try playlist()
        func append(_ milliseconds: Int64, isIndependent: Bool = false, isMissing: Bool = false) throws -> Playlist
            .ShortPart?
        {
            let path = "p\(playlist.edge.lastNumber).\(playlist.edge.openPartCount)"
            let duration = MediaTime(value: milliseconds, timescale: 1000)
            return try playlist.append(
                .init(
                    resource: .init(path: path),
                    duration: duration,
                    isIndependent: isIndependent,
                    isMissing: isMissing
                ),
                at: .zero
            )
        }
        #expect(try append(424) == nil)
        #expect(try append(425) == .init(number: 0, part: 0, duration: MediaTime(value: 424, timescale: 1000)))
        #expect(try append(100) == nil)
        #expect(try append(100, isMissing: true) == nil)
        #expect(try append(100, isIndependent: true) == nil)
        #expect(try append(100) == nil)
        try playlist.completeSegment(path: "s0", at: .zero)
        #expect(try append(500) == nil)
    }

    @Test func datesFollowTheDurations() throws {
        var playlist = try playlist()
        try playlist.completeSegment(path: "s0", duration: seconds(2), at: .zero)
        let early = try #require(WallClockTime("2026-01-31T12:00:01Z"))
        #expect(throws: MediaError.self) { try playlist.startSegment(date: early) }
        let corrected = try #require(WallClockTime("2026-01-31T12:00:01.250Z"))
        try playlist.startSegment(date: corrected)
        try playlist.completeSegment(path: "s1", duration: MediaTime(value: 2002, timescale: 1000), at: .zero)
        try playlist.completeSegment(path: "s2", duration: seconds(2), at: .zero)
        let dates = playlist.text().split(separator: "\n").filter { $0.contains("DATE-TIME") }.map { $0.suffix(13) }
        #expect(dates == ["12:00:00.000Z", "12:00:01.250Z", "12:00:03.252Z"])
        #expect(!playlist.text().contains("#EXT-X-DISCONTINUITY\n"))
    }

    @Test func transportStreamsNeedNoSection() throws {
        var options = Playlist.Options(targetDuration: 6, window: .segments(6))
        (options.container, options.offersBlockingReload, options.offersDeltaUpdates) = (.transportStream, false, false)
        (options.firstNumber, options.firstDiscontinuityNumber, options.isIndependent) = (70, 3, false)
        var playlist = try Playlist(options, date: date)
        #expect(playlist.report(as: "x") == nil)
        #expect(throws: MediaError.self) { try playlist.startSegment(initialization: .init(path: "x")) }
        try playlist.completeSegment(path: "ä 1.ts", duration: MediaTime(value: 180_180, timescale: 30000), at: .zero)
        let expected = """
            #EXTM3U
            #EXT-X-VERSION:3
            #EXT-X-TARGETDURATION:6
            #EXT-X-MEDIA-SEQUENCE:70
            #EXT-X-DISCONTINUITY-SEQUENCE:3
            #EXT-X-PROGRAM-DATE-TIME:2026-01-31T12:00:00.000Z
            #EXTINF:6.006,
            %C3%A4%201.ts

            """
        #expect(playlist.text() == expected)
        #expect(playlist.report(as: "x") == .init(path: "x", number: 70))
        #expect(throws: MediaError.self) { try playlist.replaceHint(.init(path: "p")) }
        #expect(throws: MediaError.self) {
            try playlist.append(.init(resource: .init(path: "p"), duration: half), at: .zero)
        }
        var fragmented = try Playlist(.init(targetDuration: 6, window: .event), date: date)
        #expect(throws: MediaError.self) { try fragmented.completeSegment(path: "s", duration: half, at: .zero) }
    }

    /// The part target is rounded up, and what follows from it too.
    @Test func targetsAreNoShorterThanParts() throws {
        let third = MediaTime(value: 1, timescale: 3)
        var options = Playlist.Options(targetDuration: 4, partTarget: third, window: .segments(6))
        options.holdBack = seconds(12)
        let text = try Playlist(options, date: date).text()
        #expect(text.contains("HOLD-BACK=12.000,PART-HOLD-BACK=1.000002\n#EXT-X-PART-INF:PART-TARGET=0.333334\n"))
        options.partHoldBack = seconds(1)
        #expect(throws: MediaError.self) { try Playlist(options, date: date) }
    }

    @Test func optionsAreChecked() throws {
        func refuses(_ change: (inout Playlist.Options) -> Void) {
            var options = Playlist.Options(targetDuration: 2, partTarget: half, window: .segments(6))
            change(&options)
            #expect(throws: MediaError.self) { try options.validate() }
        }
        for target in [0, -1, 3601, .max, .min] { refuses { $0.targetDuration = target } }
        for part in [MediaTime.zero, .invalid, seconds(3), seconds(-1)] { refuses { $0.partTarget = part } }
        refuses { $0.offersBlockingReload = false }
        for time in [seconds(5), .invalid, seconds(.max)] { refuses { $0.holdBack = time } }
        for time in [MediaTime(value: 1499, timescale: 1000), .invalid] { refuses { $0.partHoldBack = time } }
        for time in [seconds(11), .invalid] { refuses { $0.skipBoundary = time } }
        for window in [Playlist.Window.segments(5), .segments(.max), .duration(seconds(11)), .duration(.invalid)] {
            refuses { $0.window = window }
        }
        for number in [-1, .max] { refuses { $0.firstNumber = number } }
        for number in [-1, .max] { refuses { $0.firstDiscontinuityNumber = number } }
        try Playlist.Options(targetDuration: 2, partTarget: half, window: .duration(seconds(7200))).validate()
    }
}
