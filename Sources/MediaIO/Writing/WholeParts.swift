// SPDX-License-Identifier: GPL-2.0-or-later

internal import CFFmpeg
internal import FFmpegSupport
internal import MediaTypes

extension ContainerFormat {
    /// Returns how many bytes of a file whose writing has failed are whole; `nil` if none are, or if this cannot be told.
    func wholeSize(of file: some RandomAccessBytes) -> Int64? {
        switch self {
        case .mp4, .mov, .mkv: ContainerOutline(file, mostParts: .max)?.wholeEnd
        case .ts: Self.wholeTransportSize(of: file)
        case .h264, .hevc, .null: nil
        }
    }

    /// The size of a packet of a transport stream (ISO/IEC 13818-1 2.4.3.2).
    private static let transportPacketSize: Int64 = 188

    /// The muxer writes one PES packet after another. The last one may be cut off: all before it is whole.
    private static func wholeTransportSize(of file: some RandomAccessBytes) -> Int64? {
        var position = file.size / transportPacketSize * transportPacketSize
        while position > 0 {
            position -= transportPacketSize
            let packet = file.bytes(at: position, count: Int(transportPacketSize))
            if position > 0, beginsPES(packet) { return position }
        }
        return nil
    }

    private static func beginsPES(_ packet: [UInt8]) -> Bool {
        guard packet.count == Int(transportPacketSize), packet[1] & 0x40 != 0, packet[3] & 0x10 != 0 else {
            return false
        }
        let start = packet[3] & 0x20 == 0 ? 4 : 5 + Int(packet[4])
        return packet.dropFirst(start).starts(with: [0, 0, 1])
    }

    /// The name of libavformat's demuxer; `nil` for formats that are not rescued.
    private var demuxerName: String? {
        switch self {
        case .mp4, .mov: "mov"
        case .mkv: "matroska"
        case .ts: "mpegts"
        case .h264, .hevc, .null: nil
        }
    }

    /// Reads how many video samples a file has, and how long it is.
    ///
    /// - Throws: `inputOutput` or `malformedData`.
    func measure(_ path: String, _ cancellation: Cancellation) throws(MediaError) -> (samples: Int, duration: MediaTime)
    {
        let demuxer = try Demuxer(
            path: path,
            options: MediaSource.Options(format: demuxerName),
            cancellation: cancellation
        )
        let hasVideo = demuxer.streams.contains { $0.isVideo }
        var (samples, start, end): (Int, MediaTime?, MediaTime) = (0, nil, .zero)
        while case .packet(let packet) = try demuxer.read() {
            guard let stream = demuxer.stream(Int(packet.pointee.stream_index)), stream.isVideo == hasVideo else {
                continue
            }
            samples += hasVideo ? 1 : 0
            guard packet.pointee.pts != ffmpeg_no_pts else { continue }
            let time = MediaTime(packet.pointee.pts, in: stream.pointee.time_base)
            start = min(start ?? time, time)
            end = max(end, time + MediaTime(packet.pointee.duration, in: stream.pointee.time_base))
        }
        // Without pictures, the end of the last packet.
        return (samples, hasVideo ? end - (start ?? end) : end)
    }
}

extension UnsafeMutablePointer<AVStream> {
    fileprivate var isVideo: Bool { pointee.codecpar.pointee.codec_type == AVMEDIA_TYPE_VIDEO }
}
