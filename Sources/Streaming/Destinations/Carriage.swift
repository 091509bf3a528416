// SPDX-License-Identifier: GPL-2.0-or-later

public import BitstreamSyntax
public import MediaTypes

extension LiveDestination.Transport {
    /// The codecs of video that it carries.
    public var videoCodecs: [VideoCodec] { VideoCodec.allCases }

    /// The names of the codecs of audio that it carries, as FFmpeg has them.
    public var audioCodecs: [String] {
        switch self {
        case .rtmp: ["aac"]
        case .srt, .udp, .rtp: ["aac", "ac3", "eac3", "mp2", "mp3", "opus"]
        }
    }

    /// The codec of video that every receiver of this protocol takes; `nil` if both are common.
    public var commonVideoCodec: VideoCodec? {
        switch self {
        // HEVC needs Enhanced RTMP, which older servers do not have.
        case .rtmp: .h264
        case .srt, .udp, .rtp: nil
        }
    }

    /// The largest number of audio tracks.
    public var mostAudioTracks: Int { self == .rtmp ? 1 : 16 }

    /// Checks whether it carries codecs, before anything starts.
    ///
    /// - Throws: `unsupported` with the codecs that it carries.
    public func check(video: VideoCodec?, audio: [String]) throws(MediaError) {
        if let video, !videoCodecs.contains(video) {
            throw MediaError(
                .unsupported,
                "\(name) does not carry this video",
                given: video.rawValue,
                allowed: videoCodecs.map(\.rawValue).joined(separator: ", ")
            )
        }
        if let codec = audio.first(where: { !audioCodecs.contains($0) }) {
            throw MediaError(
                .unsupported,
                "\(name) does not carry this audio",
                given: codec,
                allowed: audioCodecs.joined(separator: ", ")
            )
        }
        guard audio.count > mostAudioTracks else { return }
        throw MediaError(
            .unsupported,
            "\(name) carries fewer tracks of audio",
            given: "\(audio.count)",
            allowed: "\(mostAudioTracks)"
        )
    }

    /// The name of the protocol for people.
    public var name: String { rawValue.uppercased() }
}
