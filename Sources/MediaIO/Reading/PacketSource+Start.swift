// SPDX-License-Identifier: GPL-2.0-or-later

internal import CFFmpeg
internal import FFmpegSupport
internal import MediaTimeline
internal import MediaTypes

// MARK: - Starting

extension PacketSource {
    /// The limits of what is read ahead: packets of all streams, and their bytes.
    private static let (mostItems, mostBytes) = (1000, 64 << 20)
    /// How much audio before the start is copied, and hidden, so that its decoder is ready at the start.
    private static let preroll = MediaTime(value: 80, timescale: 1000)

    /// The stream whose key frames determine where a part begins: the main video, otherwise the first audio.
    var guide: CopiedStream? {
        let best = demuxer.bestVideo
        let videos = streams.filter { $0.isVideo && !$0.isCover }
        return videos.first { $0.stream == best } ?? videos.first ?? streams.first { $0.kind == AVMEDIA_TYPE_AUDIO }
    }

    /// Reads to the first packets of the output, and determines its time zero and where its tracks end.
    func begin() throws(MediaError) {
        let items = try readBeginning()
        for stream in streams { stream.end = editEnd(of: stream) }
        if let start = options.start, start > .zero {
            try begin(at: start, items)
        } else {
            beginAtFirst(items)
        }
        guard timeline.origin.isValid else {
            throw MediaError(.malformedData, "the input has no valid start time", given: demuxer.path)
        }
        guard let end = timeline.end else { return }
        for stream in streams {
            guard let ticks = end.ticks(in: stream.timeBase) else { continue }
            stream.end = min(stream.end ?? ticks, ticks)
        }
    }

    /// Reads until there is a packet of each continuous stream, and notes the priming of audio.
    private func readBeginning() throws(MediaError) -> [Item] {
        var missing = Set(streams.filter { $0.isContinuous && !$0.isCover }.map(\.index))
        var (items, bytes): ([Item], Int) = ([], 0)
        while !missing.isEmpty, items.count < Self.mostItems, bytes < Self.mostBytes, let item = try readItem() {
            items.append(item)
            guard let packet = item.reference.packet else { continue }
            bytes += Int(packet.pointee.size)
            guard missing.remove(item.stream.index) != nil, item.stream.kind == AVMEDIA_TYPE_AUDIO else { continue }
            item.stream.details.priming = demuxer.priming(of: item.stream.stream, packet)
        }
        if items.isEmpty {
            throw MediaError(
                .malformedData,
                "the input has no packets" + (problems.descriptions.first.map { ": \($0)" } ?? ""),
                given: demuxer.path,
                remedies: demuxer.mayNeedSeeking ? ["pass the file by name instead of piping it"] : []
            )
        }
        return items
    }

    private func beginAtFirst(_ items: [Item]) {
        var beginning = timeline.beginning
        if options.output == .mkv {
            // Matroska has no negative times, but subtracts the priming that it stores. libavformat would move the packets
            // and not the chapters.
            for item in items {
                guard let time = item.reference.packet?.pointee.ownTime else { continue }
                let stored = item.stream.primingInMatroska
                beginning = min(beginning, MediaTime(time, in: item.stream.timeBase) + stored)
            }
        }
        timeline = InputTimeline(starts: [beginning], duration: options.duration)
        setQueue(items)
    }

    /// Returns where an edit list ends a stream, in its ticks; `nil` if nothing does. libavformat marks the packets behind
    /// it.
    private func editEnd(of stream: CopiedStream) -> Int64? {
        let properties = stream.stream.pointee
        guard demuxer.formatName.hasPrefix("mov,"), properties.nb_frames > 0, properties.duration > 0,
            properties.start_time != ffmpeg_no_pts, !stream.isCover, stream.isContinuous,
            let last = avformat_index_get_entry(stream.stream, avformat_index_get_entries_count(stream.stream) - 1)
        else { return nil }
        let end = properties.start_time &+ properties.duration
        let isHidden = last.pointee.flags & AVINDEX_DISCARD_FRAME != 0
        return last.pointee.timestamp < end || isHidden ? end : nil
    }
}

// MARK: - Parts

extension PacketSource {
    private func begin(at start: MediaTime, _ first: [Item]) throws(MediaError) {
        guard let guide else { return }
        let target = timeline.beginning + start
        for distance in seekDistances(guide) {
            var items = first
            if let distance {
                guard let ticks = (target - distance).ticks(in: guide.timeBase, AV_ROUND_DOWN),
                    demuxer.seek(guide.stream, to: ticks)
                else { continue }
                restart()
                items = []
            } else if hasSought {
                guard demuxer.rewind() else { break }
                restart()
                items = []
            }
            hasSought = true
            if try begin(near: target, guide, items, isLast: distance == nil) { return }
        }
        throw MediaError(
            .invalidArgument,
            "there is no key frame before or after the start time",
            given: "\(start.seconds) s",
            allowed: demuxer.duration.map { "below \($0.seconds) s" }
        )
    }

    /// The distances before the start at which reading begins; `nil` is the beginning of the input. In formats without
    /// an index, a seek reaches only an approximate position.
    private func seekDistances(_ guide: CopiedStream) -> [MediaTime?] {
        guard demuxer.isSeekable, guide.stream.pointee.start_time != ffmpeg_no_pts else { return [nil] }
        return [.zero, MediaTime(value: 3, timescale: 1), MediaTime(value: 15, timescale: 1), nil]
    }

    /// Begins at the last key frame at or before a time; at the first one after it if there is none and this is the last
    /// attempt.
    ///
    /// - Returns: Whether there is a key frame to begin with.
    private func begin(
        near target: MediaTime,
        _ guide: CopiedStream,
        _ first: [Item],
        isLast: Bool
    ) throws(MediaError) -> Bool {
        var held = HeldItems(guide: guide)
        var key: MediaTime?
        var reachesTarget = false
        var earlier = first.makeIterator()
        while !reachesTarget || (key == nil && isLast), key == nil || held.byteCount < options.mostHeldBytes {
            var next = earlier.next()
            if next == nil { next = try readItem() }
            guard let item = next else { break }
            held.append(item)
            guard item.stream === guide, let packet = item.reference.packet, let time = packet.pointee.ownTime else {
                continue
            }
            let shown = MediaTime(time, in: guide.timeBase)
            if packet.isKeyFrame, shown <= target || (isLast && key == nil) {
                key = shown
                held.prune(before: shown)
            } else if key == nil, held.isLarge {
                held.prune(before: shown)
            }
            let decode = packet.pointee.dts != ffmpeg_no_pts ? packet.pointee.dts : time
            if shown >= target, MediaTime(decode, in: guide.timeBase) >= target { reachesTarget = true }
        }
        guard let key, reachesTarget || key >= target || held.byteCount >= options.mostHeldBytes else { return false }
        let zero = hidesBeginning && key < target ? target : key
        let end = options.duration.map { target + $0 }
        timeline = InputTimeline(
            starts: [timeline.beginning],
            start: zero - timeline.beginning,
            duration: end.map { $0 - zero }
        )
        setQueue(held.items + Array(IteratorSequence(earlier)))
        return true
    }

    /// Returns whether a packet is not copied, because it precedes the start or the first key frame of its track.
    func isBeforeStart(_ item: Item) -> Bool {
        guard let packet = item.reference.packet, let time = packet.pointee.ownTime else { return false }
        let start = MediaTime(time, in: item.stream.timeBase)
        if item.stream.isVideo {
            let isEarly = timeline.start != nil && !hidesBeginning && start < timeline.origin
            if !item.stream.hasBegun, packet.isKeyFrame, !isEarly { item.stream.hasBegun = true }
            return isEarly || !item.stream.hasBegun
        }
        guard timeline.start != nil else { return false }
        guard hidesBeginning, item.stream.kind == AVMEDIA_TYPE_AUDIO else { return start < timeline.origin }
        let end = MediaTime(time &+ max(packet.pointee.duration, 1), in: item.stream.timeBase)
        return end <= timeline.origin - Self.preroll
    }
}

/// The packets that were read before the start of a part, as far as the output may need them.
private struct HeldItems {
    private(set) var items: [PacketSource.Item] = []
    private(set) var byteCount = 0
    /// The number of packets that the last pruning has left, at least 1000.
    private var keptCount = 1000
    private let guide: CopiedStream

    /// How far other tracks may be behind the video in the file.
    private static let interleaving = MediaTime(value: 1, timescale: 1)

    /// Makes an empty list.
    ///
    /// - Parameter guide: The stream whose key frames determine where the part begins.
    init(guide: CopiedStream) { self.guide = guide }

    /// Whether there are twice as many packets as after the last pruning, so that the cost of pruning stays small.
    var isLarge: Bool { items.count > 2 * keptCount }

    mutating func append(_ item: PacketSource.Item) {
        items.append(item)
        byteCount += item.size
    }

    /// Discards what the output does not need if it begins at the last packet, or later: all other packets of the guide,
    /// those of other videos before the last key frame until this time, or before their first one, and those of other tracks
    /// more than a second before it.
    mutating func prune(before time: MediaTime) {
        guard let last = items.popLast() else { return }
        var keyFrames: [Int: Int] = [:]
        for (index, item) in items.enumerated() where item.stream.isVideo {
            guard let packet = item.reference.packet, packet.isKeyFrame, let shown = item.time else { continue }
            if shown <= time || keyFrames[item.stream.index] == nil { keyFrames[item.stream.index] = index }
        }
        items = items.enumerated()
            .filter { index, item in
                if item.stream === guide { return false }
                if item.stream.isVideo { return index >= keyFrames[item.stream.index] ?? .max }
                guard let shown = item.time else { return true }
                return shown + Self.interleaving >= time
            }
            .map(\.element)
        items.append(last)
        byteCount = items.reduce(0) { $0 + $1.size }
        keptCount = max(items.count, 1000)
    }
}

extension PacketSource.Item {
    /// The presentation time; `nil` if the packet has none.
    fileprivate var time: MediaTime? {
        reference.packet?.pointee.ownTime.map { MediaTime($0, in: stream.timeBase) }
    }

    fileprivate var size: Int { Int(reference.packet?.pointee.size ?? 0) }
}

extension CopiedStream {
    /// The priming of audio that Matroska stores (`CodecDelay` of RFC 9559); libavformat before version 59.31 stores only
    /// that of Opus.
    fileprivate var primingInMatroska: MediaTime {
        let parameters = stream.pointee.codecpar.pointee
        guard details.priming > 0, parameters.sample_rate > 0,
            parameters.codec_id == AV_CODEC_ID_OPUS || avformat_version() >= ffmpeg_version(59, 31, 0)
        else { return .zero }
        return MediaTime(value: Int64(details.priming), timescale: parameters.sample_rate)
    }
}
