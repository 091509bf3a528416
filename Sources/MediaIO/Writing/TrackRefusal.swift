// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import CFFmpeg
internal import FFmpegSupport
internal import MediaTypes

extension ContainerFormat {
    /// Returns the reason why the container does not accept a track; `nil` if it does.
    ///
    /// libavformat's codec query is called first, then the muxer is tried: it writes a header with this track alone to
    /// an output that discards it and is seekable if the real one is. libavformat's transport stream muxer accepts any
    /// codec, as private data that no player understands, so a list of supported codecs decides there.
    func refusal(of track: MediaTrack, isSeekable: Bool) -> String? {
        if self == .null { return nil }
        let refusal = "\(rawValue) does not support \(track.codecName) \(track.kind.rawValue)"
        switch track.kind {
        case .audio: if !takesAudio { return "\(rawValue) does not support audio" }
        case .subtitles: if !takesSubtitles { return "\(rawValue) does not support subtitles" }
        case .video: return refusalOfVideo(track, refusal, isSeekable: isSeekable)
        case .attachment: return self == .mkv ? nil : "\(rawValue) does not support attachments"
        case .data: return refusal
        }
        return refusalByMuxer(of: track, refusal, isSeekable: isSeekable)
    }

    private func refusalOfVideo(_ track: MediaTrack, _ refusal: String, isSeekable: Bool) -> String? {
        if let requiredCodec { return requiredCodec.rawValue == track.codecName ? nil : refusal }
        if track.isCover { return self == .mp4 ? nil : "\(rawValue) does not support cover pictures" }
        return refusalByMuxer(of: track, refusal, isSeekable: isSeekable)
    }

    private func refusalByMuxer(of track: MediaTrack, _ refusal: String, isSeekable: Bool) -> String? {
        guard let muxerName else { return refusal }
        if self == .ts {
            return Self.transportStreamCodecs.contains(track.codecName) ? nil : refusal
        }
        do {
            let muxer = try Muxer(name: muxerName, isSeekable: isSeekable)
            let codec = track.parameters.pointee.codec_id
            guard avformat_query_codec(muxer.context.pointee.oformat, codec, FF_COMPLIANCE_NORMAL) == 1 else {
                return refusal
            }
            let stream = try muxer.addStream()
            try stream.copy(track, in: self, to: muxer.context)
            try NALUnitRewriter(track, format: self, carriage: ParameterSetCarriage(self, isStreamed: !isSeekable))?
                .describe(stream.pointee.codecpar, in: self)
            try muxer.writeHeader(canBeFragmented && !isSeekable ? ["movflags": "delay_moov"] : [:])
            return nil
        } catch {
            return error.status.map { "\(refusal): \(describe(Int32(clamping: $0)))" } ?? refusal
        }
    }

    /// The codecs with their own stream type or descriptor in transport streams: ISO/IEC 13818-1 table 2-34, ETSI EN
    /// 300 468, ATSC A/53, SMPTE ST 302.
    private static let transportStreamCodecs: Set = [
        "mpeg1video", "mpeg2video", "mpeg4", "h264", "hevc", "vc1",
        "mp2", "mp3", "aac", "aac_latm", "ac3", "eac3", "dts", "opus", "s302m", "dvb_subtitle", "dvb_teletext",
    ]
}

extension MediaTrack {
    /// Whether it is a cover picture rather than video.
    package var isCover: Bool { disposition & AV_DISPOSITION_ATTACHED_PIC != 0 }

    /// The name of an attached file; `nil` for other tracks.
    package var fileName: String? { kind == .attachment ? details?.metadata["filename"] : nil }

    /// Returns the reason why a container does not accept the track; `nil` if it does.
    ///
    /// - Parameter isSeekable: Whether the output is a regular file.
    package func refusal(by format: ContainerFormat, isSeekable: Bool = true) -> String? {
        format.refusal(of: self, isSeekable: isSeekable)
    }
}
