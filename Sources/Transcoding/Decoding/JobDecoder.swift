// SPDX-License-Identifier: GPL-2.0-or-later

import HelperIPC
import Logging
import MediaIO
import MediaTypes
import Synchronization
import VAToolbox

/// What is decided about the decoder of a job before its encoders exist, and the helper processes that it shares with
/// them.
struct DecoderPlan: Sendable {
    /// The helper processes for the decoder and the encoders of the job, so that a picture need not leave the process in
    /// which it was decoded; `nil` if no GPU can decode.
    let helpers: HelperPool?

    private let choice: DecoderChoice
    private let format: FormatDescription?
    /// The shortest deadline of the encoders for a frame.
    private let frameDeadline: Duration?
    /// Why libavcodec decodes in this process, if that is certain.
    private let obstacle: String?
    private let logger: Logger?

    /// - Throws: The reason why no GPU can decode, if one is required.
    init(_ request: TranscodeRequest, _ contents: MediaReader.Contents) throws(MediaError) {
        choice = request.decoder
        logger = request.logger
        frameDeadline = request.outputs.map(\.session.limits.frameDeadline).min()
        let (found, reason) = try Self.format(request, contents)
        (format, obstacle) = (found, reason)
        helpers = found == nil ? nil : try Self.pool(request)
    }

    /// Returns the format for a decoder on a GPU, or the reason why there can be none.
    private static func format(
        _ request: TranscodeRequest,
        _ contents: MediaReader.Contents
    ) throws(MediaError) -> (FormatDescription?, String?) {
        if request.decoder == .software { return (nil, "decoding on the CPU was requested") }
        let isRequired = request.decoder == .hardware
        if !isRequired {
            let policies = request.outputs.map(\.session.policy)
            if policies.allSatisfy({ $0 == .requireSoftware }) { return (nil, "no encoder is on a GPU") }
            if policies.allSatisfy({ $0.usableNodes.isEmpty }) { return (nil, "no GPU can be used") }
        }
        guard let format = contents.format else { return (nil, "no encoder is on a GPU") }
        switch format {
        case .failure(let error):
            if isRequired { throw requiring(error) }
            return (nil, Readable.oneLine(error.readable))
        case .success(let format):
            if isRequired { return (format, nil) }
            if let obstacle = contents.video.filterOnProcessor(request.source.deinterlacing) { return (nil, obstacle) }
            guard (try? HelperLocation.find(.decoding)) != nil else {
                return (nil, "the program \(HelperProgram.decoding.name), which decodes on GPUs, is missing")
            }
            return (format, nil)
        }
    }

    private static func pool(_ request: TranscodeRequest) throws(MediaError) -> HelperPool {
        var options = HelperPool.Options(.decoding)
        // All in one process, also while a new encoder replaces one that still has its place.
        options.connectionsPerHelper = 1000
        if let logger = request.logger ?? request.first.session.logger {
            options.log = { line in
                logger.log(level: line.level.flatMap { Logger.Level(rawValue: $0) } ?? .info, "\(line.text)")
            }
        }
        return try HelperPool(options)
    }

    /// Has a session use the helpers of the job, unless the application has its own.
    func apply(to options: inout SessionOptions) {
        if let helpers, options.helpers === HelperPool.standard { options.helpers = helpers }
    }

    /// Creates the decoder, when the encoders are known.
    ///
    /// - Parameters:
    ///   - encoders: The encoders of the outputs.
    ///   - notify: Receives the events of a session.
    /// - Throws: The reason why no GPU can decode, if one is required.
    func makeDecoder(
        for encoders: [EncoderDescription],
        notify: @escaping @Sendable (DecompressionEvent) -> Void
    ) async throws(MediaError) -> JobDecoder {
        guard let format, let helpers else { return JobDecoder(obstacle ?? "no GPU can be used") }
        let nodes = encoders.compactMap(\.identity.device)
        guard choice == .hardware || !nodes.isEmpty else { return JobDecoder("no encoder is on a GPU") }
        var options = DecompressionOptions()
        options.helpers = helpers
        options.logger = logger
        options.heldFrames = JobDecoder.heldFrames
        if let frameDeadline { options.copyDeadline = min(options.copyDeadline, frameDeadline / 4) }
        if !nodes.isEmpty { options.devicePictureLimit = DecompressionOptions.encoderPictureLimit }
        if choice == .auto {
            options.policy = .devices(nodes, software: true)
            // A driver that crashes takes the encoders in its process along, so it gets few chances.
            options.consecutiveFailures = 3
            return await JobDecoder.preferring(format, options, encoders: nodes, notify)
        }
        if !nodes.isEmpty {
            // Another GPU is better than none.
            options.policy = .devices(nodes, software: false)
            if let session = try? await DecompressionSession(formatDescription: format, options: options) {
                return try await JobDecoder(session, encoders: nodes, notify)
            }
        }
        options.policy = .requireHardware
        do throws(MediaError) {
            let session = try await DecompressionSession(formatDescription: format, options: options)
            return try await JobDecoder(session, encoders: nodes, notify)
        } catch {
            throw Self.requiring(error)
        }
    }

    /// Adds what can be done about the lack of a decoder on a GPU.
    private static func requiring(_ error: MediaError) -> MediaError {
        var error = error
        error.remedies.append("let the CPU decode what the GPU cannot: --decoder auto")
        return error
    }
}

extension VideoTrack {
    /// What has to be done with the pictures on the CPU, as a reason for decoding there; `nil` if nothing is.
    fileprivate func filterOnProcessor(_ deinterlacing: MediaSource.Deinterlacing) -> String? {
        if isInterlaced, deinterlacing == .automatic { return "interlaced video is deinterlaced on the CPU" }
        if orientation != .upright { return "the pictures are turned upright on the CPU" }
        return nil
    }
}

/// The decoder of a job: libavcodec in this process, or a session.
final class JobDecoder: Sendable {
    /// The pictures in a helper's memory that the job holds. An encoder on a GPU holds about ten,
    /// and as many may wait for it.
    static let heldFrames = 26

    /// The session, which ``attach(to:)`` has the reader use; `nil` for libavcodec in this process.
    private let session: DecompressionSession?
    private let first: DecoderDescription?
    private let reason: String
    private let encoders: [String]
    private let pictures = HeldPictures(limit: JobDecoder.heldFrames)
    private let notify: @Sendable (DecompressionEvent) -> Void
    private let failures = Mutex<[DecoderFailure]>([])

    /// Leaves decoding to libavcodec in this process.
    init(_ reason: String) { (session, first, self.reason, encoders, notify) = (nil, nil, reason, [], { _ in }) }

    fileprivate init(
        _ session: DecompressionSession,
        encoders: [String],
        _ notify: @escaping @Sendable (DecompressionEvent) -> Void
    ) async throws(MediaError) {
        guard let first = await session.decoder else {
            throw MediaError(.invalidState, "the decompression session has no decoder")
        }
        (self.session, self.first, self.encoders, self.notify) = (session, first, encoders, notify)
        reason = ""
    }

    /// Creates a session whose first decoder is on a GPU; otherwise, libavcodec decodes in this process.
    fileprivate static func preferring(
        _ format: FormatDescription,
        _ options: DecompressionOptions,
        encoders: [String],
        _ notify: @escaping @Sendable (DecompressionEvent) -> Void
    ) async -> JobDecoder {
        do throws(MediaError) {
            let session = try await DecompressionSession(formatDescription: format, options: options)
            if await session.decoder?.identity.isHardware == true {
                return try await JobDecoder(session, encoders: encoders, notify)
            }
            session.cancel()
            var reason = "no GPU can be used"
            for await event in session.events {
                if case .decoderFailed(let decoder, let error, _) = event { reason = "\(decoder): \(error.message)" }
            }
            return JobDecoder(Readable.oneLine(reason))
        } catch {
            return JobDecoder(Readable.oneLine(error.message))
        }
    }

    /// Has a reader use the session.
    func attach(to reader: MediaReader) async throws(MediaError) {
        guard let session, let first else { return }
        let factory = SessionDecoderFactory(
            session: session,
            description: first,
            pictures: pictures,
            notify: { [weak self] event in self?.note(event) }
        )
        try await reader.decode(with: factory)
    }

    private func note(_ event: DecompressionEvent) {
        if case .decoderFailed(let identity, let error, _) = event {
            failures.withLock { $0.append(DecoderFailure(decoder: identity, error: error)) }
        }
        notify(event)
    }

    /// Ends the session at once, from any thread.
    func cancel() { session?.cancel() }

    /// What the outputs report.
    var report: DecodingReport {
        get async {
            guard let session, let first else {
                return DecodingReport(name: MediaSource.decoderName, reason: reason)
            }
            let last = await session.decoder ?? first
            let isOnSameDevice = last.identity.device.map(encoders.contains) ?? false
            return DecodingReport(
                name: last.properties.name,
                device: last.identity.device,
                reason: isOnSameDevice ? "both ends are on the GPU" : last.reason,
                description: last,
                statistics: await session.statistics,
                copiedPictures: pictures.copies,
                failures: failures.withLock { $0 }
            )
        }
    }
}
