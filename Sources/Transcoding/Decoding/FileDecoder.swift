// SPDX-License-Identifier: GPL-2.0-or-later

import Logging
import MediaIO
public import MediaTypes
import Synchronization
import VAToolbox

/// Decodes the main video of a file with a ``VAToolbox/DecompressionSession``. Each instance can run once.
public final class FileDecoder: Sendable {
    private let request: DecodeRequest
    private let reader = SampleReader()
    private let writer = PictureWriter()
    private let cancellation = Cancellation()
    private let abandonment = Cancellation()
    private let state = Mutex(State())

    private struct State {
        var hasStarted = false
        var progress = DecodeProgress()
        /// Whether the output takes no further picture.
        var isComplete = false
    }

    /// The frame rate of YUV4MPEG2 if the input states none.
    private static let assumedFrameRate = Rational(25)

    /// Makes a decoder of a file.
    public init(_ request: DecodeRequest) { self.request = request }

    /// The present progress. Safe on any thread.
    public var progress: DecodeProgress { state.withLock { $0.progress } }

    /// Ends the reading as if the input ended here; the output is complete. Safe on any thread, at any time.
    public func stop() { cancellation.cancel() }

    /// Decodes. If the calling task is cancelled, it ends with `cancelled` and leaves no output.
    ///
    /// - Throws: The first error of the input, the decoders or the output; then there is no file with the output's name.
    ///   In particular `unsupported` if the main video is neither H.264 nor HEVC; `invalidArgument` if the output is the
    ///   input, or exists and may not be replaced; `malformedData` if the input is no media file; `invalidState` for a
    ///   second run.
    public func run() async throws(MediaError) -> DecodeReport {
        let isFirst = state.withLock { state in
            defer { state.hasStarted = true }
            return !state.hasStarted
        }
        guard isFirst else { throw MediaError(.invalidState, "a decoder of a file can run only once") }
        let outcome = await withTaskCancellationHandler {
            await result()
        } onCancel: {
            abandonment.cancel()
            cancellation.cancel()
        }
        await reader.close()
        await writer.close()
        return try outcome.get()
    }

    private func result() async -> Result<DecodeReport, MediaError> {
        do throws(MediaError) { return .success(try await decode()) } catch { return .failure(error) }
    }

    private func decode() async throws(MediaError) -> DecodeReport {
        let contents = try await reader.open(request.input, request.sourceOptions, request.options.logger, cancellation)
        state.withLock { $0.progress.expectedDuration = contents.duration }
        let frameRate = contents.frameRate ?? Self.assumedFrameRate
        var options = request.options
        options.start = .zero
        let session = try await DecompressionSession(formatDescription: contents.format, options: options)
        try await writer.open(request, contents, frameRate: frameRate, cancellation, abandonment)
        let consumer = Task { [frames = session.frames] in await self.consume(frames) }
        let events = Task { [events = session.events] in
            var failures: [MediaError] = []
            for await event in events { if case .decoderFailed(_, let error, _) = event { failures.append(error) } }
            return failures
        }
        do throws(MediaError) {
            try await feed(session)
            try await session.finish()
        } catch {
            session.cancel()
            // An error of the consumer has cancelled the session.
            throw await consumer.value.error ?? error
        }
        let consumed = await consumer.value
        if let error = consumed.error { throw error }
        if abandonment.isCancelled { throw MediaError(.cancelled, "decoding was cancelled") }
        let wasStopped = await reader.wasStopped
        guard consumed.pictures > 0 || wasStopped else { throw await noPictureError() }
        let byteCount = try await writer.finish()
        return DecodeReport(
            inputFormat: contents.formatName,
            format: contents.format,
            decoder: await session.decoder,
            pixelFormat: consumed.pixelFormat,
            pictures: consumed.pictures,
            damagedPictures: consumed.damaged,
            duration: consumed.end,
            byteCount: byteCount,
            samples: await writer.samples,
            assumedMatrix: await writer.assumedMatrix,
            assumedFrameRate: request.isY4M && contents.frameRate == nil ? frameRate : nil,
            statistics: await session.statistics,
            failures: await events.value,
            problems: await reader.problems,
            wasStopped: wasStopped
        )
    }

    /// Submits every sample until the output is complete; those after the end of the part are decoded only if others refer
    /// to them.
    private func feed(_ session: DecompressionSession) async throws(MediaError) {
        while true {
            let samples = try await reader.next()
            if samples.isEmpty { return }
            for sample in samples {
                if state.withLock({ $0.isComplete }) { return }
                let time = sample.presentationTime
                let isShown = request.duration.map { !time.isValid || time < $0 } ?? true
                try await session.decode(sample, isShown: isShown, token: sample.formatDescription)
            }
        }
    }

    /// What the consumer of the frames has seen.
    private struct Consumed: Sendable {
        var pictures = 0
        var damaged = 0
        var end = MediaTime.zero
        var pixelFormat: PixelFormat?
        var error: MediaError?
    }

    private func consume(_ frames: FrameSequence) async -> Consumed {
        var consumed = Consumed()
        do throws(MediaError) {
            for try await frame in frames {
                if state.withLock({ $0.isComplete }) { continue }
                let isComplete = try await writer.write(frame)
                consumed.pictures += 1
                if frame.isDamaged { consumed.damaged += 1 }
                consumed.pixelFormat = consumed.pixelFormat ?? frame.buffer.format
                let end = frame.presentationTime + (frame.duration.isValid ? frame.duration : .zero)
                if end.isValid { consumed.end = max(consumed.end, end) }
                let (count, time) = (consumed.pictures, frame.presentationTime)
                state.withLock { state in
                    state.isComplete = isComplete
                    state.progress.pictures = count
                    if time.isValid { state.progress.time = time }
                }
            }
        } catch {
            consumed.error = error
        }
        return consumed
    }

    private func noPictureError() async -> MediaError {
        let first = await reader.problems.descriptions.first
        return MediaError(
            .malformedData,
            "no picture could be decoded" + (first.map { ": \($0)" } ?? ""),
            given: request.input
        )
    }
}

extension DecodeRequest {
    fileprivate var isY4M: Bool {
        if case .y4m = output { true } else { false }
    }
}

/// What is known about an input when it is open.
private struct Contents: Sendable {
    var format: FormatDescription
    var formatName: String
    var duration: MediaTime?
    var frameRate: Rational?
    var orientation: Orientation
}

/// Reads samples on a dedicated thread.
private actor SampleReader {
    private let executor = ThreadExecutor(name: "vt-reader")
    private var source: SampleSource?
    private(set) var wasStopped = false

    /// The maximum number of samples that are returned at a time.
    private static let most = 8

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    func open(
        _ path: String,
        _ options: PacketSource.Options,
        _ logger: Logger?,
        _ cancellation: Cancellation
    ) throws(MediaError) -> Contents {
        let source = try SampleSource(path: path, options: options, logger: logger, cancellation: cancellation)
        self.source = source
        return Contents(
            format: source.formatDescription,
            formatName: source.formatName,
            duration: source.expectedDuration,
            frameRate: source.frameRate,
            orientation: source.orientation
        )
    }

    /// Returns the next samples; none at the end, and after a cancellation.
    func next() throws(MediaError) -> [SampleBuffer] {
        var samples: [SampleBuffer] = []
        do throws(MediaError) {
            while samples.count < Self.most, let sample = try source?.next() { samples.append(sample) }
        } catch {
            guard error.code == .cancelled else { throw error }
            wasStopped = true
        }
        return samples
    }

    var problems: SourceProblems { source?.problems ?? SourceProblems() }

    func close() { source = nil }
}

/// Writes pictures on a dedicated thread.
private actor PictureWriter {
    private let executor = ThreadExecutor(name: "vt-writer")
    private var output: (any PictureOutput)?
    private(set) var samples: String?
    private(set) var assumedMatrix: ColorDescription.Matrix?

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    func open(
        _ request: DecodeRequest,
        _ contents: Contents,
        frameRate: Rational,
        _ cancellation: Cancellation,
        _ abandonment: Cancellation
    ) throws(MediaError) {
        switch request.output {
        case .discarded: break
        case .y4m(let path, let overwrite):
            output = try Y4MWriter(
                path: path,
                frameRate: frameRate,
                overwrite: overwrite,
                inputPath: request.input,
                cancellation: cancellation,
                abandonment: abandonment
            )
        case .png(let path, let overwrite):
            output = try PNGWriter(
                try FileNamePattern(path),
                orientation: contents.orientation,
                overwrite: overwrite,
                inputPath: request.input,
                cancellation: cancellation,
                abandonment: abandonment,
                logger: request.options.logger
            )
        }
    }

    /// - Returns: Whether the output takes no further frame.
    func write(_ frame: DecodedFrame) throws(MediaError) -> Bool {
        guard let output, let format = frame.token as? FormatDescription else { return false }
        try output.write(frame.buffer, of: format)
        return output.isComplete
    }

    /// - Returns: The size of the output in bytes; 0 if there is none.
    func finish() throws(MediaError) -> Int64 {
        defer { output = nil }
        guard let output else { return 0 }
        let size = try output.finish()
        if let png = output as? PNGWriter { (samples, assumedMatrix) = (png.samples, png.assumedMatrix) }
        return size
    }

    /// Without ``finish()``, no file is left.
    func close() { output = nil }
}
