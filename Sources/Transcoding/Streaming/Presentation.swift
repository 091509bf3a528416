// SPDX-License-Identifier: GPL-2.0-or-later

import AudioCoding
import MediaIO
import MediaTypes
import StreamingPlaylists

/// The renditions of a presentation, from which its playlists follow.
struct Presentation {
    /// What a playlist states about a variant that its segments do not.
    struct VariantFacts: Sendable {
        var frameRate: Rational
        /// The language of its closed captions; `nil` if it has none.
        var captionLanguage: String?
    }

    /// A track with its segments.
    struct Rendition {
        struct Segment {
            var resource: PlaylistResource
            var initialization: PlaylistResource?
            var start: MediaTime
            var duration: MediaTime
            var byteCount: Int
            var keyFrames: [MediaSegment.KeyFrame]
            /// The codec in the form of RFC 6381; it changes if another encoder takes over.
            var codec: String?
        }

        /// The folder, relative to that of the presentation.
        let folder: String
        /// The track as its first segment described it.
        let track: SegmentedTrack
        var initialization: PlaylistResource?
        var segments: [Segment] = []

        /// The different codecs, in the order of the segments.
        var codecs: [String] {
            segments.reduce(into: []) { found, segment in
                if let codec = segment.codec, !found.contains(codec) { found.append(codec) }
            }
        }

        var end: MediaTime { segments.last.map { $0.start + $0.duration } ?? .zero }
    }

    private let options: StreamOptions
    private let videos: [Rendition]
    private let facts: [VariantFacts]
    private let sounds: [Rendition]
    /// The target duration of all playlists in seconds: authoring specification, 8.2.
    private let targetDuration: Int
    /// The folder of the renditions, relative to the multivariant playlist; empty if they are beside it.
    private var folderName: String

    private static let playlistName = "index.\(StreamOptions.fileExtension)"
    private static let iFramesName = "iframes.\(StreamOptions.fileExtension)"

    /// Makes a presentation.
    ///
    /// - Parameters:
    ///   - videos: The variants, at least one.
    ///   - facts: What is known of each variant.
    ///   - sounds: The audio renditions.
    init(_ options: StreamOptions, videos: [Rendition], facts: [VariantFacts], sounds: [Rendition]) {
        (self.options, self.videos, self.facts, self.sounds) = (options, videos, facts, sounds)
        folderName = options.folderName
        targetDuration = MediaPlaylist.targetDuration(
            of: (videos + sounds).flatMap { $0.segments.map(\.duration) }
        )
    }

    /// The media playlists, with their paths in the folder of the presentation.
    var playlists: [(path: String, playlist: MediaPlaylist)] {
        (videos + sounds).map { ("\($0.folder)/\(Self.playlistName)", playlist(of: $0)) }
            + videos.map { ("\($0.folder)/\(Self.iFramesName)", iFrames(of: $0)) }
    }

    /// What was written.
    var report: StreamReport {
        StreamReport(
            path: options.path,
            dashPath: options.includesDASH ? options.dashPath : nil,
            targetDuration: targetDuration,
            variants: videos.map(report),
            audio: sounds.map(report)
        )
    }

    /// The multivariant playlist with one variant, and with the audio if it belongs to that output.
    ///
    /// - Parameter folder: The folder of the renditions, relative to the playlist.
    /// - Throws: As ``multivariant()``.
    func multivariant(only variant: Int, folder: String) throws(MediaError) -> MultivariantPlaylist {
        var part = Presentation(
            options,
            videos: [videos[variant]],
            facts: [facts[variant]],
            sounds: variant == 0 ? sounds : []
        )
        part.folderName = folder
        return try part.multivariant()
    }

    /// The multivariant playlist.
    ///
    /// - Throws: `malformedData` if the parameter sets of a variant cannot be read.
    func multivariant() throws(MediaError) -> MultivariantPlaylist {
        var playlist = MultivariantPlaylist(variants: [])
        for (video, facts) in zip(videos, facts) {
            let report = report(on: video)
            var variant = try describe(video, path: report.path, report.bitRates)
            variant.frameRate = facts.frameRate
            playlist.variants.append(variant)
            playlist.iFrames.append(try describeIFrames(of: video))
        }
        // Players begin with the first variant: the one nearest to 2 Mbit/s (authoring specification, 1.32).
        let distances = playlist.variants.map { abs($0.bitRates.average - 2_000_000) }
        if let least = distances.min(), let index = distances.firstIndex(of: least) {
            playlist.variants.insert(playlist.variants.remove(at: index), at: 0)
        }
        let ofAudio = sounds.map { report(on: $0).bitRates }
        playlist.audio = audio
        playlist.audioBitRates = MultivariantPlaylist.BitRates(
            peak: ofAudio.map(\.peak).max() ?? 0,
            average: ofAudio.map(\.average).max() ?? 0
        )
        playlist.captionLanguage = facts.lazy.compactMap(\.captionLanguage).first
        return playlist
    }

    /// The description for MPEG-DASH.
    ///
    /// - Throws: `unsupported` if a rendition has several initialization sections.
    func manifest() throws(MediaError) -> DASHManifest {
        var manifest = DASHManifest(video: [], audio: [], bufferTime: targetDuration)
        for (video, facts) in zip(videos, facts) {
            var representation = try representation(video)
            representation.width = video.track.video?.width
            representation.height = video.track.video?.height
            representation.frameRate = facts.frameRate
            manifest.video.append(representation)
        }
        for sound in sounds {
            var representation = try representation(sound)
            representation.sampleRate = sound.track.audio?.sampleRate
            representation.channelCount = sound.track.audio?.channelCount
            representation.language = sound.track.language.map(LanguageTag.shortest)
            manifest.audio.append(representation)
        }
        return manifest
    }
}

// MARK: - Parts

extension Presentation {
    private func playlist(of rendition: Rendition) -> MediaPlaylist {
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
        (folderName.isEmpty ? "" : "\(folderName)/") + "\(rendition.folder)/\(name)"
    }

    private func report(on rendition: Rendition) -> StreamReport.Rendition {
        StreamReport.Rendition(
            path: path(rendition, Self.playlistName),
            segmentCount: rendition.segments.count,
            byteCount: rendition.segments.reduce(0) { $0 + $1.byteCount },
            duration: rendition.segments.reduce(.zero) { $0 + $1.duration },
            bitRates: MultivariantPlaylist.BitRates(
                of: rendition.segments.map { ($0.duration, $0.byteCount) },
                targetDuration: targetDuration
            ),
            codec: rendition.codecs.joined(separator: ",")
        )
    }

    private func describeIFrames(of video: Rendition) throws(MediaError) -> MultivariantPlaylist.Video {
        let iFrames = iFrames(of: video)
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
        guard let format = video.track.video, let codec = video.codecs.first else {
            throw MediaError(.malformedData, "the parameter sets of a variant cannot be read", given: video.folder)
        }
        // The size at which the picture is shown, with square pixels.
        let ratio = format.pixelAspectRatio.isPositive ? format.pixelAspectRatio.doubleValue : 1
        var result = MultivariantPlaylist.Video(
            path: path,
            bitRates: bitRates,
            codec: codec,
            width: Int((Double(format.width) * ratio).rounded()),
            height: format.height,
            range: MultivariantPlaylist.VideoRange(format.color)
        )
        result.codecs = video.codecs
        return result
    }

    private var audio: [MultivariantPlaylist.AudioRendition] {
        var names: Set<String> = []
        return sounds.enumerated().map { index, rendition in
            let report = report(on: rendition)
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

    private func representation(_ rendition: Rendition) throws(MediaError) -> DASHManifest.Representation {
        let initializations = Set(rendition.segments.map(\.initialization))
        guard initializations.count == 1, let initialization = rendition.initialization else {
            throw MediaError(
                .unsupported,
                "DASH describes only renditions with one initialization section",
                given: "\(initializations.count), because another encoder took over",
                allowed: "one, with the option for a single encoder"
            )
        }
        let report = report(on: rendition)
        var result = DASHManifest.Representation(
            id: rendition.folder,
            codec: report.codec,
            bitRate: report.bitRates.peak,
            initialization: path(rendition, initialization.path),
            media: path(rendition, "$Number%05d$.m4s"),
            durations: rendition.segments.map(\.duration)
        )
        result.start = rendition.segments.first?.start ?? .zero
        return result
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
