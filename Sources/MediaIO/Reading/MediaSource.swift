// SPDX-License-Identifier: GPL-2.0-or-later

internal import CFFmpeg
public import MediaTypes

/// Reads a media file, a pipe or a network stream: decoded video, and the packets of everything that can be copied.
///
/// It is synchronous: opening and ``next()`` block while they read and decode, so give it a thread of its own and use
/// it from one thread at a time. Only ``cancel()`` may be called from any thread at any time.
///
/// **Time.** All times are on the time line of the output. Its zero is the earliest start of the streams that are
/// used, or ``Options/start`` after that; audio and video keep their offset. Times come from the container and are
/// exact in its time base. Variable frame rate stays as it is. A frame whose time is missing, or not after that of
/// the frame before, is placed one frame duration after it; ``problems`` counts these. In formats where the clock may
/// jump, such as MPEG transport streams, jumps of more than 10 s, and back by more than 0.1 s, are closed for all
/// streams alike. Edit lists are
/// obeyed. Packets of copied tracks may come before zero: the priming of an audio encoder does.
///
/// **Pictures** come out upright and, unless the options say otherwise, progressive. Where the decoder's format is one
/// of ``MediaTypes/PixelFormat`` they are the decoder's own memory, not copied: a source decodes into other memory as
/// long as somebody holds a buffer. Other formats are converted: 4:2:0 with 8 bits (`i420`) or with 10 (`p010`) for all
/// luma and chroma formats of up to 8 bits or more, `bgra` for RGB of up to 8 bits, and `p010` for deeper RGB.
///
/// **Damage.** What does not decode is counted and described in ``problems``, and reading goes on.
public final class MediaSource: @unchecked Sendable {
    /// One thing that was read.
    public enum Event: Sendable {
        /// A decoded picture.
        case frame(VideoFrame)
        /// A packet of one of ``MediaSource/tracks``.
        case packet(MediaPacket)
    }

    /// The path or URL that was given.
    public let path: String
    /// FFmpeg's name of the format, for example `mov,mp4,m4a,3gp,3g2,mj2`.
    public var formatName: String { demuxer.formatName }
    /// The video.
    public let video: VideoTrack
    /// The audio, subtitle and data tracks, whose packets ``next()`` gives.
    public let tracks: [MediaTrack]
    /// The streams that are left out.
    public let ignoredStreams: [IgnoredStream]
    /// Chapters that lie, at least in part, in what is read.
    public let chapters: [Chapter]
    /// Metadata of the whole, such as `title`; the keys are FFmpeg's.
    public let metadata: [String: String]
    /// What was wrong so far.
    public var problems: SourceProblems { reader.problems }

    private let demuxer: Demuxer
    private let reader: SourceReader
    private let cancellation: Cancellation

    /// Opens an input and decodes its first frame.
    ///
    /// - Parameters:
    ///   - path: A local path, `-` for standard input, or a URL with `://` of a protocol that FFmpeg knows. A path may
    ///     hold any character.
    ///   - options: How to read it.
    ///   - cancellation: Ends opening and reading from another thread.
    /// - Throws: `invalidArgument` for options that are out of range or contradict the input, and for a directory;
    ///   `unavailable` if the input is missing or may not be read; `malformedData` if it is empty, is no media, has no
    ///   video, or no frame of it can be decoded; `unsupported` if FFmpeg has no decoder; `inputOutput`;
    ///   `outOfMemory`; `cancelled`.
    public init(
        path: String,
        options: Options = Options(),
        cancellation: Cancellation = Cancellation()
    ) throws(MediaError) {
        try options.validate()
        self.path = path
        self.cancellation = cancellation
        demuxer = try Demuxer(path: path, options: options, cancellation: cancellation)
        let selection = try StreamSelection(demuxer)
        tracks = selection.tracks
        ignoredStreams = selection.ignored
        // Of QuickTime it is one of the video track.
        let timecode = selection.video.pointee.text("timecode").map { ["timecode": $0] } ?? [:]
        metadata = demuxer.metadata.merging(timecode) { whole, _ in whole }
        let pipeline = try VideoPipeline(stream: selection.video, demuxer: demuxer, options: options)
        reader = SourceReader(demuxer: demuxer, pipeline: pipeline, tracks: tracks, options: options)
        let first = try reader.start(at: options.start)
        let remaining = reader.remaining(of: demuxer.duration)
        let rate = try reader.frameRate()
        video = VideoTrack(first: first, pipeline: pipeline, rate: rate, remaining: remaining, options: options)
        chapters = demuxer.chapters.compactMap { [reader] in reader.onOutputLine($0) }
    }

    /// The next frame or packet, in the order of the file; `nil` at the end.
    ///
    /// - Throws: `cancelled`, `outOfMemory`. Damage is no error; see ``problems``.
    public func next() throws(MediaError) -> Event? { try reader.next() }

    /// Leaves pictures of uncompressed video in their file from now on, where the input is a file that is open for
    /// reading alone: what ``next()`` gives is ``MediaTypes/PixelStorage/file(_:)``, and whoever wants the samples reads
    /// them, straight to where they belong. The file must not change then. It spares an encoder that copies pictures
    /// anyhow a copy; for one that reads them where they are it only moves the reading to another thread.
    public func leavePicturesInFile() { reader.leavesPicturesInFile = true }

    /// Takes the input for ended here: ``next()`` gives the frames that the decoder still holds and then `nil`, also
    /// after ``cancel()``.
    public func endInput() { reader.endInput() }

    /// Ends a call that blocks now, and all later ones, with the error `cancelled`. Safe on any thread.
    public func cancel() { cancellation.cancel() }
}

/// Which streams of an input are used.
struct StreamSelection {
    let video: UnsafeMutablePointer<AVStream>
    private(set) var tracks: [MediaTrack] = []
    private(set) var ignored: [IgnoredStream] = []

    /// Takes the best video and everything that can be copied, and tells libavformat to skip the rest.
    init(_ demuxer: Demuxer) throws(MediaError) {
        guard let video = demuxer.bestVideo else {
            let kinds = demuxer.streams.map { Self.kind(of: $0) }
            throw MediaError(
                .malformedData,
                "the input has no video" + (kinds.isEmpty ? "" : ", only \(kinds.joined(separator: ", "))"),
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

    private static func isCover(_ stream: UnsafePointer<AVStream>) -> Bool {
        stream.pointee.disposition & AV_DISPOSITION_ATTACHED_PIC != 0
    }

    private static func kind(of stream: UnsafePointer<AVStream>) -> String {
        if isCover(stream) { return "cover picture" }
        let type = stream.pointee.codecpar.pointee.codec_type
        return av_get_media_type_string(type).map { String(cString: $0) } ?? "unknown"
    }

    /// QuickTime keeps the titles of chapters in a text track, which libavformat reads and then calls binary data.
    private static func mayNameChapters(_ stream: UnsafePointer<AVStream>) -> Bool {
        let parameters = stream.pointee.codecpar.pointee
        return parameters.codec_type == AVMEDIA_TYPE_DATA && parameters.codec_id == AV_CODEC_ID_BIN_DATA
    }

    /// A track of QuickTime whose one time libavformat reads into the metadata, of which muxers make such a track again.
    private static func isTimecode(_ stream: UnsafePointer<AVStream>) -> Bool {
        stream.pointee.codecpar.pointee.codec_tag == 0x6463_6D74
    }

    private static func reasonToIgnore(_ stream: UnsafePointer<AVStream>) -> String? {
        let parameters = stream.pointee.codecpar.pointee
        if isCover(stream) { return "an attached picture" }
        switch parameters.codec_type {
        case AVMEDIA_TYPE_VIDEO: return "one video stream is read, and another one is better"
        case AVMEDIA_TYPE_AUDIO, AVMEDIA_TYPE_SUBTITLE, AVMEDIA_TYPE_DATA:
            return parameters.codec_id == AV_CODEC_ID_NONE ? "its codec is unknown to FFmpeg" : nil
        case AVMEDIA_TYPE_ATTACHMENT: return "an attached file"
        default: return "it is of an unknown kind"
        }
    }
}

extension VideoTrack {
    /// Describes the video by its first picture, and by its stream where the picture does not tell.
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
        fitsChroma420 = first.decoded.fitsChroma420
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
