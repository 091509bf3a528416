// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import StreamingPlaylists

/// Random numbers that are the same everywhere.
struct Lottery {
    private var state: UInt64
    init(_ seed: Int) { state = UInt64(seed) &* 0x9E37_79B9_7F4A_7C15 | 1 }

    mutating func below(_ limit: Int) -> Int {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int((state >> 33) % UInt64(limit))
    }
    mutating func isOne(of count: Int) -> Bool { below(count) == 0 }
}

/// A presentation whose renditions grow by random parts, segments, discontinuities and losses, all at the same times.
struct SimulatedStream {
    struct Settings {
        var seed = 1
        var options: LiveMediaPlaylist.Options
        var renditions = 2
        /// The duration of a picture, and the number of pictures in a part.
        var picture = MediaTime(value: 1001, timescale: 30000)
        var pictures = 10
        /// The number of parts in a segment.
        var parts = 12
        /// Whether parts are bytes of their segment's file.
        var usesRanges = false
        /// One of how many segments is lost, and one of how many starts with a discontinuity.
        var loss = 9
        var change = 13
    }

    let settings: Settings
    var playlists: [LiveMediaPlaylist]
    /// The monotonic clock.
    var now = MediaTime(value: 1000, timescale: 1)
    /// The files that exist: they are made, and not deleted.
    var files: [Set<String>]

    private var lottery: Lottery
    private var (segment, made, part, section): (Int, Int, Int, Int) = (0, 0, 0, 0)
    private var bytes = 0
    private var planned = 0
    private var isLost = false

    init(_ settings: Settings, date: WallClockTime) throws {
        self.settings = settings
        lottery = Lottery(settings.seed)
        playlists = try (0..<settings.renditions).map { _ in try LiveMediaPlaylist(settings.options, date: date) }
        files = playlists.map { _ in [] }
        try change()
        planned = settings.parts
    }

    private var isFragmented: Bool { settings.options.container == .fragmentedMP4 }
    private var hasParts: Bool { settings.options.partTarget != nil }
    private func name(_ number: Int) -> String { "s\(number)." + (isFragmented ? "m4s" : "ts") }
    private func partName(_ number: Int) -> String { "p\(number)." + (isFragmented ? "m4s" : "ts") }

    private func place(_ number: Int, _ segment: Int, from offset: Int) -> LiveMediaPlaylist.Hint {
        settings.usesRanges ? .init(path: name(segment), firstByte: offset) : .init(path: partName(number))
    }

    private mutating func change() throws {
        section += 1
        let map = isFragmented ? PlaylistResource(path: "init\(section).mp4") : nil
        for index in playlists.indices {
            if let map { files[index].insert(map.path) }
            try playlists[index].startSegment(initialization: map, isDiscontinuity: section > 1)
        }
    }

    /// Lets a part pass, or a segment without parts. Returns whether a segment is complete.
    mutating func step() throws -> Bool {
        try hasParts ? stepPart() : stepSegment()
    }

    private mutating func stepPart() throws -> Bool {
        // The last part of a segment can be short, and an early cut makes any part the last one.
        let isCut = made > 0 && lottery.isOne(of: 40)
        let isLast = isCut || made + 1 >= planned
        let count = isLast ? 1 + lottery.below(settings.pictures) : settings.pictures
        let duration = settings.picture * Int64(count)
        now = now + duration
        let size = 100 + lottery.below(10000)
        let isMissing = isLost || lottery.isOne(of: 50)
        let here = place(part, segment, from: bytes)
        let resource = PlaylistResource(
            path: here.path,
            bytes: settings.usesRanges ? bytes..<(bytes + size) : nil
        )
        part += 1
        made += 1
        bytes += size
        // The part after the last one is in the next file.
        let next = isLast ? place(part, segment + 1, from: 0) : place(part, segment, from: bytes)
        for index in playlists.indices {
            files[index].insert(resource.path)
            _ = try playlists[index].append(
                .init(resource: resource, duration: duration, isIndependent: made == 1, isMissing: isMissing),
                next: next,
                at: now
            )
        }
        if isLast { try complete(duration: nil) }
        return isLast
    }

    private mutating func stepSegment() throws -> Bool {
        let duration = settings.picture * Int64(settings.pictures * settings.parts - lottery.below(settings.pictures))
        now = now + duration
        try complete(duration: duration)
        return true
    }

    private mutating func complete(duration: MediaTime?) throws {
        for index in playlists.indices {
            files[index].insert(name(segment))
            try playlists[index].completeSegment(path: name(segment), duration: duration, isMissing: isLost, at: now)
        }
        (segment, made, bytes) = (segment + 1, 0, 0)
        planned = max(1, settings.parts - lottery.below(3))
        isLost = lottery.isOne(of: settings.loss)
        if lottery.isOne(of: settings.change) { try change() }
    }

    /// Ends all playlists; the segment that is open is completed before.
    mutating func finish() throws {
        if made > 0 { try complete(duration: nil) }
        for index in playlists.indices { try playlists[index].finish(at: now) }
    }
}
