// SPDX-License-Identifier: GPL-2.0-or-later

internal import AudioCoding
internal import MediaIO
internal import MediaTimeline
internal import MediaTypes
internal import VAToolbox

/// The file and the audio encoders of a writer, on a dedicated thread.
actor AssetFile {
    nonisolated let format: ContainerFormat
    nonisolated let temporaryPath: String?

    private let executor: ThreadExecutor
    private var sink: MediaSink?
    private var sounds: [(encoder: AudioEncoder, track: MediaTrack)] = []

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(path: String, options: MediaSink.Options) async throws(MediaError) {
        let executor = ThreadExecutor(name: "vt-asset")
        self.executor = executor
        // Opening a FIFO waits for its reader.
        let opened = try await PlainThread.result(name: "vt-asset-open") { () throws(MediaError) in
            Opened(sink: try MediaSink(path: path, options: options))
        }
        (format, temporaryPath) = (opened.sink.format, opened.sink.temporaryPath)
        sink = opened.sink
    }

    /// Passes a sink from the thread that opens it.
    private struct Opened: @unchecked Sendable {
        let sink: MediaSink
    }

    func addAudio(
        _ settings: AudioEncoderSettings,
        _ format: AudioFormat
    ) throws(MediaError) -> (track: Int, adjustments: [Adjustment]) {
        let encoder = try AudioEncoder(settings, input: format)
        let track = try MediaTrack(audio: encoder.description)
        try addTrack(track)
        sounds.append((encoder, track))
        return (sounds.count - 1, encoder.adjustments)
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

    func write(_ samples: SampleSequence) async throws(MediaError) {
        var samples = samples.makeAsyncIterator()
        while let sample = try await samples.next(isolation: self) { try open().write(sample) }
    }

    func write(_ packet: MediaPacket) throws(MediaError) { try open().write(packet) }

    func append(_ buffer: AudioBuffer, track: Int) throws(MediaError) {
        let sound = sounds[track]
        try write(sound.encoder.encode(buffer), sound.track)
    }

    func endSound(at time: MediaTime) { for sound in sounds { sound.encoder.end(at: time) } }

    func finishSound() throws(MediaError) -> [SoundPlacement] {
        for sound in sounds { try write(sound.encoder.finish(), sound.track) }
        return sounds.map(\.encoder.placement)
    }

    private func write(_ samples: [AudioSample], _ track: MediaTrack) throws(MediaError) {
        for sample in samples { try open().write(MediaPacket(sample, track: track)) }
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
