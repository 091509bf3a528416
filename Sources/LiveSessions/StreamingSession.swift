// SPDX-License-Identifier: GPL-2.0-or-later

public import AssetWriting
internal import AudioCoding
internal import BitstreamSyntax
package import HostSystem
internal import MediaIO
public import MediaTypes
public import Streaming
internal import Synchronization
internal import VAToolbox

/// Encodes what devices and files deliver, once, and sends it to several receivers.
///
/// No receiver holds up the encoder or another receiver: each has its own connection, its own queue of limited age, and its own
/// state, and connects again by itself. The bitrate of the video follows the slowest link that can still be followed.
public final class StreamingSession: Sendable {
    /// The options of a streaming session.
    public struct Options: Sendable {
        /// Decides the bitrate for each output.
        public var strategy: any BitRateStrategy = AdaptiveBitRate()
        /// How long an output that has no connection at the start is tried, in seconds; `nil` for ever.
        public var patienceAtStart: Double? = 20
        /// How long an output that was lost is tried, in seconds; `nil` for ever.
        public var patience: Double?
        /// The time in seconds without any progress after which a connection is given up, 1 to 300.
        public var silence = 10.0
        /// The age of the queue in seconds from which on pictures are dropped, 0.1 to 30.
        public var largestAge = 0.9
        /// A file that gets what the receivers get; `nil` for none. Whatever happens to it, the stream goes on.
        public var recording: Recording?
        /// Which addresses outputs may use, whatever name a receiver has; `nil` for all.
        package var addresses: AddressPolicy?

        /// Makes the default options.
        public init() {}

        func validate() throws(MediaError) {
            try Self.check(silence, 1...300, "the time without progress")
            try Self.check(largestAge, 0.1...30, "the age of the queue")
        }

        private static func check(_ value: Double, _ allowed: ClosedRange<Double>, _ name: String) throws(MediaError) {
            guard !allowed.contains(value) else { return }
            throw MediaError(
                .invalidArgument,
                "\(name) is out of range",
                given: "\(value) s",
                allowed: "\(allowed.lowerBound) to \(allowed.upperBound) s"
            )
        }
    }

    /// What is known about a stream at a moment.
    public struct Status: Sendable {
        /// The inputs and the encoder.
        public var session: LiveStatus
        /// The outputs.
        public var outputs: [OutputStatus]
        /// The bitrate of the video that is asked of the encoder, in bit/s; `nil` if its rate control has none. With renditions,
        /// that of the first one.
        public var bitRate: Int?
        /// The largest bitrate that is allowed, in bit/s.
        public var ceiling: Int?
        /// The recording; `nil` without one.
        public var recording: RecordingStatus?
    }

    /// Where one rendition of a stream goes.
    package struct Receiver: Sendable {
        /// Makes the output.
        package typealias OutputMaker = @Sendable (LiveOutput.Options) throws(MediaError) -> LiveOutput

        let makeOutput: OutputMaker
        /// The number of the rendition that it takes.
        let rendition: Int
        /// What limits the codecs; `nil` for H.264, HEVC and AAC.
        let transport: LiveDestination.Transport?

        /// Describes a destination.
        package init(_ destination: LiveDestination, rendition: Int) {
            makeOutput = destination.makeOutput
            (self.rendition, transport) = (rendition, destination.transport)
        }

        /// Describes an output that is not one of a destination, and takes H.264, HEVC and AAC.
        package init(rendition: Int, makeOutput: @escaping OutputMaker) {
            (self.makeOutput, self.rendition, transport) = (makeOutput, rendition, nil)
        }
    }

    /// The bitrates of a rendition.
    private struct Rates {
        var ceiling: Int?
        var bitRate: Int?
    }

    private static let peak = 1.2

    private let session: LiveSession
    private let outputs: LiveFanOut.Outputs
    private let recorder: StreamRecorder?
    /// For each rendition; one if there are none.
    private let rates: Mutex<[Rates]>

    /// Makes a session.
    ///
    /// - Parameters:
    ///   - pictures: The inputs of pictures, of which the first one is used until ``use(input:)``.
    ///   - sound: The input of sound; `nil` for that of the files.
    ///   - destinations: Where the stream goes.
    ///   - settings: The settings of the encoders. `automatic` is a codec that every destination takes.
    ///   - options: How the stream follows its links, and when outputs give up.
    /// - Throws: `invalidArgument` for an option out of range, or without an input or a destination; `unsupported` if a
    ///   destination does not carry the codecs.
    public convenience init(
        pictures: [LiveInput],
        sound: LiveInput? = nil,
        to destinations: [LiveDestination],
        settings: LiveSettings,
        options: Options = Options()
    ) throws(MediaError) {
        try self.init(
            pictures: pictures,
            sound: sound,
            to: destinations.map { Receiver($0, rendition: 0) },
            settings: settings,
            options: options
        )
    }

    /// Makes a session whose receivers take different renditions.
    ///
    /// - Parameter receivers: Where the stream goes.
    package init(
        pictures: [LiveInput],
        sound: LiveInput?,
        to receivers: [Receiver],
        settings: LiveSettings,
        options: Options
    ) throws(MediaError) {
        try options.validate()
        guard !receivers.isEmpty else {
            throw MediaError(.invalidArgument, "the stream has no destination", allowed: "one or more")
        }
        guard settings.renditions.isEmpty || !pictures.isEmpty else {
            throw MediaError(.invalidArgument, "a stream without pictures has no renditions")
        }
        var settings = settings
        let transports = receivers.compactMap(\.transport)
        if settings.video.codec == .automatic, settings.video.profile == nil,
            let codec = transports.compactMap(\.commonVideoCodec).first
        {
            settings.video.codec = codec == .h264 ? .h264 : .hevc
        }
        for transport in transports {
            try transport.check(video: settings.video.fixedCodec, audio: [settings.audio.codec.rawValue])
        }
        var outputOptions = LiveOutput.Options()
        outputOptions.strategy = options.strategy
        outputOptions.policy.patienceAtStart = options.patienceAtStart
        outputOptions.policy.patience = options.patience
        outputOptions.limits.silence = Int32(options.silence * 1000)
        outputOptions.limits.addresses = options.addresses
        outputOptions.queue.age = options.largestAge
        outputOptions.queue.oldest = options.largestAge * 4
        var all: [LiveOutput] = []
        for receiver in receivers {
            if !settings.renditions.isEmpty { outputOptions.rendition = settings.renditions[receiver.rendition].name }
            all.append(try receiver.makeOutput(outputOptions))
        }
        let outputs = LiveFanOut.Outputs(all, renditions: receivers.map(\.rendition))
        self.outputs = outputs
        // A stream without peaks, which every link that carries its bitrate carries.
        settings.peak = settings.peak ?? Self.peak
        let bitRates = settings.renditions.isEmpty ? [settings.bitRate] : settings.renditions.map(\.bitRate)
        rates = Mutex(bitRates.map { _ in Rates() })
        let recorder = options.recording.map { StreamRecorder($0) }
        self.recorder = recorder
        let fanOut = LiveFanOut(outputs, frameRate: settings.frameRate, bitRates: bitRates)
        session = try LiveSession(pictures: pictures, sound: sound, settings: settings) {
            (rendition) async throws(MediaError) in
            try await AssetWriter(container: .ts) { () throws(MediaError) in
                guard rendition == 0 else { return fanOut.branch(rendition) }
                return recorder.map { RecordingTee(fanOut, $0) } ?? fanOut
            }
        }
    }

    /// The present status. Safe on any thread.
    public var status: Status {
        let rates = rates.withLock { $0 }
        var status = session.status
        for index in status.renditions.indices {
            status.renditions[index].bitRate = rates[index].bitRate
            status.renditions[index].ceiling = rates[index].ceiling
        }
        return Status(
            session: status,
            outputs: outputs.all.map(\.status),
            bitRate: rates.first?.bitRate,
            ceiling: rates.first?.ceiling,
            recording: recorder?.status
        )
    }

    /// Returns the loudest sample of each channel since the last call; see ``LiveSession/takeLevels()``.
    public func takeLevels() -> [Double] { session.takeLevels() }

    /// Ends the session: what was captured so far is sent. Safe on any thread.
    public func stop() { session.stop() }

    /// Uses the pictures of another input from now on; see ``LiveSession/use(input:)``.
    public func use(input index: Int) { session.use(input: index) }

    /// Sets the largest bitrate of the video from now on, also while a link is slower.
    ///
    /// - Parameters:
    ///   - bitRate: The bitrate in bit/s.
    ///   - rendition: The number of the rendition.
    /// - Throws: `invalidArgument` for a rate out of range, or a rendition that does not exist.
    public func setCeiling(_ bitRate: Int, of rendition: Int = 0) throws(MediaError) {
        guard RateControl.allowedBitRates.contains(bitRate) else {
            throw MediaError(
                .invalidArgument,
                "the bitrate is out of range",
                given: "\(bitRate) bit/s",
                allowed: "\(RateControl.allowedBitRates.lowerBound) to \(RateControl.allowedBitRates.upperBound) bit/s"
            )
        }
        let isThere = rates.withLock { rates in
            guard rates.indices.contains(rendition) else { return false }
            rates[rendition].ceiling = bitRate
            return true
        }
        guard isThere else {
            throw MediaError(.invalidArgument, "there is no such rendition", given: "\(rendition)")
        }
    }

    /// Streams until ``stop()``, until all inputs have ended, or until every output has given up. Whichever it is, the
    /// recording is complete by then.
    ///
    /// - Returns: What was encoded.
    /// - Throws: As ``LiveSession/run()``; the error of the first output if every output has given up.
    public func run() async throws(MediaError) -> AssetWriter.Summary {
        let control = Task { await follow() }
        do throws(MediaError) {
            let summary = try await session.run()
            control.cancel()
            return summary
        } catch {
            control.cancel()
            for output in outputs.all { output.abort() }
            await recorder?.finish()
            throw outputs.failure ?? error
        }
    }

    // MARK: - Following the links

    /// How often the bitrate is decided.
    private static let period = Duration.milliseconds(200)

    /// The shortest time between two key frames that outputs ask for.
    private static let keyFramePause = Duration.seconds(1)

    private func follow() async {
        var latestKeyFrame: SuspendingClock.Instant?
        var metrics = StreamMetrics()
        while !Task.isCancelled {
            let now = SuspendingClock.now
            if outputs.needKeyFrame, latestKeyFrame.map({ now - $0 >= Self.keyFramePause }) ?? true {
                session.requestKeyFrame()
                latestKeyFrame = now
            }
            for rendition in session.configuredBitRates.indices { await adaptBitRate(of: rendition) }
            metrics?.note(outputs.all.map(\.status), recorder?.status)
            if outputs.failure != nil { return session.stop() }
            try? await Task.sleep(for: Self.period)
        }
    }

    /// Gives the encoder of a rendition the lowest bitrate that its outputs want.
    private func adaptBitRate(of rendition: Int) async {
        guard let configured = session.configuredBitRates[rendition] else { return }
        let (ceiling, present) = rates.withLock { rates in
            rates[rendition].ceiling = rates[rendition].ceiling ?? configured
            rates[rendition].bitRate = rates[rendition].bitRate ?? configured
            return (rates[rendition].ceiling ?? configured, rates[rendition].bitRate ?? configured)
        }
        // Less than one per cent for RTMP's headers; four for those of a transport stream and its datagrams.
        let other = outputs.audioRate + Double(present) * 0.04
        let wanted = outputs.taking(rendition).compactMap { $0.wantedBitRate(ceiling: ceiling, otherRate: other) }
        guard let target = wanted.min(), isWorth(target, present, ceiling) else { return }
        if await session.update(bitRate: target, of: rendition) { rates.withLock { $0[rendition].bitRate = target } }
    }

    /// Whether a change is large enough for the encoder; the ceiling always is.
    private func isWorth(_ target: Int, _ present: Int, _ ceiling: Int) -> Bool {
        target != present && (abs(target - present) * 50 >= present || target == ceiling || present > ceiling)
    }
}
