// SPDX-License-Identifier: GPL-2.0-or-later

internal import CFFmpeg
internal import MediaTimeline
internal import MediaTypes

/// Produces the events of a ``MediaSource``: reads packets, decodes those of the video, converts all times to the
/// timeline of the output, and limits the events to the part to read.
final class SourceReader {
    /// The maximum distance of other tracks' packets from the end of the part after the video has ended.
    private static let interleaving = MediaTime(value: 10, timescale: 1)

    /// An event with times on the input's timeline.
    private enum Item {
        case picture(VideoPipeline.Picture)
        case packet(PacketReference, MediaTrack)
    }

    private let demuxer: Demuxer
    private let packets: PacketReader
    private let pipeline: VideoPipeline
    private let tracks: [Int: MediaTrack]
    private let options: MediaSource.Options
    /// The items that were read while searching for the first frame, in reverse order.
    private var queue: [Item] = []
    private var timeline: InputTimeline
    /// The audio tracks that have not reached the end of the part to read.
    private var unfinished: Set<Int> = []
    /// The end of the latest packet, of the video and of all streams, on the input's timeline.
    private var videoEnd = MediaTime.zero
    private var latestEnd = MediaTime.zero
    private var isAtEnd = false
    /// Whether pictures of uncompressed video stay in their file, if possible.
    var leavesPicturesInFile = false
    /// The only tracks that are read, without the video; `nil` for all.
    private var onlyTracks: Set<Int>?

    init(demuxer: Demuxer, pipeline: VideoPipeline, tracks: [MediaTrack], options: MediaSource.Options) {
        self.demuxer = demuxer
        packets = PacketReader(demuxer)
        self.pipeline = pipeline
        self.tracks = Dictionary(tracks.map { ($0.index, $0) }, uniquingKeysWith: { first, _ in first })
        self.options = options
        let starts = demuxer.streams.filter {
            $0.pointee.discard != AVDISCARD_ALL && $0.pointee.start_time != ffmpeg_no_pts
        }
        .map { MediaTime($0.pointee.start_time, in: $0.pointee.time_base) }
        timeline = InputTimeline(starts: starts, start: options.start, duration: options.duration)
    }

    var problems: SourceProblems { pipeline.problems }
    var hasWaitingPictures: Bool { pipeline.hasWaitingPictures }

    /// Returns the frame rate, after the first picture was found.
    func frameRate() throws(MediaError) -> FrameRateEstimate {
        try packets.checkedFrameRate(pipeline.rate, of: pipeline.stream)
    }

    /// The number of events that were read and not yet returned.
    var waitingCount: Int { queue.count }

    /// Returns the duration from time zero of the output, for an input of the given duration.
    func remaining(of whole: MediaTime?) -> MediaTime? {
        timeline.remaining(of: demuxer.duration(of: pipeline.stream) ?? whole)
    }

    /// Returns a chapter on the timeline of the output; `nil` if no part of it is read.
    func onOutputLine(_ chapter: Chapter) -> Chapter? {
        timeline.place(chapter.start, chapter.end).map { Chapter(start: $0, end: $1, title: chapter.title) }
    }
}

// MARK: - Starting

extension SourceReader {
    /// Reads up to the first picture of the part to read, which ``next()`` returns again.
    func start() throws(MediaError) -> VideoPipeline.Picture {
        guard let start = timeline.start else {
            let first = try readToFirstPicture()
            guard let first else { throw noPictureError() }
            let hasStart = demuxer.streams.contains {
                $0.pointee.discard != AVDISCARD_ALL && $0.pointee.start_time != ffmpeg_no_pts
            }
            timeline.begin(atPicture: MediaTime(first.time, in: pipeline.timeBase), isOnlyStart: !hasStart)
            setWindow()
            return first
        }
        setWindow()
        for distance in seekDistances {
            guard try go(to: distance) else { continue }
            let first = try readToFirstPicture()
            guard coversStart || distance == nil else { continue }
            if let first { return first }
            break
        }
        throw MediaError(
            .invalidArgument,
            "there is no picture at or after the start time",
            given: "\(start.seconds) s",
            allowed: demuxer.duration.map { "below \($0.seconds) s" }
        )
    }

    /// The distances before the start at which decoding begins, in seconds, from the fastest attempt to the safest;
    /// `nil` is the beginning of the input. In formats without an index, a seek reaches only an approximate position.
    private var seekDistances: [MediaTime?] {
        guard demuxer.isSeekable, pipeline.stream.pointee.start_time != ffmpeg_no_pts else { return [nil] }
        // An index of decode times finds pictures that are shown later.
        let reordering = MediaTime(
            value: pipeline.reordersFrames && !demuxer.seeksByPresentationTime ? 1 : 0,
            timescale: 4
        )
        return [reordering, MediaTime(value: 3, timescale: 1), MediaTime(value: 15, timescale: 1), nil]
    }

    /// Moves to a position before the start; returns `false` if the input cannot seek.
    private func go(to distance: MediaTime?) throws(MediaError) -> Bool {
        let isFresh = queue.isEmpty && pipeline.firstDecodedTime == nil && !isAtEnd
        if let distance {
            guard let ticks = (timeline.origin - distance).ticks(in: pipeline.timeBase, AV_ROUND_DOWN),
                demuxer.seek(pipeline.stream, to: ticks)
            else { return false }
        } else if demuxer.isSeekable {
            guard demuxer.rewind() else {
                throw MediaError(.inputOutput, "the input cannot be read from its beginning again", given: demuxer.path)
            }
        } else if !isFresh {
            return false
        }
        pipeline.restart()
        packets.restart()
        // The previous attempt may have read past the end of the part.
        expectWholeSound()
        queue = []
        isAtEnd = false
        return true
    }

    /// Whether decoding began early enough to return every picture from the start on.
    private var coversStart: Bool {
        guard let first = pipeline.firstDecodedTime else { return false }
        return first <= max(pipeline.window.lowerBound, pipeline.stream.pointee.start_time)
    }

    private func setWindow() {
        let timeBase = pipeline.timeBase
        let start = timeline.start.flatMap { _ in timeline.origin.ticks(in: timeBase) } ?? .min
        let end = timeline.end.flatMap { $0.ticks(in: timeBase) } ?? .max
        pipeline.window = start..<max(start, end)
        expectWholeSound()
    }

    private func expectWholeSound() {
        unfinished = Set(options.duration == nil ? [] : tracks.values.filter { $0.kind == .audio }.map(\.index))
    }

    private func readToFirstPicture() throws(MediaError) -> VideoPipeline.Picture? {
        var items: [Item] = []
        defer { queue = items.reversed() }
        while let item = try read() {
            switch item {
            case .picture(let picture):
                items.append(item)
                return picture
            // An input that cannot seek may be read for hours here.
            case .packet(let reference, let track):
                if !isBeforeStart(reference, track) { items.append(item) }
            }
        }
        return nil
    }

    /// Returns whether a packet, with times on the input's timeline, is before the part to read.
    private func isBeforeStart(_ reference: PacketReference, _ track: MediaTrack) -> Bool {
        guard timeline.start != nil, let time = reference.packet?.pointee.ownTime,
            let zero = (track.kind == .audio ? timeline.origin - options.audioPreroll : timeline.origin)
                .ticks(in: track.timeBase, AV_ROUND_NEAR_INF)
        else { return false }
        return time < zero
    }

    private func noPictureError() -> MediaError {
        MediaError(
            .malformedData,
            "no picture could be decoded" + (problems.descriptions.first.map { ": \($0)" } ?? ""),
            given: demuxer.path,
            remedies: demuxer.mayNeedSeeking
                ? [
                    "pass the file by name instead of piping it: its index may be at the end",
                    "move the index to the front: ffmpeg -i FILE -c copy -movflags +faststart NEW.mp4",
                ] : []
        )
    }
}

// MARK: - Reading

extension SourceReader {
    /// Returns the next event.
    func next() throws(MediaError) -> MediaSource.Event? {
        pipeline.keepDecoder()
        while true {
            guard let item = queue.isEmpty ? try read() : queue.removeLast() else { return nil }
            switch item {
            case .picture(let picture): return .frame(frame(picture))
            case .packet(let reference, let track):
                if let packet = packet(reference, track) { return .packet(packet) }
            }
        }
    }

    /// Reads nothing but some tracks from now on.
    func readOnly(tracks: Set<Int>) {
        onlyTracks = tracks
        for stream in demuxer.streams where !tracks.contains(Int(stream.pointee.index)) {
            stream.pointee.discard = AVDISCARD_ALL
        }
        // Of what is read alone, nothing ends with the video.
        let others = options.duration == nil ? [] : tracks.filter { self.tracks[$0]?.kind != .audio }
        unfinished = unfinished.intersection(tracks).union(others)
        queue.removeAll { item in
            if case .packet(_, let track) = item { !tracks.contains(track.index) } else { true }
        }
    }

    /// Returns the format of the first sample for another decoder.
    ///
    /// - Throws: The reason why only libavcodec can decode the stream here.
    func formatForOtherDecoder() throws(MediaError) -> FormatDescription { try pipeline.formatForOtherDecoder() }

    /// Decodes with another decoder, from the first picture on.
    func decode(with factory: any DecoderFactory) throws(MediaError) {
        try pipeline.decode(with: factory)
        queue.removeAll { item in if case .picture = item { true } else { false } }
    }

    /// Ends the input here: only the frames that the decoder still holds follow. Nothing more is read, so this works
    /// after a cancellation.
    func endInput() { isAtEnd = true }

    private func read() throws(MediaError) -> Item? {
        while true {
            if onlyTracks != nil {
                if isAtEnd || isComplete { return nil }
                if let item = try readPacket() { return item }
                continue
            }
            switch try pipeline.receive() {
            case .picture(let picture): return .picture(picture)
            case .needsInput: break
            case .finished where isAtEnd || isComplete: return nil
            case .finished: break
            }
            if isAtEnd {
                try pipeline.send(nil)
            } else if let item = try readPacket() {
                return item
            }
        }
    }

    /// Reads one packet; those of the video are passed to the decoder.
    private func readPacket() throws(MediaError) -> Item? {
        if leavesPicturesInFile, pipeline.canTakeFilePicture, !pipeline.hasReachedEnd,
            let (file, time, owner) = demuxer.skipPicture()
        {
            noteEnd(MediaTime(time + 1, in: pipeline.timeBase))
            let picture = try pipeline.picture(in: file, time: time) { withExtendedLifetime(owner) {} }
            return picture.map { .picture($0) }
        }
        switch try packets.read(&pipeline.readingProblems) {
        case .nothing: break
        case .abandoned: isAtEnd = true
        case .finished:
            isAtEnd = true
            noteEarlyEnd()
        case .packet(let packet):
            let index = Int(packet.pointee.stream_index)
            noteEnd(packet, index)
            if let onlyTracks, !onlyTracks.contains(index) { return nil }
            if index == Int(pipeline.stream.pointee.index) {
                if !pipeline.hasReachedEnd { try pipeline.send(packet) }
            } else if let track = tracks[index] {
                return .packet(try PacketReference(moving: packet), track)
            }
        }
        return nil
    }
}

// MARK: - Without decoding

extension SourceReader {
    /// Reads the whole part again, and returns its pictures. Nothing can be read after that.
    ///
    /// - Parameter note: Called with the number of bytes of each packet.
    /// - Throws: `unsupported` if the packets do not tell them: the input can be read only once, is interlaced or damaged,
    ///   ends early, or times are missing, repaired or not unique.
    func readFrameIndex(note: (Int) -> Void) throws(MediaError) -> FrameIndex {
        guard demuxer.isReadByUs, demuxer.isSeekable, pipeline.stream.pointee.start_time != ffmpeg_no_pts else {
            throw FrameIndexBuilder.refusal("the input is not seekable, or has no times")
        }
        if pipeline.isInterlaced, options.deinterlacing != .off {
            throw FrameIndexBuilder.refusal("the video is interlaced and is deinterlaced")
        }
        let announced = packets.hasChangedTimes ? nil : demuxer.announcedEnd(pipeline.stream)
        let video = pipeline.stream.pointee.index
        for stream in demuxer.streams where stream.pointee.index != video { stream.pointee.discard = AVDISCARD_ALL }
        guard demuxer.rewind() else {
            throw FrameIndexBuilder.refusal("the input cannot be read from its beginning again")
        }
        packets.restart()
        (queue, isAtEnd) = ([], true)
        var (problems, builder) = (SourceProblems(), FrameIndexBuilder())
        reading: while true {
            switch try packets.read(&problems) {
            case .nothing: break
            case .packet(let packet):
                note(Int(packet.pointee.size))
                if packet.pointee.stream_index == video { try builder.add(packet.pointee) }
            case .finished: break reading
            case .abandoned: throw FrameIndexBuilder.refusal(problems.descriptions.first ?? "the input cannot be read")
            }
        }
        return try index(builder, problems, announced: announced)
    }

    private func index(
        _ builder: FrameIndexBuilder,
        _ problems: SourceProblems,
        announced: MediaTime?
    ) throws(MediaError) -> FrameIndex {
        var problems = problems
        let ordered = try builder.sorted()
        func end(of packet: FrameIndexBuilder.Packet) -> MediaTime {
            MediaTime(packet.time &+ pipeline.duration(told: packet.duration), in: pipeline.timeBase)
        }
        if let last = ordered.last { problems.noteEnd(announced: announced, end: end(of: last)) }
        let isUnclear = packets.hasChangedTimes || problems.discontinuities > 0 || demuxer.endsInsidePicture
        if problems.isLossy || isUnclear {
            throw FrameIndexBuilder.refusal(problems.descriptions.first ?? "times had to be repaired")
        }
        let shown = ordered.filter { pipeline.window.contains($0.time) }
        guard let last = shown.last else { throw FrameIndexBuilder.refusal("no picture is in the selected range") }
        return FrameIndex(
            frames: shown.map { packet in
                FrameIndex.Frame(
                    presentationTime: timeline.place(MediaTime(packet.time, in: pipeline.timeBase)),
                    isKeyFrame: packet.isKeyFrame,
                    byteCount: packet.byteCount,
                    digest: packet.digest
                )
            },
            end: timeline.place(timeline.end.map { min($0, end(of: last)) } ?? end(of: last)),
            offset: timeline.offset
        )
    }
}

// MARK: - Times of the output

extension SourceReader {
    private func frame(_ picture: VideoPipeline.Picture) -> VideoFrame {
        let timeBase = pipeline.timeBase
        var duration = MediaTime.invalid
        if picture.duration > 0 {
            duration = MediaTime(picture.duration, in: timeBase)
        } else if let rate = pipeline.rate.rate {
            duration = MediaTime(value: Int64(rate.denominator), timescale: rate.numerator)
        }
        let time = timeline.place(MediaTime(picture.time, in: timeBase))
        return VideoFrame(
            buffer: picture.buffer,
            presentationTime: time,
            duration: timeline.clip(duration, from: time)
        )
    }

    /// Moves a packet to the timeline of the output; `nil` if it is outside of the part to read.
    private func packet(_ reference: PacketReference, _ track: MediaTrack) -> MediaPacket? {
        guard let packet = reference.packet,
            let shift = timeline.origin.ticks(in: track.timeBase, AV_ROUND_NEAR_INF)
        else { return nil }
        if isBeforeStart(reference, track) { return nil }
        packet.shift(by: 0 &- shift)
        if let duration = options.duration, let time = packet.pointee.ownTime,
            MediaTime(time, in: track.timeBase) >= duration
        {
            return nil
        }
        guard let owned = reference.take() else { return nil }
        return MediaPacket(track: track, taking: owned)
    }

    /// Registers a file that ends before the end stated in its header, which demuxers treat as a regular end.
    private func noteEarlyEnd() {
        // Without the video, nothing tells where it ends.
        if onlyTracks != nil { return }
        if demuxer.endsInsidePicture {
            pipeline.readingProblems.readErrors += 1
            pipeline.readingProblems.describe("the input ends in the middle of a picture (truncated)")
        }
        let hasOwnDuration = pipeline.stream.pointee.duration > 0
        let end = hasOwnDuration ? videoEnd : latestEnd
        // The writer of the file may have derived the stated end from a wrong time.
        guard !packets.hasChangedTimes else { return }
        pipeline.readingProblems.noteEnd(announced: demuxer.announcedEnd(pipeline.stream), end: end)
    }

    /// Registers the progress of reading, and tracks that have reached the end of the part to read.
    private func noteEnd(_ packet: UnsafePointer<AVPacket>, _ index: Int) {
        guard let timeBase = demuxer.stream(index)?.pointee.time_base else { return }
        if packet.pointee.pts != ffmpeg_no_pts {
            let end = MediaTime(packet.pointee.pts &+ packet.pointee.duration, in: timeBase)
            if end.isValid { latestEnd = max(latestEnd, end) }
            if index == Int(pipeline.stream.pointee.index) { noteEnd(end) }
        }
        let ticks = packet.pointee.dts != ffmpeg_no_pts ? packet.pointee.dts : packet.pointee.pts
        guard let duration = options.duration, ticks != ffmpeg_no_pts else { return }
        let time = timeline.place(MediaTime(ticks, in: timeBase))
        if time >= duration { unfinished.remove(index) }
        if time >= duration + Self.interleaving { unfinished = [] }
    }

    /// Registers the end of a video picture.
    private func noteEnd(_ end: MediaTime) {
        guard end.isValid else { return }
        latestEnd = max(latestEnd, end)
        videoEnd = max(videoEnd, end)
    }

    private var isComplete: Bool {
        let hasPictures = onlyTracks != nil ? options.duration != nil : pipeline.hasReachedEnd
        return hasPictures && unfinished.isEmpty
    }
}

extension AVPacket {
    /// The presentation time, or if there is none the decode time, in ticks.
    var ownTime: Int64? {
        let time = pts != ffmpeg_no_pts ? pts : dts
        return time != ffmpeg_no_pts ? time : nil
    }
}

extension UnsafeMutablePointer<AVPacket> {
    /// Adds ticks to the presentation and decode times that exist.
    func shift(by ticks: Int64) {
        if pointee.pts != ffmpeg_no_pts { pointee.pts = pointee.pts &+ ticks }
        if pointee.dts != ffmpeg_no_pts { pointee.dts = pointee.dts &+ ticks }
    }
}
