// SPDX-License-Identifier: GPL-2.0-or-later

internal import AudioCoding
internal import BitstreamSyntax
internal import CFFmpeg
internal import FFmpegSupport
public import Logging
internal import MediaTimeline
public import MediaTypes

/// Writes coded video and audio as segments, one sequence for each track, as HTTP streaming needs them.
///
/// It is to ``MediaSink`` what an `AVAssetWriter` with a segment delegate is to one with a file. Segments of the video
/// begin at key frames, as `SegmentGrid` decides; those of audio begin with the first packet at or after the beginning
/// of a segment of the video. All tracks have the same timeline.
///
/// **Parameter sets.** They are in the initialization section (`avc1`, `hvc1`). If they change, as they do when another
/// encoder takes over, the segment ends and the next one has its own initialization section; from there on, key frames
/// carry them as well, because some players ignore a second initialization section. With ``repeatsParameterSets``, all key
/// frames do. A transport stream always carries them in front of every key frame; its segment ends at a change, too.
///
/// A sink is used by one thread at a time. It holds the segments that it has not finished in memory.
public final class SegmentSink {
    /// The options for writing segments.
    public struct Options: Sendable {
        /// The container.
        public var format: SegmentFormat
        /// The nominal duration of a segment, 0.5 s to 60 s.
        public var duration: MediaTime
        /// The frame rate in frames per second, if it is constant.
        public var frameRate: Rational?
        /// The name of the encoder, which MP4 stores.
        public var encoderName: String?
        /// The language of the video (mostly ISO 639-2).
        public var language: String?
        /// The title of the video track.
        public var title: String?

        /// Makes options.
        public init(format: SegmentFormat = .fmp4, duration: MediaTime = MediaTime(value: 6, timescale: 1)) {
            self.format = format
            self.duration = duration
        }

        /// The allowed durations.
        public static let allowedDurations = MediaTime(value: 1, timescale: 2)...MediaTime(value: 60, timescale: 1)

        /// Checks the ranges of the options.
        ///
        /// - Throws: `invalidArgument` if the duration is out of range.
        public func validate() throws(MediaError) {
            if duration.isValid, Self.allowedDurations.contains(duration) { return }
            throw MediaError(
                .invalidArgument,
                "the duration of a segment is out of range",
                given: "\(duration.seconds) s",
                allowed: "0.5 to 60 s"
            )
        }
    }

    /// Whether all key frames in MP4 carry their parameter sets. Use it for video whose encoder may be replaced; see
    /// ``MediaSink/repeatsParameterSets``. Set it before the first sample.
    public var repeatsParameterSets = false

    private let options: Options
    private let log: LogRoute?
    private let receive: (MediaSegment) throws(MediaError) -> Void
    private var tracks: [MediaTrack] = []
    private var audio: [TrackSegmenter] = []
    private var videoSegmenter: TrackSegmenter?
    private var described: FormatDescription?
    private var video = VideoSequence()
    private let waiting = WaitingPackets(folder: temporaryFolder)
    private var grid: SegmentGrid
    /// The beginnings of the video's segments, for the audio.
    private var beginnings: [MediaTime] = []
    /// For each audio track, the number of beginnings that it has passed.
    private var passed: [Int] = []
    private var byteCount: Int64 = 0
    private var packetErrors: [MediaError] = []
    private var isOpen = true

    /// Makes a sink.
    ///
    /// - Parameters:
    ///   - options: The options.
    ///   - logger: Receives FFmpeg's messages about this output; `nil` leaves them to `MediaLog.logger`.
    ///   - receive: Receives each segment when it is complete, on the thread that writes; the segments of a track are in
    ///     order. Its error ends the sink.
    /// - Throws: `invalidArgument` if the options are out of range.
    public init(
        options: Options,
        logger: Logger? = nil,
        receive: @escaping (MediaSegment) throws(MediaError) -> Void
    ) throws(MediaError) {
        try options.validate()
        self.options = options
        self.receive = receive
        log = LogRoute(logger)
        grid = SegmentGrid(duration: options.duration, frameRate: options.frameRate)
    }

    /// Adds an audio track. Must be called before the first sample.
    ///
    /// - Returns: Whether segments accept it. If not, its packets must not be written.
    /// - Throws: `invalidState` after the first sample.
    public func addTrack(_ track: MediaTrack) throws(MediaError) -> MediaSink.Acceptance {
        try checkIsOpen()
        guard videoSegmenter == nil else {
            throw MediaError(.invalidState, "the segments have already begun; add tracks before the first sample")
        }
        let mark = LogRoute.enter(log)
        defer { LogRoute.leave(mark) }
        guard track.kind == .audio, let description = track.audio else {
            return .refused(reason: "segments do not support \(track.kind.rawValue)")
        }
        guard description.mediaTypeCodec != nil else {
            return .refused(reason: "HTTP Live Streaming does not support \(track.codecName) audio")
        }
        if let reason = options.format.container.refusal(of: track, isSeekable: true) {
            return .refused(reason: reason)
        }
        tracks.append(track)
        // The first beginning is that of the first segment.
        passed.append(1)
        let format = options.format
        let segmented = SegmentedTrack(
            number: tracks.count,
            audio: description,
            language: track.language,
            title: track.title
        )
        audio.append(
            TrackSegmenter(
                segmented,
                format,
                makeMuxer: { (unit, _) throws(MediaError) in
                    try SegmentMuxer(format, start: unit.presentation, movieTimescale: description.sampleRate) {
                        (stream, context) throws(MediaError) in
                        try stream.copy(track, in: format.container, to: context)
                    }
                },
                emit: { [unowned self] segment throws(MediaError) in try deliver(segment) }
            )
        )
        return .accepted
    }

    /// Writes the next video sample, in decoding order. The first one must be a key frame. A dropped sample is skipped.
    ///
    /// - Throws: As ``MediaSink/write(_:)-(SampleBuffer)``, and errors of the receiver.
    public func write(_ sample: SampleBuffer) throws(MediaError) {
        try checkIsOpen()
        guard !sample.isDropped else { return }
        let mark = LogRoute.enter(log)
        defer { LogRoute.leave(mark) }
        let accepted = try video.validate(sample, frameRate: options.frameRate)
        let unit = try unit(
            of: sample,
            duration: accepted.duration,
            parameterSetsHaveChanged: accepted.parameterSetsHaveChanged
        )
        try closingOnFailure { () throws(MediaError) in
            try write(unit, sample.formatDescription)
            video.append(accepted)
            try writeWaitingPackets(upTo: sample.decodeTime)
        }
    }

    private func write(_ unit: TrackSegmenter.Unit, _ format: FormatDescription) throws(MediaError) {
        let segmenter = videoSegmenter ?? makeVideoSegmenter(format)
        videoSegmenter = segmenter
        if let described, described !== format, described.parameterSets != format.parameterSets,
            parameterSets.change == .segment
        {
            var track = segmenter.track
            track.video = format
            // A regular beginning at the same picture is not another one.
            if grid.place(unit.presentation) == .segment { beginnings.append(unit.presentation) }
            try segmenter.restart(as: track, at: unit)
        }
        described = format
        try segmenter.write(unit) { time in
            guard grid.place(time) == .segment else { return false }
            beginnings.append(time)
            return true
        }
    }

    private var parameterSets: ParameterSetCarriage { ParameterSetCarriage(options.format) }

    private func makeVideoSegmenter(_ format: FormatDescription) -> TrackSegmenter {
        let track = SegmentedTrack(number: 0, video: format, language: options.language, title: options.title)
        return TrackSegmenter(
            track,
            options.format,
            makeMuxer: { [options] (unit, track) throws(MediaError) in
                try SegmentMuxer(options.format, start: unit.presentation) { (stream, _) throws(MediaError) in
                    guard let format = track.video else { return }
                    let carriage = ParameterSetCarriage(options.format)
                    try stream.describe(format, in: options.format.container, inBand: carriage.isInBand)
                    let times = [unit.presentation, unit.decode, unit.duration]
                    stream.setTiming(times, frameRate: options.frameRate)
                    if let encoder = options.encoderName {
                        av_dict_set(&stream.pointee.metadata, "encoder", encoder, 0)
                    }
                    stream.setNames(language: options.language, title: options.title, in: options.format.container)
                }
            },
            emit: { [unowned self] segment throws(MediaError) in try deliver(segment) }
        )
    }

    private func unit(
        of sample: SampleBuffer,
        duration: MediaTime,
        parameterSetsHaveChanged: Bool
    ) throws(MediaError) -> TrackSegmenter.Unit {
        let hasSets = parameterSets.isCarried(
            by: sample,
            isRequested: repeatsParameterSets,
            haveChanged: parameterSetsHaveChanged
        )
        let data = try options.format.container.framed(sample, withParameterSets: hasSets)
        return TrackSegmenter.Unit(
            presentation: sample.presentationTime,
            decode: sample.decodeTime,
            duration: duration,
            isKeyFrame: sample.isKeyFrame,
            fill: { (packet) throws(MediaError) in
                try packet.refer(to: data)
                if sample.isKeyFrame { packet.pointee.flags |= AV_PKT_FLAG_KEY }
                if !sample.isReference { packet.pointee.flags |= AV_PKT_FLAG_DISPOSABLE }
            },
            byteCount: data.count
        )
    }

    /// Writes the next packet of an accepted track. It waits for the video sample with which it is interleaved.
    ///
    /// - Throws: As ``MediaSink/write(_:)-(MediaPacket)``, and errors of the receiver.
    public func write(_ packet: MediaPacket) throws(MediaError) {
        try checkIsOpen()
        guard tracks.contains(where: { $0 === packet.track }) else {
            throw MediaError(
                .invalidArgument,
                "the packet's track was not added to the output",
                given: "track \(packet.track.index) (\(packet.track.codecName))",
                allowed: tracks.map { "track \($0.index)" }.joined(separator: ", ")
            )
        }
        try closingOnFailure { () throws(MediaError) in try waiting.append(packet) }
    }

    /// Writes the packets that are certain to belong to the segments that have begun.
    private func writeWaitingPackets(upTo time: MediaTime?) throws(MediaError) {
        guard !waiting.isEmpty else { return }
        try waiting.drain(upTo: time) { (packet) throws(MediaError) in
            guard let index = tracks.firstIndex(where: { $0 === packet.track }) else { return }
            do throws(MediaError) {
                let (presentation, decode) = try packet.times()
                let unit = TrackSegmenter.Unit(
                    presentation: presentation,
                    decode: decode,
                    duration: packet.duration,
                    isKeyFrame: true,
                    fill: { (copy) throws(MediaError) in
                        try check(av_packet_ref(copy, packet.packet), "av_packet_ref", "no memory for a packet")
                    },
                    byteCount: packet.byteCount
                )
                try audio[index].write(unit) { time in
                    let count = beginnings.dropFirst(passed[index]).prefix { $0 <= time }.count
                    passed[index] += count
                    return count > 0
                }
            } catch  where Self.isAboutPacket(error) {
                packetErrors.append(error.about(packet))
            }
        }
    }

    /// Writes the rest, and the last segments.
    ///
    /// - Throws: `malformedData` if no video sample was written; errors of the receiver.
    public func finish() throws(MediaError) -> MediaSink.Summary {
        try checkIsOpen()
        let mark = LogRoute.enter(log)
        defer { LogRoute.leave(mark) }
        defer { abort() }
        guard let videoSegmenter, video.count > 0 else {
            throw MediaError(.malformedData, "no video sample was written")
        }
        try writeWaitingPackets(upTo: nil)
        try videoSegmenter.finish()
        for segmenter in audio {
            do {
                try segmenter.finish()
            } catch  where Self.isAboutPacket(error) {
                packetErrors.append(error)
            }
        }
        return MediaSink.Summary(
            byteCount: byteCount,
            sampleCount: video.count,
            duration: video.duration,
            defragmentationError: nil,
            packetErrors: packetErrors
        )
    }

    private static func isAboutPacket(_ error: MediaError) -> Bool {
        error.code == .malformedData || error.status == Int(ffmpeg_error_invalid_data)
    }

    /// Discards what is not complete. Has no effect after ``finish()``.
    public func abort() {
        isOpen = false
        waiting.discard()
        (videoSegmenter, audio) = (nil, [])
    }

    private func deliver(_ segment: MediaSegment) throws(MediaError) {
        byteCount += Int64(segment.data.count)
        try receive(segment)
    }

    private func checkIsOpen() throws(MediaError) {
        guard isOpen else { throw MediaError(.invalidState, "the segments are finished") }
    }

    private func closingOnFailure(_ body: () throws(MediaError) -> Void) throws(MediaError) {
        do {
            try body()
        } catch {
            abort()
            throw error
        }
    }
}
