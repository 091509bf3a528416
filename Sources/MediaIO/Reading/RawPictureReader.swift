// SPDX-License-Identifier: GPL-2.0-or-later

internal import CFFmpeg
internal import Glibc
internal import MediaTypes
internal import VideoDecoding

/// Reads uncompressed pictures (YUV4MPEG2 and raw video) directly into recycled memory.
///
/// libavformat allocates a packet for every picture, more than a megabyte at 720p. New pages for each packet cost as
/// much time as reading; blocks that the C library caches cost memory instead. libavformat still opens the input, reads
/// its header, probes and seeks. This reader takes over when libavformat's reader is exactly behind the packet that it
/// returned last, so that it buffers no other packet.
final class RawPictureReader {
    /// The beginning of every YUV4MPEG2 picture; parameters may follow, and a line feed ends them.
    private static let pictureMark = Array("FRAME".utf8)
    private static let longestMark = 256

    /// A picture that was skipped.
    struct Place {
        /// The offset of its first byte in the file.
        var offset: Int
        /// The time in units of one picture duration.
        var time: Int64
    }

    /// The layout of a picture's planes, relative to its first byte; `nil` if no ``PixelFormat`` has this layout.
    let planes: [PlaneLayout]?
    private let hasMarks: Bool
    private let size: Int
    private let pool: OpaquePointer
    /// The time of the next picture, in units of one picture duration; `nil` while libavformat reads.
    private var nextTime: Int64?
    /// The position after the last picture that was left in the file; `nil` if libavformat's reader is there.
    private var position: Int?

    /// Makes a reader.
    ///
    /// - Returns: `nil` if the input is of another kind.
    init?(_ context: UnsafePointer<AVFormatContext>) {
        guard let name = context.pointee.iformat?.pointee.name, context.pointee.nb_streams == 1,
            let parameters = context.pointee.streams?[0]?.pointee.codecpar?.pointee,
            parameters.codec_id == AV_CODEC_ID_RAWVIDEO
        else { return nil }
        switch String(cString: name) {
        case "yuv4mpegpipe": hasMarks = true
        case "rawvideo": hasMarks = false
        default: return nil
        }
        let format = AVPixelFormat(parameters.format)
        let size = av_image_get_buffer_size(format, parameters.width, parameters.height, 1)
        guard size > 0, let pool = av_buffer_pool_init(Int(size) + Int(AV_INPUT_BUFFER_PADDING_SIZE), nil) else {
            return nil
        }
        self.size = Int(size)
        self.pool = pool
        planes = Self.planes(parameters)
    }

    private static func planes(_ parameters: AVCodecParameters) -> [PlaneLayout]? {
        guard let format = PictureLayout(rawFormat: parameters.format)?.equivalent else { return nil }
        var planes: [PlaneLayout] = []
        var offset = 0
        for plane in 0..<format.planeCount {
            let (width, height) = (Int(parameters.width), Int(parameters.height))
            guard let extent = format.planeExtent(plane, width: width, height: height) else { return nil }
            planes.append(PlaneLayout(offset: offset, bytesPerRow: extent.bytesPerRow))
            offset += extent.bytesPerRow * extent.rows
        }
        return planes
    }

    deinit {
        // The memory is freed with the last picture.
        var pool: OpaquePointer? = pool
        av_buffer_pool_uninit(&pool)
    }

    /// Registers a packet that libavformat has read.
    func follow(_ packet: UnsafePointer<AVPacket>, _ reader: UnsafeMutablePointer<AVIOContext>?) {
        nextTime = nil
        guard let reader, packet.pointee.pts != ffmpeg_no_pts, packet.pointee.size == size,
            packet.pointee.pos >= 0, packet.pointee.pos + Int64(size) == avio_seek(reader, 0, SEEK_CUR)
        else { return }
        nextTime = packet.pointee.pts + 1
    }

    /// Returns reading to libavformat, after a seek.
    func restart() {
        nextTime = nil
        position = nil
    }

    /// Skips the next picture and returns its location.
    ///
    /// - Returns: `nil` if it must be read in another way: the first picture, and an incomplete one at the end of the
    ///   file.
    func skip(in file: InputFile, _ reader: UnsafeMutablePointer<AVIOContext>?) -> Place? {
        guard let time = nextTime, let descriptor = file.rereadableDescriptor, let reader else { return nil }
        var start = position ?? Int(avio_seek(reader, 0, SEEK_CUR))
        if hasMarks {
            guard let mark = Self.markLength(descriptor, at: start) else { return nil }
            start += mark
        }
        guard start <= file.size - size else { return nil }
        position = start + size
        nextTime = time + 1
        return Place(offset: start, time: time)
    }

    /// Moves libavformat's reader behind the pictures that were left in the file.
    ///
    /// - Returns: Its new position; `nil` if it did not have to move.
    func catchUp(_ reader: UnsafeMutablePointer<AVIOContext>?) -> Int64? {
        guard let position, let reader else { return nil }
        self.position = nil
        return avio_seek(reader, Int64(position), SEEK_SET)
    }

    /// Returns the length of the line before a picture; `nil` if there is none.
    private static func markLength(_ descriptor: Int32, at offset: Int) -> Int? {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: longestMark) { bytes in
            let count = pread(descriptor, bytes.baseAddress, longestMark, offset)
            guard count > pictureMark.count else { return nil }
            let line = bytes[..<count]
            guard line.starts(with: pictureMark), let end = line.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
            return end + 1
        }
    }

    /// Reads the next picture into a blank packet.
    ///
    /// - Returns: The status that `av_read_frame` would return; `nil` if libavformat has to read.
    func read(
        into packet: UnsafeMutablePointer<AVPacket>,
        from reader: UnsafeMutablePointer<AVIOContext>?
    ) -> Int32? {
        guard let time = nextTime, let reader else { return nil }
        if hasMarks, let status = skipMark(reader) { return status }
        guard let buffer = av_buffer_pool_get(pool), let bytes = buffer.pointee.data else {
            return ffmpeg_error_no_memory
        }
        packet.pointee.buf = buffer
        packet.pointee.data = bytes
        packet.pointee.pos = avio_seek(reader, 0, SEEK_CUR)
        let count = avio_read(reader, bytes, Int32(size))
        // As in libavformat, an incomplete picture is dropped from YUV4MPEG2, and returned as damaged from raw video.
        guard count > 0, count == size || !hasMarks else {
            av_packet_unref(packet)
            return count < 0 ? count : ffmpeg_error_eof
        }
        (bytes + Int(count)).update(repeating: 0, count: Int(AV_INPUT_BUFFER_PADDING_SIZE))
        packet.pointee.size = count
        packet.pointee.flags = AV_PKT_FLAG_KEY | (count == size ? 0 : AV_PKT_FLAG_CORRUPT)
        packet.pointee.stream_index = 0
        packet.pointee.pts = time
        packet.pointee.dts = time
        packet.pointee.duration = 1
        nextTime = time + 1
        return 0
    }

    /// Reads the line before a picture.
    ///
    /// - Returns: `nil` on success, otherwise the status for the end of the input or the failure.
    private func skipMark(_ reader: UnsafeMutablePointer<AVIOContext>) -> Int32? {
        for position in 0..<Self.longestMark {
            let byte = avio_r8(reader)
            if avio_feof(reader) != 0 { return reader.pointee.error < 0 ? reader.pointee.error : ffmpeg_error_eof }
            if position < Self.pictureMark.count {
                guard byte == Int32(Self.pictureMark[position]) else { break }
            } else if byte == Int32(UInt8(ascii: "\n")) {
                return nil
            }
        }
        return ffmpeg_error_invalid_data
    }
}
