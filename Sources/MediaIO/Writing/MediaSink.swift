// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
public import Logging
public import MediaTypes

/// Writes coded video, and tracks copied from an input, into a file: the counterpart of `AVAssetWriter`.
///
/// A regular file appears under its name only when ``finish()`` succeeds; until then it has a hidden temporary name in
/// the same folder. After an error, ``abort()``, or the release of an unfinished sink, no file is left. Devices, FIFOs
/// and standard output are written directly.
///
/// Calls block while the operating system writes. A sink is used by one thread at a time.
///
/// **Copies** of the coded data between the encoder's buffer and the kernel: none in a byte stream (one `writev`
/// gathers the pieces); one in MP4 and QuickTime (libavformat's output buffer, from a reference to the sample's
/// memory); two in fragmented ones (which collect a fragment first) and in Matroska (a cluster); three in a transport
/// stream (start codes, 188-byte packets, output buffer). A length-prefixed key frame that carries its parameter sets
/// is copied once more.
///
/// **Parameter sets.** Byte streams and transport streams carry them in front of every key frame. MP4, QuickTime and
/// Matroska carry them in the header; fragmented and streamed ones, and those with ``repeatsParameterSets``, also carry
/// them in front of every key frame. Every container does so from the first key frame on whose parameter sets differ
/// from the header's. An MP4 or QuickTime track is `avc1`/`hvc1`, or `avc3`/`hev1` if it is fragmented, streamed, or
/// has sets that differ from the header's.
public final class MediaSink {
    /// How to write an output.
    public struct Options: Sendable {
        /// The container; `nil` derives it from the path, see ``ContainerFormat/init(name:path:)``.
        public var format: ContainerFormat?
        /// Whether an existing regular file may be replaced.
        public var overwrite = false
        /// Whether MP4 and QuickTime are written in fragments, one at each key frame and at least every ten seconds.
        /// Otherwise the index precedes the media data. Outputs that are not seekable are always fragmented.
        public var isFragmented = false
        /// Files that are being read. The output must not be one of them.
        public var inputPaths: [String] = []
        /// Frames per second, where that is constant: containers state it, and samples without duration get it from here.
        public var frameRate: Rational?
        /// The name of the encoder, which containers store per track.
        public var encoderName: String?
        /// The language of the video (mostly ISO 639-2), where the container states it per track.
        public var language: String?
        /// The title of the video track.
        public var title: String?

        /// The defaults: container by extension, no overwriting, no fragments.
        public init() {}
    }

    /// Whether a container accepts something.
    public enum Acceptance: Sendable, Hashable {
        /// Accepted.
        case accepted
        /// Refused, with the reason in words for a person.
        case refused(reason: String)
    }

    /// What was written.
    public struct Summary: Sendable, Hashable {
        /// The size of the file; for pipes and devices the number of bytes written.
        public let byteCount: Int64
        /// How many video samples were written.
        public let sampleCount: Int
        /// From the first picture's presentation to the end of the last one's.
        public let duration: MediaTime
        /// Why packets are missing that were accepted ahead of their video sample and turned out to be malformed.
        public let packetErrors: [MediaError]
    }

    /// The container.
    public let format: ContainerFormat
    /// The path as it was given.
    public let path: String
    /// Whether the output is written in fragments, by request or because it is not seekable.
    public let isFragmented: Bool

    /// Deletes the temporary files of all sinks of this process that are not finished: for a process that is about to
    /// exit immediately, on any thread. Such sinks fail when they finish.
    public static func discardUnfinishedOutputs() { UnfinishedFiles.deleteAll() }

    /// Whether every container carries parameter sets in front of every key frame; default: `false`.
    ///
    /// Use it for video whose encoder may be replaced in mid-stream, for example if a GPU fails. A player that seeks
    /// back across such a change finds the earlier parameter sets only there, because it reads the header once. Without
    /// a change, they only cost their bytes. An HEVC track is then still `hvc1`, which Apple's players require,
    /// although ISO/IEC 14496-15 8.3.3.1.3 strictly allows no parameter sets in its samples. Set it before the first
    /// sample.
    public var repeatsParameterSets = false

    private let options: Options
    private let log: LogRoute?
    private let file: OutputFile?
    private var contents = ContainerContents()
    private var writer: (any SampleWriter)?
    private let waiting: WaitingPackets
    private var video = VideoSequence()
    private var packetErrors: [MediaError] = []
    private var isOpen = true

    /// Opens an output, and makes all checks that need no sample.
    ///
    /// - Parameters:
    ///   - path: Where to write: a path, `-` for standard output, `null` for nothing.
    ///   - options: How to write.
    ///   - logger: Receives what FFmpeg logs about this output, as ``MediaLog/logger``; `nil` leaves it to that.
    ///   - cancellation: Ends only the wait for a reader of a FIFO.
    ///   - abandonment: Ends that wait, and the wait for a stalled reader of a FIFO or device: the call that writes then
    ///     throws `cancelled`. It does not end writes to standard output, which other processes share.
    /// - Throws: `invalidArgument` if the format is unknown, the folder is missing, the output exists and may not be
    ///   overwritten, is a folder, a terminal or the input; `inputOutput` if the system refuses to make the file;
    ///   `cancelled`.
    public init(
        path: String,
        options: Options = Options(),
        logger: Logger? = nil,
        cancellation: Cancellation? = nil,
        abandonment: Cancellation? = nil
    ) throws(MediaError) {
        log = LogRoute(logger)
        let (format, target) = try Self.target(path: path, options: options)
        self.path = path
        self.format = format
        self.options = options
        guard let target else {
            file = nil
            isFragmented = false
            waiting = WaitingPackets(folder: temporaryFolder)
            return
        }
        let file = try OutputFile(target, cancellation: cancellation, abandonment: abandonment)
        self.file = file
        waiting = WaitingPackets(folder: file.folder ?? temporaryFolder)
        isFragmented = options.isFragmented || (format.needsSeekableOutput && !file.isSeekable)
    }

    /// Makes the checks of ``init(path:options:logger:cancellation:abandonment:)`` without opening anything, for programs
    /// that have long work to do first.
    ///
    /// - Throws: as ``init(path:options:logger:cancellation:abandonment:)``.
    public static func validate(path: String, options: Options = Options()) throws(MediaError) {
        _ = try target(path: path, options: options)
    }

    private static func target(
        path: String,
        options: Options
    ) throws(MediaError) -> (format: ContainerFormat, target: OutputTarget?) {
        let format = if let format = options.format { format } else { try ContainerFormat(name: nil, path: path) }
        guard format != .null else { return (format, nil) }
        guard format.canBeFragmented || !options.isFragmented else {
            throw MediaError(
                .invalidArgument,
                "the output format does not support fragments",
                given: format.rawValue,
                allowed: ContainerFormat.allCases.filter(\.canBeFragmented).map(\.rawValue).joined(separator: ", ")
            )
        }
        let target = try OutputTarget(path: path, overwrite: options.overwrite, inputPaths: options.inputPaths)
        return (format, target)
    }

    deinit { abort() }

    /// Adds a track that is copied, before the first sample.
    ///
    /// - Returns: Whether the container accepts it. If not, its packets must not be written.
    /// - Throws: `invalidState` after the first sample.
    public func addTrack(_ track: MediaTrack) throws(MediaError) -> Acceptance {
        try checkHasNotBegun()
        let mark = LogRoute.enter(log)
        defer { LogRoute.leave(mark) }
        if let reason = format.refusal(of: track, isSeekable: file?.isSeekable ?? true) {
            return .refused(reason: reason)
        }
        contents.tracks.append(track)
        return .accepted
    }

    /// Sets the chapter marks, before the first sample.
    ///
    /// - Returns: Whether the container accepts them.
    /// - Throws: `invalidState` after the first sample; `invalidArgument` if a chapter's times are invalid.
    public func setChapters(_ chapters: [Chapter]) throws(MediaError) -> Acceptance {
        try checkHasNotBegun()
        for chapter in chapters where !(chapter.start.isValid && chapter.end.isValid && chapter.start <= chapter.end) {
            throw MediaError(
                .invalidArgument,
                "a chapter's times are not valid",
                given: "\(chapter.start)...\(chapter.end)",
                allowed: "a start that is not after the end"
            )
        }
        guard format.takesChapters else { return .refused(reason: "\(format.rawValue) does not support chapters") }
        contents.chapters = chapters
        return .accepted
    }

    /// Sets texts about the whole file, such as `title`, before the first sample. A container omits keys that it does
    /// not know.
    ///
    /// - Returns: Whether the container accepts such texts.
    /// - Throws: `invalidState` after the first sample.
    public func setMetadata(_ metadata: [String: String]) throws(MediaError) -> Acceptance {
        try checkHasNotBegun()
        guard format.takesMetadata else { return .refused(reason: "\(format.rawValue) does not support metadata") }
        contents.metadata = metadata
        return .accepted
    }

    /// Writes the next video sample, in decode order. The first one must be a key frame.
    ///
    /// A dropped sample has no data and is skipped. Times are stored in the container's unit: exactly in MP4 and
    /// QuickTime if the first sample's times and ``Options/frameRate`` have a common unit of at least a microsecond,
    /// otherwise rounded to the nearest unit.
    ///
    /// - Throws: `invalidArgument` or `malformedData` about this sample, which is then not written; `unsupported` if
    ///   the codec changes; `inputOutput` if writing fails, after which nothing more can be written.
    public func write(_ sample: SampleBuffer) throws(MediaError) {
        try checkIsOpen()
        let mark = LogRoute.enter(log)
        defer { LogRoute.leave(mark) }
        guard !sample.isDropped else { return }
        try format.validate(sample.formatDescription.codec)
        let accepted = try video.validate(sample, frameRate: options.frameRate)
        let writer = if let writer { writer } else { try begin(with: sample) }
        try abortingOnFailure { () throws(MediaError) in
            let hasSets = sendsParameterSets(sample, accepted)
            try writer.write(sample, duration: accepted.duration, withParameterSets: hasSets)
        }
        video.append(accepted)
        try writeWaitingPackets(to: writer, upTo: sample.decodeTime)
    }

    /// Writes the next packet of a track that was accepted. Packets of a track must be in decode order. Packets wait
    /// for the video sample next to which they belong: up to 64 MiB in memory, more in a temporary file next to the
    /// output, or in `TMPDIR` if the output is not a regular file.
    ///
    /// - Throws: `invalidArgument` if the track was not added; `malformedData` if the packet has no times, goes back in
    ///   time or is not what its codec says, and then only this packet is left out; `inputOutput` if writing fails, after
    ///   which nothing more can be written.
    public func write(_ packet: MediaPacket) throws(MediaError) {
        try checkIsOpen()
        let mark = LogRoute.enter(log)
        defer { LogRoute.leave(mark) }
        guard contents.tracks.contains(where: { $0 === packet.track }) else {
            throw MediaError(
                .invalidArgument,
                "the packet's track was not added to the output",
                given: "track \(packet.track.index) (\(packet.track.codecName))",
                allowed: contents.tracks.map { "track \($0.index)" }.joined(separator: ", ")
            )
        }
        guard let writer, video.count > 0, waiting.isEmpty else {
            // Nothing is written, so that nothing has to wait.
            guard file != nil else { return }
            try abortingOnFailure { () throws(MediaError) in try waiting.append(packet) }
            return
        }
        try abortingOnFailure { () throws(MediaError) in try writer.write(packet) }
    }

    /// Completes the output and gives it its name.
    ///
    /// - Throws: `malformedData` if no video sample was written; `inputOutput` if writing fails; `invalidArgument` if
    ///   a file of this name appeared meanwhile and may not be overwritten. Then nothing is left.
    public func finish() throws(MediaError) -> Summary {
        try checkIsOpen()
        let mark = LogRoute.enter(log)
        defer { LogRoute.leave(mark) }
        defer { abort() }
        guard let writer, video.count > 0 else {
            throw MediaError(.malformedData, "no video sample was written", given: path)
        }
        try writeWaitingPackets(to: writer, upTo: nil)
        try writer.finish(parameterSetsHaveChanged: video.parameterSetsHaveChanged)
        let byteCount = try file?.commit() ?? 0
        return Summary(
            byteCount: byteCount,
            sampleCount: video.count,
            duration: video.duration,
            packetErrors: packetErrors
        )
    }

    /// Discards the output. Does nothing after ``finish()``.
    public func abort() {
        isOpen = false
        writer = nil
        waiting.discard()
        file?.discard()
    }
}

extension MediaSink {
    private func begin(with sample: SampleBuffer) throws(MediaError) -> any SampleWriter {
        do {
            let writer = try makeWriter(for: sample)
            self.writer = writer
            return writer
        } catch {
            abort()
            throw error
        }
    }

    /// Writes what waited for the video, behind the samples beside which it belongs. libavformat gives up waiting for a track
    /// when it has ten seconds of another: it would put all sound that comes before the first coded picture in front of that,
    /// and settle times without it.
    private func writeWaitingPackets(to writer: any SampleWriter, upTo time: MediaTime?) throws(MediaError) {
        guard !waiting.isEmpty else { return }
        do {
            try waiting.drain(upTo: time) { (packet) throws(MediaError) in
                do throws(MediaError) {
                    try writer.write(packet)
                } catch  where error.code == .malformedData {
                    packetErrors.append(error)
                }
            }
        } catch {
            abort()
            throw error
        }
    }

    private func makeWriter(for sample: SampleBuffer) throws(MediaError) -> any SampleWriter {
        guard let file else { return NullWriter() }
        guard let muxerName = format.muxerName else { return ByteStreamWriter(file: file) }
        contents.frameRate = options.frameRate
        contents.encoderName = options.encoderName
        (contents.language, contents.title) = (options.language, options.title)
        return try ContainerWriter(
            muxer: Muxer(name: muxerName, file: file),
            format: format,
            isFragmented: isFragmented,
            contents: contents,
            firstSample: sample
        )
    }

    /// A receiver that joins a stream at a key frame needs the parameter sets there.
    private func sendsParameterSets(_ sample: SampleBuffer, _ accepted: VideoSequence.Accepted) -> Bool {
        let isStreamed = isFragmented || file?.isSeekable == false
        let isRepeated = isStreamed || repeatsParameterSets || accepted.parameterSetsHaveChanged
        guard format.framing == .annexB || isRepeated else { return false }
        return sample.isKeyFrame || sample.isRecoveryPoint
    }

    /// Discards the output if it has failed; an error about one sample or packet leaves it unchanged.
    private func abortingOnFailure(_ body: () throws(MediaError) -> Void) throws(MediaError) {
        do {
            try body()
        } catch {
            if ![.invalidArgument, .malformedData].contains(error.code) { abort() }
            throw error
        }
    }

    private func checkIsOpen() throws(MediaError) {
        guard isOpen else { throw MediaError(.invalidState, "the output is closed", given: path) }
    }

    private func checkHasNotBegun() throws(MediaError) {
        try checkIsOpen()
        guard writer == nil else {
            throw MediaError(
                .invalidState,
                "the output has already begun; call this before the first sample",
                given: path
            )
        }
    }
}
