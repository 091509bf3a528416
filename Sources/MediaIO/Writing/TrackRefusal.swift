// SPDX-License-Identifier: GPL-2.0-or-later

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
        case .data: return refusal
        }
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
            try muxer.addStream().copy(track, in: self, to: muxer.context)
            try muxer.writeHeader(canBeFragmented && !isSeekable ? ["movflags": "delay_moov"] : [:])
            return nil
        } catch {
            return error.status.map { "\(refusal): \(describe(Int32(clamping: $0)))" } ?? refusal
        }
    }

    /// The codecs with their own stream type or descriptor in transport streams: ISO/IEC 13818-1 table 2-34, ETSI EN
    /// 300 468, ATSC A/53, SMPTE ST 302.
    private static let transportStreamCodecs: Set = [
        "mp2", "mp3", "aac", "aac_latm", "ac3", "eac3", "dts", "opus", "s302m", "dvb_subtitle", "dvb_teletext",
    ]
}
