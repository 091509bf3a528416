// SPDX-License-Identifier: GPL-2.0-or-later

import AudioCoding
import BitstreamSyntax
import Logging
import MediaIO
import MediaTimeline
import MediaTypes
import StreamingPlaylists
import Synchronization
import VAToolbox

/// One output of a transcode: its session, its audio encoders and its file.
///
/// Events of the source go in, and a report comes out. After an error, the pipeline only cleans up.
actor OutputPipeline {
    /// What the outputs of a transcode have in common.
    struct Context: Sendable {
        var input: String
        /// The duration of the part that is read, where sound is cut.
        var duration: MediaTime?
        var startsLater: Bool
        var isPaced: Bool
        var logger: Logger?
        /// Ends reading, and the wait for a reader of the output.
        var cancellation: Cancellation
        /// Whether the transcode was stopped as if the input ended.
        var isStopped: @Sendable () -> Bool
        /// The presentation of which the outputs are variants; `nil` for files.
        var stream: StreamOptions?
    }

    /// What is known before the first frame.
    private struct Setup {
        var video: VideoTrack
        var configuration: EncoderConfiguration
        var tracks: TrackWriter
        var session: CompressionSession
        var lost: [Adjustment]
        var omissions: [String]
        /// How the quality was found.
        var quality: QualityReport?
        var events: Task<([Adjustment], [EncoderSwitch]), Never>
        var drain: Task<MediaError?, Never>

        /// Whether pictures are encoded as a whole and without bars.
        var keepsShape: Bool {
            let (own, other) = (video.width * configuration.height, video.height * configuration.width)
            return configuration.scaling == .stretch || abs(own - other) * 50 <= max(own, other)
        }
    }

    nonisolated let request: OutputRequest
    /// The number of the output in the request.
    private let number: Int
    private let context: Context
    private let notify: @Sendable (Transcoder.Notice) -> Void
    /// Called when the output cannot be written any more.
    private let failed: @Sendable () -> Void
    private let writer = MediaWriter()
    /// Ends writing.
    private nonisolated let abandonment = Cancellation()
    private nonisolated let state = Mutex(TranscodeProgress())
    private var setup: Setup?
    private var rateConverter: FrameRateConverter?
    private var pace: Pace?
    /// The pictures that must be key frames, if there are segments.
    private var grid: SegmentGrid?
    /// Whether any picture had captions.
    private var hasCaptions = false
    private var peakFrameRate = PeakFrameRate()
    /// The presentation times of the samples, if the output is verified.
    private nonisolated let times = Mutex<[MediaTime]>([])
    /// Small versions of the pictures, if the output is verified.
    private var signatures: [MediaTime: PictureSignature] = [:]
    /// Pictures of the input, if a PSNR is measured.
    private var references: VerificationPictures?
    /// When encoding began, and when the last sample was written.
    private var encodingStart = SuspendingClock.Instant.now
    private var encodingEnd: SuspendingClock.Instant?

    init(
        _ request: OutputRequest,
        number: Int,
        _ context: Context,
        failed: @escaping @Sendable () -> Void,
        notify: @escaping @Sendable (Transcoder.Notice) -> Void
    ) {
        self.request = request
        self.number = number
        self.context = context
        self.failed = failed
        self.notify = notify
        rateConverter = request.video.frameRate.map { FrameRateConverter(frameRate: $0) }
        pace = context.isPaced ? Pace() : nil
    }

    nonisolated var progress: TranscodeProgress {
        var progress = state.withLock { $0 }
        progress.bytesWritten = writer.written.count
        return progress
    }

    /// Ends every wait for other processes, from any thread.
    nonisolated func abandon() { abandonment.cancel() }

    // MARK: - Start

    /// Opens the output and creates the session.
    ///
    /// - Parameters:
    ///   - plan: The helper processes that the encoder may share with the decoder.
    ///   - folder: The presentation, if the outputs are its variants.
    ///   - quality: The quality that reaches the target of the output, if it has one.
    func prepare(
        _ contents: MediaReader.Contents,
        _ plan: DecoderPlan,
        folder: StreamFolder?,
        quality: QualityReport?
    ) async throws(MediaError) {
        var contents = contents
        let lostContents = contents.video.lostMetadata + contents.dropTimecode(if: context.startsLater)
        var (configuration, lostByVideo) = request.video.configuration(for: contents.video)
        if let whole = request.configurationOfWhole {
            configuration = whole
            (contents.tracks, contents.chapters, contents.metadata) = ([], [], [:])
        }
        if let quality {
            configuration.rateControl = configuration.rateControl.with(quality: quality.chosen.quality)
            lostByVideo += [quality.shortfall].compactMap(\.self)
        }
        let (_, cut) = try request.video.regions(in: contents.video)
        let lost = lostByVideo + cut
        if request.leastPSNR != nil || request.isVerified && request.measuredMetric != nil {
            references = VerificationPictures(configuration)
        }
        let tracks = try await openOutput(contents, configuration, folder)
        let omissions = tracks.refusals + contents.ignoredStreams.map(\.omission) + lostContents
        let session = try await makeSession(configuration, plan)
        // x264 is only ever replaced by itself, and on purpose.
        if session.encoder.identity.isHardware { await writer.prepareForSwitches() }
        notify(.started(contents.video, session.encoder))
        omissions.forEach { notify(.omission($0)) }
        (lost + tracks.adjustments).forEach { notify(.session(.adjusted($0))) }
        state.withLock {
            $0.expectedDuration = contents.video.duration
            $0.expectedFrames = request.video.frameRate == nil ? contents.video.estimatedFrameCount : nil
        }
        state.withLock { $0.device = session.encoder.identity.device }
        encodingStart = .now
        setup = Setup(
            video: contents.video,
            configuration: configuration,
            tracks: TrackWriter(tracks, writer),
            session: session,
            lost: lost,
            omissions: omissions,
            quality: quality,
            events: follow(session),
            drain: Task { await self.drain(session) }
        )
    }

    private func makeSession(
        _ configuration: EncoderConfiguration,
        _ plan: DecoderPlan
    ) async throws(MediaError) -> CompressionSession {
        var options = request.session
        plan.apply(to: &options)
        options.logger = options.logger ?? context.logger
        options.devices.verifier = options.devices.verifier ?? DecodingVerifier(logger: context.logger)
        return try await CompressionSession(configuration: configuration, options: options)
    }

    /// Forwards the events of a session until it ends, and collects those for the report.
    private nonisolated func follow(_ session: CompressionSession) -> Task<([Adjustment], [EncoderSwitch]), Never> {
        Task { [notify, events = session.events] in
            var (adjustments, switches): ([Adjustment], [EncoderSwitch]) = ([], [])
            for await event in events {
                if case .adjusted(let adjustment) = event { adjustments.append(adjustment) }
                if case .encoderSwitched(let change) = event {
                    switches.append(change)
                    state.withLock { $0.device = change.to.device }
                }
                notify(.session(event))
            }
            return (adjustments, switches)
        }
    }

    /// Writes samples until there are none, or writing fails.
    private nonisolated func drain(_ session: CompressionSession) async -> MediaError? {
        do throws(MediaError) {
            try await writer.write(session.samples, request.encoderChange) { sample in
                state.withLock {
                    $0.framesOut += 1
                    $0.bytesOut += sample.data.count
                }
                if request.isVerified { times.withLock { $0.append(sample.presentationTime) } }
            }
            return nil
        } catch {
            session.cancel()
            abandon()
            failed()
            return error
        }
    }

    /// Whether the output is to be encoded again, because its encoder was replaced.
    var mustRestart: Bool { get async { await writer.hasRefusedChange } }

    /// The error with which writing has failed, if it has.
    var writingError: MediaError? {
        get async {
            guard let setup else { return nil }
            setup.session.cancel()
            let error = await setup.drain.value
            return error?.code == .cancelled ? nil : error
        }
    }

    private func openOutput(
        _ contents: MediaReader.Contents,
        _ configuration: EncoderConfiguration,
        _ folder: StreamFolder?
    ) async throws(MediaError) -> MediaWriter.Tracks {
        let frameRate = configuration.isFrameRateVariable ? nil : configuration.frameRate
        let plan = MediaWriter.Plan(
            contents: contents,
            // The variants of a presentation share the audio of the first one.
            audio: folder != nil && number > 0 ? AudioSettings(rule: .omit) : request.audio,
            end: context.duration,
            logger: context.logger
        )
        let destination: MediaWriter.Destination
        if let folder, let stream = context.stream {
            var options = SegmentSink.Options(format: stream.format, duration: stream.segmentDuration)
            options.frameRate = frameRate
            (options.language, options.title) = (contents.video.language, contents.video.title)
            grid = SegmentGrid(
                duration: stream.segmentDuration,
                keyFrames: stream.keyFrameDuration,
                frameRate: frameRate
            )
            destination = .stream(folder, number: number, name: request.path, options)
        } else {
            destination = request.destination(input: context.input, contents.video, configuration)
        }
        return try await writer.open(destination, plan, context.cancellation, abandonment)
    }

    /// The encoder, once there is one.
    var encoder: EncoderDescription? { setup?.session.encoder }

    /// Whether the encoder copies pictures into memory of its device without any other processing before.
    var copiesPictures: Bool {
        guard let setup, setup.session.encoder.identity.isHardware, request.video.frameRate == nil else { return false }
        let (encoder, video) = (setup.session.encoder, setup.video)
        if encoder.properties.conversions?.formats.contains(video.pixelFormat) == true { return true }
        // Others are rearranged on their way into the device's memory, and read into memory for that.
        return [.nv12, .p010].contains(video.pixelFormat) && encoder.properties.pixelFormats.contains(video.pixelFormat)
            && (video.width, video.height) == (setup.configuration.width, setup.configuration.height)
    }

    // MARK: - Work

    /// Encodes frames, and writes packets or encodes their sound.
    func take(_ events: [MediaSource.Event]) async throws(MediaError) {
        guard let setup else { return }
        do throws(MediaError) {
            for event in events {
                switch event {
                case .packet(let packet): try await setup.tracks.take(packet)
                case .frame(let frame):
                    if rateConverter == nil {
                        try await encode(frame, setup.session)
                    } else if let frames = try rateConverter?.convert(frame) {
                        try await encode(frames, setup.session)
                    }
                }
            }
        } catch {
            throw await cause(of: error)
        }
    }

    /// Encodes frames of a converter until the transcode is stopped.
    private func encode(_ frames: FrameRateConverter.Frames, _ session: CompressionSession) async throws(MediaError) {
        for frame in frames {
            try await encode(frame, session)
            if context.isStopped() { return }
        }
    }

    private func encode(_ frame: VideoFrame, _ session: CompressionSession) async throws(MediaError) {
        if var pace {
            try await pace.wait(for: frame.presentationTime) { [context, abandonment] in
                context.isStopped() || abandonment.isCancelled
            }
            self.pace = pace
        }
        if request.isVerified, setup?.keepsShape == true {
            signatures[frame.presentationTime] = try PictureSignature(frame.buffer)
        }
        try references?.add(frame.buffer, at: frame.presentationTime)
        let options = FrameOptions(forceKeyFrame: grid?.place(frame.presentationTime) != nil)
        if !frame.buffer.attachments.captions.isEmpty { hasCaptions = true }
        if context.stream != nil { peakFrameRate.add(frame.presentationTime) }
        try await session.encode(
            frame.buffer,
            presentationTime: frame.presentationTime,
            duration: frame.duration,
            options: options
        )
        state.withLock {
            $0.framesIn += 1
            let end = frame.presentationTime + frame.duration
            $0.time = end.isValid ? end : frame.presentationTime
        }
    }

    // MARK: - End

    /// Encodes what is left, and writes it.
    func encodeRest() async throws(MediaError) {
        guard let setup else { return }
        do throws(MediaError) {
            try await encodeRest(setup)
        } catch {
            throw await cause(of: error)
        }
    }

    private func encodeRest(_ setup: Setup) async throws(MediaError) {
        if let frames = try rateConverter?.finish() { try await encode(frames, setup.session) }
        // All renditions of a presentation have the same duration (authoring specification, 8.3).
        let end = context.stream == nil ? nil : state.withLock { $0.time }
        try await setup.tracks.finish(silentUntil: end)
        try await setup.session.finish()
        if let error = await setup.drain.value { throw error }
        encodingEnd = .now
    }

    /// Completes the output.
    ///
    /// - Parameters:
    ///   - problems: The problems of the source.
    ///   - decoding: How the video was decoded.
    func commit(
        _ problems: SourceProblems,
        _ decoding: DecodingReport
    ) async throws(MediaError) -> TranscodeReport {
        guard let setup else { throw MediaError(.invalidState, "the output was not opened", given: request.path) }
        let encodingTime = encodingEnd.map { ($0 - encodingStart) / .seconds(1) } ?? 0
        let byRate = rateConverter?.adjustment
        if let byRate { notify(.session(.adjusted(byRate))) }
        setup.session.cancel()  // ends the events
        let (reported, switches) = await setup.events.value
        // The variants of a presentation are verified together, when its playlists are there.
        let verification = request.isVerified && context.stream == nil ? try await verifyFile() : nil
        guard let summary = try await writer.finish() else {
            throw MediaError(.invalidState, "the output is closed", given: request.path)
        }
        var problems = problems
        summary.packetErrors.forEach { problems.noteLostPacket($0) }
        let ofTracks = await setup.tracks.outcome
        problems.add(ofTracks.problems)
        ofTracks.adjustments.forEach { notify(.session(.adjusted($0))) }
        let session = setup.session
        return TranscodeReport(
            path: request.path,
            video: setup.video,
            configuration: setup.configuration,
            encoder: session.encoder,
            decoding: decoding,
            output: summary,
            videoByteCount: progress.bytesOut,
            statistics: await session.statistics,
            switches: switches,
            problems: problems,
            adjustments: (setup.lost + setup.tracks.tracks.adjustments
                + ofTracks.adjustments + session.adjustments + session.encoder.properties.adjustments + reported
                + [byRate, setup.quality?.replacement(session.encoder.identity)].compactMap(\.self)).unique,
            omissions: setup.omissions + summary.omissions,
            verification: verification,
            audio: setup.tracks.tracks.audio,
            quality: setup.quality.map { quality in
                quality.reporting(verification?.score, byteCount: progress.bytesOut, time: encodingTime)
            },
            wasStopped: context.isStopped()
        )
    }

    /// What the playlists of a presentation state about this variant.
    var variantFacts: Presentation.VariantFacts {
        Presentation.VariantFacts(
            frameRate: peakFrameRate.rate(of: setup?.configuration),
            captionLanguage: hasCaptions ? setup?.video.language.map(LanguageTag.shortest) ?? "und" : nil
        )
    }

    /// Decodes the file before it gets its name.
    private func verifyFile() async throws(MediaError) -> OutputVerification {
        guard let path = try await writer.complete() else {
            throw MediaError(.invalidArgument, "only files can be verified", given: request.path)
        }
        return try await verify(path)
    }

    /// Decodes the output.
    ///
    /// - Parameter path: The file, or a playlist with this variant alone and with its audio.
    /// - Throws: `verificationFailed` if it is not what was written.
    func verify(_ path: String) async throws(MediaError) -> OutputVerification {
        guard let setup else { throw MediaError(.invalidState, "the output was not opened", given: request.path) }
        var expectation = OutputExpectation(
            codecName: setup.session.encoder.identity.codec.rawValue,
            width: setup.session.encoder.properties.formatDescription.width,
            height: setup.session.encoder.properties.formatDescription.height,
            times: times.withLock { $0 },
            signatures: signatures,
            references: references?.pictures ?? [:],
            leastPSNR: request.leastPSNR,
            metric: request.measuredMetric,
            hasTimes: request.sink.format?.requiredCodec == nil
        )
        expectation.keepsLines =
            (setup.video.width, setup.video.height) == (expectation.width, expectation.height)
        expectation.audio = await setup.tracks.expectations
        return try await OutputVerification.passed(
            path,
            as: request.path,
            expectation,
            logger: context.logger,
            cancellation: abandonment,
            progress: { [self] time in state.withLock { $0.verifiedTime = time } }
        )
    }

    /// Returns the error that led to another one: a session that was cancelled because its samples could not be written
    /// says only that.
    private func cause(of error: MediaError) async -> MediaError {
        guard error.code == .cancelled || error.code == .invalidState, !Task.isCancelled else { return error }
        return await writingError ?? error
    }

    /// Discards the output after an error. The session ends, so that what is known of devices is noted.
    func discard() async {
        if let setup {
            setup.session.cancel()
            abandon()
            _ = await setup.drain.value
            try? await setup.session.finish()
            _ = await setup.events.value
        }
        await writer.abort()
    }
}

extension [Adjustment] {
    /// The adjustments without duplicates, each at its first position.
    var unique: [Adjustment] {
        var seen: Set<Adjustment> = []
        return filter { seen.insert($0).inserted }
    }
}
