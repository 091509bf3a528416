// SPDX-License-Identifier: GPL-2.0-or-later

import AudioCoding
public import MediaIO
public import MediaTypes
import StreamingPlaylists
import Synchronization

/// Stores the segments of a presentation, and writes its playlists.
///
/// A ``Transcoder`` does both for its outputs. For segments of an `AssetWriter` or a `SegmentSink`, pass each one to
/// ``store(_:)`` and call ``publish(frameRate:)`` at the end:
///
/// ```swift
/// let folder = try StreamFolder(StreamOptions(path: CommandLine.arguments[1]))
/// ```
///
/// Everything has temporary names until it is published. If the folder is released before, it is deleted.
public final class StreamFolder: Sendable {
    private let options: StreamOptions
    private let folder: OutputFolder
    private let stored = Mutex<[Key: Presentation.Rendition]>([:])

    /// A track of an output.
    private struct Key: Hashable {
        var output: Int
        var track: Int
    }

    /// Creates the folder under a temporary name.
    ///
    /// - Throws: As ``StreamOptions/validate()``; `inputOutput` if the folder cannot be created.
    public init(_ options: StreamOptions) throws(MediaError) {
        try options.validate()
        self.options = options
        folder = try OutputFolder(
            path: options.folderPath,
            overwrite: options.overwrite,
            fileExtensions: StreamOptions.fileExtensions
        )
    }

    // MARK: - Segments

    /// Stores a segment of a presentation with one variant, on any thread. Those of a track are stored in their order.
    ///
    /// - Throws: `inputOutput` if it cannot be written.
    public func store(_ segment: MediaSegment) throws(MediaError) {
        try store(segment, output: 0, name: Self.onlyVariantName)
    }

    private static let onlyVariantName = "video"

    /// Stores a segment of an output, on any thread.
    ///
    /// - Parameter name: The name of the output.
    func store(_ segment: MediaSegment, output: Int, name: String) throws(MediaError) {
        let key = Key(output: output, track: segment.track.number)
        let known = stored.withLock { $0[key]?.folder }
        let place = known ?? Self.folderName(of: segment.track, in: name)
        if known == nil {
            try folder.makeFolder(place)
            stored.withLock { $0[key] = Presentation.Rendition(folder: place, track: segment.track) }
        }
        let file = Self.fileName(of: segment, options.format)
        try folder.write(segment.data, to: "\(place)/\(file)")
        stored.withLock { renditions in
            guard var rendition = renditions[key] else { return }
            switch segment.content {
            case .initialization: rendition.initialization = PlaylistResource(path: file)
            case .media:
                rendition.segments.append(
                    Presentation.Rendition.Segment(
                        resource: PlaylistResource(path: file),
                        initialization: rendition.initialization,
                        start: segment.start,
                        duration: segment.duration,
                        byteCount: segment.data.count,
                        keyFrames: segment.keyFrames,
                        codec: segment.track.codecName
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

    /// Returns the presentation of the stored segments.
    func presentation(_ facts: [Presentation.VariantFacts]) throws(MediaError) -> Presentation {
        let stored = stored.withLock { $0 }
        let videos = facts.indices.compactMap { stored[Key(output: $0, track: 0)] }
        guard videos.count == facts.count, !videos.isEmpty else {
            throw MediaError(.invalidState, "a variant has no segments", given: options.path)
        }
        let sounds = stored.filter { $0.key.output == 0 && $0.key.track > 0 }.sorted { $0.key.track < $1.key.track }
        return Presentation(options, videos: videos, facts: facts, sounds: sounds.map(\.value))
    }

    /// Writes the media playlists.
    func write(_ presentation: Presentation) throws(MediaError) {
        for (name, playlist) in presentation.playlists {
            try folder.write(Array(playlist.text.utf8), to: name)
        }
    }

    /// Writes a multivariant playlist with one variant, and the audio if the variant has it, for a verification before the
    /// presentation is published.
    ///
    /// - Returns: Its path.
    func writePlaylist(of presentation: Presentation, variant: Int) throws(MediaError) -> String {
        let playlist = try presentation.multivariant(only: variant, folder: "")
        try folder.write(Array(playlist.text.utf8), to: Self.verifiedName)
        return "\(folder.temporaryPath)/\(Self.verifiedName)"
    }

    private static let verifiedName = "verified.\(StreamOptions.fileExtension)"

    /// Writes the playlists, and gives everything its final name. No segment may follow.
    ///
    /// - Parameter frameRate: The largest number of frames per second, which the multivariant playlist states.
    /// - Throws: `invalidState` if there is no segment of video; `malformedData` if its parameter sets cannot be read;
    ///   `unsupported` if DASH is wanted and cannot describe the segments; `inputOutput`. Nothing is published then, unless
    ///   the folder has its name and only a playlist cannot get its own.
    public func publish(frameRate: Rational) throws(MediaError) -> StreamReport {
        let facts = Presentation.VariantFacts(frameRate: frameRate, captionLanguage: nil)
        let presentation = try presentation([facts])
        try write(presentation)
        try publish(presentation)
        return presentation.report
    }

    /// Gives everything its final name.
    func publish(_ presentation: Presentation) throws(MediaError) {
        folder.remove(Self.verifiedName)
        var files = [try file(try presentation.multivariant().text, options.path)]
        if options.includesDASH { files.append(try file(try presentation.manifest().text, options.dashPath)) }
        try folder.commit()
        for file in files { try file.commit() }
    }

    private func file(_ text: String, _ path: String) throws(MediaError) -> WholeFile {
        try WholeFile(Array(text.utf8), path: path, overwrite: options.overwrite)
    }

    /// Deletes everything, unless it is published.
    public func discard() { folder.discard() }
}
