// SPDX-License-Identifier: GPL-2.0-or-later

internal import AudioCoding
internal import MediaTypes
internal import Streaming
internal import StreamingPlaylists

/// What the multivariant playlist states about a live stream.
///
/// Bitrates are those that were asked for until segments are larger: the peaks that were measured are kept.
struct MultivariantDescription {
    /// The format of the newest pictures of each rendition of the video.
    private var formats: [Int: FormatDescription] = [:]
    private var codecs: [Int: [String]] = [:]
    /// The bitrates of each rendition.
    private var rates: [MultivariantPlaylist.BitRates] = []

    /// The number of renditions of the video whose format is known.
    var formatCount: Int { formats.count }

    /// The format of the newest pictures of a rendition of the video.
    func format(of video: Int) -> FormatDescription? { formats[video] }

    /// Notes the format of pictures.
    mutating func note(_ format: FormatDescription, of video: Int) {
        formats[video] = format
        if let codec = format.codecName, codecs[video]?.contains(codec) != true {
            codecs[video, default: []].append(codec)
        }
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
    /// - Parameters:
    ///   - folders: The folders of the renditions: those of the video, then those of the audio.
    ///   - asked: The bitrates of the video that were asked for, by rendition.
    func text(_ folders: [String], _ tracks: LiveTracks, _ asked: [Int: Int]) -> String {
        let paths = folders.map { "\($0)/\(Rendition.playlistName)" }
        let videos = paths.count - tracks.audio.count
        let audioPaths = Array(paths.dropFirst(videos))
        let ofAudio = tracks.audio.indices.map { index in
            rate(index + videos, asked: tracks.audio[index].bitRate, peak: 1.1)
        }
        let variants = (0..<videos).compactMap { variant($0, paths[$0], tracks.frameRate, asked[$0] ?? 0) }
        guard !variants.isEmpty else { return Self.soundOnly(audioPaths, tracks.audio, ofAudio) }
        var playlist = MultivariantPlaylist(variants: variants)
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

    private func variant(
        _ video: Int,
        _ path: String,
        _ frameRate: Rational?,
        _ asked: Int
    ) -> MultivariantPlaylist.Video? {
        guard let format = formats[video] else { return nil }
        let ratio = format.pixelAspectRatio.isPositive ? format.pixelAspectRatio.doubleValue : 1
        var variant = MultivariantPlaylist.Video(
            path: path,
            bitRates: rate(video, asked: asked, peak: 1.25),
            codec: "avc1.640028",
            width: Int((Double(format.width) * ratio).rounded()),
            height: format.height,
            frameRate: frameRate,
            range: MultivariantPlaylist.VideoRange(live: format.color)
        )
        if let found = codecs[video] { variant.codecs = found }
        return variant
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
