// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaIO
public import MediaTypes

extension AssetWriter {
    /// The rule by which a recording continues in another file.
    ///
    /// A file ends when one of the limits is reached, at the next key frame. The writer requests a key frame for the first
    /// picture after the limit, so that this is soon; without video, files of a limited duration end at the exact
    /// sample. Each file begins at zero and is playable by itself. Every picture is in one file. Encoded audio is cut at
    /// the exact sample: the audio of two successive files, decoded and joined, is that of one file. A packet of a
    /// ``PacketInput`` is in the file in which it begins.
    ///
    /// A file is completed while the next one is recorded, when all audio up to its end has arrived. Audio that is more
    /// than ten seconds behind the pictures is not waited for; it becomes silence.
    public struct Splitting: Sendable {
        /// The duration from which on a file ends, at least 0.1 s; `nil` for no limit.
        public var interval: MediaTime?
        /// The number of coded bytes from which on a file ends, without the container's own; `nil` for no limit.
        public var byteCount: Int64?
        /// Returns the path of a file by its number, from 1 on. `nil` replaces ``numberPlaceholder`` in the writer's path.
        public var path: (@Sendable (_ number: Int) -> String)?

        /// The part of a path that is replaced with the number of the file, of at least three digits.
        public static let numberPlaceholder = "{number}"

        /// Makes a rule.
        public init(
            interval: MediaTime? = nil,
            byteCount: Int64? = nil,
            path: (@Sendable (_ number: Int) -> String)? = nil
        ) {
            (self.interval, self.byteCount, self.path) = (interval, byteCount, path)
        }
    }

    /// A file of a recording.
    public struct File: Sendable, Hashable {
        /// The path.
        public var path: String
        /// The start, from the start of the session. Times of the file count from it.
        public var start: MediaTime
        /// The end, from the start of the session: the start of the next file or the end of the last picture.
        public var end: MediaTime
        /// What was written.
        public var summary: MediaSink.Summary
    }
}

/// The names of the files of a recording.
struct FileNames: Sendable {
    private let path: String
    let splitting: AssetWriter.Splitting?

    /// Checks the rule and the names.
    ///
    /// - Throws: `invalidArgument`; as `MediaSink.init` about the first files.
    init(path: String, splitting: AssetWriter.Splitting?, sink: MediaSink.Options) throws(MediaError) {
        (self.path, self.splitting) = (path, splitting)
        guard let splitting else { return }
        let least = MediaTime(value: 1, timescale: 10)
        let isValid =
            splitting.interval.map { $0.isValid && $0 >= least } ?? (splitting.byteCount != nil)
            && splitting.byteCount.map { $0 > 0 } ?? true
        guard isValid else {
            throw MediaError(
                .invalidArgument,
                "the rule for splitting a recording is not valid",
                given: "interval \(splitting.interval.map { "\($0.seconds) s" } ?? "none"), "
                    + "size \(splitting.byteCount.map { "\($0) bytes" } ?? "none")",
                allowed: "an interval of at least 0.1 s, or a size above 0"
            )
        }
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        let placeholder = AssetWriter.Splitting.numberPlaceholder
        guard splitting.path != nil || parts.last?.contains(placeholder) == true else {
            throw MediaError(
                .invalidArgument,
                "the path of a recording that is split needs a place for the number",
                given: path,
                allowed: "a file name with \(placeholder)"
            )
        }
        let first = (1...3).map(name)
        guard Set(first).count == first.count else {
            throw MediaError(
                .invalidArgument,
                "the files of a recording have the same path",
                given: first.joined(separator: ", "),
                allowed: "another path for each number"
            )
        }
        for path in first { try MediaSink.validate(path: path, options: sink) }
    }

    /// Returns the path of a file by its number, from 1 on.
    func name(_ number: Int) -> String {
        guard let splitting else { return path }
        if let closure = splitting.path { return closure(number) }
        let digits = String(number)
        let padded = String(repeating: "0", count: max(3 - digits.count, 0)) + digits
        return path.replacing(AssetWriter.Splitting.numberPlaceholder, with: padded)
    }
}

/// Decides where a recording continues in another file; all times count from the start of the session.
struct SeamPlan: Sendable, Hashable {
    private let interval: MediaTime?
    private let byteCount: Int64?
    /// The start of the present file.
    private var start = MediaTime.zero
    /// The number of coded bytes in it.
    private var bytes: Int64 = 0
    /// The time from which on the next picture should be a key frame.
    private var keyFrameTime: MediaTime?
    private var isKeyFrameRequested = false

    init(_ splitting: AssetWriter.Splitting) {
        (interval, byteCount) = (splitting.interval, splitting.byteCount)
        keyFrameTime = interval
    }

    /// The time at which the interval ends.
    var boundary: MediaTime? { interval.map { start + $0 } }
    /// The time before which no file ends, whatever comes; `nil` if one may end at any time.
    var earliest: MediaTime? { byteCount == nil ? boundary : nil }
    /// Whether the file has reached its size.
    var isFull: Bool { byteCount.map { bytes >= $0 } ?? false }

    /// Whether a file begins at a key frame with this time.
    func isDue(at time: MediaTime) -> Bool { time > start && (isFull || boundary.map { time >= $0 } ?? false) }

    /// Registers coded bytes of the present file.
    mutating func add(_ count: Int) {
        let wasFull = isFull
        bytes += Int64(count)
        if isFull, !wasFull, !isKeyFrameRequested { keyFrameTime = start }
    }

    /// Registers the start of a file.
    mutating func begin(at time: MediaTime) {
        (start, bytes, isKeyFrameRequested) = (time, 0, false)
        // With a slow encoder, a later one may be requested already.
        guard let boundary else { return keyFrameTime = nil }
        keyFrameTime = keyFrameTime.map { max($0, boundary) } ?? boundary
    }

    /// Returns whether a picture should become a key frame; once for each limit.
    mutating func requestsKeyFrame(at time: MediaTime) -> Bool {
        guard let wanted = keyFrameTime, time >= wanted else { return false }
        keyFrameTime = interval.map { time + $0 }
        isKeyFrameRequested = true
        return true
    }

    /// Registers that the requested key frame was dropped.
    mutating func requestAgain() { keyFrameTime = start }
}
