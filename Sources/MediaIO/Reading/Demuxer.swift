// SPDX-License-Identifier: GPL-2.0-or-later

internal import CFFmpeg
internal import FFmpegSupport
internal import Glibc
internal import MediaTypes

/// An open libavformat input. Used from one thread at a time.
final class Demuxer {
    /// The result of a call to ``read()``.
    enum Output {
        /// The next packet, valid until the next call.
        case packet(UnsafeMutablePointer<AVPacket>)
        case finished
        /// Reading failed with this status.
        case failed(Int32)
    }

    let path: String
    private var context: UnsafeMutablePointer<AVFormatContext>?
    private var packet: UnsafeMutablePointer<AVPacket>?
    /// The input file; `nil` if libavformat reads the input itself, from the network or from many files.
    private let file: InputFile?
    private let cancellation: Cancellation
    /// The reader of uncompressed pictures; `nil` for all other inputs.
    private var rawPictures: RawPictureReader?
    /// The position of the last packet's end in the file.
    private var packetEnd: Int64?

    init(path: String, options: MediaSource.Options, cancellation: Cancellation) throws(MediaError) {
        MediaLog.install()
        self.path = path
        self.cancellation = cancellation
        let format = try Self.inputFormat(options)
        let readsItself = Self.isURL(path) || (format?.pointee.flags ?? 0) & AVFMT_NOFILE != 0
        file = readsItself ? nil : try InputFile(path: path, cancellation: cancellation)
        packet = av_packet_alloc()
        context = avformat_alloc_context()
        guard packet != nil, let allocated = context else {
            throw MediaError(.outOfMemory, "no memory to read the input", call: "avformat_alloc_context")
        }
        allocated.pointee.pb = file?.context
        // libavformat must not close this package's `AVIOContext`, however opening ends.
        if file != nil { allocated.pointee.flags |= AVFMT_FLAG_CUSTOM_IO }
        allocated.pointee.interrupt_callback = cancellation.interruptCallback
        try open(format, options)
        let status = avformat_find_stream_info(context, nil)
        try cancellation.check()
        try check(status, "avformat_find_stream_info", "the input cannot be read", code: .malformedData, given: path)
        try options.limits.check(self)
        rawPictures = context.flatMap { RawPictureReader($0) }
    }

    deinit {
        avformat_close_input(&context)
        av_packet_free(&packet)
        withExtendedLifetime((file, cancellation)) {}
    }

    /// Returns whether libavformat opens the input by a protocol, as in `https://example.org/a.mp4`.
    private static func isURL(_ path: String) -> Bool {
        guard let end = path.firstRange(of: "://")?.lowerBound, end > path.startIndex else { return false }
        return path[..<end].allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "+-.".contains($0)) }
    }

    private static func inputFormat(
        _ options: MediaSource.Options
    ) throws(MediaError) -> UnsafePointer<AVInputFormat>? {
        guard let name = options.format ?? options.rawVideo.map({ _ in "rawvideo" }) else { return nil }
        if name == "rawvideo", options.rawVideo == nil { throw rawVideoError(given: name) }
        if options.rawVideo != nil, name != "rawvideo" {
            throw MediaError(
                .invalidArgument,
                "pixel format, size and frame rate are for raw video only",
                given: name,
                allowed: "rawvideo"
            )
        }
        if let format = av_find_input_format(name) { return format }
        throw MediaError(
            .invalidArgument,
            "unknown input format",
            given: name,
            allowed: "a name that `ffmpeg -demuxers` lists, such as mp4, matroska, mpegts, yuv4mpegpipe or rawvideo"
        )
    }

    private static func rawVideoError(given: String) -> MediaError {
        MediaError(
            .invalidArgument,
            "raw video needs its pixel format, size and frame rate",
            given: given,
            allowed: "all three values"
        )
    }

    private func open(
        _ format: UnsafePointer<AVInputFormat>?,
        _ options: MediaSource.Options
    ) throws(MediaError) {
        var settings: OpaquePointer?
        defer { av_dict_free(&settings) }
        // The protocols that a playlist inside the input may use: those that libavformat allows by default for such an
        // input.
        if file != nil {
            av_dict_set(&settings, "protocol_whitelist", path == "-" ? "crypto,data" : "file,crypto,data", 0)
        }
        for (name, value) in try options.rawVideo?.settings() ?? [] { av_dict_set(&settings, name, value, 0) }
        let url = file == nil ? path : path == "-" ? "pipe:0" : "file:\(path)"
        let status = avformat_open_input(&context, url, format, &settings)
        if status >= 0 { return }
        try cancellation.check()
        if let file, file.isEmpty { throw InputFile.emptyError(path) }
        if format == nil, let raw = av_find_input_format("rawvideo"), av_match_ext(path, raw.pointee.extensions) != 0 {
            throw Self.rawVideoError(given: path)
        }
        let isMalformed = status == ffmpeg_error_invalid_data || status == ffmpeg_error_eof
        throw MediaError(
            isMalformed || file != nil ? .malformedData : .inputOutput,
            "the input cannot be opened as \(format.flatMap { $0.pointee.name }.map { String(cString: $0) } ?? "media")"
                + ": \(describe(status))",
            given: path,
            allowed: "a file in a format that FFmpeg reads",
            call: "avformat_open_input",
            status: Int(status)
        )
    }
}

// MARK: - Contents of the input

extension Demuxer {
    /// All streams, in the order of their indices. They exist as long as the demuxer.
    var streams: [UnsafeMutablePointer<AVStream>] {
        guard let context, let streams = context.pointee.streams else { return [] }
        return (0..<Int(context.pointee.nb_streams)).compactMap { streams[$0] }
    }

    /// Returns the stream with the given index, without a list of all streams.
    func stream(_ index: Int) -> UnsafeMutablePointer<AVStream>? {
        guard let context, let streams = context.pointee.streams else { return nil }
        return (0..<Int(context.pointee.nb_streams)).contains(index) ? streams[index] : nil
    }

    /// Whether the input is seekable.
    var isSeekable: Bool { (context?.pointee.pb?.pointee.seekable ?? 0) & AVIO_SEEKABLE_NORMAL != 0 }

    /// The main video stream, excluding cover pictures.
    var bestVideo: UnsafeMutablePointer<AVStream>? {
        let index = av_find_best_stream(context, AVMEDIA_TYPE_VIDEO, -1, -1, nil, 0)
        let stream = streams.first { $0.pointee.index == index }
        return stream.flatMap { $0.pointee.disposition & AV_DISPOSITION_ATTACHED_PIC == 0 ? $0 : nil }
    }

    /// The name of the format, for example `mov,mp4,m4a,3gp,3g2,mj2`.
    var formatName: String {
        (context?.pointee.iformat?.pointee.name).map { String(cString: $0) } ?? "unknown"
    }

    /// The name of the format for people.
    var formatTitle: String {
        (context?.pointee.iformat?.pointee.long_name).map { String(cString: $0) } ?? formatName
    }

    /// The size of the input in bytes; `nil` if it cannot be measured.
    var byteCount: Int64? {
        guard isSeekable, let reader = context?.pointee.pb else { return nil }
        let size = avio_size(reader)
        return size > 0 ? size : nil
    }

    /// The start of the whole input; `nil` if it has no times.
    var startTime: MediaTime? { context.flatMap { $0.pointee.start_time == ffmpeg_no_pts ? nil : start } }

    /// Whether the timestamps of this format may jump without a meaning.
    var allowsDiscontinuities: Bool { (context?.pointee.iformat?.pointee.flags ?? 0) & AVFMT_TS_DISCONT != 0 }

    /// The period of the clock of this format in microseconds; `nil` if its times do not wrap.
    var clockPeriod: Int64? {
        guard let stream = bestVideo?.pointee, (1...48).contains(stream.pts_wrap_bits) else { return nil }
        return MediaTime(1 << stream.pts_wrap_bits, in: stream.time_base).converted(to: Int32(AV_TIME_BASE)).value
    }

    /// Whether the input is an unseekable MP4 or QuickTime file, whose index may require seeking.
    var mayNeedSeeking: Bool {
        let name = context?.pointee.iformat.flatMap { String(cString: $0.pointee.name) } ?? ""
        return !isSeekable && name.contains("mp4")
    }

    /// Whether the format's index contains presentation times rather than decode times.
    var seeksByPresentationTime: Bool { (context?.pointee.iformat?.pointee.flags ?? 0) & AVFMT_SEEK_TO_PTS != 0 }

    /// The duration of the whole input; `nil` if not known.
    var duration: MediaTime? {
        guard let duration = context?.pointee.duration, duration > 0 else { return nil }
        let told = MediaTime(value: duration, timescale: Int32(AV_TIME_BASE))
        return countsFromZero ? told.counted(from: start) : told
    }

    /// Returns the duration of a stream according to the headers; `nil` if they state only the duration of the whole.
    func duration(of stream: UnsafeMutablePointer<AVStream>) -> MediaTime? {
        let timeBase = stream.pointee.time_base
        guard stream.pointee.duration <= 0 else {
            let told = MediaTime(stream.pointee.duration, in: timeBase)
            if countsFromZero { return told.counted(from: start(of: stream)) }
            return fragmentStart(stream).map { told.counted(from: MediaTime($0, in: timeBase)) } ?? told
        }
        guard countsFromZero, let duration else { return nil }
        return (start + duration).counted(from: start(of: stream))
    }

    /// Returns the end of a stream according to the headers, on the input's own timeline; `nil` if they do not state
    /// it.
    func announcedEnd(_ stream: UnsafeMutablePointer<AVStream>) -> MediaTime? {
        guard let context, context.pointee.duration_estimation_method == AVFMT_DURATION_FROM_STREAM else { return nil }
        if stream.pointee.duration > 0 { return duration(of: stream).map { start(of: stream) + $0 } }
        // The duration of the whole is that of the longest stream, so it proves something only if all streams are read.
        guard streams.allSatisfy({ $0.pointee.discard != AVDISCARD_ALL }), let duration else { return nil }
        return start + duration
    }

    /// Whether the format's duration is the time of the end: Matroska durations count from zero, whatever the first
    /// time is, and for NUT libavformat searches for the last time.
    private var countsFromZero: Bool { ["matroska,webm", "nut"].contains(formatName) }

    /// Returns the decode time of the first sample of a fragmented MP4, in ticks; `nil` for all other inputs. A part of
    /// a longer file keeps its times, and its duration counts from the beginning of the whole.
    private func fragmentStart(_ stream: UnsafeMutablePointer<AVStream>) -> Int64? {
        guard formatName.hasPrefix("mov,"), stream.pointee.nb_frames == 0 else { return nil }
        return avformat_index_get_entry(stream, 0)?.pointee.timestamp
    }

    private var start: MediaTime {
        guard let start = context?.pointee.start_time, start != ffmpeg_no_pts else { return .zero }
        return MediaTime(value: start, timescale: Int32(AV_TIME_BASE))
    }

    private func start(of stream: UnsafePointer<AVStream>) -> MediaTime {
        let start = stream.pointee.start_time
        return start == ffmpeg_no_pts ? .zero : MediaTime(start, in: stream.pointee.time_base)
    }

    var metadata: [String: String] { Self.strings(context?.pointee.metadata) }

    /// The chapters, on the input's own timeline.
    var chapters: [Chapter] {
        guard let context, let chapters = context.pointee.chapters else { return [] }
        return (0..<Int(context.pointee.nb_chapters)).compactMap { index in
            guard let chapter = chapters[index]?.pointee else { return nil }
            return Chapter(
                start: MediaTime(chapter.start, in: chapter.time_base),
                end: MediaTime(chapter.end, in: chapter.time_base),
                title: Self.strings(chapter.metadata)["title"]
            )
        }
    }

    /// Returns the pixel aspect ratio (width to height) of the container or, if it has none, of the frame.
    func pixelAspectRatio(
        _ stream: UnsafeMutablePointer<AVStream>,
        _ frame: UnsafeMutablePointer<AVFrame>?
    ) -> AVRational {
        let ratio = av_guess_sample_aspect_ratio(context, stream, frame)
        return ratio.num > 0 && ratio.den > 0 ? ratio : AVRational(num: 1, den: 1)
    }

    /// Returns the number of samples at the start of a track that are not played. MP4 and QuickTime hide them by an edit list,
    /// which gives them times before zero; that of a fragmented file has no other trace.
    ///
    /// - Parameter first: The first packet of the stream.
    func priming(of stream: UnsafeMutablePointer<AVStream>, _ first: UnsafeMutablePointer<AVPacket>) -> Int {
        let parameters = stream.pointee.codecpar.pointee
        if parameters.initial_padding > 0 { return Int(parameters.initial_padding) }
        let trimmed = first.trim?.start ?? 0
        guard formatName.hasPrefix("mov,"), let time = first.pointee.ownTime, time < 0, parameters.sample_rate > 0
        else { return trimmed }
        let samples = av_rescale_q(-time, stream.pointee.time_base, AVRational(num: 1, den: parameters.sample_rate))
        return Int(clamping: samples)
    }

    static func strings(_ dictionary: OpaquePointer?) -> [String: String] {
        var result: [String: String] = [:]
        var entry = av_dict_get(dictionary, "", nil, AV_DICT_IGNORE_SUFFIX)
        while let found = entry {
            result[String(cString: found.pointee.key)] = String(cString: found.pointee.value)
            entry = av_dict_get(dictionary, "", found, AV_DICT_IGNORE_SUFFIX)
        }
        return result
    }
}

// MARK: - Reading

extension Demuxer {
    /// Reads the next packet of a stream that is not discarded.
    func read() throws(MediaError) -> Output {
        guard let packet else { return .finished }
        av_packet_unref(packet)
        let status = read(into: packet)
        try cancellation.check()
        if status >= 0 {
            packetEnd = packet.pointee.pos < 0 ? nil : packet.pointee.pos &+ Int64(packet.pointee.size)
            return .packet(packet)
        }
        if status != ffmpeg_error_eof { return .failed(status) }
        // A demuxer may interpret a failed read as the end of the input.
        let error = context?.pointee.pb?.pointee.error ?? 0
        return error < 0 && error != ffmpeg_error_eof ? .failed(error) : .finished
    }

    /// Skips the next picture of an uncompressed video in a file.
    ///
    /// - Returns: The location of the picture and its presentation time in ticks; `nil` if it must be read.
    func skipPicture() -> (picture: FilePicture, time: Int64, owner: InputFile)? {
        guard let file, let rawPictures, let planes = rawPictures.planes,
            let place = rawPictures.skip(in: file, context?.pointee.pb),
            let descriptor = file.rereadableDescriptor
        else { return nil }
        let picture = FilePicture(
            fileDescriptor: descriptor,
            planes: planes.map { PlaneLayout(offset: place.offset + $0.offset, bytesPerRow: $0.bytesPerRow) }
        )
        return (picture, place.time, file)
    }

    private func read(into packet: UnsafeMutablePointer<AVPacket>) -> Int32 {
        let reader = context?.pointee.pb
        if let position = rawPictures?.catchUp(reader) {
            if position < 0 { return Int32(truncatingIfNeeded: position) }
            packetEnd = position
        }
        if let status = rawPictures?.read(into: packet, from: reader) { return status }
        let status = av_read_frame(context, packet)
        if status >= 0 { rawPictures?.follow(packet, reader) }
        return status
    }

    /// The read position in the input; `nil` if the input is not a sequence of bytes.
    var position: Int64? { (context?.pointee.pb).map { avio_seek($0, 0, SEEK_CUR) } }

    /// Whether the input is read through ``InputFile``.
    var isReadByUs: Bool { file != nil }

    /// Whether the file ends inside a picture. Determined for YUV4MPEG2 only, in which only pictures follow the header,
    /// and whose incomplete last picture libavformat drops silently.
    var endsInsidePicture: Bool {
        guard formatName == "yuv4mpegpipe", let packetEnd, let reader = context?.pointee.pb else { return false }
        return avio_seek(reader, 0, SEEK_CUR) > packetEnd
    }

    /// Seeks to the last position from which `stream` decodes at `ticks` of its time base, or near it.
    ///
    /// - Returns: Whether the seek succeeded; if not, the position is undefined but reading can continue.
    func seek(_ stream: UnsafePointer<AVStream>, to ticks: Int64) -> Bool {
        rawPictures?.restart()
        return av_seek_frame(context, stream.pointee.index, ticks, AVSEEK_FLAG_BACKWARD) >= 0
    }

    /// Seeks to the beginning.
    func rewind() -> Bool {
        rawPictures?.restart()
        if avformat_seek_file(context, -1, .min, .min, .max, 0) >= 0 { return true }
        // Formats of pictures without an index know no time before the first one.
        return av_seek_frame(context, -1, 0, AVSEEK_FLAG_BACKWARD) >= 0
    }
}

extension MediaTime {
    /// Returns a time that counts from zero relative to a start above zero. A time that is not after the start does not
    /// count from zero.
    fileprivate func counted(from start: MediaTime) -> MediaTime {
        start.isValid && start > .zero && start < self ? self - start : self
    }

    /// Makes a time from ticks of a time base.
    init(_ ticks: Int64, in timeBase: AVRational) {
        self = .rational(ticks, numerator: Int64(timeBase.num), denominator: Int64(timeBase.den))
    }

    /// Returns the time in ticks of a time base, rounded up; `nil` if the result does not fit.
    func ticks(in timeBase: AVRational, _ rounding: AVRounding = AV_ROUND_UP) -> Int64? {
        guard isValid, timeBase.num > 0, timeBase.den > 0 else { return nil }
        let ticks = av_rescale_q_rnd(value, AVRational(num: 1, den: timescale), timeBase, rounding)
        return ticks == .min ? nil : ticks
    }
}
