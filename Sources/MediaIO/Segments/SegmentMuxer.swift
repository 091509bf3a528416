// SPDX-License-Identifier: GPL-2.0-or-later

internal import CFFmpeg
internal import FFmpegSupport
internal import Glibc
internal import MediaTypes

/// Writes tracks with libavformat into memory, in pieces that are cut on request: one track for segments, all tracks of a
/// live transport stream.
final class SegmentMuxer {
    /// Sets the parameters of a stream.
    typealias Describe = (
        UnsafeMutablePointer<AVStream>, UnsafePointer<AVFormatContext>
    ) throws(MediaError) -> Void

    /// The initialization section; `nil` until the first fragment is closed, and for formats without one.
    private(set) var initialization: [UInt8]?

    private let format: SegmentFormat
    private let muxer: Muxer
    /// The muxer's own output, which discards and is freed with it.
    private let ownOutput: UnsafeMutablePointer<AVIOContext>?

    /// Sets up one stream and writes the header.
    ///
    /// - Parameters:
    ///   - start: The presentation time of the first sample.
    ///   - movieTimescale: The unit of edit lists, per second.
    ///   - describe: Sets the parameters of the stream.
    convenience init(
        _ format: SegmentFormat,
        start: MediaTime,
        movieTimescale: Int? = nil,
        describe: @escaping Describe
    ) throws(MediaError) {
        try self.init(format, start: start, movieTimescale: movieTimescale, streams: [describe])
    }

    /// Sets up streams and writes the header.
    ///
    /// - Parameters:
    ///   - options: Further options of the muxer.
    ///   - streams: Set the parameters of the streams.
    init(
        _ format: SegmentFormat,
        start: MediaTime,
        movieTimescale: Int? = nil,
        options further: [String: String] = [:],
        streams: [Describe]
    ) throws(MediaError) {
        self.format = format
        muxer = try Muxer(name: format.container.muxerName ?? "", isSeekable: false)
        ownOutput = muxer.context.pointee.pb
        for describe in streams { try describe(muxer.addStream(), muxer.context) }
        // All tracks have the times of the presentation, so nothing may be shifted.
        muxer.context.pointee.avoid_negative_ts = 0
        var options = further
        switch format {
        case .fmp4:
            var flags = ["frag_custom", "delay_moov", "default_base_moof", "skip_trailer"]
            // A track that starts later then has later decode times. The alternative is an empty edit, which some players
            // ignore.
            if start > .zero { flags.append("frag_discont") }
            options["movflags"] = flags.joined(separator: "+")
            if let movieTimescale { options["movie_timescale"] = String(movieTimescale) }
        case .ts:
            muxer.context.pointee.max_delay = ContainerWriter.decoderDelay
        }
        try open()
        try muxer.writeHeader(options)
    }

    deinit {
        discardBytes()
        muxer.context.pointee.pb = ownOutput
    }

    /// The number of ticks per second of the track.
    var timescale: Int32 { muxer.context.pointee.streams[0]?.pointee.time_base.den ?? 1000 }

    /// The number of bytes since the last ``take()``.
    var byteCount: Int { Int(avio_seek(muxer.context.pointee.pb, 0, SEEK_CUR)) }

    /// Writes a packet; see ``Muxer/write(_:)``.
    ///
    /// - Parameter isHead: Whether it is a key frame or the first packet of a segment: a transport stream then repeats its
    ///   PAT and PMT.
    func write(
        isHead: Bool,
        _ fill: (UnsafeMutablePointer<AVPacket>) throws(MediaError) -> Void
    ) throws(MediaError) {
        if isHead, format == .ts {
            let status = av_opt_set(muxer.context.pointee.priv_data, "mpegts_flags", "+resend_headers", 0)
            try check(status, "av_opt_set", "the transport stream cannot repeat its headers")
        }
        try muxer.write(fill)
    }

    /// Writes everything that the muxer holds: in MP4, as a fragment.
    func closeFragment() throws(MediaError) {
        if format == .fmp4, initialization == nil {
            // The first flush writes the header, which has waited for the first packets.
            try flush()
            initialization = try take()
        }
        try flush()
    }

    /// Returns the bytes since the last call.
    func take() throws(MediaError) -> [UInt8] {
        var bytes: UnsafeMutablePointer<UInt8>?
        let count = avio_close_dyn_buf(muxer.context.pointee.pb, &bytes)
        muxer.context.pointee.pb = nil
        defer { av_free(bytes) }
        guard count >= 0, count == 0 || bytes != nil else {
            throw MediaError(.outOfMemory, "no memory for a segment", call: "avio_close_dyn_buf", status: Int(count))
        }
        var result = Array(UnsafeBufferPointer(start: bytes, count: Int(count)))
        try open()
        if format == .ts { TransportTables.putProgramFirst(&result) }
        return result
    }

    private func flush() throws(MediaError) {
        try check(av_write_frame(muxer.context, nil), "av_write_frame", "a segment cannot be written")
        try check(muxer.context.pointee.pb?.pointee.error ?? 0, "avio_flush", "no memory for a segment")
    }

    private func open() throws(MediaError) {
        var output: UnsafeMutablePointer<AVIOContext>?
        let status = avio_open_dyn_buf(&output)
        try check(status, "avio_open_dyn_buf", "no memory for a segment")
        muxer.context.pointee.pb = output
    }

    private func discardBytes() {
        guard let output = muxer.context.pointee.pb, output != ownOutput else { return }
        var bytes: UnsafeMutablePointer<UInt8>?
        avio_close_dyn_buf(output, &bytes)
        av_free(bytes)
    }
}
