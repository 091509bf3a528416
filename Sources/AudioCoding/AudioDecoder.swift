// SPDX-License-Identifier: GPL-2.0-or-later

internal import CFFmpeg
internal import FFmpegSupport
public import Logging
public import MediaTypes

/// Decodes coded audio with libavcodec.
///
/// It discards the frames that ``AudioSample/trimAtStart`` and ``AudioSample/trimAtEnd`` specify. If rate or channels change in mid-stream,
/// the buffers after the change have another format. Samples that cannot be decoded are counted and skipped; the
/// next buffer has ``AudioBuffer/followsLoss``. Calls block; a decoder is used by one thread at a time.
public final class AudioDecoder {
    /// The number of samples that could not be decoded.
    public private(set) var failureCount = 0
    /// The reason why the first of them could not be decoded.
    public private(set) var firstFailure: MediaError?

    private let description: AudioStreamDescription
    private let timeBase: AVRational
    private let log: LogRoute?
    private var context: UnsafeMutablePointer<AVCodecContext>?
    private var packet: UnsafeMutablePointer<AVPacket>?
    private var frame: UnsafeMutablePointer<AVFrame>?
    private var isFinished = false
    /// Whether a sample was lost since the latest buffer.
    private var hasLost = false
    /// The end of the latest buffer.
    private var latestEnd = MediaTime.invalid
    /// The sample rates of the first and of the latest buffer; the first one may differ from that of the description.
    private var (firstRate, latestRate) = (0, 0)
    /// The converter of frames in formats that ``AudioFormat`` does not have, and what it was made for.
    private var converter: OpaquePointer?
    private var converted: ConvertedFormat?

    private struct ConvertedFormat: Equatable {
        var library: Int32
        var sampleRate: Int32
        var layout: ChannelLayout
    }

    /// Makes a decoder.
    ///
    /// - Parameters:
    ///   - description: The description of the stream.
    ///   - logger: Receives FFmpeg's messages, like `MediaLog.logger`; `nil` leaves them to that logger.
    /// - Throws: `unsupported` if FFmpeg has no decoder or refuses the description; `outOfMemory`.
    public init(_ description: AudioStreamDescription, logger: Logger? = nil) throws(MediaError) {
        MediaLog.install()
        self.description = description
        log = LogRoute(logger)
        let mark = LogRoute.enter(log)
        defer { LogRoute.leave(mark) }
        timeBase = AVRational(num: 1, den: description.sampleRate > 0 ? Int32(clamping: description.sampleRate) : 90000)
        guard let known = avcodec_descriptor_get_by_name(description.codecName),
            let decoder = avcodec_find_decoder(known.pointee.id)
        else {
            throw MediaError(.unsupported, "FFmpeg has no decoder for this audio", given: description.codecName)
        }
        context = avcodec_alloc_context3(decoder)
        packet = av_packet_alloc()
        frame = av_frame_alloc()
        do throws(MediaError) {
            try open(decoder)
        } catch {
            free()
            throw error
        }
    }

    deinit { free() }

    private func free() {
        avcodec_free_context(&context)
        av_packet_free(&packet)
        av_frame_free(&frame)
        swr_free(&converter)
    }

    private func open(_ decoder: UnsafePointer<AVCodec>) throws(MediaError) {
        guard let context, packet != nil, frame != nil else {
            throw MediaError(.outOfMemory, "no memory for an audio decoder", call: "avcodec_alloc_context3")
        }
        let bytes = description.configuration
        if !bytes.isEmpty {
            guard let memory = av_mallocz(bytes.count + Int(AV_INPUT_BUFFER_PADDING_SIZE)) else {
                throw MediaError(.outOfMemory, "no memory for the decoder configuration", call: "av_mallocz")
            }
            memory.copyMemory(from: bytes, byteCount: bytes.count)
            context.pointee.extradata = memory.assumingMemoryBound(to: UInt8.self)
            context.pointee.extradata_size = Int32(clamping: bytes.count)
        }
        context.pointee.opaque = log?.mark
        context.pointee.sample_rate = Int32(clamping: description.sampleRate)
        if let layout = description.layout {
            context.pointee.ch_layout = layout.libraryLayout
        } else {
            context.pointee.ch_layout.nb_channels = Int32(clamping: description.channelCount)
        }
        context.pointee.bits_per_coded_sample = Int32(clamping: description.bitsPerSample)
        context.pointee.block_align = Int32(clamping: description.blockByteCount)
        context.pointee.codec_tag = description.codecTag
        context.pointee.bit_rate = Int64(description.bitRate)
        context.pointee.pkt_timebase = timeBase
        context.pointee.thread_count = 1
        try check(
            avcodec_open2(context, decoder, nil),
            "avcodec_open2",
            "the audio decoder cannot be opened",
            code: .unsupported,
            given: description.codecName
        )
    }

    /// Decodes a sample.
    ///
    /// - Returns: The buffers that are complete.
    /// - Throws: `invalidState` after ``finish()``; `outOfMemory`.
    public func decode(_ sample: AudioSample) throws(MediaError) -> [AudioBuffer] {
        let mark = LogRoute.enter(log)
        defer { LogRoute.leave(mark) }
        guard !isFinished, let packet else { throw MediaError(.invalidState, "the audio decoder is finished") }
        defer { av_packet_unref(packet) }
        try fill(packet, sample)
        let status = avcodec_send_packet(context, packet)
        if status < 0 {
            try note(status, "avcodec_send_packet")
            return []
        }
        return try receive()
    }

    /// Returns the last buffers. Nothing can be decoded afterwards.
    ///
    /// - Throws: `outOfMemory`.
    public func finish() throws(MediaError) -> [AudioBuffer] {
        let mark = LogRoute.enter(log)
        defer { LogRoute.leave(mark) }
        guard !isFinished else { return [] }
        isFinished = true
        guard avcodec_send_packet(context, nil) >= 0 else { return [] }
        return try receive()
    }

    private func fill(_ packet: UnsafeMutablePointer<AVPacket>, _ sample: AudioSample) throws(MediaError) {
        try check(
            av_new_packet(packet, Int32(clamping: sample.data.count)),
            "av_new_packet",
            "no memory for a packet",
            code: .outOfMemory
        )
        sample.data.withUnsafeBytes { bytes in
            UnsafeMutableRawBufferPointer(start: packet.pointee.data, count: bytes.count).copyMemory(from: bytes)
        }
        packet.pointee.pts = ticks(sample.presentationTime) ?? ffmpeg_no_pts
        packet.pointee.dts = packet.pointee.pts
        packet.pointee.duration = ticks(sample.duration) ?? 0
        if sample.isDiscarded { packet.pointee.flags |= AV_PKT_FLAG_DISCARD }
        if let configuration = sample.newConfiguration {
            try add(AV_PKT_DATA_NEW_EXTRADATA, configuration, to: packet)
        }
        guard let trim = SampleTrim(start: sample.trimAtStart, end: sample.trimAtEnd) else { return }
        try add(AV_PKT_DATA_SKIP_SAMPLES, trim.bytes, to: packet)
    }

    private func add(
        _ type: AVPacketSideDataType,
        _ bytes: [UInt8],
        to packet: UnsafeMutablePointer<AVPacket>
    ) throws(MediaError) {
        guard let memory = av_packet_new_side_data(packet, type, bytes.count) else {
            throw MediaError(.outOfMemory, "no memory for a packet", call: "av_packet_new_side_data")
        }
        UnsafeMutableRawBufferPointer(start: memory, count: bytes.count).copyBytes(from: bytes)
    }

    private func ticks(_ time: MediaTime) -> Int64? {
        let converted = time.converted(to: timeBase.den)
        return converted.isValid ? converted.value : nil
    }

    private func receive() throws(MediaError) -> [AudioBuffer] {
        guard let frame else { return [] }
        var buffers: [AudioBuffer] = []
        while true {
            let status = avcodec_receive_frame(context, frame)
            if status == ffmpeg_error_again || status == ffmpeg_error_eof { return buffers }
            defer { av_frame_unref(frame) }
            guard status >= 0 else {
                try note(status, "avcodec_receive_frame")
                return buffers
            }
            guard var buffer = try buffer(frame.pointee) else { continue }
            buffer.followsLoss = hasLost
            hasLost = false
            correctTime(of: &buffer)
            buffers.append(buffer)
        }
    }

    /// The largest error of times that a demuxer has made up, in seconds.
    private static let largestError = 0.1

    /// Corrects the time of a buffer after a change of the sample rate. In formats whose packets do not all have times, such
    /// as MPEG transport streams, libavformat derives the others from the rate at the beginning of the stream.
    private func correctTime(of buffer: inout AudioBuffer) {
        let rate = buffer.format.sampleRate
        if firstRate == 0 { firstRate = rate }
        defer { (latestEnd, latestRate) = (buffer.presentationTime + buffer.duration, rate) }
        // The first packet after the change begins a PES packet, and has a time of its own.
        guard rate != firstRate, rate == latestRate, !buffer.followsLoss, latestEnd.isValid,
            abs((buffer.presentationTime - latestEnd).seconds) < Self.largestError
        else { return }
        buffer.presentationTime = latestEnd
    }

    /// Registers a sample that could not be decoded.
    private func note(_ status: Int32, _ call: String) throws(MediaError) {
        if status == ffmpeg_error_no_memory { try check(status, call, "no memory to decode audio") }
        failureCount += 1
        hasLost = true
        guard firstFailure == nil else { return }
        do throws(MediaError) {
            try check(status, call, "audio cannot be decoded", code: .malformedData, given: description.codecName)
        } catch {
            firstFailure = error
        }
    }

    /// Copies a frame.
    private func buffer(_ frame: AVFrame) throws(MediaError) -> AudioBuffer? {
        let count = Int(frame.nb_samples)
        guard count > 0 else { return nil }
        guard AudioFormat.allowedSampleRates.contains(Int(frame.sample_rate)), count <= AudioBuffer.mostFrames,
            let layout = ChannelLayout(frame.ch_layout)
        else {
            failureCount += 1
            hasLost = true
            firstFailure =
                firstFailure
                ?? MediaError(
                    .unsupported,
                    "decoded audio has a format that is not supported",
                    given: "\(frame.ch_layout.nb_channels) channels, \(frame.sample_rate) Hz",
                    allowed: "at most 8 channels or known loudspeakers, 1000 to 768000 Hz"
                )
            return nil
        }
        let library = AVSampleFormat(frame.format)
        let time: MediaTime =
            frame.pts == ffmpeg_no_pts
            ? .invalid : .rational(frame.pts, numerator: Int64(timeBase.num), denominator: Int64(timeBase.den))
        guard let format = AudioFormat(library, sampleRate: Int(frame.sample_rate), layout: layout) else {
            return try converted(frame, layout, time)
        }
        return AudioBuffer(format: format, frameCount: count, presentationTime: time) { index, memory in
            guard let plane = frame.extended_data?[index] else { return }
            memory.copyMemory(from: UnsafeRawBufferPointer(start: plane, count: memory.count))
        }
    }

    /// Converts a frame whose sample format ``AudioFormat`` does not have: 8 bits, 64 bits, double precision.
    private func converted(
        _ frame: AVFrame,
        _ layout: ChannelLayout,
        _ time: MediaTime
    ) throws(MediaError) -> AudioBuffer {
        let format = AudioFormat(sampleType: .float32, sampleRate: Int(frame.sample_rate), layout: layout)
        let wanted = ConvertedFormat(library: frame.format, sampleRate: frame.sample_rate, layout: layout)
        if converted != wanted { try makeConverter(to: format, wanted) }
        let memory = try SampleMemory(format, frameCount: Int(frame.nb_samples))
        let isPlanar = av_sample_fmt_is_planar(AVSampleFormat(frame.format)) != 0
        var planes = (0..<(isPlanar ? layout.channelCount : 1)).map { index in
            UnsafePointer(frame.extended_data?[index])
        }
        let count = try check(
            swr_convert(converter, memory.planes, frame.nb_samples, &planes, frame.nb_samples),
            "swr_convert",
            "decoded audio cannot be converted",
            code: .unsupported
        )
        return AudioBuffer(format: format, frameCount: Int(count), presentationTime: time) { _, bytes in
            guard let plane = memory.planes[0] else { return }
            bytes.copyMemory(from: UnsafeRawBufferPointer(start: plane, count: bytes.count))
        }
    }

    private func makeConverter(to format: AudioFormat, _ wanted: ConvertedFormat) throws(MediaError) {
        swr_free(&converter)
        converted = nil
        var (from, to) = (wanted.layout.libraryLayout, wanted.layout.libraryLayout)
        let status = swr_alloc_set_opts2(
            &converter,
            &to,
            format.libraryFormat,
            wanted.sampleRate,
            &from,
            AVSampleFormat(wanted.library),
            wanted.sampleRate,
            0,
            nil
        )
        try check(status, "swr_alloc_set_opts2", "no memory to convert audio", code: .outOfMemory)
        try check(swr_init(converter), "swr_init", "decoded audio cannot be converted", code: .unsupported)
        converted = wanted
    }
}
