// SPDX-License-Identifier: GPL-2.0-or-later

internal import AssetWriting
public import MediaIO
public import MediaTypes
internal import Synchronization

/// The last seconds of a session, coded and in memory, which can be saved at any time.
///
/// It begins at a key frame, so that it holds up to one group of pictures more than its length.
public final class ReplayBuffer: Sendable {
    /// A saved part of a session.
    public struct Saved: Sendable, Hashable {
        /// The path of the file.
        public var path: String
        /// Its duration.
        public var duration: MediaTime
    }

    /// A picture or a packet of another track.
    fileprivate enum Unit: Sendable {
        case picture(SampleBuffer)
        case packet(MediaPacket)

        var time: MediaTime {
            switch self {
            case .picture(let sample): sample.presentationTime
            case .packet(let packet): packet.presentationTime
            }
        }

        var byteCount: Int {
            switch self {
            case .picture(let sample): sample.data.count
            case .packet(let packet): packet.byteCount
            }
        }

        var isKeyFrame: Bool { if case .picture(let sample) = self { sample.isKeyFrame } else { false } }
    }

    fileprivate struct State {
        var tracks: [MediaTrack] = []
        var hasVideo = true
        var units: [Unit] = []
        var end = MediaTime.zero
        var byteCount = 0
    }

    /// The length.
    public let length: MediaTime
    fileprivate let state = Mutex(State())

    /// The allowed lengths in seconds.
    public static let allowedLengths = 1.0...3600.0

    /// Makes an empty buffer.
    ///
    /// - Throws: `invalidArgument` for a length out of range.
    public init(length: MediaTime) throws(MediaError) {
        guard length.isValid, Self.allowedLengths.contains(length.seconds) else {
            throw MediaError(
                .invalidArgument,
                "the length of the replay is out of range",
                given: length.isValid ? "\(length.seconds) s" : "no valid time",
                allowed: "\(Self.allowedLengths.lowerBound) to \(Self.allowedLengths.upperBound) s"
            )
        }
        self.length = length
    }

    /// The number of coded bytes in memory.
    public var byteCount: Int { state.withLock { $0.byteCount } }

    /// Writes what the buffer holds into a file. The session continues meanwhile. It blocks while it writes.
    ///
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - options: The options of the file.
    /// - Throws: `invalidState` if there is no picture yet; as `MediaSink`.
    public func save(to path: String, options: MediaSink.Options = .init()) throws(MediaError) -> Saved {
        let (tracks, hasVideo, units) = state.withLock { ($0.tracks, $0.hasVideo, $0.units) }
        guard let first = units.first(where: { $0.isKeyFrame || !hasVideo }) else {
            throw MediaError(.invalidState, "the replay has no picture yet")
        }
        var options = options
        options.hasVideo = hasVideo
        let start = first.time
        let sink = try MediaSink(path: path, options: options)
        do throws(MediaError) {
            for track in tracks { _ = try sink.addTrack(track) }
            for unit in units where unit.time >= start { try Self.write(unit, start, to: sink) }
            let summary = try sink.finish()
            return Saved(path: path, duration: summary.duration)
        } catch {
            sink.abort()
            throw error
        }
    }

    private static func write(_ unit: Unit, _ start: MediaTime, to sink: MediaSink) throws(MediaError) {
        switch unit {
        case .picture(var sample):
            sample.presentationTime = sample.presentationTime - start
            sample.decodeTime = sample.decodeTime - start
            try sink.write(sample)
        case .packet(let packet): try sink.write(packet.moved(by: .zero - start))
        }
    }
}

/// Fills a replay buffer with what a session encodes.
final class ReplaySink: OutputSink {
    private let buffer: ReplayBuffer
    private var count = 0
    private var byteCount: Int64 = 0

    init(_ buffer: ReplayBuffer) { self.buffer = buffer }

    var takesAudio: Bool { true }
    var temporaryPath: String? { nil }

    func omitVideo() throws(MediaError) { buffer.state.withLock { $0.hasVideo = false } }

    func addTrack(_ track: MediaTrack) throws(MediaError) -> MediaSink.Acceptance {
        buffer.state.withLock { $0.tracks.append(track) }
        return .accepted
    }

    func setChapters(_ chapters: [Chapter]) throws(MediaError) -> MediaSink.Acceptance {
        .refused(reason: "a replay has no chapters")
    }

    func setMetadata(_ metadata: [String: String]) throws(MediaError) -> MediaSink.Acceptance {
        .refused(reason: "a replay has no metadata of its file")
    }

    func prepareForSwitches() {}

    func write(_ sample: SampleBuffer) throws(MediaError) {
        guard !sample.isDropped else { return }
        count += 1
        add(.picture(sample), end: sample.presentationTime)
    }

    func write(_ packet: MediaPacket) throws(MediaError) { add(.packet(packet), end: packet.presentationTime) }

    private func add(_ unit: ReplayBuffer.Unit, end: MediaTime) {
        byteCount += Int64(unit.byteCount)
        buffer.state.withLock { state in
            state.units.append(unit)
            state.byteCount += unit.byteCount
            state.end = max(state.end, end)
            let start = state.end - buffer.length
            // The last key frame that is old enough begins the replay.
            guard
                let first = state.units.lastIndex(where: { $0.time <= start && ($0.isKeyFrame || !state.hasVideo) }),
                first > 0
            else { return }
            state.byteCount -= state.units[..<first].reduce(0) { $0 + $1.byteCount }
            state.units.removeFirst(first)
        }
    }

    func complete() throws(MediaError) {}

    func finish() throws(MediaError) -> MediaSink.Summary {
        MediaSink.Summary(byteCount: byteCount, sampleCount: count, duration: buffer.state.withLock { $0.end })
    }

    func abort() {}
}

extension LiveSession {
    /// Makes a session that keeps its last seconds in memory.
    ///
    /// - Throws: As ``init(pictures:sound:settings:path:options:)``.
    public init(
        pictures: [LiveInput],
        sound: LiveInput? = nil,
        settings: LiveSettings,
        replay: ReplayBuffer
    ) throws(MediaError) {
        try self.init(pictures: pictures, sound: sound, settings: settings) { () async throws(MediaError) in
            try await AssetWriter(container: .mp4) { () throws(MediaError) in ReplaySink(replay) }
        }
    }
}
