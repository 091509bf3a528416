// SPDX-License-Identifier: GPL-2.0-or-later

public import AudioCoding
internal import CPulse
public import MediaTypes

/// Sound from a PulseAudio server, or from PipeWire in its place: a microphone, or what the system plays.
///
/// The times are those that the server reports, with the latency of its devices. What the system plays has the time at
/// which it is heard. The server is never started.
///
/// A suspended source delivers nothing, and is not an error. Sound that is lost meanwhile, or because the reader was
/// too slow, is counted in ``CapturedSound/lostFrames``; losses below 60 ms are not noticed.
public final class PulseSource: SoundDevice {
    /// What to capture.
    public struct Request: Sendable, Hashable {
        /// The source of a server.
        public enum Source: Sendable, Hashable {
            /// The default source; with no microphone, servers take what the system plays.
            case standard
            /// What the default output plays.
            case systemSound
            /// The source with a name; see ``PulseSource/sources(server:stop:)``.
            case named(String)

            /// Makes the source that users name: `default`, `monitor`, or the name of a source.
            public init(_ name: String) {
                switch name {
                case "default": self = .standard
                case "monitor": self = .systemSound
                default: self = .named(name)
                }
            }
        }

        /// The address of the server, as in `$PULSE_SERVER`; `nil` for the default.
        public var server: String?
        /// The source.
        public var source: Source
        /// The sample rate in Hz, 1000 to 384000; the server converts. `nil` means that of the source.
        public var sampleRate: Int?
        /// The number of channels, 1 to 8; the server mixes. `nil` means that of the source, but at most two.
        public var channelCount: Int?
        /// The length of a buffer in seconds, 0.002 to 1. A longer one takes less work, a shorter one has less latency.
        public var bufferLength = 0.02

        /// Makes a request with the rate and channels of the source.
        public init(_ source: Source = .standard, server: String? = nil) {
            (self.source, self.server) = (source, server)
        }
    }

    /// The name of the source.
    public let name: String
    /// The format of the buffers.
    public let format: AudioFormat

    private let connection: PulseConnection
    private let stream: OpaquePointer
    private let deviceIndex: UInt32
    private var timing: PulseTiming
    /// The number of frames that were read, with holes.
    private var position: Int64 = 0
    private var lost: Int64 = 0
    private var report: OpaquePointer?
    private var lastReport: Int64 = 0
    private var isSuspended = false

    /// The time between reports about the timing, in nanoseconds.
    private static let reportInterval: Int64 = 100_000_000
    /// What a report may state: a gigabyte in the server's queue, and a minute in microseconds.
    private static let mostQueued: Int64 = 1 << 30
    private static let longestLatency: UInt64 = 60_000_000

    /// Opens a source.
    ///
    /// - Parameters:
    ///   - request: What to capture.
    ///   - stop: Ends every wait.
    /// - Throws: `unavailable` if there is no server, it refuses, or it has no such source; `invalidArgument` for a
    ///   value out of range; `cancelled`; `outOfMemory`.
    public init(_ request: Request = Request(), stop: StopSignal) throws(MediaError) {
        try request.check()
        let connection = try PulseConnection(server: request.server, stop: stop)
        let source = try request.choose(from: PulseSources(connection))
        format = try request.format(for: source.specification)
        name = source.description.name
        self.connection = connection
        timing = PulseTiming(sampleRate: format.sampleRate)

        var specification = format.pulseSpecification
        var map = pa_channel_map()
        pa_channel_map_parse(&map, format.layout.pulseNames)
        guard let stream = pa_stream_new(connection.context, "capture", &specification, &map) else {
            throw MediaError(
                .unsupported,
                "the sound server does not support the format: \(connection.reason)",
                given: "\(format)",
                call: "pa_stream_new"
            )
        }
        do throws(MediaError) {
            try Self.connect(stream, to: name, format, request.bufferLength, connection)
        } catch {
            pa_stream_unref(stream)
            throw error
        }
        self.stream = stream
        deviceIndex = pa_stream_get_device_index(stream)
    }

    deinit {
        if let report { pa_operation_unref(report) }
        pa_stream_disconnect(stream)
        pa_stream_unref(stream)
    }

    private static func connect(
        _ stream: OpaquePointer,
        to name: String,
        _ format: AudioFormat,
        _ bufferLength: Double,
        _ connection: PulseConnection
    ) throws(MediaError) {
        let frames = max(Int((bufferLength * Double(format.sampleRate)).rounded()), 1)
        var buffer = pa_buffer_attr(
            maxlength: .max,
            tlength: .max,
            prebuf: .max,
            minreq: .max,
            fragsize: UInt32(clamping: frames * format.bytesPerPlaneFrame)
        )
        let flags = pa_stream_flags_t(PA_STREAM_ADJUST_LATENCY.rawValue | PA_STREAM_DONT_MOVE.rawValue)
        var status = pa_stream_connect_record(stream, name, &buffer, flags)
        let end = PulseConnection.deadline
        while status >= 0, pa_stream_get_state(stream) != PA_STREAM_READY {
            guard pa_stream_get_state(stream) == PA_STREAM_CREATING, connection.isAlive else {
                status = -1
                break
            }
            try connection.wait(until: end, "for a stream")
        }
        guard status < 0 else { return }
        throw MediaError(
            .unavailable,
            "the sound server does not open the source: \(connection.reason)",
            given: name,
            call: "pa_stream_connect_record",
            status: Int(pa_context_errno(connection.context)),
            isPermanent: false
        )
    }

    /// Waits for the next buffer.
    ///
    /// - Throws: `cancelled` after the stop signal; `unavailable` if the source or the server is gone, or the server
    ///   has moved the stream to another source; `inputOutput` if waiting fails.
    public func read() throws(MediaError) -> CapturedSound {
        while true {
            try check()
            takeReport()
            if let sound = try next() { return sound }
            try connection.wait()
        }
    }

    /// Returns what has arrived.
    private func next() throws(MediaError) -> CapturedSound? {
        while true {
            let size = pa_stream_readable_size(stream)
            guard size != .max else { throw failure("pa_stream_readable_size") }
            guard size > 0 else { return nil }
            requestReport()
            var data: UnsafeRawPointer?
            var count = 0
            lost += timing.advance(to: position)
            guard timing.isKnown else { return nil }
            guard pa_stream_peek(stream, &data, &count) >= 0 else { throw failure("pa_stream_peek") }
            guard count > 0 else { return nil }
            let frames = count / format.bytesPerPlaneFrame
            let buffer = data.map { start in
                AudioBuffer(format: format, frameCount: frames) { _, memory in
                    memory.copyMemory(from: UnsafeRawBufferPointer(start: start, count: memory.count))
                }
            }
            guard pa_stream_drop(stream) >= 0 else { throw failure("pa_stream_drop") }
            position += Int64(frames)
            guard let buffer else {
                lost += Int64(frames)
                continue
            }
            defer { lost = 0 }
            let time = timing.time(of: position) ?? MonotonicClock.now.value
            return CapturedSound(
                buffer,
                arrival: MediaTime(value: time, timescale: 1_000_000_000),
                lostFrames: Int(clamping: lost)
            )
        }
    }

    /// - Throws: `unavailable` if the source or the server is gone.
    private func check() throws(MediaError) {
        guard connection.isAlive else { throw connection.gone }
        guard pa_stream_get_state(stream) == PA_STREAM_READY else { throw failure("pa_stream_get_state") }
        guard pa_stream_get_device_index(stream) == deviceIndex else {
            throw MediaError(
                .unavailable,
                "the sound server has moved the stream to another source",
                given: pa_stream_get_device_name(stream).map { String(cString: $0) },
                allowed: name,
                isPermanent: false
            )
        }
        let wasSuspended = isSuspended
        isSuspended = pa_stream_is_suspended(stream) > 0
        if wasSuspended, !isSuspended { interrupt() }
    }

    private func failure(_ call: String) -> MediaError {
        guard connection.isAlive else { return connection.gone }
        return MediaError(
            .unavailable,
            "the sound server has ended the stream: \(connection.reason)",
            given: name,
            call: call,
            status: Int(pa_context_errno(connection.context)),
            isPermanent: false
        )
    }
}

// MARK: - Timing

extension PulseSource {
    /// Asks for a report, soon after a buffer has arrived, when the position is freshest.
    private func requestReport() {
        let now = MonotonicClock.now.value
        guard report == nil, now - lastReport >= Self.reportInterval else { return }
        lastReport = now
        report = pa_stream_update_timing_info(stream, nil, nil)
    }

    private func takeReport() {
        guard let report, pa_operation_get_state(report) != PA_OPERATION_RUNNING else { return }
        defer {
            pa_operation_unref(report)
            self.report = nil
        }
        guard pa_operation_get_state(report) == PA_OPERATION_DONE, let information = pa_stream_get_timing_info(stream)
        else { return }
        let timing = information.pointee
        var timestamp = timing.timestamp
        let age = pa_timeval_age(&timestamp)
        let queued = timing.write_index.subtractingReportingOverflow(timing.read_index)
        // Before the first frame, the report does not tell when it will come.
        guard timing.write_index > 0, timing.write_index_corrupt == 0, timing.read_index_corrupt == 0,
            !queued.overflow, (0...Self.mostQueued).contains(queued.partialValue),
            max(age, timing.source_usec, timing.sink_usec) <= Self.longestLatency
        else { return }
        let microseconds = Int64(age) + Int64(timing.source_usec) - Int64(timing.sink_usec)
        self.timing.note(
            position: position + queued.partialValue / Int64(format.bytesPerPlaneFrame),
            captured: MonotonicClock.now.value - microseconds * 1000
        )
    }

    private func interrupt() {
        timing.interrupt()
        if let report {
            pa_operation_cancel(report)
            pa_operation_unref(report)
        }
        (report, lastReport) = (nil, 0)
    }
}

// MARK: - Request

extension PulseSource.Request {
    /// The sample rates that PulseAudio has: `PA_RATE_MAX`.
    private static let rates = AudioFormat.allowedSampleRates.lowerBound...384_000
    private static let bufferLengths = 0.002...1.0

    /// - Throws: `invalidArgument` for a value out of range.
    fileprivate func check() throws(MediaError) {
        if let sampleRate, !Self.rates.contains(sampleRate) {
            throw .outOfRange("sample rate", "\(sampleRate) Hz", "\(Self.rates.text) Hz")
        }
        if let channelCount, !ChannelLayout.standardChannelCounts.contains(channelCount) {
            throw .outOfRange("number of channels", "\(channelCount)", ChannelLayout.standardChannelCounts.text)
        }
        guard Self.bufferLengths.contains(bufferLength) else {
            throw .outOfRange("length of a buffer", "\(bufferLength) s", "\(Self.bufferLengths.text) s")
        }
    }

    fileprivate func choose(
        from sources: PulseSources
    ) throws(MediaError) -> (description: SoundSourceDescription, specification: pa_sample_spec) {
        let found = sources.all.first { candidate in
            switch source {
            case .standard: candidate.description.isDefault
            case .systemSound: candidate.description.isDefaultMonitor
            case .named(let name): candidate.description.name == name
            }
        }
        if let found { return found }
        let given =
            switch source {
            case .standard: "default"
            case .systemSound: "monitor"
            case .named(let name): name
            }
        throw MediaError(
            .unavailable,
            "the sound server has no such source",
            given: given,
            allowed: sources.names,
            isPermanent: false
        )
    }

    fileprivate func format(for source: pa_sample_spec) throws(MediaError) -> AudioFormat {
        var own = source
        own.channels = UInt8(channelCount ?? min(max(Int(source.channels), 1), 2))
        if let sampleRate { own.rate = UInt32(sampleRate) }
        if !Self.rates.contains(Int(own.rate)) { own.rate = 48000 }
        guard let format = AudioFormat(own) else {
            throw MediaError(.unsupported, "the source has an unknown format", given: "\(own.rate) Hz")
        }
        return format
    }
}

extension MediaError {
    static func outOfRange(_ name: String, _ given: String, _ allowed: String) -> MediaError {
        MediaError(.invalidArgument, "the \(name) is out of range", given: given, allowed: allowed)
    }
}

extension ClosedRange {
    var text: String { "\(lowerBound) to \(upperBound)" }
}
