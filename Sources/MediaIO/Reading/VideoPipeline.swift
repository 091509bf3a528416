// SPDX-License-Identifier: GPL-2.0-or-later

internal import CFFmpeg
internal import FFmpegSupport
internal import MediaTimeline
internal import MediaTypes
internal import VideoDecoding

/// Converts packets of one video stream to pixel buffers with times: decoding, ordering of times, trimming, filtering.
final class VideoPipeline {
    /// A picture with times in ticks of the stream's time base.
    struct Picture {
        var buffer: PixelBuffer
        var time: Int64
        /// The duration; 0 if not known.
        var duration: Int64
        /// The pixel format that the decoder returned.
        var decoded: PictureLayout
        var orientation: Orientation
    }

    /// The result of a call to ``receive()``.
    enum Output {
        case picture(Picture)
        case needsInput
        case finished
    }

    let stream: UnsafeMutablePointer<AVStream>
    let rate: FrameRateEstimate
    /// The metadata of the stream or its first pictures that the returned pictures lack.
    private(set) var lostMetadata: [String]
    /// The attachments that the container specifies for all frames of the stream.
    let streamAttachments: PixelAttachments
    /// The times of the frames to return; all others are decoded and dropped.
    var window: Range<Int64> = .min ..< .max
    /// The time of the first decoded frame, whether returned or not.
    private(set) var firstDecodedTime: Int64?
    /// Whether a frame after the window was decoded.
    private(set) var hasReachedEnd = false
    private(set) var isInterlaced: Bool
    /// The problems of the packets.
    var readingProblems = SourceProblems()
    /// All problems.
    var problems: SourceProblems {
        var problems = readingProblems
        problems.add(decodingProblems)
        return problems
    }

    private let demuxer: Demuxer
    private let options: MediaSource.Options
    private let log: LogRoute?
    private let decoder: VideoDecoder
    /// The decoder that is used instead, after ``decode(with:)``.
    private var backend: BackendDecoder?
    /// What another decoder would need, as long as it may be chosen.
    private var record: Result<SampleRecord, MediaError>?
    /// The problems of the decoder and of the times of its pictures.
    private var decodingProblems = SourceProblems()
    private let streamOrientation: Orientation?
    /// The orientation that the latest picture of libavcodec states.
    private var pictureOrientation: Orientation?
    /// The attachments of another decoder's pictures in the filter, by their times.
    private var carried: [Int64: PixelAttachments] = [:]
    private var times = FrameTimes()
    private var filter: PictureFilter?
    /// A frame that waits until the previous filter has returned all of its frames.
    private var held: (frame: FrameReference, configuration: PictureFilter.Configuration?)?
    private var isFinished = false
    /// The properties, without samples, of the last picture that was returned as decoded.
    private var model: Model?

    private struct Model {
        var description: PixelBuffer.Description
        var duration: Int64
        var decoded: PictureLayout
    }

    init(
        stream: UnsafeMutablePointer<AVStream>,
        demuxer: Demuxer,
        options: MediaSource.Options,
        log: LogRoute? = nil
    ) throws(MediaError) {
        self.stream = stream
        self.demuxer = demuxer
        self.options = options
        self.log = log
        decoder = try VideoDecoder(stream: stream, threads: options.threads, pixels: options.limits.pixels, log: log)
        rate = FrameRateEstimate(stream: stream)
        streamOrientation = Self.sideData(stream, AV_PKT_DATA_DISPLAYMATRIX)
            .map { Orientation(displayMatrix: PictureColor.displayMatrix($0)) }
        streamAttachments = PixelAttachments(
            masteringDisplay: Self.sideData(stream, AV_PKT_DATA_MASTERING_DISPLAY_METADATA)
                .flatMap { PictureColor.masteringDisplay($0) },
            contentLight: Self.sideData(stream, AV_PKT_DATA_CONTENT_LIGHT_LEVEL)
                .flatMap { PictureColor.contentLight($0) }
        )
        lostMetadata = Self.sideData(stream, AV_PKT_DATA_DOVI_CONF) == nil ? [] : [Self.dolbyVision]
        let order = stream.pointee.codecpar.pointee.field_order
        isInterlaced = ![AV_FIELD_UNKNOWN, AV_FIELD_PROGRESSIVE].contains(order)
        guard options.allowsOtherDecoder else { return }
        do throws(MediaError) {
            record = .success(try SampleRecord(stream, attachments: streamAttachments))
        } catch {
            record = .failure(error)
        }
    }

    private static func sideData(
        _ stream: UnsafePointer<AVStream>,
        _ type: AVPacketSideDataType
    ) -> UnsafeRawBufferPointer? {
        var size = 0
        guard let data = ffmpeg_side_data(stream, type, &size) else { return nil }
        return UnsafeRawBufferPointer(start: data, count: size)
    }

    var timeBase: AVRational { stream.pointee.time_base }
    var reordersFrames: Bool { decoder.reorders }

    /// Submits a packet, after ``receive()`` has reported that it needs input; `nil` ends the input.
    func send(_ packet: UnsafeMutablePointer<AVPacket>?) throws(MediaError) {
        if let backend { return try backend.send(packet) }
        if let packet, case .success(var record)? = record {
            // Not two references to one array.
            self.record = nil
            defer { self.record = .success(record) }
            try record.add(packet, start: window.lowerBound)
        }
        let status = decoder.send(packet)
        if status < 0, status != ffmpeg_error_eof { try noteDecodeError(status, at: packet?.pointee.pts) }
    }

    /// Whether another decoder than libavcodec in this process has returned pictures that were not taken yet.
    var hasWaitingPictures: Bool { backend?.hasOutput ?? false }

    /// Discards all state, as required after a seek.
    func restart() {
        decoder.flush()
        times.restart()
        filter = nil
        held = nil
        isFinished = false
        model = nil
        hasReachedEnd = false
        firstDecodedTime = nil
        (readingProblems, decodingProblems) = (.init(), .init())
        if case .success(var record)? = record {
            record.restart()
            self.record = .success(record)
        }
    }

    /// Returns the next picture.
    func receive() throws(MediaError) -> Output {
        while true {
            if let output = try filter?.receive() {
                if let picture = try makePicture(output.frame, output.duration) { return .picture(picture) }
                continue
            }
            if let (frame, configuration) = held {
                held = nil
                try replaceFilter(configuration)
                let duration = duration(of: frame.frame)
                if configuration == nil, let picture = try makePicture(frame, duration) { return .picture(picture) }
                try filter?.send(frame, duration: duration)
                continue
            }
            if isFinished {
                // What is damaged may be known only now.
                if let backend { try noteLateDamage(backend) }
                return .finished
            }
            if let output = try backend.map({ (backend) throws(MediaError) in try receive(from: backend) }) {
                if let output { return output }
                continue
            }
            switch try decoder.receive() {
            case .needsInput: return .needsInput
            case .finished: try finish()
            case .failed(let status): try noteDecodeError(status, at: nil)
            case .frame(let frame):
                guard try accept(frame) else { continue }
                if let picture = try filter(frame) { return .picture(picture) }
            }
        }
    }

    /// Passes a frame through the filter that it needs. Returns it if it needs none.
    private func filter(_ frame: FrameReference) throws(MediaError) -> Picture? {
        let configuration = configuration(for: frame)
        let duration = duration(of: frame.frame)
        if configuration == nil, filter == nil { return try makePicture(frame, duration) }
        if let filter, filter.configuration == configuration {
            try filter.send(frame, duration: duration)
        } else {
            try filter?.send(nil)
            held = (frame, configuration)
        }
        return nil
    }

    private func finish() throws(MediaError) {
        isFinished = true
        try filter?.send(nil)
    }
}

// MARK: - One frame

extension VideoPipeline {
    /// Sets the time of a decoded frame; returns `false` if it is outside of the window.
    private func accept(_ reference: FrameReference) throws(MediaError) -> Bool {
        let frame = reference.frame
        let said = frame.pointee.best_effort_timestamp == ffmpeg_no_pts ? nil : frame.pointee.best_effort_timestamp
        if case .success(var record)? = record {
            record.noteFirstPicture(said)
            self.record = .success(record)
        }
        let isDamaged = frame.pointee.decode_error_flags != 0 || frame.pointee.flags & AV_FRAME_FLAG_CORRUPT != 0
        guard let time = try place(said, duration: duration(of: frame)) else { return false }
        if isDamaged { noteDamagedPicture(time) }
        frame.pointee.pts = time
        if ffmpeg_is_interlaced(frame) != 0 { isInterlaced = true }
        // The ratio of the container takes precedence over that of the coded picture. It is set before the filters,
        // which rotate it.
        frame.pointee.sample_aspect_ratio = demuxer.pixelAspectRatio(stream, frame)
        return true
    }

    /// Sets the time of a picture; returns `nil` if it is outside of the window.
    ///
    /// - Parameter said: The time that the input states for it.
    private func place(_ said: Int64?, duration: Int64) throws(MediaError) -> Int64? {
        let repairedBefore = times.repaired
        let time = times.place(said, duration: duration)
        decodingProblems.repairedTimes += times.repaired - repairedBefore
        if firstDecodedTime == nil { firstDecodedTime = time }
        guard time < window.upperBound else {
            hasReachedEnd = true
            try finish()
            return nil
        }
        return time >= window.lowerBound ? time : nil
    }

    /// Returns the duration of a frame in ticks; 0 if not known.
    private func duration(of frame: UnsafePointer<AVFrame>) -> Int64 {
        duration(told: ffmpeg_duration(frame))
    }

    /// Returns the duration of a picture for which a packet or a frame states one in ticks, 0 if it does not.
    func duration(told: Int64) -> Int64 {
        if told > 0 { return min(told, FrameTimes.largest) }
        guard let rate = rate.rate else { return 0 }
        return MediaTime(value: Int64(rate.denominator), timescale: rate.numerator)
            .ticks(in: timeBase, AV_ROUND_NEAR_INF) ?? 0
    }

    private func orientation(of frame: FrameReference) -> Orientation {
        if let fixed = streamOrientation ?? (backend == nil ? nil : pictureOrientation) { return fixed }
        return frame.sideData(AV_FRAME_DATA_DISPLAYMATRIX.rawValue)
            .map { Orientation(displayMatrix: PictureColor.displayMatrix($0)) } ?? .upright
    }

    /// Returns the filter configuration for a frame; `nil` if its memory can be returned unchanged.
    private func configuration(for reference: FrameReference) -> PictureFilter.Configuration? {
        let frame = reference.frame
        // After the first interlaced frame, the deinterlacer stays: it does not change progressive frames, and mixed
        // material alternates often.
        let deinterlaces =
            options.deinterlacing == .automatic
            && (ffmpeg_is_interlaced(frame) != 0 || filter?.configuration.deinterlaces == true)
        let orientation = orientation(of: reference)
        pictureOrientation = orientation
        if !deinterlaces, orientation == .upright, PixelBuffer.canWrap(reference, for: options.demand) {
            return nil
        }
        guard let layout = PictureLayout(rawFormat: frame.pointee.format) else { return nil }
        return PictureFilter.Configuration(
            width: frame.pointee.width,
            height: frame.pointee.height,
            layout: layout,
            demand: options.demand,
            isBottomUp: frame.pointee.linesize.0 < 0,
            color: PictureColor.description(of: reference),
            pixelAspectRatio: frame.pointee.sample_aspect_ratio,
            timeBase: timeBase,
            deinterlaces: deinterlaces,
            orientation: orientation,
            threads: options.threads
        )
    }

    /// If libavfilter rejects a configuration, only the frame is lost.
    private func replaceFilter(_ configuration: PictureFilter.Configuration?) throws(MediaError) {
        filter = nil
        guard let configuration else { return }
        do { filter = try PictureFilter(configuration, log: log) } catch { try noteUnusable(error) }
    }

    private func noteLostMetadata(_ frame: FrameReference) {
        let kinds = [
            (AV_FRAME_DATA_DYNAMIC_HDR_PLUS, "HDR10+ metadata"), (AV_FRAME_DATA_DOVI_RPU_BUFFER, Self.dolbyVision),
        ]
        for (kind, name) in kinds where frame.sideData(kind.rawValue) != nil && !lostMetadata.contains(name) {
            lostMetadata.append(name)
        }
    }

    private static let dolbyVision = "Dolby Vision metadata"

    /// Makes a pixel buffer from a decoded or filtered frame with the given duration in ticks; `nil`, with a registered
    /// problem, if that is impossible.
    private func makePicture(_ reference: FrameReference, _ duration: Int64) throws(MediaError) -> Picture? {
        let frame = reference.frame
        let applied = filter?.configuration
        if model == nil { noteLostMetadata(reference) }
        guard let layout = applied?.layout ?? PictureLayout(rawFormat: frame.pointee.format) else { return nil }
        let ratio = frame.pointee.sample_aspect_ratio
        do {
            var attachments = PictureColor.attachments(of: reference, stream: streamAttachments)
            if !carried.isEmpty {
                if let own = carried[frame.pointee.pts] { attachments = own }
                carried = carried.filter { $0.key > frame.pointee.pts }
            }
            let buffer = try PixelBuffer(
                wrapping: reference,
                color: applied?.outputColor ?? PictureColor.description(of: reference),
                pixelAspectRatio: ratio.num > 0 && ratio.den > 0 ? Rational(ratio.num, ratio.den).reduced : .one,
                attachments: attachments
            )
            model =
                applied == nil && backend == nil && !isInterlaced
                ? Model(description: buffer.pictureDescription, duration: duration, decoded: layout) : nil
            return Picture(
                buffer: buffer,
                time: frame.pointee.pts,
                duration: duration,
                decoded: layout,
                orientation: applied?.orientation ?? .upright
            )
        } catch {
            try noteUnusable(error)
            return nil
        }
    }
}

// MARK: - Another decoder

extension VideoPipeline {
    /// Returns the format of the first sample for another decoder.
    ///
    /// - Throws: The reason why only libavcodec can decode the stream here.
    func formatForOtherDecoder() throws(MediaError) -> FormatDescription {
        guard let record else { throw MediaError(.invalidState, "the input was opened for libavcodec only") }
        return try record.get().formatDescription()
    }

    /// Decodes with another decoder from the first sample on: what was decoded so far is forgotten.
    func decode(with factory: any DecoderFactory) throws(MediaError) {
        guard let record else { throw MediaError(.invalidState, "the input was opened for libavcodec only") }
        backend = try BackendDecoder(factory, record.get(), reorderDepth: decoder.reorderDepth)
        keepDecoder()
        decoder.flush()
        (filter, held, model, isFinished, hasReachedEnd) = (nil, nil, nil, false, false)
        times = FrameTimes()
        decodingProblems = .init()
    }

    /// Forgets what another decoder would need.
    func keepDecoder() { record = nil }

    /// Returns what the other decoder has returned; `nil` if there may be more.
    private func receive(from backend: BackendDecoder) throws(MediaError) -> Output? {
        switch try backend.receive() {
        case .needsInput: return .needsInput
        case .finished: try finish()
        case .lost(let time, let error): noteUndecodable(time, error.message)
        case .damaged(let time): if let time, window.contains(time) { noteDamagedPicture(time) }
        case .picture(let picture):
            let duration = duration(told: picture.duration)
            guard let time = try place(picture.time, duration: duration) else { break }
            return try pass(picture.buffer, at: time, duration).map { .picture($0) }
        }
        return nil
    }

    /// Ends the other decoder, whose further pictures are not needed, and registers the damage that it has reported.
    private func noteLateDamage(_ backend: BackendDecoder) throws(MediaError) {
        try backend.send(nil)
        while true {
            switch try backend.receive() {
            case .needsInput, .finished: return
            case .lost(let time, let error):
                if time.map({ $0 < window.upperBound }) ?? true { noteUndecodable(time, error.message) }
            case .damaged(let time): if let time, window.contains(time) { noteDamagedPicture(time) }
            case .picture: break
            }
        }
    }

    /// Returns a picture as it is if it needs no filter; otherwise, its samples go through the filter.
    private func pass(_ buffer: PixelBuffer, at time: Int64, _ duration: Int64) throws(MediaError) -> Picture? {
        let isInterlacedPicture = buffer.attachments.fieldOrder != nil
        if isInterlacedPicture { isInterlaced = true }
        let stated = stream.pointee.sample_aspect_ratio
        let ratio =
            stated.num > 0 && stated.den > 0 ? Rational(stated.num, stated.den).reduced : buffer.pixelAspectRatio
        guard let layout = PictureLayout(buffer.format) else { return nil }
        let deinterlaces = options.deinterlacing == .automatic && isInterlacedPicture
        let isUpright = (streamOrientation ?? pictureOrientation ?? .upright) == .upright
        if filter == nil, !deinterlaces, isUpright, layout.isWanted(options.demand) {
            return Picture(
                buffer: ratio == buffer.pixelAspectRatio
                    ? buffer : PixelBuffer(sharing: buffer, pixelAspectRatio: ratio),
                time: time,
                duration: duration,
                decoded: layout,
                orientation: .upright
            )
        }
        let frame = try FrameReference(copying: buffer)
        frame.frame.pointee.pts = time
        frame.frame.pointee.sample_aspect_ratio = AVRational(num: ratio.numerator, den: ratio.denominator)
        ffmpeg_set_duration(frame.frame, duration)
        var attachments = buffer.attachments
        if deinterlaces { attachments.fieldOrder = nil }
        carried[time] = attachments
        return try filter(frame)
    }
}

// MARK: - Pictures that stay in their file

extension VideoPipeline {
    /// Whether the next picture differs from a previous one only in its samples and needs no processing.
    var canTakeFilePicture: Bool { model != nil && filter == nil && held == nil && !isFinished }

    /// Returns a picture that was not decoded with its time; `nil` if it is outside of the window.
    ///
    /// - Parameter release: Called when the file is no longer read for this picture.
    func picture(
        in file: FilePicture,
        time: Int64,
        release: @escaping @Sendable () -> Void
    ) throws(MediaError) -> Picture? {
        guard let model else { return nil }
        let repairedBefore = times.repaired
        let time = times.place(time, duration: model.duration)
        decodingProblems.repairedTimes += times.repaired - repairedBefore
        guard time < window.upperBound else {
            hasReachedEnd = true
            try finish()
            return nil
        }
        guard time >= window.lowerBound else { return nil }
        return Picture(
            buffer: try PixelBuffer(model.description, file: file, release: release),
            time: time,
            duration: model.duration,
            decoded: model.decoded,
            orientation: .upright
        )
    }
}

// MARK: - Problems

extension VideoPipeline {
    private func noteUnusable(_ error: MediaError) throws(MediaError) {
        if error.code == .outOfMemory { throw error }
        decodingProblems.decodeErrors += 1
        decodingProblems.describe("a picture cannot be used: \(error)")
    }

    private func noteDecodeError(_ status: Int32, at time: Int64?) throws(MediaError) {
        if status == ffmpeg_error_no_memory { try check(status, "avcodec_send_packet", "decoding failed") }
        noteUndecodable(time.flatMap { $0 == ffmpeg_no_pts ? nil : $0 }, describe(status))
    }

    /// Registers a picture in which the decoder has concealed damage.
    private func noteDamagedPicture(_ time: Int64) {
        decodingProblems.damagedFrames += 1
        decodingProblems.describe("the picture at \(seconds(time)) is damaged")
    }

    private func noteUndecodable(_ time: Int64?, _ reason: String) {
        decodingProblems.decodeErrors += 1
        let place = time.map { " at \(seconds($0))" } ?? ""
        decodingProblems.describe("the packet\(place) cannot be decoded: \(reason)")
    }

    private func seconds(_ ticks: Int64) -> String {
        let thousandths = MediaTime(ticks, in: timeBase).converted(to: 1000)
        return "\(Double(thousandths.value) / 1000) s"
    }
}

extension FrameRateEstimate {
    /// Makes an estimate from the stream's headers, and from its index if that lists every frame.
    init(stream: UnsafeMutablePointer<AVStream>) {
        let count = avformat_index_get_entries_count(stream)
        var isRegular: Bool?
        if count > 2, Int64(count) == stream.pointee.nb_frames {
            let times = (0..<count).compactMap { avformat_index_get_entry(stream, $0)?.pointee.timestamp }
            isRegular = Self.isRegular(times)
        }
        self.init(
            base: Rational(stream.pointee.r_frame_rate.num, stream.pointee.r_frame_rate.den),
            average: Rational(stream.pointee.avg_frame_rate.num, stream.pointee.avg_frame_rate.den),
            isRegular: isRegular
        )
    }
}
