// SPDX-License-Identifier: GPL-2.0-or-later

import Logging
import MediaIO
import MediaTypes
import VAToolbox

/// Reads a source on a dedicated thread.
actor MediaReader {
    private let executor = ThreadExecutor(name: "vt-reader")
    private var source: MediaSource?
    /// The error to throw after the events that were returned.
    private var failure: MediaError?

    /// The maximum number of events that are returned at a time.
    private static let most = 16

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// The properties of a source that are known before the first frame.
    struct Contents: Sendable {
        var video: VideoTrack
        var tracks: [MediaTrack]
        var chapters: [Chapter]
        var metadata: [String: String]
        var ignoredStreams: [IgnoredStream]
    }

    func open(
        _ path: String,
        _ options: MediaSource.Options,
        _ logger: Logger?,
        _ cancellation: Cancellation
    ) throws(MediaError) -> Contents {
        let source = try MediaSource(path: path, options: options, logger: logger, cancellation: cancellation)
        self.source = source
        return Contents(
            video: source.video,
            tracks: source.tracks,
            chapters: source.chapters,
            metadata: source.metadata,
            ignoredStreams: source.ignoredStreams
        )
    }

    /// Returns the next events; none at the end. Several are returned if pictures stay in their file: nothing is read
    /// then, and a thread switch for each of them would take longer than everything else.
    func next() throws(MediaError) -> [MediaSource.Event] {
        if let failure = failure.take() { throw failure }
        var events: [MediaSource.Event] = []
        do throws(MediaError) {
            while events.count < Self.most, let event = try source?.next() {
                events.append(event)
                guard event.isInFile else { break }
            }
        } catch {
            if events.isEmpty { throw error }
            failure = error
        }
        return events
    }

    func endInput() {
        failure = nil
        source?.endInput()
    }

    func leavePicturesInFile() { source?.leavePicturesInFile() }

    var problems: SourceProblems { source?.problems ?? SourceProblems() }

    func close() { source = nil }
}

/// Writes a sink on a dedicated thread.
actor MediaWriter {
    private let executor = ThreadExecutor(name: "vt-writer")
    private var sink: MediaSink?

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// Opens the output and adds the copied tracks and metadata.
    ///
    /// - Returns: The tracks that the container accepts, and a line for each item that it does not.
    func open(
        _ path: String,
        _ options: MediaSink.Options,
        _ logger: Logger?,
        _ cancellation: Cancellation,
        _ abandonment: Cancellation,
        copying contents: MediaReader.Contents
    ) throws(MediaError) -> (tracks: Set<Int>, refusals: [String]) {
        let sink = try MediaSink(
            path: path,
            options: options,
            logger: logger,
            cancellation: cancellation,
            abandonment: abandonment
        )
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

    /// Writes samples as they arrive, until the sequence ends.
    ///
    /// - Parameter note: Called for each sample that is written.
    func write(_ samples: SampleSequence, note: @Sendable (SampleBuffer) -> Void) async throws(MediaError) {
        var samples = samples.makeAsyncIterator()
        while let sample = try await samples.next(isolation: self) {
            try sink?.write(sample)
            note(sample)
        }
    }

    func write(_ packet: MediaPacket) throws(MediaError) { try sink?.write(packet) }

    /// Repeats parameter sets in front of every key frame, from the first sample on.
    func repeatParameterSets() { sink?.repeatsParameterSets = true }

    func finish() throws(MediaError) -> MediaSink.Summary? {
        defer { sink = nil }
        return try sink?.finish()
    }

    func abort() {
        sink?.abort()
        sink = nil
    }
}

extension MediaSource.Event {
    /// Whether it is a picture with samples in its file.
    fileprivate var isInFile: Bool {
        guard case .frame(let frame) = self, case .file = frame.buffer.storage else { return false }
        return true
    }
}
