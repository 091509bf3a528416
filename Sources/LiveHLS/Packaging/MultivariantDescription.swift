// SPDX-License-Identifier: GPL-2.0-or-later

internal import AudioCoding
internal import MediaTypes
internal import Streaming
internal import StreamingPlaylists

/// What the multivariant playlist states about a live stream.
///
/// Bitrates are those that were asked for until segments are larger: the peaks that were measured are kept.
struct MultivariantDescription {
    /// The format of the newest pictures.
    private(set) var format: FormatDescription?
    private var codecs: [String] = []
    /// The bitrates of each rendition.
    private var rates: [MultivariantPlaylist.BitRates] = []

    /// Notes the format of pictures.
    mutating func note(_ format: FormatDescription) {
        self.format = format
        if let codec = format.codecName, !codecs.contains(codec) { codecs.append(codec) }
    }

    /// Notes the durations and sizes of the newest segments of each rendition.
    mutating func note(_ segments: [[(duration: MediaTime, byteCount: Int)]], _ options: HLSOptions) {
        for (index, newest) in segments.enumerated() {
            let found = MultivariantPlaylist.BitRates(of: newest, targetDuration: options.segment)
            guard rates.indices.contains(index) else {
                rates.append(found)
                continue
            }
            rates[index] = MultivariantPlaylist.BitRates(
                peak: max(rates[index].peak, found.peak),
                average: max(rates[index].average, found.average)
            )
        }
    }

    /// The playlist.
    ///
    /// - Parameter folders: The folders of the renditions: that of the video, then those of the audio.
    func text(_ folders: [String], _ tracks: LiveTracks) -> String {
        let paths = folders.map { "\($0)/\(Rendition.playlistName)" }
        let audioPaths = tracks.video == nil ? paths : Array(paths.dropFirst())
        let ofAudio = tracks.audio.indices.map { index in
            rate(index + (tracks.video == nil ? 0 : 1), asked: tracks.audio[index].bitRate, peak: 1.1)
        }
        guard let format, tracks.video != nil, let path = paths.first else {
            return Self.soundOnly(audioPaths, tracks.audio, ofAudio)
        }
        let ratio = format.pixelAspectRatio.isPositive ? format.pixelAspectRatio.doubleValue : 1
        var video = MultivariantPlaylist.Video(
            path: path,
            bitRates: rate(0, asked: tracks.videoBitRate ?? 0, peak: 1.25),
            codec: codecs.first ?? "avc1.640028",
            width: Int((Double(format.width) * ratio).rounded()),
            height: format.height,
            frameRate: tracks.frameRate,
            range: MultivariantPlaylist.VideoRange(live: format.color)
        )
        video.codecs = codecs
        var playlist = MultivariantPlaylist(variants: [video])
        playlist.audio = tracks.audio.indices.map { index in
            let track = tracks.audio[index]
            var rendition = MultivariantPlaylist.AudioRendition(
                path: audioPaths[index],
                name: tracks.audio.count == 1 ? "Audio" : "Audio \(index + 1)",
                language: nil,
                channelCount: track.channelCount,
                codec: track.mediaTypeCodec ?? track.codecName
            )
            rendition.isDefault = index == 0
            return rendition
        }
        playlist.audioBitRates = MultivariantPlaylist.BitRates(
            peak: ofAudio.map(\.peak).max() ?? 0,
            average: ofAudio.map(\.average).max() ?? 0
        )
        return playlist.text
    }

    private func rate(_ index: Int, asked: Int, peak: Double) -> MultivariantPlaylist.BitRates {
        let found = rates.indices.contains(index) ? rates[index] : MultivariantPlaylist.BitRates(peak: 0, average: 0)
        let average = max(found.average, asked, 1)
        return MultivariantPlaylist.BitRates(
            peak: max(found.peak, Int(Double(asked) * peak), average),
            average: average
        )
    }

    /// A playlist whose variants are tracks of audio.
    private static func soundOnly(
        _ paths: [String],
        _ audio: [AudioStreamDescription],
        _ rates: [MultivariantPlaylist.BitRates]
    ) -> String {
        let variants = zip(zip(paths, audio), rates).map { track, rate in
            let codec = track.1.mediaTypeCodec ?? track.1.codecName
            return "#EXT-X-STREAM-INF:BANDWIDTH=\(rate.peak),AVERAGE-BANDWIDTH=\(rate.average),CODECS=\"\(codec)\"\n"
                + track.0
        }
        return (["#EXTM3U", "#EXT-X-VERSION:6", "#EXT-X-INDEPENDENT-SEGMENTS"] + variants).joined(separator: "\n")
            + "\n"
    }
}

extension MultivariantPlaylist.VideoRange {
    /// The range of a colour description: H.273 8.2.
    fileprivate init(live color: ColorDescription) {
        switch color.transfer {
        case .pq: self = .perceptualQuantizer
        case .hlg: self = .hybridLogGamma
        default: self = .standard
        }
    }
}
