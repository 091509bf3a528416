// SPDX-License-Identifier: GPL-2.0-or-later

import AudioCoding
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
        /// The format for another decoder than libavcodec in this process, or why there is none; `nil` if none is wanted.
        var format: Result<FormatDescription, MediaError>?
        /// The loudness of the audio tracks, as far as outputs need it.
        var levels: SoundLevels?

        /// Removes a timecode that does not fit the output.
        ///
        /// - Parameter startsLater: Whether the output begins with a later picture than the input.
        /// - Returns: What the output lacks.
        mutating func dropTimecode(if startsLater: Bool) -> [String] {
            guard startsLater, metadata.removeValue(forKey: "timecode") != nil else { return [] }
            return ["the timecode, which is that of the input's first picture"]
        }
    }

    func open(
        _ path: String,
        _ options: MediaSource.Options,
        _ logger: Logger?,
        _ cancellation: Cancellation
    ) throws(MediaError) -> Contents {
        let source = try MediaSource(path: path, options: options, logger: logger, cancellation: cancellation)
        self.source = source
        var contents = Contents(
            video: source.video,
            tracks: source.tracks,
            chapters: source.chapters,
            metadata: source.metadata,
            ignoredStreams: source.ignoredStreams
        )
        guard options.allowsOtherDecoder else { return contents }
        do throws(MediaError) {
            contents.format = .success(try source.formatForOtherDecoder())
        } catch {
            contents.format = .failure(error)
        }
        return contents
    }

    /// Decodes with another decoder from the first picture on; before ``next()``.
    func decode(with factory: any DecoderFactory) throws(MediaError) { try source?.decode(with: factory) }

    /// Returns the next events; none at the end. Several are returned if pictures stay in their file or on a GPU and
    /// nothing has to be waited for: a thread switch for each of them would take longer than everything else.
    func next() throws(MediaError) -> [MediaSource.Event] {
        if let failure = failure.take() { throw failure }
        var events: [MediaSource.Event] = []
        do throws(MediaError) {
            while events.count < Self.most, let event = try source?.next() {
                events.append(event)
                guard event.isInFile || event.isOnDevice && source?.hasWaitingPictures == true else { break }
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

    /// Reads nothing but some tracks from now on.
    func readOnly(tracks: Set<Int>) { source?.readOnly(tracks: tracks) }

    /// Reads the pictures without decoding them; nothing else can be read after that.
    ///
    /// - Parameter note: Called with the number of bytes of each packet.
    func readFrameIndex(note: @Sendable (Int) -> Void) throws(MediaError) -> FrameIndex? {
        try source?.readFrameIndex(note: note)
    }

    func leavePicturesInFile() { source?.leavePicturesInFile() }

    var problems: SourceProblems { source?.problems ?? SourceProblems() }

    func close() { source = nil }
}

/// Writes a sink on a dedicated thread.
actor MediaWriter {
    private let executor = ThreadExecutor(name: "vt-writer")
    /// What is written, while it is written.
    nonisolated let written = WrittenBytes()
    private var sink: (any OutputSink)?
    /// Whether ``write(_:_:note:)`` has ended because the output is to be encoded again.
    private(set) var hasRefusedChange = false

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// The tracks of an output beside the video.
    struct Tracks: Sendable {
        /// The indices of the tracks that are copied.
        var copied: Set<Int> = []
        /// The tracks that are encoded again, by the index of the input's track.
        var converted: [Int: AudioConverter] = [:]
        /// The audio tracks.
        var audio: [AudioOutcome] = []
        /// A line for each item that the output lacks.
        var refusals: [String] = []
        var adjustments: [Adjustment] = []

        /// The converters, in the order of the input's tracks.
        var converters: [AudioConverter] { converted.sorted { $0.key < $1.key }.map(\.value) }
    }

    /// Where an output goes.
    enum Destination: Sendable {
        /// To a file, a pipe or a device.
        case file(path: String, MediaSink.Options)
        /// To a presentation, as the variant with this number and name.
        case stream(StreamFolder, number: Int, name: String, SegmentSink.Options)
    }

    /// What is to be written besides the video.
    struct Plan: Sendable {
        var contents: MediaReader.Contents
        var audio: AudioSettings
        /// The time at which encoded sound is cut.
        var end: MediaTime?
        var logger: Logger?

        /// The normalization of a track, if it was requested.
        func loudness(of track: MediaTrack, _ settings: AudioEncoderSettings) -> LoudnessOutcome? {
            guard let target = audio.loudness, let layout = track.audio?.decodedFormat?.layout,
                let measured = contents.levels?[
                    .init(track: track.index, layout: settings.outputLayout(for: layout))
                ]
            else { return nil }
            return LoudnessOutcome(target, measured)
        }
    }

    /// Opens the output and adds tracks and metadata.
    func open(
        _ destination: Destination,
        _ plan: Plan,
        _ cancellation: Cancellation,
        _ abandonment: Cancellation
    ) throws(MediaError) -> Tracks {
        let selected = try plan.audio.selection(of: plan.contents.tracks)
        let sink: any OutputSink =
            switch destination {
            case .file(let path, let options):
                try MediaSink(
                    path: path,
                    options: options,
                    logger: plan.logger,
                    cancellation: cancellation,
                    abandonment: abandonment
                )
            case .stream(let folder, let number, let name, let options):
                try SegmentSink(options: options, logger: plan.logger) { (segment) throws(MediaError) in
                    try folder.store(segment, output: number, name: name)
                }
            }
        var tracks = Tracks()
        for track in selected {
            if track.kind == .audio, case .encode(let settings) = plan.audio.rule {
                try add(track, settings, to: sink, &tracks, plan)
            } else {
                try copy(track, to: sink, &tracks, plan)
            }
        }
        let contents = plan.contents
        if !contents.chapters.isEmpty, case .refused(let reason) = try sink.setChapters(contents.chapters) {
            tracks.refusals.append("chapters: \(reason)")
        }
        if !contents.metadata.isEmpty, case .refused(let reason) = try sink.setMetadata(contents.metadata) {
            tracks.refusals.append("metadata: \(reason)")
        }
        (sink as? MediaSink)?.writtenBytes = written
        self.sink = sink
        return tracks
    }

    /// Adds a track that is copied or, if the container does not support it, encoded or omitted.
    private func copy(
        _ track: MediaTrack,
        to sink: any OutputSink,
        _ tracks: inout Tracks,
        _ plan: Plan
    ) throws(MediaError) {
        guard case .refused(let reason) = try sink.addTrack(track) else {
            tracks.copied.insert(track.index)
            if let audio = track.audio {
                tracks.audio.append(
                    AudioOutcome(index: track.index, inputCodec: track.codecName, output: audio, isEncoded: false)
                )
            }
            return
        }
        let refusal = "\(track.kind.rawValue) track \(track.index): \(reason)"
        guard track.kind == .audio, plan.audio.rule == .automatic, sink.takesAudio else {
            tracks.refusals.append(refusal)
            return
        }
        do {
            try add(track, AudioEncoderSettings(.aac), to: sink, &tracks, plan)
            tracks.adjustments.append(
                Adjustment(
                    property: "audio track \(track.index)",
                    requested: track.codecName,
                    used: AudioCodec.aac.rawValue,
                    reason: reason
                )
            )
        } catch {
            tracks.refusals.append("\(refusal), and it cannot be encoded: \(error.readable)")
        }
    }

    /// Adds a track that is encoded.
    private func add(
        _ track: MediaTrack,
        _ settings: AudioEncoderSettings,
        to sink: any OutputSink,
        _ tracks: inout Tracks,
        _ plan: Plan
    ) throws(MediaError) {
        var settings = settings
        let loudness = plan.loudness(of: track, settings)
        if let gain = loudness?.gain { settings.gain = gain }
        let converter = try AudioConverter(track, settings, loudness: loudness, end: plan.end, logger: plan.logger)
        if case .refused(let reason) = try sink.addTrack(converter.output) {
            throw MediaError(
                .invalidArgument,
                reason,
                given: settings.codec.rawValue,
                allowed: "a codec that the container supports, or no audio"
            )
        }
        tracks.converted[track.index] = converter
        tracks.audio.append(converter.outcome)
        tracks.adjustments += converter.settingAdjustments
    }

    /// Writes samples as they arrive, until the sequence ends.
    ///
    /// - Parameters:
    ///   - change: What to do if the parameter sets change.
    ///   - note: Called for each sample that is written.
    /// - Throws: `unsupported` if they change and the output is to be encoded again; errors of the session and the sink.
    func write(
        _ samples: SampleSequence,
        _ change: EncoderChange,
        note: @Sendable (SampleBuffer) -> Void
    ) async throws(MediaError) {
        var samples = samples.makeAsyncIterator()
        var first: FormatDescription?
        while let sample = try await samples.next(isolation: self) {
            let described = first ?? sample.formatDescription
            first = described
            if change == .restarts, described !== sample.formatDescription,
                described.parameterSets != sample.formatDescription.parameterSets
            {
                hasRefusedChange = true
                throw MediaError(
                    .unsupported,
                    "another encoder took over at \(sample.presentationTime.seconds) s, with other parameter sets"
                )
            }
            try sink?.write(sample)
            note(sample)
        }
    }

    func write(_ packet: MediaPacket) throws(MediaError) { try sink?.write(packet) }

    func write(_ sample: SampleBuffer) throws(MediaError) { try sink?.write(sample) }

    /// Prepares for an encoder that may be replaced by one with other parameter sets.
    func prepareForSwitches() { sink?.prepareForSwitches() }

    /// Writes everything that is missing.
    ///
    /// - Returns: The path from which the file can be read until it is finished; `nil` if it is not a regular file.
    func complete() throws(MediaError) -> String? {
        try sink?.complete()
        return sink?.temporaryPath
    }

    func finish() throws(MediaError) -> MediaSink.Summary? {
        defer { sink = nil }
        return try sink?.finish()
    }

    func abort() {
        sink?.abort()
        sink = nil
    }
}

extension IgnoredStream {
    /// A line for what the output lacks.
    var omission: String { "\(kind) stream \(index): \(reason)" }
}

extension OutputRequest {
    /// Where the output goes if it is no variant of a presentation.
    func destination(
        input: String,
        _ video: VideoTrack,
        _ configuration: EncoderConfiguration
    ) -> MediaWriter.Destination {
        var options = sink
        options.inputPaths.append(input)
        options.frameRate = configuration.isFrameRateVariable ? nil : configuration.frameRate
        (options.language, options.title) = (video.language, video.title)
        return .file(path: path, options)
    }
}

extension MediaSource.Event {
    /// Whether it is a picture with samples on a GPU.
    fileprivate var isOnDevice: Bool {
        guard case .frame(let frame) = self, case .deviceSurface = frame.buffer.storage else { return false }
        return true
    }

    /// Whether it is a picture with samples in its file.
    fileprivate var isInFile: Bool {
        guard case .frame(let frame) = self, case .file = frame.buffer.storage else { return false }
        return true
    }
}
