// SPDX-License-Identifier: GPL-2.0-or-later

internal import AudioCoding
internal import Logging
internal import MediaIO
internal import MediaTimeline
internal import MediaTypes
internal import Synchronization
internal import VAToolbox

/// The file and the audio encoders of a writer, on a dedicated thread.
actor AssetFile {
    nonisolated let format: ContainerFormat
    nonisolated let temporaryPath: String?

    private let executor: ThreadExecutor
    /// The end of the latest picture that was passed to the muxer.
    private nonisolated let written = Mutex(MediaTime.zero)
    private let logger: Logger?
    private nonisolated let abandonment: Cancellation
    private var sink: MediaSink?
    private var audios: [(encoder: AudioEncoder, track: MediaTrack)] = []

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(path: String, options: MediaSink.Options, logger: Logger?) async throws(MediaError) {
        let executor = ThreadExecutor(name: "vt-asset")
        self.executor = executor
        let abandonment = Cancellation()
        self.abandonment = abandonment
        // Opening a FIFO waits for its reader.
        let opening = await withTaskCancellationHandler {
            await Self.open(path, options, logger, abandonment)
        } onCancel: {
            abandonment.cancel()
        }
        let opened = try opening.get()
        (format, temporaryPath) = (opened.sink.format, opened.sink.temporaryPath)
        sink = opened.sink
        self.logger = logger
    }

    private static func open(
        _ path: String,
        _ options: MediaSink.Options,
        _ logger: Logger?,
        _ abandonment: Cancellation
    ) async -> Result<Opened, MediaError> {
        do throws(MediaError) {
            let opened = try await PlainThread.result(name: "vt-asset-open") { () throws(MediaError) in
                Opened(
                    sink: try MediaSink(
                        path: path,
                        options: options,
                        logger: logger,
                        cancellation: abandonment,
                        abandonment: abandonment
                    )
                )
            }
            return .success(opened)
        } catch {
            return .failure(error)
        }
    }

    nonisolated var recordedDuration: MediaTime { written.withLock { $0 } }

    /// Ends every wait for the reader of the output, from any thread.
    nonisolated func abandon() { abandonment.cancel() }

    func repeatParameterSets() { sink?.repeatsParameterSets = true }

    /// Passes a sink from the thread that opens it.
    private struct Opened: @unchecked Sendable {
        let sink: MediaSink
    }

    func addAudio(
        _ settings: AudioEncoderSettings,
        _ format: AudioFormat,
        _ policy: AudioPlacement.Policy
    ) throws(MediaError) -> (track: Int, adjustments: [Adjustment]) {
        let encoder = try AudioEncoder(settings, input: format, policy: policy, logger: logger)
        let track = try MediaTrack(audio: encoder.description)
        try addTrack(track)
        audios.append((encoder, track))
        return (audios.count - 1, encoder.adjustments)
    }

    func addTrack(_ track: MediaTrack) throws(MediaError) {
        guard case .refused(let reason) = try open().addTrack(track) else { return }
        throw MediaError(
            .invalidArgument,
            reason,
            given: track.codecName,
            allowed: "a codec that the container supports"
        )
    }

    func setMetadata(_ metadata: [String: String]) throws(MediaError) -> MediaSink.Acceptance {
        try open().setMetadata(metadata)
    }

    func write(_ samples: SampleSequence) async throws(MediaError) {
        var samples = samples.makeAsyncIterator()
        while let sample = try await samples.next(isolation: self) {
            try open().write(sample)
            let end = sample.presentationTime + (sample.duration.isValid ? sample.duration : .zero)
            written.withLock { $0 = max($0, end) }
        }
    }

    func write(_ packet: MediaPacket) throws(MediaError) { try open().write(packet) }

    func append(_ buffer: AudioBuffer, track: Int) throws(MediaError) {
        let audio = audios[track]
        try audio.encoder.send(buffer)
        try writeAll(of: audio)
    }

    func endAudio(at time: MediaTime) { for audio in audios { audio.encoder.end(at: time) } }

    func finishAudio() throws(MediaError) -> [AudioPlacement] {
        for audio in audios {
            audio.encoder.sendEnd()
            try writeAll(of: audio)
        }
        return audios.map(\.encoder.placement)
    }

    /// Writes samples one by one, because there are many after a long gap.
    private func writeAll(of audio: (encoder: AudioEncoder, track: MediaTrack)) throws(MediaError) {
        while let sample = try audio.encoder.receive() {
            try open().write(MediaPacket(sample, track: audio.track))
            if abandonment.isCancelled { throw MediaError(.cancelled, "the writer was cancelled") }
        }
    }

    func finish() throws(MediaError) -> MediaSink.Summary {
        let sink = try open()
        self.sink = nil
        return try sink.finish()
    }

    func abort() {
        sink?.abort()
        sink = nil
    }

    private func open() throws(MediaError) -> MediaSink {
        guard let sink else { throw MediaError(.invalidState, "the file is closed") }
        return sink
    }
}
