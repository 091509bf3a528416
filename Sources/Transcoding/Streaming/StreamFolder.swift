// SPDX-License-Identifier: GPL-2.0-or-later

import AudioCoding
import MediaIO
import MediaTypes
import StreamingPlaylists
import Synchronization

/// Stores the segments of a presentation, and writes its playlists.
final class StreamFolder: Sendable {
    /// What a playlist states about a variant that its segments do not.
    struct VariantFacts: Sendable {
        var frameRate: Rational
        /// The language of its closed captions; `nil` if it has none.
        var captionLanguage: String?
    }

    private let options: StreamOptions
    private let folder: OutputFolder
    private let stored = Mutex<[Key: Rendition]>([:])

    /// A track of an output.
    private struct Key: Hashable {
        var output: Int
        var track: Int
    }

    /// A stored track.
    private struct Rendition {
        struct Segment {
            var resource: PlaylistResource
            var initialization: PlaylistResource?
            var start: MediaTime
            var duration: MediaTime
            var byteCount: Int
            var keyFrames: [MediaSegment.KeyFrame]
        }

        /// The folder, relative to that of the presentation.
        let folder: String
        /// The track as its first segment described it.
        let track: SegmentedTrack
        var initialization: PlaylistResource?
        var segments: [Segment] = []

        var end: MediaTime { segments.last.map { $0.start + $0.duration } ?? .zero }
    }

    private static let playlistName = "index.\(StreamOptions.fileExtension)"
    private static let iFramesName = "iframes.\(StreamOptions.fileExtension)"

    /// Creates the folder under a temporary name.
    init(_ options: StreamOptions) throws(MediaError) {
        try options.validate()
        self.options = options
        folder = try OutputFolder(
            path: options.folderPath,
            overwrite: options.overwrite,
            fileExtensions: StreamOptions.fileExtensions
        )
    }

    // MARK: - Segments

    /// Stores a segment of an output, on any thread.
    ///
    /// - Parameter name: The name of the output.
    func store(_ segment: MediaSegment, output: Int, name: String) throws(MediaError) {
        let key = Key(output: output, track: segment.track.number)
        let known = stored.withLock { $0[key]?.folder }
        let place = known ?? Self.folderName(of: segment.track, in: name)
        if known == nil {
            try folder.makeFolder(place)
            stored.withLock { $0[key] = Rendition(folder: place, track: segment.track) }
        }
        let file = Self.fileName(of: segment, options.format)
        try folder.write(segment.data, to: "\(place)/\(file)")
        stored.withLock { renditions in
            guard var rendition = renditions[key] else { return }
            switch segment.content {
            case .initialization: rendition.initialization = PlaylistResource(path: file)
            case .media:
                rendition.segments.append(
                    Rendition.Segment(
                        resource: PlaylistResource(path: file),
                        initialization: rendition.initialization,
                        start: segment.start,
                        duration: segment.duration,
                        byteCount: segment.data.count,
                        keyFrames: segment.keyFrames
                    )
                )
            }
            renditions[key] = rendition
        }
    }

    private static func folderName(of track: SegmentedTrack, in output: String) -> String {
        track.video == nil ? "audio-\(track.number)" : output
    }

    private static func fileName(of segment: MediaSegment, _ format: SegmentFormat) -> String {
        if segment.content == .initialization { return "init-\(segment.number).mp4" }
        let digits = String(segment.number)
        let number = String(repeating: "0", count: max(5 - digits.count, 0)) + digits
        return "\(number).\(format == .fmp4 ? "m4s" : "ts")"
    }

    // MARK: - Playlists

    /// Writes the playlists, and gives everything its final name.
    func publish(_ facts: [VariantFacts]) throws(MediaError) -> StreamReport {
        let stored = stored.withLock { $0 }
        let videos = facts.indices.compactMap { stored[Key(output: $0, track: 0)] }
        guard videos.count == facts.count, !videos.isEmpty else {
            throw MediaError(.invalidState, "a variant has no segments", given: options.path)
        }
        let sounds = stored.filter { $0.key.output == 0 && $0.key.track > 0 }.sorted { $0.key.track < $1.key.track }
            .map(\.value)
        // All playlists of a presentation have the same: authoring specification, 8.2.
        let target = MediaPlaylist.targetDuration(of: (videos + sounds).flatMap { $0.segments.map(\.duration) })
        for rendition in videos + sounds { try write(playlist(of: rendition, target), Self.playlistName, rendition) }
        for video in videos { try write(iFrames(of: video), Self.iFramesName, video) }

        var master = MultivariantPlaylist(variants: [])
        let ofVideo = videos.map { report(on: $0, target) }
        let ofAudio = sounds.map { report(on: $0, target) }
        for (index, video) in videos.enumerated() {
            master.variants.append(try variant(video, ofVideo[index], facts[index]))
            master.iFrames.append(try variant(video, iFrames: iFrames(of: video)))
        }
        Self.putPreferredFirst(&master)
        master.audio = audio(sounds, ofAudio)
        master.audioBitRates = MultivariantPlaylist.BitRates(
            peak: ofAudio.map(\.bitRates.peak).max() ?? 0,
            average: ofAudio.map(\.bitRates.average).max() ?? 0
        )
        master.captionLanguage = facts.lazy.compactMap(\.captionLanguage).first
        let file = try WholeFile(Array(master.text.utf8), path: options.path, overwrite: options.overwrite)
        try folder.commit()
        try file.commit()
        return StreamReport(path: options.path, targetDuration: target, variants: ofVideo, audio: ofAudio)
    }

    /// Deletes everything, unless it is published.
    func discard() { folder.discard() }

    private func write(_ playlist: MediaPlaylist, _ name: String, _ rendition: Rendition) throws(MediaError) {
        try folder.write(Array(playlist.text.utf8), to: "\(rendition.folder)/\(name)")
    }

    private func playlist(of rendition: Rendition, _ targetDuration: Int) -> MediaPlaylist {
        let segments = rendition.segments.map { segment in
            PlaylistSegment(
                resource: segment.resource,
                duration: segment.duration,
                initialization: segment.initialization,
                date: options.date?.advanced(by: segment.start)
            )
        }
        return MediaPlaylist(kind: .onDemand, segments: segments, targetDuration: targetDuration)
    }

    /// The key frames of a variant: each lasts until the next one.
    private func iFrames(of video: Rendition) -> MediaPlaylist {
        let frames = video.segments.flatMap { segment in segment.keyFrames.map { (segment, $0) } }
        let ends = frames.dropFirst().map(\.1.time) + [video.end]
        let segments = zip(frames, ends).map { frame, end in
            PlaylistSegment(
                resource: PlaylistResource(path: frame.0.resource.path, bytes: frame.1.bytes),
                duration: max(end - frame.1.time, .zero),
                initialization: frame.0.initialization,
                date: options.date?.advanced(by: frame.1.time)
            )
        }
        var playlist = MediaPlaylist(kind: .onDemand, segments: segments)
        playlist.isIFramesOnly = true
        return playlist
    }

    private func path(_ rendition: Rendition, _ name: String) -> String {
        "\(options.folderName)/\(rendition.folder)/\(name)"
    }

    private func report(on rendition: Rendition, _ targetDuration: Int) -> StreamReport.Rendition {
        StreamReport.Rendition(
            path: path(rendition, Self.playlistName),
            segmentCount: rendition.segments.count,
            byteCount: rendition.segments.reduce(0) { $0 + $1.byteCount },
            duration: rendition.segments.reduce(.zero) { $0 + $1.duration },
            bitRates: MultivariantPlaylist.BitRates(
                of: rendition.segments.map { ($0.duration, $0.byteCount) },
                targetDuration: targetDuration
            ),
            codec: rendition.track.codecName ?? ""
        )
    }

    private func variant(
        _ video: Rendition,
        _ report: StreamReport.Rendition,
        _ facts: VariantFacts
    ) throws(MediaError) -> MultivariantPlaylist.Video {
        var variant = try describe(video, path: report.path, report.bitRates)
        variant.frameRate = facts.frameRate
        return variant
    }

    private func variant(_ video: Rendition, iFrames: MediaPlaylist) throws(MediaError) -> MultivariantPlaylist.Video {
        let sizes = iFrames.segments.map { ($0.duration, $0.resource.bytes?.count ?? 0) }
        return try describe(
            video,
            path: path(video, Self.iFramesName),
            MultivariantPlaylist.BitRates(of: sizes, targetDuration: iFrames.targetDuration)
        )
    }

    private func describe(
        _ video: Rendition,
        path: String,
        _ bitRates: MultivariantPlaylist.BitRates
    ) throws(MediaError) -> MultivariantPlaylist.Video {
        guard let format = video.track.video, let codec = format.codecName else {
            throw MediaError(.malformedData, "the parameter sets of a variant cannot be read", given: video.folder)
        }
        // The size at which the picture is shown, with square pixels.
        let ratio = format.pixelAspectRatio.isPositive ? format.pixelAspectRatio.doubleValue : 1
        return MultivariantPlaylist.Video(
            path: path,
            bitRates: bitRates,
            codec: codec,
            width: Int((Double(format.width) * ratio).rounded()),
            height: format.height,
            range: MultivariantPlaylist.VideoRange(format.color)
        )
    }

    private func audio(
        _ sounds: [Rendition],
        _ reports: [StreamReport.Rendition]
    ) -> [MultivariantPlaylist.AudioRendition] {
        var names: Set<String> = []
        return zip(sounds, reports).enumerated().map { index, sound in
            let (rendition, report) = sound
            var name = rendition.track.title ?? rendition.track.language ?? "Audio \(index + 1)"
            if !names.insert(name).inserted {
                name += " \(index + 1)"
                names.insert(name)
            }
            var result = MultivariantPlaylist.AudioRendition(
                path: report.path,
                name: name,
                language: rendition.track.language.map(LanguageTag.shortest),
                channelCount: rendition.track.audio?.channelCount ?? 0,
                codec: report.codec
            )
            result.isDefault = index == 0
            return result
        }
    }

    /// Players begin with the first variant: the one nearest to 2 Mbit/s (authoring specification, 1.32).
    private static func putPreferredFirst(_ playlist: inout MultivariantPlaylist) {
        let distances = playlist.variants.map { abs($0.bitRates.average - 2_000_000) }
        guard let least = distances.min(), let index = distances.firstIndex(of: least) else { return }
        playlist.variants.insert(playlist.variants.remove(at: index), at: 0)
    }
}

extension MultivariantPlaylist.VideoRange {
    /// The range of a colour description: H.273 8.2.
    init(_ color: ColorDescription) {
        switch color.transfer {
        case .pq: self = .perceptualQuantizer
        case .hlg: self = .hybridLogGamma
        default: self = .standard
        }
    }
}
