// SPDX-License-Identifier: GPL-2.0-or-later

public import Logging
public import MediaIO
public import MediaTypes
import Synchronization
public import VAToolbox

/// The input, the output and the settings of a transcode.
public struct TranscodeRequest: Sendable {
    /// The input: a path, or `-` for standard input.
    public var input: String
    /// The options for reading the input.
    public var source: MediaSource.Options
    /// The output: a path, `-` for standard output, or `null`.
    public var output: String
    /// The options for writing the output.
    public var sink: MediaSink.Options
    /// The settings for encoding the video.
    public var video: VideoSettings
    /// What happens to the audio tracks.
    public var audio = AudioSettings()
    /// The options of the session.
    public var session: SessionOptions
    /// Whether frames are read in real time, no faster than they are shown, as from a live source.
    public var isPaced = false
    /// Receives the messages of libraries, drivers and helper processes for this job, so that each job of a process has
    /// its own log; see `SessionOptions.logger`, which takes precedence for encoders. FFmpeg's errors are warnings
    /// here, and its warnings are debug messages. `nil` leaves FFmpeg's messages to `MediaLog.logger`.
    public var logger: Logger?

    /// Makes a request.
    public init(
        input: String,
        source: MediaSource.Options = .init(),
        output: String,
        sink: MediaSink.Options = .init(),
        video: VideoSettings = .init(),
        session: SessionOptions = .init()
    ) {
        self.input = input
        self.source = source
        self.output = output
        self.sink = sink
        self.video = video
        self.session = session
    }
}

/// Reads an input, encodes its video, copies or encodes its audio, copies its other tracks and writes an output. Each
/// instance can run once.
public final class Transcoder: Sendable {
    /// An event during a transcode, for display.
    public enum Notice: Sendable {
        /// The encoder was created and the transcode begins.
        case started(VideoTrack, EncoderDescription)
        /// An event of the session.
        case session(SessionEvent)
        /// An item that the output will lack.
        case omission(String)
    }

    private let request: TranscodeRequest
    private let notify: @Sendable (Notice) -> Void
    private let reader = MediaReader()
    private let writer = MediaWriter()
    /// Ends reading, and the wait for a reader of the output.
    private let cancellation = Cancellation()
    /// Ends writing.
    private let abandonment = Cancellation()
    private let isStopped = Atomic(false)
    private let state = Mutex(TranscodeProgress())
    /// The packets that the output refused as damaged.
    private let losses = Mutex(SourceProblems())
    /// The captions that were lost by the frame rate conversion.
    private let lostByRate = Mutex<Adjustment?>(nil)

    /// Makes a transcoder.
    ///
    /// - Parameters:
    ///   - request: The input, the output and the settings.
    ///   - notify: Receives notices on any thread; must not block.
    public init(_ request: TranscodeRequest, notify: @escaping @Sendable (Notice) -> Void = { _ in }) {
        self.request = request
        self.notify = notify
    }

    /// The present progress. Safe on any thread.
    public var progress: TranscodeProgress { state.withLock { $0 } }

    /// Ends the transcode as if the input ended here: the frames that were read are encoded, and the output is
    /// complete. Safe on any thread, at any time.
    public func stop() {
        isStopped.store(true, ordering: .sequentiallyConsistent)
        cancellation.cancel()
    }

    /// Runs the transcode. If the calling task is cancelled, it ends with `cancelled` and leaves no output.
    ///
    /// - Throws: The first error of input, encoder or output; then there is no file with the output's name.
    public func run() async throws(MediaError) -> TranscodeReport {
        let result = await withTaskCancellationHandler {
            await Self.result { () async throws(MediaError) in try await transcode() }
        } onCancel: {
            abandon()
        }
        if case .failure = result { await writer.abort() }
        await reader.close()
        return try result.get()
    }

    /// Ends every wait for other processes.
    private func abandon() {
        cancellation.cancel()
        abandonment.cancel()
    }

    private func transcode() async throws(MediaError) -> TranscodeReport {
        try request.video.validate()
        var source = request.video.demand(of: request.source)
        if case .encode = request.audio.rule { source.audioPreroll = SoundConverter.preroll }
        var contents = try await reader.open(request.input, source, request.logger, cancellation)
        var lostContents = contents.video.lostMetadata
        if request.source.start ?? .zero > .zero, contents.metadata.removeValue(forKey: "timecode") != nil {
            lostContents.append("the timecode, which is that of the input's first picture")
        }
        let (configuration, lostByVideo) = request.video.configuration(for: contents.video)
        let (regions, cut) = try request.video.regions(in: contents.video)
        let lost = lostByVideo + cut
        let tracks = try await openOutput(contents, configuration)
        let ignored = contents.ignoredStreams.map { "\($0.kind) stream \($0.index): \($0.reason)" }
        let omissions = tracks.refusals + ignored + lostContents
        let session = try await makeSession(configuration)
        // x264 is only ever replaced by itself, and on purpose.
        if session.encoder.identity.isHardware { await writer.repeatParameterSets() }
        notify(.started(contents.video, session.encoder))
        omissions.forEach { notify(.omission($0)) }
        (lost + tracks.adjustments).forEach { notify(.session(.adjusted($0))) }
        let events = follow(session)
        state.withLock {
            $0.expectedDuration = contents.video.duration
            $0.expectedFrames = request.video.frameRate == nil ? contents.video.estimatedFrameCount : nil
        }
        if copiesPictures(session.encoder, contents.video, configuration) { await reader.leavePicturesInFile() }
        let failure = await work(session, tracks, regions)
        session.cancel()  // ends the events also where the work failed
        if failure != nil { try? await session.finish() }  // what is known of devices is noted
        let (reported, switches) = await events.value
        if let failure { throw failure }

        guard let summary = try await writer.finish() else {
            throw MediaError(.invalidState, "a transcoder can run only once")
        }
        var problems = await reader.problems
        problems.add(losses.withLock { $0 })
        summary.packetErrors.forEach { problems.noteLostPacket($0) }
        var ofSound = tracks.adjustments
        for (_, converter) in tracks.converted.sorted(by: { $0.key < $1.key }) {
            let times = await converter.timeAdjustments
            times.forEach { notify(.session(.adjusted($0))) }
            ofSound += times
            let failures = await converter.failures
            if let first = failures.first { problems.noteUndecodableAudio(failures.count, first) }
        }
        return TranscodeReport(
            video: contents.video,
            configuration: configuration,
            encoder: session.encoder,
            output: summary,
            videoByteCount: progress.bytesOut,
            statistics: await session.statistics,
            switches: switches,
            problems: problems,
            adjustments: (lost + ofSound + session.adjustments + session.encoder.properties.adjustments + reported
                + [lostByRate.withLock { $0 }].compactMap(\.self)).unique,
            omissions: omissions,
            audio: tracks.audio,
            wasStopped: isStopped.load(ordering: .sequentiallyConsistent)
        )
    }

    private func makeSession(_ configuration: EncoderConfiguration) async throws(MediaError) -> CompressionSession {
        var options = request.session
        options.logger = options.logger ?? request.logger
        options.devices.verifier = options.devices.verifier ?? DecodingVerifier(logger: request.logger)
        return try await CompressionSession(configuration: configuration, options: options)
    }

    /// Forwards the events of a session until it ends, and collects those for the report.
    private func follow(_ session: CompressionSession) -> Task<([Adjustment], [EncoderSwitch]), Never> {
        Task {
            var (adjustments, switches): ([Adjustment], [EncoderSwitch]) = ([], [])
            for await event in session.events {
                if case .adjusted(let adjustment) = event { adjustments.append(adjustment) }
                if case .encoderSwitched(let change) = event { switches.append(change) }
                notify(.session(event))
            }
            return (adjustments, switches)
        }
    }

    private func openOutput(
        _ contents: MediaReader.Contents,
        _ configuration: EncoderConfiguration
    ) async throws(MediaError) -> MediaWriter.Tracks {
        var options = request.sink
        options.inputPaths.append(request.input)
        options.frameRate = configuration.isFrameRateVariable ? nil : configuration.frameRate
        (options.language, options.title) = (contents.video.language, contents.video.title)
        let plan = MediaWriter.Plan(
            contents: contents,
            audio: request.audio,
            end: request.source.duration,
            logger: request.logger
        )
        return try await writer.open(request.output, options, plan, cancellation, abandonment)
    }

    /// Returns whether an encoder copies pictures into memory of its device without any other processing before.
    private func copiesPictures(
        _ encoder: EncoderDescription,
        _ video: VideoTrack,
        _ configuration: EncoderConfiguration
    ) -> Bool {
        guard encoder.identity.isHardware, request.video.frameRate == nil else { return false }
        if encoder.properties.conversions?.formats.contains(video.pixelFormat) == true { return true }
        // Others are rearranged on their way into the device's memory, and read into memory for that.
        return [.nv12, .p010].contains(video.pixelFormat) && encoder.properties.pixelFormats.contains(video.pixelFormat)
            && (video.width, video.height) == (configuration.width, configuration.height)
    }

    /// Feeds the session and writes its samples concurrently, until the input ends or either side fails.
    private func work(
        _ session: CompressionSession,
        _ tracks: MediaWriter.Tracks,
        _ regions: [RegionOfInterest]
    ) async -> MediaError? {
        await withTaskGroup(of: MediaError?.self) { group in
            group.addTask {
                await Self.errorOf { () async throws(MediaError) in try await self.feed(session, tracks, regions) }
            }
            group.addTask { await Self.errorOf { () async throws(MediaError) in try await self.drain(session) } }
            var first: MediaError?
            for await error in group {
                guard let error, first == nil || first?.code == .cancelled else { continue }
                first = error
                session.cancel()
                abandon()
                group.cancelAll()
            }
            return first
        }
    }

    private static func errorOf(_ body: () async throws(MediaError) -> Void) async -> MediaError? {
        do {
            try await body()
            return nil
        } catch {
            return error
        }
    }

    private static func result<Value>(
        _ body: () async throws(MediaError) -> Value
    ) async -> Result<Value, MediaError> {
        do { return .success(try await body()) } catch { return .failure(error) }
    }

    private func drain(_ session: CompressionSession) async throws(MediaError) {
        try await writer.write(session.samples) { sample in
            state.withLock {
                $0.framesOut += 1
                $0.bytesOut += sample.data.count
            }
        }
    }

    private func feed(
        _ session: CompressionSession,
        _ tracks: MediaWriter.Tracks,
        _ regions: [RegionOfInterest]
    ) async throws(MediaError) {
        var converter = request.video.frameRate.map { FrameRateConverter(frameRate: $0) }
        var pace = request.isPaced ? Pace() : nil
        var events = try await nextEvents()
        while !events.isEmpty {
            for event in events {
                switch event {
                case .packet(let packet):
                    if tracks.copied.contains(packet.track.index) {
                        try await write(packet)
                    } else if let sound = tracks.converted[packet.track.index] {
                        try await sound.send(packet)
                        try await writeAll(of: sound)
                    }
                case .frame(let frame):
                    if !regions.isEmpty { frame.buffer.attachments.regionsOfInterest = regions }
                    if converter == nil {
                        try await encode(frame, session, &pace)
                    } else {
                        try await encode(try converter?.convert(frame), session, &pace)
                    }
                }
            }
            events = try await nextEvents()
        }
        try await encode(try converter?.finish(), session, &pace)
        if let adjustment = converter?.adjustment {
            lostByRate.withLock { $0 = adjustment }
            notify(.session(.adjusted(adjustment)))
        }
        for (_, sound) in tracks.converted.sorted(by: { $0.key < $1.key }) {
            try await sound.sendEnd()
            try await writeAll(of: sound)
        }
        try await session.finish()
    }

    /// Writes what a converter produces until it needs input.
    private func writeAll(of sound: SoundConverter) async throws(MediaError) {
        var packets = try await sound.next()
        while !packets.isEmpty {
            for packet in packets { try await write(packet) }
            if Task.isCancelled { throw MediaError(.cancelled, "the call was cancelled") }
            packets = try await sound.next()
        }
    }

    /// If a packet is too damaged for the container, only this packet is lost.
    private func write(_ packet: MediaPacket) async throws(MediaError) {
        do {
            try await writer.write(packet)
        } catch  where error.code == .malformedData {
            losses.withLock { $0.noteLostPacket(error) }
        }
    }

    /// Returns the next events; after a stop, those that the decoder still holds.
    private func nextEvents() async throws(MediaError) -> [MediaSource.Event] {
        if !isStopped.load(ordering: .sequentiallyConsistent) {
            do {
                return try await reader.next()
            } catch {
                guard error.code == .cancelled, isStopped.load(ordering: .sequentiallyConsistent) else { throw error }
            }
        }
        await reader.endInput()
        return try await reader.next()
    }

    /// Encodes frames of a converter until the transcode is stopped.
    private func encode(
        _ frames: FrameRateConverter.Frames?,
        _ session: CompressionSession,
        _ pace: inout Pace?
    ) async throws(MediaError) {
        guard let frames else { return }
        for frame in frames {
            try await encode(frame, session, &pace)
            if isStopped.load(ordering: .sequentiallyConsistent) { return }
        }
    }

    private func encode(
        _ frame: VideoFrame,
        _ session: CompressionSession,
        _ pace: inout Pace?
    ) async throws(MediaError) {
        try await pace?.wait(for: frame.presentationTime) { isStopped.load(ordering: .sequentiallyConsistent) }
        try await session.encode(frame.buffer, presentationTime: frame.presentationTime, duration: frame.duration)
        state.withLock {
            $0.framesIn += 1
            let end = frame.presentationTime + frame.duration
            $0.time = end.isValid ? end : frame.presentationTime
        }
    }
}

extension [Adjustment] {
    /// The adjustments without duplicates, each at its first position.
    fileprivate var unique: [Adjustment] {
        var seen: Set<Adjustment> = []
        return filter { seen.insert($0).inserted }
    }
}

/// Delays frames until their presentation time.
struct Pace {
    /// The maximum time for which a wait continues after it is no longer needed.
    private static let patience = Duration.milliseconds(100)
    private var start: (instant: SuspendingClock.Instant, time: MediaTime)?

    /// Waits until a frame is due, or until `isStopped` returns `true`.
    mutating func wait(for time: MediaTime, unless isStopped: () -> Bool) async throws(MediaError) {
        guard let start else {
            start = (.now, time)
            return
        }
        let due = start.instant + .seconds(max((time - start.time).seconds, 0))
        while SuspendingClock.now < due, !isStopped() {
            do {
                try await Task.sleep(until: min(due, .now + Self.patience), clock: .suspending)
            } catch {
                throw MediaError(.cancelled, "the call was cancelled")
            }
        }
    }
}
