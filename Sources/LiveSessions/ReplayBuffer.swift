// SPDX-License-Identifier: GPL-2.0-or-later

internal import AssetWriting
public import MediaIO
public import MediaTypes
internal import Synchronization

/// The last seconds of a session, coded and in memory, which can be saved at any time.
///
/// It begins at a key frame, so that it holds up to one group of pictures more than its length. If pictures stop, as those
/// of a screen on which nothing changes, the last group begins it instead, hardly noticeably.
public final class ReplayBuffer: Sendable {
    /// A saved part of a session.
    public struct Saved: Sendable, Hashable {
        /// The path of the file.
        public var path: String
        /// Its duration.
        public var duration: MediaTime
    }

    fileprivate struct State {
        var tracks: [MediaTrack] = []
        var units: ReplayUnits<SampleBuffer, MediaPacket>
    }

    /// The length.
    public let length: MediaTime
    fileprivate let state: Mutex<State>

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
        state = Mutex(State(units: ReplayUnits(length: length)))
    }

    /// The number of coded bytes in memory.
    public var byteCount: Int { state.withLock { $0.units.byteCount } }

    /// Writes what the buffer holds into a file. The session continues meanwhile. It blocks while it writes.
    ///
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - options: The options of the file.
    /// - Throws: `invalidState` if there is no picture yet; as `MediaSink`.
    public func save(to path: String, options: MediaSink.Options = .init()) throws(MediaError) -> Saved {
        let (tracks, units) = state.withLock { ($0.tracks, $0.units) }
        guard let written = units.written() else {
            throw MediaError(.invalidState, "the replay has no picture yet")
        }
        var options = options
        options.hasVideo = units.hasVideo
        let sink = try MediaSink(path: path, options: options)
        do throws(MediaError) {
            for track in tracks { _ = try sink.addTrack(track) }
            for unit in written {
                switch unit {
                case .picture(var sample, let presentationTime, let decodeTime):
                    (sample.presentationTime, sample.decodeTime) = (presentationTime, decodeTime)
                    try sink.write(sample)
                case .packet(let packet, let shift): try sink.write(packet.moved(by: shift))
                }
            }
            let summary = try sink.finish()
            return Saved(path: path, duration: summary.duration)
        } catch {
            sink.abort()
            throw error
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

    func omitVideo() throws(MediaError) { buffer.state.withLock { $0.units.hasVideo = false } }

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
        byteCount += Int64(sample.data.count)
        buffer.state.withLock {
            $0.units.add(
                .init(
                    content: sample,
                    presentationTime: sample.presentationTime,
                    decodeTime: sample.decodeTime,
                    isKeyFrame: sample.isKeyFrame,
                    byteCount: sample.data.count
                )
            )
        }
    }

    func write(_ packet: MediaPacket) throws(MediaError) {
        byteCount += Int64(packet.byteCount)
        buffer.state.withLock {
            $0.units.add(.init(content: packet, time: packet.presentationTime, byteCount: packet.byteCount))
        }
    }

    func complete() throws(MediaError) {}

    func finish() throws(MediaError) -> MediaSink.Summary {
        MediaSink.Summary(byteCount: byteCount, sampleCount: count, duration: buffer.state.withLock { $0.units.end })
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
        try self.init(pictures: pictures, sound: sound, settings: settings) { _ async throws(MediaError) in
            try await AssetWriter(container: .mp4) { () throws(MediaError) in ReplaySink(replay) }
        }
    }
}
