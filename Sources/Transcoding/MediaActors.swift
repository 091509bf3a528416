// SPDX-License-Identifier: GPL-2.0-or-later

import MediaIO
import MediaTypes

/// Reads a source on a thread of its own.
actor MediaReader {
    private let executor = QueueExecutor(label: "vatoolbox.reader")
    private var source: MediaSource?

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// What a source has, as far as it is known before the first frame.
    struct Contents: Sendable {
        var video: VideoTrack
        var tracks: [MediaTrack]
        var chapters: [Chapter]
        var metadata: [String: String]
        var ignored: [IgnoredStream]
    }

    func open(
        _ path: String,
        _ options: MediaSource.Options,
        _ cancellation: Cancellation
    ) throws(MediaError) -> Contents {
        let source = try MediaSource(path: path, options: options, cancellation: cancellation)
        self.source = source
        return Contents(
            video: source.video,
            tracks: source.tracks,
            chapters: source.chapters,
            metadata: source.metadata,
            ignored: source.ignored
        )
    }

    func next() throws(MediaError) -> MediaSource.Event? { try source?.next() }

    func endInput() { source?.endInput() }

    func leavePicturesInFile() { source?.leavePicturesInFile() }

    var problems: SourceProblems { source?.problems ?? SourceProblems() }

    func close() { source = nil }
}

/// Writes a sink on a thread of its own.
actor MediaWriter {
    private let executor = QueueExecutor(label: "vatoolbox.writer")
    private var sink: MediaSink?

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// Opens the output and adds what is copied.
    ///
    /// - Returns: The tracks that the container takes, and a line for each thing that it does not.
    func open(
        _ path: String,
        _ options: MediaSink.Options,
        copying contents: MediaReader.Contents
    ) throws(MediaError) -> (tracks: Set<Int>, refusals: [String]) {
        let sink = try MediaSink(path: path, options: options)
        var tracks: Set<Int> = []
        var refusals: [String] = []
        for track in contents.tracks {
            switch try sink.addTrack(track) {
            case .accepted: tracks.insert(track.index)
            case .refused(let reason): refusals.append("\(track.kind.rawValue) track \(track.index): \(reason)")
            }
        }
        if !contents.chapters.isEmpty, case .refused(let reason) = try sink.setChapters(contents.chapters) {
            refusals.append("chapters: \(reason)")
        }
        if !contents.metadata.isEmpty, case .refused(let reason) = try sink.setMetadata(contents.metadata) {
            refusals.append("metadata: \(reason)")
        }
        self.sink = sink
        return (tracks, refusals)
    }

    func write(_ sample: SampleBuffer) throws(MediaError) { try sink?.write(sample) }

    func write(_ packet: MediaPacket) throws(MediaError) { try sink?.write(packet) }

    func finish() throws(MediaError) -> MediaSink.Summary? {
        defer { sink = nil }
        return try sink?.finish()
    }

    func abort() {
        sink?.abort()
        sink = nil
    }
}
