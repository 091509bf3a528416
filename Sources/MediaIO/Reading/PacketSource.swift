// SPDX-License-Identifier: GPL-2.0-or-later

internal import CFFmpeg
internal import FFmpegSupport
package import Logging
internal import MediaTimeline
package import MediaTypes

/// Reads the packets of an input without decoding them, for an output that has the same tracks.
///
/// Time zero of the output is the start of the input, or of the part to read. An output with edit lists can hide what
/// precedes the start, so it begins exactly there, with negative times before it. Any other output begins at the last key
/// frame of the main video at or before the start.
///
/// It is synchronous, like ``MediaSource``: use it from one dedicated thread.
package final class PacketSource {
    /// The options for reading an input.
    package struct Options: Sendable {
        /// FFmpeg's name of the format; `nil` to detect it.
        package var format: String?
        /// The frame rate of a raw stream in frames per second; `nil` for the one that its SPS states.
        package var frameRate: Rational?
        /// The start of the part to read, from the start of the input; zero or positive.
        package var start: MediaTime?
        /// The duration of the part to read; must be positive.
        package var duration: MediaTime?
        /// The indices of the streams to read; `nil` for all.
        package var streams: [Int]?
        /// The container of the output, which determines where a part can begin.
        package var output = ContainerFormat.mp4
        /// The bytes of packets that may be held until it is certain that no later key frame precedes the start. If there are
        /// more, the last key frame that was found is used.
        package var mostHeldBytes = 256 << 20

        /// Makes options that read everything.
        package init() {}
    }

    /// FFmpeg's name of the format.
    package var formatName: String { demuxer.formatName }
    /// The duration of the whole input; `nil` if not known.
    package var inputDuration: MediaTime? { demuxer.duration }
    /// The tracks whose packets ``next()`` returns, attached files, and cover pictures.
    package private(set) var tracks: [MediaTrack] = []
    /// The streams that are not read.
    package private(set) var ignored: [IgnoredStream] = []
    /// The chapters that overlap the part that is read, on the timeline of the output.
    package private(set) var chapters: [Chapter] = []
    /// The metadata of the whole file.
    package let metadata: [String: String]
    /// Time zero of the output, from the start of the input.
    package var start: MediaTime { timeline.origin - timeline.beginning }
    /// The duration of the output, as far as it is known.
    package var expectedDuration: MediaTime? { timeline.remaining(of: demuxer.duration) }
    /// The number of pictures before the start and after the end that the output shows.
    package private(set) var excessCount: (before: Int, after: Int) = (0, 0)
    /// The number of pictures that were left out because no key frame precedes them.
    package private(set) var skippedCount = 0
    /// The problems found so far.
    package private(set) var problems = SourceProblems()

    let demuxer: Demuxer
    let options: Options
    private let reader: PacketReader
    let streams: [CopiedStream]
    private let byIndex: [Int: CopiedStream]
    private var tracksByIndex: [Int: MediaTrack] = [:]
    var timeline: InputTimeline
    /// The packets that were read to find the start, in reverse order, with all times.
    private var queue: [Item] = []
    private var ready: [Item] = []
    /// The packets that have all times, in reverse order.
    private var waitingItems: [Item] = []
    /// Whether reading has left the beginning.
    var hasSought = false
    private var isAtEnd = false
    private var isFlushed = false
    private var latestEnd = MediaTime.zero
    private let log: LogRoute?

    /// A packet of a stream, with times on the input's timeline.
    struct Item {
        let stream: CopiedStream
        let reference: PacketReference
    }

    /// Opens an input, and reads up to the first packet of the output.
    ///
    /// - Throws: The errors of ``MediaSource``'s initializer, except those about decoding; `invalidArgument` if there is no
    ///   key frame to begin with, a raw stream has no frame rate, or a stream does not exist.
    package init(
        path: String,
        options: Options,
        logger: Logger? = nil,
        cancellation: Cancellation = Cancellation()
    ) throws(MediaError) {
        log = LogRoute(logger)
        let mark = LogRoute.enter(log)
        defer { LogRoute.leave(mark) }
        let demuxing = MediaSource.Options(format: options.format, start: options.start, duration: options.duration)
        try demuxing.validate()
        demuxer = try Demuxer(path: path, options: demuxing, cancellation: cancellation)
        self.options = options
        metadata = demuxer.metadata
        (streams, ignored) = try Self.select(demuxer, options)
        byIndex = Dictionary(streams.map { ($0.index, $0) }, uniquingKeysWith: { first, _ in first })
        reader = PacketReader(demuxer)
        let starts = streams.filter { $0.isContinuous && $0.stream.pointee.start_time != ffmpeg_no_pts }
            .map { MediaTime($0.stream.pointee.start_time, in: $0.stream.pointee.time_base) }
        timeline = InputTimeline(starts: starts)
        try begin()
        tracks = try makeTracks()
        tracksByIndex = Dictionary(tracks.map { ($0.index, $0) }, uniquingKeysWith: { first, _ in first })
        chapters = demuxer.chapters.compactMap { chapter in
            timeline.place(chapter.start, chapter.end).map { Chapter(start: $0, end: $1, title: chapter.title) }
        }
    }

    /// Returns the next packet, on the timeline of the output; `nil` at the end.
    ///
    /// - Throws: `cancelled`, `outOfMemory`. Damage is not an error; see ``problems``.
    package func next() throws(MediaError) -> MediaPacket? {
        let mark = LogRoute.enter(log)
        defer { LogRoute.leave(mark) }
        while true {
            if let item = ready.popLast() {
                if let packet = moved(item) { return packet }
                continue
            }
            guard !isComplete, let item = try nextItem() else {
                try checkHasBegun()
                return nil
            }
            if isBeforeStart(item) {
                if item.stream.isVideo, timeline.start == nil { skippedCount += 1 }
                continue
            }
            ready = try item.stream.limit(item.reference).reversed().map { Item(stream: item.stream, reference: $0) }
        }
    }

    private func nextItem() throws(MediaError) -> Item? {
        if let item = queue.popLast() { return item }
        return try readItem()
    }

    /// Video that never begins has no key frame.
    private func checkHasBegun() throws(MediaError) {
        guard let guide, guide.isVideo, !guide.hasBegun else { return }
        throw MediaError(
            .malformedData,
            "the video has no key frame to begin with",
            given: "\(demuxer.path), \(Readable.count(skippedCount, "picture"))",
            allowed: "a video with a key frame, at which decoding can begin",
            remedies: ["encode it again: vatoolbox encode"]
        )
    }

    /// Whether everything before the end of the part was read.
    private var isComplete: Bool {
        guard options.duration != nil else { return false }
        let continuous = streams.filter(\.isContinuous)
        if !continuous.isEmpty, continuous.allSatisfy(\.isFinished) { return true }
        // A track may begin late: what was read ahead for it is not passed on yet.
        guard queue.isEmpty, waitingItems.isEmpty, let end = timeline.end else { return false }
        return latestEnd > end + MediaTime(value: 10, timescale: 1)
    }
}

// MARK: - Reading

extension PacketSource {
    /// Reads the next packet that has all times.
    func readItem() throws(MediaError) -> Item? {
        while true {
            if let item = waitingItems.popLast() { return item }
            if isFlushed { return nil }
            if isAtEnd {
                isFlushed = true
                for stream in streams.reversed() { deliver(stream.finish(), of: stream) }
                problems.repairedTimes += streams.reduce(0) { $0 + $1.lateCount }
                continue
            }
            switch try reader.read(&problems) {
            case .nothing: continue
            case .abandoned: isAtEnd = true
            case .finished:
                isAtEnd = true
                noteEarlyEnd()
            case .packet(let packet):
                guard let stream = byIndex[Int(packet.pointee.stream_index)], !stream.isCover else { continue }
                noteEnd(packet, stream)
                deliver(stream.add(try PacketReference(moving: packet)), of: stream)
            }
        }
    }

    private func deliver(_ references: [PacketReference], of stream: CopiedStream) {
        waitingItems = references.reversed().map { Item(stream: stream, reference: $0) } + waitingItems
    }

    /// Discards all state, after a seek to the beginning or to a position before the start. Problems of packets that were
    /// read before are found again if they matter.
    func restart() {
        problems = SourceProblems()
        reader.restart()
        for stream in streams { stream.restart() }
        waitingItems = []
        latestEnd = .zero
        (isAtEnd, isFlushed) = (false, false)
    }

    func setQueue(_ items: [Item]) { queue = items.reversed() }

    private func noteEnd(_ packet: UnsafePointer<AVPacket>, _ stream: CopiedStream) {
        guard let time = packet.pointee.ownTime, stream.isContinuous else { return }
        let end = MediaTime(time &+ max(packet.pointee.duration, 0), in: stream.stream.pointee.time_base)
        if end.isValid { latestEnd = max(latestEnd, end) }
    }

    private func noteEarlyEnd() {
        guard !reader.hasChangedTimes,
            let longest = streams.filter(\.isContinuous).compactMap({ stream in
                demuxer.announcedEnd(stream.stream)
            }).max()
        else { return }
        problems.noteEnd(announced: longest, end: latestEnd)
    }

    /// Moves a packet to the timeline of the output; `nil` if it is before the part to read.
    private func moved(_ item: Item) -> MediaPacket? {
        guard let packet = item.reference.packet, let track = tracksByIndex[item.stream.index],
            let shift = timeline.origin.ticks(in: track.timeBase, AV_ROUND_NEAR_INF)
        else { return nil }
        packet.shift(by: 0 &- shift)
        if item.stream.isVideo, let time = packet.pointee.ownTime {
            if let end = item.stream.end, time &+ shift >= end {
                excessCount.after += 1
            } else if !hidesBeginning, packet.pointee.flags & AV_PKT_FLAG_DISCARD != 0 {
                excessCount.before += 1
            }
        }
        // A muxer gets what an edit list hides by its times.
        packet.pointee.flags &= ~AV_PKT_FLAG_DISCARD
        guard let owned = item.reference.take() else { return nil }
        return MediaPacket(track: track, taking: owned)
    }

    /// Whether the output can begin after its first packets.
    var hidesBeginning: Bool { options.output.canBeFragmented }
}
