// SPDX-License-Identifier: GPL-2.0-or-later

internal import CFFmpeg
internal import FFmpegSupport
public import Logging
public import MediaTypes
internal import VideoDecoding

/// Reads a media file, a pipe or a network stream, and returns decoded video and the packets of the tracks that can be
/// copied.
///
/// It is synchronous: opening and ``next()`` block while they read and decode, so use it from one dedicated thread.
/// Only ``cancel()`` may be called from any thread at any time.
///
/// **Time.** All times are on the timeline of the output. Its zero is the earliest start of the used streams, plus
/// ``Options/start``; audio and video keep their offset. Times come from the container and are exact in its time base.
/// A variable frame rate stays variable. A frame whose time is missing, or not after that of the previous frame, is
/// placed one frame duration after it; ``problems`` counts these. In formats whose clock may jump, such as MPEG
/// transport streams, jumps forward by more than 10 s and back by more than 0.1 s are removed for all streams alike.
/// Edit lists are applied. Packets of copied tracks may have negative times, as the priming of an audio encoder does.
///
/// **Pictures** are returned upright and, unless the options say otherwise, progressive. If the decoder's format is one
/// of ``MediaTypes/PixelFormat``, they use the decoder's memory without a copy; the source decodes into other memory as
/// long as a buffer is in use. Other formats are converted: luma and chroma to 4:2:0 with 8 bits (`i420`) or, if
/// deeper, 10 bits (`p010`), RGB of up to 8 bits to `bgra`, and deeper RGB to `p010`. ``Options/chromaFormat`` and
/// ``Options/maximumBitDepth`` select formats that preserve more.
///
/// **Damage.** Decoding errors are counted and described in ``problems``, and reading continues.
public final class MediaSource: @unchecked Sendable {
    /// An item that was read.
    public enum Event: Sendable {
        /// A decoded picture.
        case frame(VideoFrame)
        /// A packet of one of ``MediaSource/tracks``.
        case packet(MediaPacket)
    }

    /// The path or URL as given.
    public let path: String
    /// FFmpeg's name of the format, for example `mov,mp4,m4a,3gp,3g2,mj2`.
    public var formatName: String { demuxer.formatName }
    /// The video track.
    public let video: VideoTrack
    /// The audio, subtitle and data tracks, whose packets ``next()`` returns.
    public let tracks: [MediaTrack]
    /// The streams that are ignored.
    public let ignoredStreams: [IgnoredStream]
    /// The chapters that overlap the part that is read.
    public let chapters: [Chapter]
    /// The metadata of the whole file, such as `title`, with FFmpeg's keys.
    public let metadata: [String: String]
    /// The problems found so far.
    public var problems: SourceProblems { reader.problems }

    private let demuxer: Demuxer
    private let reader: SourceReader
    private let cancellation: Cancellation
    private let log: LogRoute?

    /// Opens an input and decodes its first frame.
    ///
    /// - Parameters:
    ///   - path: A local path, `-` for standard input, or a URL with `://` for a protocol that FFmpeg supports. A path
    ///     may contain any character.
    ///   - options: The options for reading it.
    ///   - logger: Receives FFmpeg's messages about this input, like `MediaLog.logger`; `nil` leaves them to that
    ///     logger.
    ///   - cancellation: Ends opening and reading, from another thread.
    /// - Throws: `invalidArgument` for options that are out of range or contradict the input, and for a directory;
    ///   `unavailable` if the input is missing or not readable; `malformedData` if it is empty, is not a media file,
    ///   has no video, or no frame can be decoded; `unsupported` if FFmpeg has no decoder; `inputOutput`;
    ///   `outOfMemory`; `cancelled`.
    public init(
        path: String,
        options: Options = Options(),
        logger: Logger? = nil,
        cancellation: Cancellation = Cancellation()
    ) throws(MediaError) {
        try options.validate()
        log = LogRoute(logger)
        let mark = LogRoute.enter(log)
        defer { LogRoute.leave(mark) }
        self.path = path
        self.cancellation = cancellation
        demuxer = try Demuxer(path: path, options: options, cancellation: cancellation)
        let selection = try StreamSelection(demuxer)
        tracks = selection.tracks
        ignoredStreams = selection.ignored
        // QuickTime stores the timecode in the metadata of the video track.
        let timecode = selection.video.pointee.text("timecode").map { ["timecode": $0] } ?? [:]
        metadata = demuxer.metadata.merging(timecode) { whole, _ in whole }
        let pipeline = try VideoPipeline(stream: selection.video, demuxer: demuxer, options: options, log: log)
        reader = SourceReader(demuxer: demuxer, pipeline: pipeline, tracks: tracks, options: options)
        let first = try reader.start()
        let remaining = reader.remaining(of: demuxer.duration)
        let rate = try reader.frameRate()
        video = VideoTrack(first: first, pipeline: pipeline, rate: rate, remaining: remaining, options: options)
        chapters = demuxer.chapters.compactMap { [reader] in reader.onOutputLine($0) }
    }

    /// Returns the next frame or packet, in file order; `nil` at the end.
    ///
    /// - Throws: `cancelled`, `outOfMemory`. Damage is not an error; see ``problems``.
    public func next() throws(MediaError) -> Event? {
        let mark = LogRoute.enter(log)
        defer { LogRoute.leave(mark) }
        return try reader.next()
    }

    /// Whether the decoder of ``decode(with:)`` has returned pictures that ``next()`` has not.
    package var hasWaitingPictures: Bool { reader.hasWaitingPictures }

    /// Leaves pictures of uncompressed video in their file from now on, if the input is a file that is open for reading
    /// only. ``next()`` then returns ``MediaTypes/PixelStorage/file(_:)``, and the samples are read when needed,
    /// directly to their destination. The file must not change. This saves a copy for encoders that copy pictures
    /// anyway; for encoders that read them in place, it only moves the reading to another thread.
    public func leavePicturesInFile() { reader.leavesPicturesInFile = true }

    /// Restricts the events to packets of some tracks from now on. Nothing else is decoded or, where the format has an
    /// index, read.
    package func readOnly(tracks: Set<Int>) { reader.readOnly(tracks: tracks) }

    /// Reads the pictures of the part without decoding them: the whole file once, from its beginning. Nothing can be read
    /// after that.
    ///
    /// - Parameter note: Called with the number of bytes of each packet.
    /// - Throws: `unsupported`, with the reason, if only decoding can tell the pictures; `cancelled`, `outOfMemory`.
    package func readFrameIndex(note: (Int) -> Void = { _ in }) throws(MediaError) -> FrameIndex {
        let mark = LogRoute.enter(log)
        defer { LogRoute.leave(mark) }
        return try reader.readFrameIndex(note: note)
    }

    /// The name and version of the decoder that is used unless ``decode(with:)`` is called.
    package static var decoderName: String { libraryName }

    /// The format of the first sample, for a decoder that ``decode(with:)`` can use.
    ///
    /// - Throws: The reason why there is none: `unsupported` if the video is neither H.264 nor HEVC, or only libavcodec can
    ///   tell the times of its pictures; `malformedData` if it has no parameter sets; `invalidState` without
    ///   ``Options/allowsOtherDecoder``, and after ``next()``.
    package func formatForOtherDecoder() throws(MediaError) -> FormatDescription { try reader.formatForOtherDecoder() }

    /// Decodes the video with another decoder than libavcodec in this process. It gets every sample, in decoding order;
    /// its pictures are returned as they are, unless they have to be filtered. All else stays the same: times, the part to
    /// read, and what ``problems`` counts.
    ///
    /// - Parameter factory: Makes the decoder, whose calls may block.
    /// - Throws: As ``formatForOtherDecoder()``; the errors of the factory.
    package func decode(with factory: any DecoderFactory) throws(MediaError) {
        let mark = LogRoute.enter(log)
        defer { LogRoute.leave(mark) }
        try reader.decode(with: factory)
    }

    /// Ends the input at the present position: ``next()`` returns the frames that the decoder still holds and then
    /// `nil`, even after ``cancel()``.
    public func endInput() { reader.endInput() }

    /// Ends a blocked call, and all later ones, with the error `cancelled`. Safe on any thread.
    public func cancel() { cancellation.cancel() }
}

/// The selection of an input's streams.
struct StreamSelection {
    let video: UnsafeMutablePointer<AVStream>
    private(set) var tracks: [MediaTrack] = []
    private(set) var ignored: [IgnoredStream] = []

    /// Selects the best video and everything that can be copied, and makes libavformat discard the rest.
    init(_ demuxer: Demuxer) throws(MediaError) {
        guard let video = demuxer.bestVideo else {
            let kinds = demuxer.streams.map { Self.kind(of: $0) }
            throw MediaError(
                .malformedData,
                "the input has no video stream" + (kinds.isEmpty ? "" : ", only \(kinds.joined(separator: ", "))"),
                given: demuxer.path,
                allowed: "a file with a video stream"
            )
        }
        self.video = video
        let hasChapters = !demuxer.chapters.isEmpty
        let hasTimecode = demuxer.metadata["timecode"] != nil || video.pointee.text("timecode") != nil
        for stream in demuxer.streams where stream != video {
            if (hasChapters && Self.mayNameChapters(stream)) || (hasTimecode && Self.isTimecode(stream)) {
                stream.pointee.discard = AVDISCARD_ALL
                continue
            }
            if let reason = Self.reasonToIgnore(stream) {
                stream.pointee.discard = AVDISCARD_ALL
                ignored.append(
                    IgnoredStream(
                        index: Int(stream.pointee.index),
                        kind: Self.kind(of: stream),
                        codecName: String(cString: avcodec_get_name(stream.pointee.codecpar.pointee.codec_id)),
                        reason: reason
                    )
                )
            } else {
                tracks.append(try MediaTrack(stream: stream))
            }
        }
    }

    static func isCover(_ stream: UnsafePointer<AVStream>) -> Bool {
        stream.pointee.disposition & AV_DISPOSITION_ATTACHED_PIC != 0
    }

    static func kind(of stream: UnsafePointer<AVStream>) -> String {
        if isCover(stream) { return "cover picture" }
        let type = stream.pointee.codecpar.pointee.codec_type
        return av_get_media_type_string(type).map { String(cString: $0) } ?? "unknown"
    }

    /// QuickTime stores chapter titles in a text track, which libavformat reads and then reports as binary data.
    static func mayNameChapters(_ stream: UnsafePointer<AVStream>) -> Bool {
        let parameters = stream.pointee.codecpar.pointee
        return parameters.codec_type == AVMEDIA_TYPE_DATA && parameters.codec_id == AV_CODEC_ID_BIN_DATA
    }

    /// A QuickTime timecode track. libavformat reads its time into the metadata, from which muxers make such a track
    /// again.
    static func isTimecode(_ stream: UnsafePointer<AVStream>) -> Bool {
        stream.pointee.codecpar.pointee.codec_tag == 0x6463_6D74
    }

    private static func reasonToIgnore(_ stream: UnsafePointer<AVStream>) -> String? {
        let parameters = stream.pointee.codecpar.pointee
        if isCover(stream) { return "an attached picture" }
        switch parameters.codec_type {
        case AVMEDIA_TYPE_VIDEO: return "only one video stream is read, and another one is preferred"
        case AVMEDIA_TYPE_AUDIO, AVMEDIA_TYPE_SUBTITLE, AVMEDIA_TYPE_DATA:
            return parameters.codec_id == AV_CODEC_ID_NONE ? "its codec is unknown to FFmpeg" : nil
        case AVMEDIA_TYPE_ATTACHMENT: return "an attached file"
        default: return "its type is unknown"
        }
    }
}

extension VideoTrack {
    /// Describes the video by its first picture, and by its stream where the picture lacks information.
    init(
        first: VideoPipeline.Picture,
        pipeline: VideoPipeline,
        rate: FrameRateEstimate,
        remaining: MediaTime?,
        options: MediaSource.Options
    ) {
        let stream = pipeline.stream.pointee
        let buffer = first.buffer
        index = Int(stream.index)
        width = buffer.width
        height = buffer.height
        pixelFormat = buffer.format
        codecName = avcodec_get_name(stream.codecpar.pointee.codec_id).map { String(cString: $0) } ?? "unknown"
        pixelFormatName = first.decoded.name
        bitDepth = first.decoded.bitDepth
        chromaFormat = first.decoded.chromaFormat
        color = buffer.color
        pixelAspectRatio = buffer.pixelAspectRatio
        attachments = buffer.attachments
        attachments.captions = []
        nominalFrameRate = rate.rate
        isVariableFrameRate = rate.isVariable
        orientation = first.orientation
        isInterlaced = pipeline.isInterlaced
        (language, title) = (stream.text("language"), stream.text("title"))
        lostMetadata = pipeline.lostMetadata
        duration = remaining
        let isWhole = options.start == nil && options.duration == nil
        if isWhole, stream.nb_frames > 0 {
            estimatedFrameCount = Int(stream.nb_frames)
        } else if let remaining, let rate = rate.rate {
            estimatedFrameCount = Int(exactly: (remaining.seconds * rate.doubleValue).rounded())
        } else {
            estimatedFrameCount = nil
        }
    }
}
