// SPDX-License-Identifier: GPL-2.0-or-later

internal import CFFmpeg
internal import MediaTimeline
package import MediaTypes

// MARK: - Selecting streams

extension PacketSource {
    /// Selects the streams that are read, and makes libavformat discard the others.
    static func select(
        _ demuxer: Demuxer,
        _ options: Options
    ) throws(MediaError) -> ([CopiedStream], [IgnoredStream]) {
        let all = demuxer.streams
        let indices = all.map { Int($0.pointee.index) }
        if let unknown = options.streams?.first(where: { !indices.contains($0) }) {
            throw MediaError(
                .invalidArgument,
                "the input has no such track",
                given: "\(unknown)",
                allowed: indices.map(String.init).joined(separator: ", ")
            )
        }
        var (streams, ignored): ([CopiedStream], [IgnoredStream]) = ([], [])
        for stream in all {
            let index = Int(stream.pointee.index)
            if isMadeByMuxer(stream, demuxer) {
                stream.pointee.discard = AVDISCARD_ALL
            } else if let wanted = options.streams, !wanted.contains(index) {
                stream.pointee.discard = AVDISCARD_ALL
            } else if let reason = reasonToIgnore(stream) {
                stream.pointee.discard = AVDISCARD_ALL
                let codec = String(cString: avcodec_get_name(stream.pointee.codecpar.pointee.codec_id))
                let kind = StreamSelection.kind(of: stream)
                ignored.append(IgnoredStream(index: index, kind: kind, codecName: codec, reason: reason))
            } else {
                streams.append(try CopiedStream(stream, in: demuxer, frameRate: options.frameRate))
            }
        }
        guard streams.contains(where: { $0.isContinuous && !$0.isCover }) else {
            throw MediaError(
                .malformedData,
                "the input has no video or audio that can be copied",
                given: demuxer.path,
                allowed: "a file with at least one such track"
            )
        }
        if let wanted = options.streams {
            streams.sort { (wanted.firstIndex(of: $0.index) ?? 0) < (wanted.firstIndex(of: $1.index) ?? 0) }
        }
        return (streams, ignored)
    }

    /// Whether muxers make such a track themselves, from chapters and from the timecode in metadata.
    private static func isMadeByMuxer(_ stream: UnsafeMutablePointer<AVStream>, _ demuxer: Demuxer) -> Bool {
        let hasTimecode =
            demuxer.metadata["timecode"] != nil
            || demuxer.streams.contains { $0 != stream && $0.pointee.text("timecode") != nil }
        return (!demuxer.chapters.isEmpty && StreamSelection.mayNameChapters(stream))
            || (hasTimecode && StreamSelection.isTimecode(stream))
    }

    private static func reasonToIgnore(_ stream: UnsafeMutablePointer<AVStream>) -> String? {
        let parameters = stream.pointee.codecpar.pointee
        switch parameters.codec_type {
        case AVMEDIA_TYPE_ATTACHMENT: return nil
        case AVMEDIA_TYPE_VIDEO, AVMEDIA_TYPE_AUDIO, AVMEDIA_TYPE_SUBTITLE, AVMEDIA_TYPE_DATA:
            return parameters.codec_id == AV_CODEC_ID_NONE ? "its codec is unknown to FFmpeg" : nil
        default: return "its type is unknown"
        }
    }

    /// Describes the tracks for the output, when the start is known.
    func makeTracks() throws(MediaError) -> [MediaTrack] {
        var tracks: [MediaTrack] = []
        for stream in streams {
            if let end = stream.end { stream.details.end = timeline.place(MediaTime(end, in: stream.timeBase)) }
            if stream.isCover, options.output == .mkv, let attachment = try MediaTrack(attachedCover: stream) {
                tracks.append(attachment)
            } else {
                tracks.append(try MediaTrack(stream: stream.stream, details: stream.details))
            }
        }
        return tracks
    }

    /// Returns the packets of cover pictures, which precede all others.
    package func coverPackets() throws(MediaError) -> [MediaPacket] {
        var packets: [MediaPacket] = []
        for stream in streams where stream.isCover {
            guard let track = tracks.first(where: { $0.index == stream.index && $0.kind == .video }) else { continue }
            guard let packet = av_packet_clone(&stream.stream.pointee.attached_pic) else {
                throw MediaError(.outOfMemory, "no memory for a packet", call: "av_packet_clone")
            }
            (packet.pointee.pts, packet.pointee.dts) = (0, 0)
            packets.append(MediaPacket(track: track, taking: packet))
        }
        return packets
    }
}

extension CopiedStream {
    /// Whether it is a cover picture rather than video.
    var isCover: Bool { stream.pointee.disposition & AV_DISPOSITION_ATTACHED_PIC != 0 }
}

extension MediaTrack {
    /// Makes an attached file from a cover picture, as Matroska stores it (RFC 9559 18.2); `nil` for other formats than
    /// JPEG and PNG.
    fileprivate convenience init?(attachedCover stream: CopiedStream) throws(MediaError) {
        let picture = stream.stream.pointee.attached_pic
        let kinds = [AV_CODEC_ID_MJPEG: ("cover.jpg", "image/jpeg"), AV_CODEC_ID_PNG: ("cover.png", "image/png")]
        guard let (name, type) = kinds[stream.stream.pointee.codecpar.pointee.codec_id], let data = picture.data else {
            return nil
        }
        var details = stream.details
        details.metadata = ["filename": name, "mimetype": type]
        details.contents = Array(UnsafeBufferPointer(start: data, count: Int(picture.size)))
        try self.init(stream: stream.stream, details: details)
    }
}
