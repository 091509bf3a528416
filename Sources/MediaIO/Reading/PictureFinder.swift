// SPDX-License-Identifier: GPL-2.0-or-later

internal import CFFmpeg
internal import FFmpegSupport
package import Logging
internal import MediaTimeline
package import MediaTypes
internal import VideoDecoding

/// Finds the pictures that the main video of an input shows at given times, upright.
///
/// It decodes only what is needed: from the key frame before a time on, or from the last picture if no key frame is in
/// between. It is fastest for times in ascending order. Time zero is the start of the input. It is synchronous: use it from
/// one dedicated thread.
package final class PictureFinder {
    /// A picture that is shown at some time.
    package struct Found {
        package var buffer: PixelBuffer
        /// When it is shown first.
        package var time: MediaTime
    }

    /// FFmpeg's names of the container and of the codec.
    package let (formatName, codecName): (String, String)
    /// The duration of the input; `nil` if not known. The end may be found only when it was reached.
    package var duration: MediaTime? {
        guard let whole = demuxer.duration else { return end }
        return isCut ? end.map { min($0, whole) } ?? whole : whole
    }
    /// The problems found so far.
    package var problems: SourceProblems {
        var all = past
        all.add(pipeline.problems)
        return all
    }
    /// How many times decoding began at another place than behind the last picture.
    package private(set) var seekCount = 0

    private let demuxer: Demuxer
    private let packets: PacketReader
    private let pipeline: VideoPipeline
    private let log: LogRoute?
    private var timeline: InputTimeline
    /// The last picture at or before the latest time, and the one after it.
    private var (shown, next): (VideoPipeline.Picture?, VideoPipeline.Picture?)
    private var isAtEnd = false
    /// Whether the end of the input is missing.
    private var isCut: Bool
    /// The end of the last picture, when it was decoded.
    private var end: MediaTime?
    /// The distance from which on a seek is tried if the index does not tell whether it helps, in seconds. It doubles with
    /// each seek that does not.
    private var leastSeek = 2.0
    /// The problems before the last seek.
    private var past = SourceProblems()

    /// Opens an input.
    ///
    /// - Parameters:
    ///   - path: A path, `-` for standard input, or a URL.
    ///   - format: FFmpeg's name of the format; `nil` to detect it.
    ///   - limits: What the input may have at most.
    /// - Throws: The errors of ``MediaSource``'s initializer.
    package init(
        path: String,
        format: String?,
        limits: InputLimits = InputLimits(),
        logger: Logger?,
        cancellation: Cancellation
    ) throws(MediaError) {
        log = LogRoute(logger)
        let mark = LogRoute.enter(log)
        defer { LogRoute.leave(mark) }
        var options = MediaSource.Options(format: format)
        options.limits = limits
        isCut = (LocalFile(path: path).flatMap { ContainerOutline($0) }?.missingBytes ?? 0) > 0
        demuxer = try Demuxer(path: path, options: options, cancellation: cancellation)
        let stream = try StreamSelection(demuxer).video
        let starts = demuxer.streams.filter {
            [AVMEDIA_TYPE_VIDEO, AVMEDIA_TYPE_AUDIO].contains($0.pointee.codecpar.pointee.codec_type)
                && !StreamSelection.isCover($0) && $0.pointee.start_time != ffmpeg_no_pts
        }
        .map { MediaTime($0.pointee.start_time, in: $0.pointee.time_base) }
        timeline = InputTimeline(starts: starts)
        for other in demuxer.streams where other != stream { other.pointee.discard = AVDISCARD_ALL }
        pipeline = try VideoPipeline(stream: stream, demuxer: demuxer, options: options, log: log)
        packets = PacketReader(demuxer)
        formatName = demuxer.formatName
        codecName = String(cString: avcodec_get_name(stream.pointee.codecpar.pointee.codec_id))
        if isCut {
            past.readErrors += 1
            past.describe("the file ends in the middle of its data")
        }
    }

    /// Returns the picture that is shown at a time: the last one that begins at or before it, or the first one if all begin
    /// later.
    ///
    /// - Returns: `nil` if the input ends before, although its header states otherwise, or nothing.
    /// - Throws: `malformedData` if no picture can be decoded; `cancelled`, `outOfMemory`. Damage is not an error; see
    ///   ``problems``.
    package func picture(at time: MediaTime) throws(MediaError) -> Found? {
        let mark = LogRoute.enter(log)
        defer { LogRoute.leave(mark) }
        if shown == nil, next == nil, pipeline.stream.pointee.start_time == ffmpeg_no_pts {
            // Without times, the first picture is the beginning.
            next = try decodeNext()
            if let next { timeline.begin(atPicture: MediaTime(next.time, in: pipeline.timeBase), isOnlyStart: true) }
        }
        guard let target = (timeline.origin + time).ticks(in: pipeline.timeBase, AV_ROUND_DOWN) else { return nil }
        if mayHelp(target) { try seek(to: target) }
        try advance(to: target)
        guard let picture = shown ?? next else { throw noPictureError(time) }
        if isAtEnd, next == nil, isBehindEnd(target, picture) { return nil }
        return Found(buffer: picture.buffer, time: timeline.place(MediaTime(picture.time, in: pipeline.timeBase)))
    }

    /// Decodes until the picture after a time is known.
    private func advance(to target: Int64) throws(MediaError) {
        while true {
            if let following = next {
                guard following.time <= target else { return }
                (shown, next) = (following, nil)
            }
            guard let picture = try decodeNext() else { return }
            next = picture
        }
    }

    private func decodeNext() throws(MediaError) -> VideoPipeline.Picture? {
        while !isAtEnd {
            switch try pipeline.receive() {
            case .picture(let picture): return picture
            case .finished: isAtEnd = true
            case .needsInput: try sendPacket()
            }
        }
        return nil
    }

    private func sendPacket() throws(MediaError) {
        switch try packets.read(&pipeline.readingProblems) {
        case .nothing: break
        case .finished, .abandoned: try pipeline.send(nil)
        case .packet(let packet):
            if packet.pointee.stream_index == pipeline.stream.pointee.index { try pipeline.send(packet) }
        }
    }

    private func noPictureError(_ time: MediaTime) -> MediaError {
        MediaError(
            .malformedData,
            "no picture could be decoded" + (problems.descriptions.first.map { ": \($0)" } ?? ""),
            given: "\(demuxer.path), \(time.seconds) s"
        )
    }

    /// Whether the input ends before a time. If its header states a longer duration, and nothing is missing, the last picture
    /// is shown until then.
    private func isBehindEnd(_ target: Int64, _ last: VideoPipeline.Picture) -> Bool {
        let lastEnd = MediaTime(last.time &+ max(last.duration, 0), in: pipeline.timeBase)
        if end == nil {
            end = timeline.place(lastEnd)
            let errors = past.readErrors
            if !isCut, !packets.hasChangedTimes {
                past.noteEnd(announced: demuxer.announcedEnd(pipeline.stream), end: lastEnd)
            }
            if past.readErrors > errors { isCut = true }
        }
        return (isCut || demuxer.duration == nil) && MediaTime(target, in: pipeline.timeBase) >= lastEnd
    }
}

// MARK: - Seeking

extension PictureFinder {
    /// The last picture that was decoded.
    private var latest: VideoPipeline.Picture? { next ?? shown }

    /// Whether decoding from a key frame may be faster than from the last picture on.
    private func mayHelp(_ target: Int64) -> Bool {
        let stream = pipeline.stream
        guard demuxer.isSeekable, stream.pointee.start_time != ffmpeg_no_pts else { return false }
        guard let latest else { return (keyFrame(before: target) ?? target) > stream.pointee.start_time }
        if let shown, target < shown.time { return true }
        if shown == nil, target < latest.time { return false }
        guard target > latest.time, !isAtEnd else { return false }
        if let key = keyFrame(before: target) { return key > latest.time }
        return MediaTime(target &- latest.time, in: pipeline.timeBase).seconds >= leastSeek
    }

    /// Returns the time of the last key frame before a time, according to the index; `nil` if it does not reach that far.
    private func keyFrame(before target: Int64) -> Int64? {
        let stream = pipeline.stream
        let count = avformat_index_get_entries_count(stream)
        guard count > 1, let last = avformat_index_get_entry(stream, count - 1), last.pointee.timestamp >= target else {
            return nil
        }
        let index = av_index_search_timestamp(stream, target, AVSEEK_FLAG_BACKWARD)
        return avformat_index_get_entry(stream, index)?.pointee.timestamp
    }

    /// Continues at a key frame before a time.
    private func seek(to target: Int64) throws(MediaError) {
        let before = latest?.time
        // An index of decode times finds pictures that are shown later.
        let reordering = pipeline.reordersFrames && !demuxer.seeksByPresentationTime ? 0.25 : 0
        for distance in [reordering, 3, 15, nil] {
            guard try go(to: distance.map { target &- ticks($0) }) else { continue }
            seekCount += 1
            next = try decodeNext()
            guard let first = next else { continue }
            if first.time <= target || distance == nil {
                if let before, target > before, first.time <= before { leastSeek *= 2 }
                return
            }
        }
    }

    private func ticks(_ seconds: Double) -> Int64 {
        MediaTime(seconds: seconds, preferredTimescale: 1000).ticks(in: pipeline.timeBase, AV_ROUND_UP) ?? 0
    }

    /// Moves to a place; `nil` is the beginning.
    ///
    /// - Returns: `false` if the input cannot seek there.
    private func go(to time: Int64?) throws(MediaError) -> Bool {
        if let time {
            guard demuxer.seek(pipeline.stream, to: time) else { return false }
        } else if !demuxer.rewind() {
            throw MediaError(.inputOutput, "the input cannot be read from its beginning again", given: demuxer.path)
        }
        past.add(pipeline.problems)
        pipeline.restart()
        packets.restart()
        (shown, next, isAtEnd) = (nil, nil, false)
        return true
    }
}
