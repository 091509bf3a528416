// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import StreamingPlaylists
import Testing

/// Long random streams, whose playlists are read as players read them.
@Suite struct LiveSimulationTests {
    typealias Options = LiveMediaPlaylist.Options

    static let settings: [SimulatedStream.Settings] = {
        let third = MediaTime(value: 10010, timescale: 30000)
        let second = MediaTime(value: 1, timescale: 1)
        var all = (1...4).map { seed in
            SimulatedStream.Settings(
                seed: seed,
                options: Options(
                    targetDuration: 4,
                    partTarget: third,
                    window: .duration(MediaTime(value: 40, timescale: 1))
                )
            )
        }
        all[1].options.window = .segments(15)
        all[2].options.window = .event
        (all[3].usesRanges, all[3].renditions) = (true, 3)
        // Transport streams without parts.
        var plain = SimulatedStream.Settings(
            seed: 5,
            options: Options(targetDuration: 6, window: .segments(12)),
            picture: MediaTime(value: 1, timescale: 25),
            pictures: 25,
            parts: 6
        )
        plain.options.container = .transportStream
        all.append(plain)
        // Parts of one second of sound, whose frames are no multiple of a microsecond.
        all.append(
            SimulatedStream.Settings(
                seed: 6,
                options: Options(targetDuration: 6, partTarget: second, window: .segments(40)),
                picture: MediaTime(value: 1024, timescale: 44100),
                pictures: 43,
                parts: 6
            )
        )
        return all
    }()

    @Test(arguments: settings)
    func everyVersionFollowsTheRules(settings: SimulatedStream.Settings) throws {
        let date = try #require(WallClockTime("2026-01-31T12:00:00Z"))
        var stream = try SimulatedStream(settings, date: date)
        var watches = stream.playlists.map { _ in PlaylistWatch(settings.options) }
        for _ in 0..<(settings.options.window == .event ? 400 : 1000) {
            _ = try stream.step()
            for index in watches.indices { try watches[index].see(&stream, index) }
        }
        try stream.finish()
        for index in watches.indices {
            try watches[index].see(&stream, index)
            #expect(watches[index].last?.isEnded == true)
            try watches[index].checkDeletion(&stream, index)
        }
    }

    /// Requests of random players wait exactly until the playlist contains what they ask for.
    @Test(arguments: [settings[0], settings[3], settings[4], settings[5]])
    func requestsWaitForWhatTheyAskFor(settings: SimulatedStream.Settings) throws {
        let date = try #require(WallClockTime("2026-01-31T12:00:00Z"))
        var stream = try SimulatedStream(settings, date: date)
        var lottery = Lottery(settings.seed)
        var waiting: [(request: BlockingRequest, number: Int, part: Int?, since: MediaTime)] = []
        var (served, refused) = (0, 0)
        for _ in 0..<800 {
            let before = try ParsedPlaylist(stream.playlists[0].text())
            for _ in 0..<2 {
                let number = max(0, before.lastNumber - 2 + lottery.below(7))
                let part = settings.options.partTarget != nil && lottery.below(3) > 0 ? lottery.below(15) : nil
                let query = "_HLS_msn=\(number)" + (part.map { "&_HLS_part=\($0)" } ?? "")
                let request = BlockingRequest(query: query)
                switch request.answer(at: stream.playlists[0].edge) {
                case .send:
                    #expect(before.satisfies(number, part), "\(query)")
                    served += 1
                case .wait(_, _, let limit):
                    #expect(!before.satisfies(number, part), "\(query)")
                    #expect(limit == MediaTime(value: Int64(settings.options.targetDuration) * 3, timescale: 1))
                    #expect(!before.isTooFar(number, part, settings.options), "\(query)")
                    waiting.append((request, number, part, stream.now))
                case .badRequest:
                    #expect(before.isTooFar(number, part, settings.options), "\(query)")
                    refused += 1
                case .unavailable: Issue.record("\(query) timed out at once")
                }
            }
            _ = try stream.step()
            let now = stream.now
            let after = try ParsedPlaylist(stream.playlists[0].text())
            waiting.removeAll { request, number, part, since in
                let answer = request.answer(at: stream.playlists[0].edge, waited: now - since)
                guard case .wait = answer else {
                    if case .unavailable = answer {
                        let limit = MediaTime(value: Int64(settings.options.targetDuration) * 3, timescale: 1)
                        #expect(now - since >= limit)
                    } else {
                        #expect(answer == .send(nil) && after.satisfies(number, part), "\(number) \(part ?? -1)")
                        served += 1
                    }
                    return true
                }
                #expect(!after.satisfies(number, part))
                return false
            }
        }
        #expect(served > 400 && refused > 150 && waiting.count < 100)
        try stream.finish()
        let end = stream.playlists[0].edge
        #expect(waiting.allSatisfy { $0.request.answer(at: end) == .send(nil) })
    }
}

extension ParsedPlaylist {
    /// rfc8216bis 6.2.5.2, from what a player sees.
    func satisfies(_ number: Int, _ part: Int?) -> Bool {
        let openCount = open?.parts.count ?? 0
        guard let part, constants.contains(where: { $0.hasPrefix("#EXT-X-PART-INF") }) else {
            return number <= lastNumber
        }
        if number < lastNumber { return true }
        if number == lastNumber { return part < segments.last?.parts.count ?? 0 || openCount > 0 }
        return number == lastNumber + 1 && part < openCount
    }

    func isTooFar(_ number: Int, _ part: Int?, _ options: LiveMediaPlaylist.Options) -> Bool {
        if number > lastNumber + 2 { return true }
        guard let part, let target = options.partTarget?.seconds, number > lastNumber else { return false }
        let ahead = number == lastNumber + 1 ? part - ((open?.parts.count ?? 0) - 1) : part + 1
        return Double(ahead) > (target < 1 ? 3 / target : 3)
    }
}

/// Expects a condition, without the cost of a macro for each of millions.
func verify(
    _ condition: Bool,
    _ message: @autoclosure () -> String = "a rule is broken",
    _ location: SourceLocation = #_sourceLocation
) {
    if !condition { Issue.record("\(message())", sourceLocation: location) }
}

/// Follows one playlist, and compares each version with those before.
struct PlaylistWatch {
    let options: LiveMediaPlaylist.Options
    var last: ParsedPlaylist?
    private var history: [(playlist: ParsedPlaylist, time: MediaTime)] = []
    private var dates: [Int: String] = [:]
    /// Until when the files that are not listed must exist, by path.
    private var needed: [String: MediaTime] = [:]
    private var longest: [Int: Int] = [:]
    private var (versions, skips) = (0, 0)

    init(_ options: LiveMediaPlaylist.Options) { self.options = options }

    mutating func see(_ stream: inout SimulatedStream, _ index: Int) throws {
        let playlist = stream.playlists[index]
        let reports = stream.playlists.indices.filter { $0 != index }.compactMap {
            stream.playlists[$0].report(as: "../\($0)/index.m3u8")
        }
        let new = try ParsedPlaylist(playlist.text(reports: reports))
        checkAlone(new, reports.count)
        if let last { try checkChange(from: last, to: new) }
        versions += 1
        if versions % 4 == index { try checkDelta(playlist, reports, new) }
        try checkDeletion(new, &stream, index)
        history.append((new, stream.now))
        let half = MediaTime(value: Int64(options.targetDuration) * 3, timescale: 1)
        history.removeAll { stream.now - $0.time > half }
        last = new
    }

    private func checkAlone(_ new: ParsedPlaylist, _ reports: Int) {
        let limit = options.targetDuration * 1_000_000 + 500_000
        let partLimit = Int((options.partTarget ?? .zero).converted(to: 1_000_000, rounding: .up).value)
        let end = new.microseconds
        var position = 0
        for segment in new.segments {
            verify(segment.microseconds > 0 && segment.microseconds < limit)
            verify(segment.date != nil)
            verify((segment.map != nil) == (options.container == .fragmentedMP4))
            if !segment.parts.isEmpty {
                verify(segment.parts.reduce(0) { $0 + $1.microseconds } == segment.microseconds)
                verify(end - position <= options.targetDuration * 3_000_000)
            }
            position += segment.microseconds
        }
        for part in (new.segments + [new.open].compactMap { $0 }).flatMap(\.parts) {
            verify(part.microseconds > 0 && part.microseconds <= partLimit)
        }
        verify(new.version == (options.container == .fragmentedMP4 ? 6 : 3))
        verify(new.reports.count == (new.isEnded ? 0 : reports))
        verify(!new.isEnded || new.hints.isEmpty)
    }

    private mutating func checkChange(from old: ParsedPlaylist, to new: ParsedPlaylist) throws {
        verify(new.constants == old.constants)
        verify(new.firstNumber >= old.firstNumber && new.lastNumber >= old.lastNumber)
        verify(new.discontinuityNumber >= old.discontinuityNumber)
        for number in new.firstNumber...max(new.firstNumber, old.lastNumber) {
            guard let before = old.segment(number), let after = new.segment(number) else { continue }
            verify(before.lasting == after.lasting)
            verify(after.parts.isEmpty || after.parts == before.parts)
        }
        if let open = old.open {
            let after = try #require(new.segment(old.lastNumber + 1) ?? new.open)
            verify(Array(after.parts.prefix(open.parts.count)) == open.parts)
            verify(after.date == open.date && after.map == open.map && after.isDiscontinuity == open.isDiscontinuity)
        }
        if new.firstNumber > old.firstNumber {
            verify(new.segments.count >= 6)
            verify(new.segments.reduce(0) { $0 + $1.microseconds } >= options.targetDuration * 3_000_000)
            verify(options.window != .event)
        }
        try checkHint(old, new)
    }

    /// A part is where it was hinted.
    private func checkHint(_ old: ParsedPlaylist, _ new: ParsedPlaylist) throws {
        let hints = try old.hints.map { try ParsedPlaylist.attributes($0) }
        verify(Set(hints.map { $0["TYPE"] ?? "" }).count == hints.count)
        let had = old.open?.parts.count ?? 0
        let opened = new.segment(old.lastNumber + 1) ?? new.open
        let following = new.segment(old.lastNumber + 2) ?? (new.lastNumber == old.lastNumber + 1 ? new.open : nil)
        guard let part = (opened.map { Array($0.parts.dropFirst(had)) } ?? []).first ?? following?.parts.first else {
            return
        }
        let hint = try #require(hints.first { $0["TYPE"] == "PART" })
        verify(hint["URI"] == part.uri)
        verify(hint["BYTERANGE-START"] == part.range?.split(separator: "@").last.map(String.init))
        let map = hints.first { $0["TYPE"] == "MAP" }?["URI"]
        if let map { verify((opened ?? following)?.map?.contains("\"\(map)\"") == true) }
    }

    /// A delta update makes an older playlist the new one.
    private mutating func checkDelta(
        _ playlist: LiveMediaPlaylist,
        _ reports: [LiveMediaPlaylist.Report],
        _ new: ParsedPlaylist
    ) throws {
        for skipping in [LiveMediaPlaylist.DeltaUpdate.segments, .segmentsAndDateRanges] {
            let text = playlist.text(reports: reports, skipping: skipping)
            let oldest = history.first?.playlist
            var delta = try ParsedPlaylist(text, after: oldest)
            guard let skipped = delta.skipped else {
                verify(text == playlist.text(reports: reports))
                continue
            }
            skips += 1
            verify(skipped > 0)
            verify(delta.version == (skipping == .segments ? 9 : 10))
            verify(text.contains("RECENTLY-REMOVED-DATERANGES=\"\"") == (skipping != .segments))
            let kept = new.segments.dropFirst(skipped).reduce(0) { $0 + $1.microseconds }
            verify(kept >= options.targetDuration * 6_000_000)
            verify(
                kept - (new.segments.dropFirst(skipped).first?.microseconds ?? 0) <= options.targetDuration * 6_000_000
            )
            (delta.skipped, delta.version) = (nil, new.version)
            verify(delta == new)
        }
    }

    /// Nothing that is listed, or was not long ago, is deleted.
    private mutating func checkDeletion(_ new: ParsedPlaylist, _ stream: inout SimulatedStream, _ index: Int) throws {
        let duration = new.microseconds
        for number in new.firstNumber..<(new.lastNumber + 2) { longest[number] = max(longest[number] ?? 0, duration) }
        let now = stream.now
        if let last {
            let three = MediaTime(value: Int64(options.targetDuration) * 3, timescale: 1)
            let listed = Set(Self.parts(new).map(\.uri))
            for part in Self.parts(last) where !listed.contains(part.uri) { need(part.uri, now + three) }
            for number in last.firstNumber..<max(last.firstNumber, new.firstNumber) {
                guard let segment = last.segment(number) else { continue }
                let length = segment.microseconds + (longest[number] ?? 0)
                let end = now + MediaTime(value: Int64(length), timescale: 1_000_000)
                need(segment.uri, end)
                if let map = segment.map { need(try Self.uri(map), end) }
            }
        }
        let listed = try Self.listed(new)
        let expired = stream.playlists[index].takeExpiredFiles(at: now)
        for path in expired {
            verify(!listed.contains(path), "\(path) is listed")
            verify(needed[path].map { $0 <= now + MediaTime(value: 2, timescale: 1_000_000) } ?? true, "\(path)")
            verify(stream.files[index].remove(path) != nil, "\(path) is deleted twice")
        }
        if options.window == .event, !new.isEnded { verify(expired.allSatisfy { $0.hasPrefix("p") }) }
    }

    /// At last, everything that is not listed is deleted.
    func checkDeletion(_ stream: inout SimulatedStream, _ index: Int) throws {
        let last = try #require(last)
        let end = stream.now + MediaTime(value: 100_000, timescale: 1)
        stream.files[index].subtract(stream.playlists[index].takeExpiredFiles(at: end))
        verify(stream.playlists[index].nextExpiry == nil)
        let listed = try Self.listed(last)
        // The last initialization section can be that of a segment that never came.
        let extra = stream.files[index].subtracting(listed)
        verify(extra.isEmpty, "\(extra)")
        verify(listed.isSubset(of: stream.files[index]))
        verify(options.offersDeltaUpdates == false || skips > 20)
        try stream.playlists[index].removeParts(at: end)
        let rest = try ParsedPlaylist(stream.playlists[index].text())
        verify(Self.parts(rest).isEmpty && rest.segments.map(\.lasting) == last.segments.map(\.lasting))
    }

    private mutating func need(_ path: String, _ end: MediaTime) { needed[path] = max(needed[path] ?? end, end) }

    private static func parts(_ playlist: ParsedPlaylist) -> [ParsedPlaylist.Part] {
        (playlist.segments + [playlist.open].compactMap { $0 }).flatMap(\.parts)
    }

    private static func uri(_ map: String) throws -> String { try ParsedPlaylist.attributes(map)["URI"] ?? "" }

    private static func listed(_ playlist: ParsedPlaylist) throws -> Set<String> {
        var paths = Set(parts(playlist).map(\.uri)).union(playlist.segments.map(\.uri))
        for map in (playlist.segments + [playlist.open].compactMap { $0 }).compactMap(\.map) {
            paths.insert(try uri(map))
        }
        return paths
    }
}
