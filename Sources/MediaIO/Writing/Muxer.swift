// SPDX-License-Identifier: GPL-2.0-or-later

internal import CFFmpeg
internal import FFmpegSupport
internal import Glibc
internal import MediaTypes

/// An `AVFormatContext` that writes to an ``OutputFile``, or discards its output.
///
/// It frees the memory that libavformat allocated; the file is owned by its creator.
final class Muxer {
    /// The context. Its streams may be modified until ``writeHeader(_:)``.
    let context: UnsafeMutablePointer<AVFormatContext>
    /// The output file; `nil` if the bytes are discarded.
    let file: OutputFile?

    /// The maximum duration of the present fragment, which is written when it is complete, and synced to the disk; `nil`
    /// if fragments are not.
    private var syncedFragment: MediaTime?
    /// The maximum duration of the fragments after the first.
    private var laterFragments: MediaTime?

    private var io: UnsafeMutablePointer<AVIOContext>?
    private var syncedCount: Int64 = 0
    /// The first decode time, while nothing is written.
    private var firstTime: MediaTime?
    private let scratch: UnsafeMutablePointer<AVPacket>

    /// Large enough for one system call per two key frames rather than per packet.
    private static let bufferSize: Int32 = 256 << 10

    /// Writes each fragment when it is complete, and syncs it to the disk. Called before the header.
    ///
    /// - Parameters:
    ///   - interval: The maximum duration of fragments, as in the muxer's options; `nil` changes nothing.
    ///   - first: The maximum duration of the first one.
    func syncFragments(of interval: MediaTime?, first: MediaTime?) {
        guard let interval else { return }
        io?.pointee.min_packet_size = 0
        limitFragments(to: first ?? interval)
        laterFragments = first.map { _ in interval }
    }

    private func limitFragments(to duration: MediaTime) {
        syncedFragment = duration
        // Packets do not wait longer for a track that delivers nothing.
        context.pointee.max_interleave_delta = duration.converted(to: Int32(AV_TIME_BASE)).value
    }

    /// Allocates a context.
    ///
    /// - Parameter name: The name of libavformat's muxer.
    /// - Throws: `unavailable` if libavformat was built without it; `outOfMemory`.
    convenience init(name: String, file: OutputFile) throws(MediaError) {
        try self.init(name: name, file: file, isSeekable: file.isSeekable)
        context.pointee.url = file.readablePath.flatMap { av_strdup("file:" + $0) }
    }

    /// Allocates a context that discards its output; see ``init(name:file:)``.
    convenience init(name: String, isSeekable: Bool) throws(MediaError) {
        try self.init(name: name, file: nil, isSeekable: isSeekable)
    }

    private init(name: String, file: OutputFile?, isSeekable: Bool) throws(MediaError) {
        MediaLog.install()
        var allocated: UnsafeMutablePointer<AVFormatContext>?
        let status = avformat_alloc_output_context2(&allocated, nil, name, nil)
        guard let allocated else {
            let isOutOfMemory = status == ffmpeg_error_no_memory
            throw MediaError(
                isOutOfMemory ? .outOfMemory : .unavailable,
                isOutOfMemory ? "no memory for a muxer" : "libavformat was built without a muxer for this format",
                given: name,
                call: "avformat_alloc_output_context2",
                status: Int(status)
            )
        }
        guard let packet = av_packet_alloc() else {
            avformat_free_context(allocated)
            throw MediaError(.outOfMemory, "no memory for a packet", call: "av_packet_alloc")
        }
        context = allocated
        scratch = packet
        self.file = file
        io = try Self.makeIO(for: file, isSeekable: isSeekable)
        context.pointee.pb = io
        context.pointee.flags |= AVFMT_FLAG_CUSTOM_IO
    }

    deinit {
        avformat_free_context(context)
        if let io { av_freep(&io.pointee.buffer) }
        avio_context_free(&io)
        var packet: UnsafeMutablePointer<AVPacket>? = scratch
        av_packet_free(&packet)
    }

    /// Adds a stream without parameters.
    func addStream() throws(MediaError) -> UnsafeMutablePointer<AVStream> {
        guard let stream = avformat_new_stream(context, nil) else {
            throw MediaError(.outOfMemory, "no memory for a stream", call: "avformat_new_stream")
        }
        return stream
    }

    /// Writes the header; then the streams have the time bases that the container uses.
    ///
    /// - Parameter options: The muxer's private options.
    func writeHeader(_ options: [String: String] = [:]) throws(MediaError) {
        var dictionary: OpaquePointer?
        defer { av_dict_free(&dictionary) }
        for (key, value) in options { av_dict_set(&dictionary, key, value, 0) }
        try finish(avformat_write_header(context, &dictionary), "avformat_write_header")
        // movenc disables this for fragments, whose header does not wait for packets. With delay_moov it does, so that
        // AAC with ADTS headers can be converted to the form that MP4 requires.
        context.pointee.flags |= AVFMT_FLAG_AUTO_BSF
    }

    /// Passes a packet to the muxer, which writes it in interleaved order.
    ///
    /// - Parameter fill: Fills an empty packet, which refers to its buffer without a copy.
    func write(_ fill: (UnsafeMutablePointer<AVPacket>) throws(MediaError) -> Void) throws(MediaError) {
        defer { av_packet_unref(scratch) }
        try fill(scratch)
        let time = decodeTime(of: scratch)
        try finish(av_interleaved_write_frame(context, scratch), "av_interleaved_write_frame")
        guard let syncedFragment, let file else { return }
        if file.bytesWritten == 0 { try writeLateHeader(time, after: syncedFragment + syncedFragment) }
        guard file.bytesWritten != syncedCount else { return }
        syncedCount = file.bytesWritten
        try file.sync()
        if let laterFragments {
            limitFragments(to: laterFragments)
            self.laterFragments = nil
            let microseconds = laterFragments.converted(to: Int32(AV_TIME_BASE)).value
            let status = av_opt_set_int(context.pointee.priv_data, "frag_duration", microseconds, 0)
            try check(status, "av_opt_set_int", "the duration of fragments cannot be changed")
        }
    }

    private func decodeTime(of packet: UnsafeMutablePointer<AVPacket>) -> MediaTime {
        let stream = context.pointee.streams[Int(packet.pointee.stream_index)]
        guard let base = stream?.pointee.time_base, packet.pointee.dts != ffmpeg_no_pts else { return .invalid }
        return MediaTime(packet.pointee.dts, in: base)
    }

    /// Writes the header of a fragmented file although a track has delivered nothing. The muxer waits for all tracks,
    /// which describe the edit lists, and without the header nothing can be played.
    private func writeLateHeader(_ time: MediaTime, after duration: MediaTime) throws(MediaError) {
        guard time.isValid else { return }
        let first = firstTime ?? time
        firstTime = first
        guard time - first >= duration else { return }
        try finish(av_write_frame(context, nil), "av_write_frame")
    }

    /// Writes the packets that the muxer still holds, and the trailer.
    func writeTrailer() throws(MediaError) {
        try finish(av_write_trailer(context), "av_write_trailer")
        avio_flush(io)
        try finish(io?.pointee.error ?? 0, "avio_flush")
    }

    /// Throws the file's own error, which is more specific, in preference to libavformat's.
    private func finish(_ status: Int32, _ call: String) throws(MediaError) {
        if let failure = file?.failure { throw failure }
        try check(status, call, "writing failed", given: file?.path)
    }
}

// MARK: - Output

extension Muxer {
    private static func makeIO(
        for file: OutputFile?,
        isSeekable: Bool
    ) throws(MediaError) -> UnsafeMutablePointer<AVIOContext> {
        let opaque = file.map { Unmanaged.passUnretained($0).toOpaque() }
        guard let buffer = av_malloc(Int(bufferSize)) else {
            throw MediaError(.outOfMemory, "no memory for an output buffer", call: "av_malloc")
        }
        let io = avio_alloc_context(
            buffer.assumingMemoryBound(to: UInt8.self),
            bufferSize,
            1,
            opaque,
            nil,
            writeBytes,
            isSeekable ? seek : nil
        )
        guard let io else {
            av_free(buffer)
            throw MediaError(.outOfMemory, "no memory for an output buffer", call: "avio_alloc_context")
        }
        // A file is written in full buffers. The reader of a pipe receives each packet immediately.
        if isSeekable { io.pointee.min_packet_size = bufferSize }
        return io
    }
}

/// `AVIOContext.write_packet`: writes all bytes or returns a negative `errno`. Without a file, the bytes are discarded.
private func writeBytes(_ opaque: UnsafeMutableRawPointer?, _ bytes: ffmpeg_output_bytes?, _ count: Int32) -> Int32 {
    guard let opaque else { return count }
    let file = Unmanaged<OutputFile>.fromOpaque(opaque).takeUnretainedValue()
    return status(of: file) { () throws(MediaError) in
        try file.write(UnsafeRawBufferPointer(start: bytes, count: Int(count)))
        return count
    }
}

/// `AVIOContext.seek`.
private func seek(_ opaque: UnsafeMutableRawPointer?, _ offset: Int64, _ origin: Int32) -> Int64 {
    guard let opaque else { return 0 }
    let file = Unmanaged<OutputFile>.fromOpaque(opaque).takeUnretainedValue()
    return status(of: file) { () throws(MediaError) in
        let origin = origin & ~AVSEEK_FORCE
        return origin == AVSEEK_SIZE ? try file.size() : try file.seek(to: offset, from: origin)
    }
}

/// Returns the result of a closure, or the negative `errno` of the file's failure.
private func status<Value: SignedInteger & FixedWidthInteger>(
    of file: OutputFile,
    _ body: () throws(MediaError) -> Value
) -> Value {
    do {
        return try body()
    } catch {
        return Value(ffmpeg_error(Int32(clamping: error.status ?? Int(EIO))))
    }
}
