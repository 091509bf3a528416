// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
internal import MediaIO
package import MediaTypes
internal import PixelConversion
internal import Synchronization
internal import VAToolbox

/// Executes a ``StreamRequest`` in this process, which does nothing else, so that its memory and processor time are
/// those of the encode, and a crash of the encoder ends only one run.
package struct StreamRunner: Sendable {
    private let request: StreamRequest

    /// Creates a runner.
    package init(_ request: StreamRequest) { self.request = request }

    /// Creates the sessions, loads the pictures into memory of the type that the encoder prefers, and then encodes and
    /// measures.
    ///
    /// - Throws: The error of a session that cannot be created, or of the clip's file. Later errors are in the record.
    package func run() async throws(MediaError) -> StreamRecord {
        let created = try await sessions()
        let sessions = created.map(\.session)
        let pictures = try pictures(for: sessions[0])
        let recorders = created.map { created in
            StreamRecorder(
                frames: request.frames,
                keepsSamples: request.output != nil && created.session === sessions[0],
                creationTime: created.time
            )
        }
        let meters = RunMeters()
        let before = ProcessUsage.now
        let start = monotonicSeconds()
        for recorder in recorders { recorder.start = start }
        let peaks = HelperPeaks()
        await withTaskGroup(of: Void.self) { group in
            for (index, session) in sessions.enumerated() {
                let recorder = recorders[index]
                // Streams of different cameras do not arrive at the same moment.
                let offset = Double(index) / Double(sessions.count) / request.clip.frameRate.value.doubleValue
                group.addTask { await take(session.samples, recorder) }
                group.addTask {
                    await feed(session, pictures, recorder, peaks, meters, start: start + offset)
                }
            }
            await group.waitForAll()
        }
        let after = ProcessUsage.now
        let (gpuBusy, energy) = meters.end()
        let facts = facts(of: sessions[0], fed: pictures.first?.format ?? .i420, recorders[0].samples.first)
        var streams: [StreamRecord.Stream] = []
        for (session, recorder) in zip(sessions, recorders) {
            streams.append(recorder.stream(await session.statistics))
        }
        try write(recorders[0].samples)
        return StreamRecord(
            streams: streams,
            wallTime: recorders.map(\.end).max() ?? 0,
            processorTime: BenchmarkReport.ProcessorTime(
                user: after.time.user - before.time.user,
                system: after.time.system - before.time.system
            ),
            peakMemory: ProcessUsage.peakMemory(of: getpid()).map { own in
                let kept = pictures.reduce(0) { $0 + $1.ownBytes }
                return max(0, own - kept) + peaks.sum
            },
            gpuBusy: gpuBusy,
            energy: energy,
            encoder: facts
        )
    }

    private func sessions() async throws(MediaError) -> [(session: CompressionSession, time: Double)] {
        var sessions: [(CompressionSession, Double)] = []
        for _ in 0..<request.streams {
            let begin = monotonicSeconds()
            let session = try await CompressionSession(configuration: request.configuration, options: request.options)
            sessions.append((session, monotonicSeconds() - begin))
        }
        return sessions
    }

    /// Returns the pictures in memory of the session's pool.
    private func pictures(for session: CompressionSession) throws(MediaError) -> [PixelBuffer] {
        let pool = session.pixelBufferPool
        var description = pool.description
        description.color = request.clip.color.description
        let converter = try PixelConverter(output: description, memory: pool.memory)
        var pictures: [PixelBuffer] = []
        try request.clip.read { (picture, _) throws(MediaError) in
            if picture.format != description.format { return pictures.append(try converter.convert(picture)) }
            let copy = try pool.make(color: description.color)
            try copy.withPlanes { planes throws(MediaError) in try picture.copySamples(to: planes) }
            pictures.append(copy)
        }
        return pictures
    }

    /// Submits every frame, in paced modes when it is due, and ends the stream.
    private func feed(
        _ session: CompressionSession,
        _ pictures: [PixelBuffer],
        _ recorder: StreamRecorder,
        _ peaks: HelperPeaks,
        _ meters: RunMeters,
        start: Double
    ) async {
        let rate = request.clip.frameRate.value
        let isPaced = request.mode != .throughput
        do throws(MediaError) {
            for frame in 0..<request.frames {
                var moment = monotonicSeconds()
                if isPaced {
                    let due = start + Double(frame) / rate.doubleValue
                    if due > moment {
                        do {
                            try await Task.sleep(for: .seconds(due - moment), tolerance: .zero, clock: .continuous)
                        } catch {
                            throw MediaError(.cancelled, "the run was cancelled")
                        }
                    }
                    moment = due
                }
                recorder.handOver(frame, at: moment)
                try await session.encode(
                    pictures[request.clip.loop.index(ofFrame: frame)],
                    presentationTime: MediaTime.frame(frame, at: rate),
                    duration: MediaTime(value: Int64(rate.denominator), timescale: rate.numerator),
                    token: frame
                )
            }
            // The query takes longer with more streams, and all helpers still exist when the first stream ends.
            peaks.once {
                peaks.note()
                meters.note()
            }
            try await session.finish()
        } catch {
            recorder.fail(error)
            session.cancel()
        }
    }

    private func take(_ samples: SampleSequence, _ recorder: StreamRecorder) async {
        do {
            for try await sample in samples { recorder.take(sample) }
        } catch {
            recorder.fail(error)
        }
    }

    private func facts(of session: CompressionSession, fed format: PixelFormat, _ first: SampleBuffer?)
        -> StreamRecord.EncoderFacts
    {
        let encoder = session.encoder
        let adjustments = (session.adjustments + encoder.properties.adjustments).map(\.description)
        return StreamRecord.EncoderFacts(
            name: encoder.properties.name,
            profile: encoder.properties.profile,
            level: encoder.properties.level,
            pixelFormat: format.rawValue,
            isInHelper: encoder.isInHelper,
            options: first.flatMap { $0.data.withUnsafeBytes { EncoderOptionText.settings(in: $0) } },
            adjustments: adjustments
        )
    }

    /// Writes the coded samples, after the measurement is complete.
    private func write(_ samples: [SampleBuffer]) throws(MediaError) {
        guard let output = request.output, !samples.isEmpty else { return }
        var options = MediaSink.Options()
        options.overwrite = true
        options.frameRate = request.clip.frameRate.value
        let sink = try MediaSink(path: output, options: options)
        do throws(MediaError) {
            for sample in samples { try sink.write(sample) }
            _ = try sink.finish()
        } catch {
            sink.abort()
            throw error
        }
    }
}

/// The peak memory of helpers, recorded while they exist.
private final class HelperPeaks: Sendable {
    private let peaks = Mutex<[pid_t: Int]>([:])
    private let wasOnce = Atomic(false)

    /// Calls `body` once; later calls do nothing.
    func once(_ body: () -> Void) {
        if !wasOnce.exchange(true, ordering: .relaxed) { body() }
    }

    func note() {
        for child in ProcessUsage.children {
            guard let peak = ProcessUsage.peakMemory(of: child) else { continue }
            peaks.withLock { $0[child] = max(peak, $0[child] ?? 0) }
        }
    }

    /// The sum of all helpers in bytes.
    var sum: Int { peaks.withLock { $0.values.reduce(0, +) } }
}

extension MediaTime {
    /// Returns the presentation time of a frame with a constant frame rate.
    static func frame(_ number: Int, at rate: Rational) -> MediaTime {
        MediaTime(value: Int64(number) * Int64(rate.denominator), timescale: rate.numerator)
    }
}

extension PixelBuffer {
    /// The approximate number of bytes that it adds to this process's own memory.
    fileprivate var ownBytes: Int {
        switch storage {
        case .owned: width * height * 3 / 2 * format.bytesPerSample
        default: 0
        }
    }
}
