// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import FFmpegSupport
public import Logging
public import MediaTypes

/// Writes coded video and other coded tracks into a file: the counterpart of an `AVAssetWriter` without encoding.
///
/// A regular file appears under its name only when ``finish()`` succeeds; until then it has a hidden temporary name in
/// the same folder. After an error, after ``abort()``, or if an unfinished sink is released, no file is left. Devices,
/// FIFOs and standard output are written directly.
///
/// Calls block while the operating system writes. A sink is used by one thread at a time.
///
/// **Copies.** The number of copies of the coded data between the encoder's buffer and the kernel depends on the
/// container: none for a byte stream (one `writev` gathers the pieces); one for MP4 and QuickTime (libavformat's output
/// buffer, from a reference to the sample's memory); two for fragmented ones (which collect a fragment first) and for
/// Matroska (a cluster); three for a transport stream (start codes, 188-byte packets, output buffer). A length-prefixed
/// key frame that carries its parameter sets is copied once more.
///
/// **Parameter sets.** Byte streams and transport streams carry them in front of every key frame. MP4, QuickTime and
/// Matroska carry them in the header; fragmented and streamed ones, and those with ``repeatsParameterSets``, also carry
/// them in front of every key frame. Every container does so from the first key frame on whose parameter sets differ
/// from the header's. An MP4 or QuickTime track is `avc1`/`hvc1`, or `avc3`/`hev1` if it is fragmented, streamed, or
/// has sets that differ from the header's.
public final class MediaSink {
    /// The options for writing an output.
    public struct Options: Sendable {
        /// The container; `nil` derives it from the path, see ``ContainerFormat/init(name:path:)``.
        public var format: ContainerFormat?
        /// Whether an existing regular file may be replaced.
        public var overwrite = false
        /// Whether MP4 and QuickTime are written in fragments, one at each key frame and at least every ten seconds.
        /// Otherwise the index precedes the media data. Outputs that are not seekable are always fragmented.
        public var isFragmented = false
        /// The maximum duration of a fragment, 0.1 s to 10 min, after which it is written and synced to the disk. A crash
        /// or a power failure loses at most the unfinished fragment and what the encoders and the muxer still hold. `nil`
        /// means fragments of at most ten seconds that are not synced. Until ``MediaSink/finish()``, the file is at
        /// ``MediaSink/temporaryPath``.
        public var fragmentInterval: MediaTime?
        /// The maximum duration of the first fragment, if it differs, so that little is lost at the beginning: the
        /// counterpart of `AVAssetWriter.initialMovieFragmentInterval`. Requires ``fragmentInterval``.
        public var initialFragmentInterval: MediaTime?
        /// Whether ``MediaSink/finish()`` rewrites a fragmented file as a plain one, whose index precedes the media data, as
        /// `AVAssetWriter` does. It reads and writes the file once more, and needs as much space again until it is
        /// done. If that fails, the fragmented file gets the name; see ``MediaSink/Summary/defragmentationError``.
        public var isDefragmented = false
        /// Whether a file stays after a failure, under its temporary name, so that ``MediaSink/rescue()`` can complete it.
        /// One that cannot be completed, or not be renamed, stays there for good: the error names it.
        package var isRescuable = false
        /// Whether a path that is there and no regular file, such as a FIFO, is refused.
        package var needsRegularFile = false
        /// Whether there is a video track. Without one, packets are written at once, and the first one begins the output.
        public var hasVideo = true
        /// Whether video, if there is any, is copied as packets of tracks. Then ``hasVideo`` must be `false`.
        package var copiesVideo = false
        /// The paths of the files that are being read. The output must not be one of them.
        public var inputPaths: [String] = []
        /// The frame rate in frames per second, if it is constant: containers store it, and it determines the duration
        /// of samples without one.
        public var frameRate: Rational?
        /// The name of the encoder, which containers store per track.
        public var encoderName: String?
        /// The language of the video (mostly ISO 639-2), for containers that store it per track.
        public var language: String?
        /// The title of the video track.
        public var title: String?

        /// Makes the default options: container by extension, no overwriting, no fragments.
        public init() {}
    }

    /// Whether a container accepts a track or metadata.
    public enum Acceptance: Sendable, Hashable {
        /// Accepted.
        case accepted
        /// Refused, with the reason worded for users.
        case refused(reason: String)
    }

    /// A summary of the written output.
    public struct Summary: Sendable, Hashable {
        /// The size of the file; for pipes and devices, the number of bytes written.
        public let byteCount: Int64
        /// The number of video samples written.
        public let sampleCount: Int
        /// The time from the first picture's presentation time to the end of the last picture; without video, the end of the
        /// last packet.
        public let duration: MediaTime
        /// Why the file is still fragmented although ``MediaSink/Options/isDefragmented`` is set; `nil` if it is not.
        public let defragmentationError: MediaError?
        /// The errors of malformed packets that were accepted ahead of their video sample and then omitted.
        public let packetErrors: [MediaError]

        /// Makes the summary of another sink.
        package init(
            byteCount: Int64,
            sampleCount: Int,
            duration: MediaTime,
            defragmentationError: MediaError? = nil,
            packetErrors: [MediaError] = []
        ) {
            (self.byteCount, self.sampleCount, self.duration) = (byteCount, sampleCount, duration)
            (self.defragmentationError, self.packetErrors) = (defragmentationError, packetErrors)
        }

        /// What the output lacks of what was asked for, for people.
        package var omissions: [String] {
            guard let defragmentationError else { return [] }
            let what = "the output stayed fragmented, because it could not be copied into an ordinary file"
            return ["\(what): \(defragmentationError)"]
        }
    }

    /// The container.
    public let format: ContainerFormat
    /// The path as given.
    public let path: String
    /// Whether the output is written in fragments, by request or because it is not seekable.
    public let isFragmented: Bool

    /// The temporary path of the file until it is finished; `nil` if the output is not a regular file.
    public var temporaryPath: String? { file?.readablePath }

    /// The path of a rescuable file that could not get its name; `nil` if there is none.
    package var keptPath: String? { file?.keptPath }

    /// Deletes the temporary files of all unfinished sinks of this process, for a process that is about to exit. Can be
    /// called on any thread. Such sinks fail when they finish.
    public static func discardUnfinishedOutputs() { UnfinishedFiles.deleteAll() }

    /// Whether every container carries parameter sets in front of every key frame; default: `false`.
    ///
    /// Use it for video whose encoder may be replaced within the stream, for example if a GPU fails. A player that
    /// seeks back across such a change finds the earlier parameter sets only there, because it reads the header once.
    /// Without a change, they only increase the size. An HEVC track is then still `hvc1`, which Apple's players
    /// require, although ISO/IEC 14496-15 8.3.3.1.3 strictly allows no parameter sets in its samples. Set it before the
    /// first sample.
    public var repeatsParameterSets = false

    /// Counts what is written. Set it before the first sample.
    package var writtenBytes: WrittenBytes? {
        didSet { file?.counter = writtenBytes }
    }

    private(set) var options: Options
    private let log: LogRoute?
    private(set) var file: OutputFile?
    let target: OutputTarget?
    let abandonment: Cancellation?
    private(set) var contents = ContainerContents()
    /// The first video sample without its data, which describes the track.
    private(set) var firstSample: SampleBuffer?
    /// The number of packets that were written, and the latest end of one.
    private(set) var packetCount = 0
    private var packetEnd = MediaTime.zero
    /// The time and the duration of the latest packet of each track.
    private(set) var lastPackets: [ObjectIdentifier: (time: MediaTime, duration: MediaTime)] = [:]
    private var writer: (any SampleWriter)?
    private let waiting: WaitingPackets
    private(set) var video = VideoSequence()
    private var packetErrors: [MediaError] = []
    /// Whether it takes samples and packets: false at the end and after an error that concerns the whole output.
    package private(set) var isOpen = true
    /// Whether everything is written.
    private var isComplete = false
    private var defragmentationError: MediaError?

    /// Opens an output, and performs all checks that need no sample.
    ///
    /// - Parameters:
    ///   - path: The path of the output, `-` for standard output, or `null` for no output.
    ///   - options: The options for writing.
    ///   - logger: Receives FFmpeg's messages about this output, like `MediaLog.logger`; `nil` leaves them to that
    ///     logger.
    ///   - cancellation: Ends only the wait until a FIFO is opened for reading.
    ///   - abandonment: Ends that wait, and the wait for a stalled reader of a FIFO or device: the call that writes
    ///     then throws `cancelled`. It does not end writes to standard output, which other processes share.
    /// - Throws: `invalidArgument` if the format is unknown, the folder is missing, or the output exists and may not be
    ///   overwritten, is a folder, a terminal or the input; `inputOutput` if the system cannot create the file;
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
        self.target = target
        self.abandonment = abandonment
        guard let target else {
            file = nil
            isFragmented = false
            waiting = WaitingPackets(folder: temporaryFolder)
            return
        }
        let file = try OutputFile(target, cancellation: cancellation, abandonment: abandonment)
        file.keepsFile = options.isRescuable
        self.file = file
        waiting = WaitingPackets(folder: file.folder ?? temporaryFolder)
        isFragmented = options.isFragmented || (format.needsSeekableOutput && !file.isSeekable)
    }

    /// Performs the checks of ``init(path:options:logger:cancellation:abandonment:)`` without opening a file, for
    /// programs that do long work before.
    ///
    /// - Throws: As ``init(path:options:logger:cancellation:abandonment:)``.
    public static func validate(path: String, options: Options = Options()) throws(MediaError) {
        _ = try target(path: path, options: options)
    }

    private static func target(
        path: String,
        options: Options
    ) throws(MediaError) -> (format: ContainerFormat, target: OutputTarget?) {
        let format = if let format = options.format { format } else { try ContainerFormat(name: nil, path: path) }
        guard format != .null else { return (format, nil) }
        try options.validateFragments()
        if !options.hasVideo, !options.copiesVideo { try format.validateWithoutVideo() }
        guard format.canBeFragmented || !options.isFragmented else {
            throw MediaError(
                .invalidArgument,
                "the output format does not support fragments",
                given: format.rawValue,
                allowed: ContainerFormat.allCases.filter(\.canBeFragmented).map(\.rawValue).joined(separator: ", ")
            )
        }
        let target = try OutputTarget(path: path, overwrite: options.overwrite, inputPaths: options.inputPaths)
        if options.needsRegularFile, target.file == nil {
            throw MediaError(
                .invalidArgument,
                "the output is not a regular file",
                given: path,
                allowed: "a new file, or a regular file with the option overwrite"
            )
        }
        if options.isDefragmented, target.file == nil {
            throw MediaError(
                .invalidArgument,
                "only a file can be defragmented",
                given: path,
                allowed: "the path of a regular file"
            )
        }
        return (format, target)
    }

    deinit { abort() }

    /// Adds a track to be copied. Must be called before the first sample.
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

    /// Omits the video track, as ``Options/hasVideo`` does. Must be called before the first sample.
    ///
    /// - Throws: `invalidState` after the first sample; `invalidArgument` if the container needs a video track.
    package func omitVideo() throws(MediaError) {
        try checkHasNotBegun()
        try format.validateWithoutVideo()
        options.hasVideo = false
    }

    /// Sets the chapters. Must be called before the first sample.
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

    /// Sets metadata of the whole file, such as `title`. Must be called before the first sample. A container omits keys
    /// that it does not support.
    ///
    /// - Returns: Whether the container accepts metadata.
    /// - Throws: `invalidState` after the first sample.
    public func setMetadata(_ metadata: [String: String]) throws(MediaError) -> Acceptance {
        try checkHasNotBegun()
        guard format.takesMetadata else { return .refused(reason: "\(format.rawValue) does not support metadata") }
        contents.metadata = metadata
        return .accepted
    }

    /// Writes the next video sample, in decoding order. The first one must be a key frame.
    ///
    /// A dropped sample has no data and is skipped. Times are stored in the container's time unit: exactly in MP4 and
    /// QuickTime if the first sample's times and ``Options/frameRate`` have a common unit of at least a microsecond,
    /// otherwise rounded to the nearest unit.
    ///
    /// - Throws: `invalidArgument` or `malformedData` about this sample, which is then not written; `unsupported` if
    ///   the codec changes; `inputOutput` if writing fails, after which nothing more can be written.
    public func write(_ sample: SampleBuffer) throws(MediaError) {
        try checkIsWritable()
        let mark = LogRoute.enter(log)
        defer { LogRoute.leave(mark) }
        guard options.hasVideo else { throw MediaError(.invalidArgument, "the output has no video track", given: path) }
        guard !sample.isDropped else { return }
        try format.validate(sample.formatDescription.codec)
        let accepted = try video.validate(sample, frameRate: options.frameRate)
        let writer = if let writer { writer } else { try begin(with: sample) }
        try abortingOnFailure { () throws(MediaError) in
            let hasSets = parameterSets.isCarried(
                by: sample,
                isRequested: repeatsParameterSets,
                haveChanged: accepted.parameterSetsHaveChanged
            )
            try writer.write(sample, duration: accepted.duration, withParameterSets: hasSets)
        }
        video.append(accepted)
        try writeWaitingPackets(to: writer, upTo: sample.decodeTime)
    }

    /// Writes the next packet of an accepted track. Packets of a track must be in decoding order. They wait for the
    /// video sample with which they are interleaved: up to 64 MiB in memory, more in a temporary file next to the
    /// output, or in `TMPDIR` if the output is not a regular file.
    ///
    /// - Throws: `invalidArgument` if the track was not added; `malformedData` if the packet has no times, goes back in
    ///   time or is not valid for its codec, and then only this packet is omitted; `inputOutput` if writing fails,
    ///   after which nothing more can be written.
    public func write(_ packet: MediaPacket) throws(MediaError) {
        try checkIsWritable()
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
        if !options.hasVideo, writer == nil { _ = try begin(with: nil) }
        guard let writer, video.count > 0 || !options.hasVideo, waiting.isEmpty else {
            // Nothing is written, so packets do not have to wait.
            guard file != nil else { return }
            try abortingOnFailure { () throws(MediaError) in try waiting.append(packet) }
            return
        }
        try abortingOnFailure { () throws(MediaError) in try write(packet, to: writer) }
    }

    private func write(_ packet: MediaPacket, to writer: any SampleWriter) throws(MediaError) {
        try writer.write(packet)
        packetCount += 1
        lastPackets[ObjectIdentifier(packet.track)] = (packet.presentationTime, packet.duration)
        let end = packet.presentationTime + (packet.duration.isValid ? packet.duration : .zero)
        guard end.isValid else { return }
        // An edit list ends the track.
        let limit = format.canBeFragmented && !isFragmented ? packet.track.details?.end : nil
        packetEnd = max(packetEnd, limit.map { min($0, end) } ?? end)
    }

    /// Writes everything that is missing, and defragments the file if that is wanted, so that the file at
    /// ``temporaryPath`` can be read, and then renamed by ``finish()``. Nothing can be written afterwards.
    ///
    /// - Throws: `malformedData` if nothing was written, or no video sample of a file with video; `inputOutput` if writing
    ///   fails. After an error, no file is left.
    public func complete() throws(MediaError) {
        try checkIsOpen()
        guard !isComplete else { return }
        let mark = LogRoute.enter(log)
        defer { LogRoute.leave(mark) }
        do throws(MediaError) {
            guard let writer, video.count > 0 || !options.hasVideo else {
                let missing = options.hasVideo ? "video sample" : "packet"
                throw MediaError(.malformedData, "no \(missing) was written", given: path)
            }
            try writeWaitingPackets(to: writer, upTo: nil)
            try writer.finish(parameterSetsHaveChanged: video.parameterSetsHaveChanged)
            try defragment()
            isComplete = true
        } catch {
            close()
            throw error
        }
    }

    /// Completes the output and renames it to its final name.
    ///
    /// - Throws: `malformedData` if nothing was written, or no video sample of a file with video; `inputOutput` if writing fails; `invalidArgument` if a
    ///   file with this name was created meanwhile and may not be overwritten. In these cases no file is left.
    public func finish() throws(MediaError) -> Summary {
        try checkIsOpen()
        let mark = LogRoute.enter(log)
        defer { LogRoute.leave(mark) }
        defer { close() }
        try complete()
        let byteCount = try file?.commit() ?? 0
        return Summary(
            byteCount: byteCount,
            sampleCount: video.count,
            duration: options.hasVideo ? video.duration : packetEnd,
            defragmentationError: defragmentationError,
            packetErrors: packetErrors
        )
    }

    /// Completes a file whose writing has failed, or that gets nothing more because something else has failed, with what
    /// is whole in it: without a failed write everything, else all fragments (MP4, QuickTime), clusters (Matroska) or PES
    /// packets (transport streams) before it. Other formats have no such parts. Requires ``Options/isRescuable``.
    ///
    /// - Returns: What is in the file; `nil` if nothing is, and then there is no file, unless ``keptPath`` has it.
    package func rescue() -> Summary? {
        if isOpen, let summary = try? finish() { return summary }
        let mark = LogRoute.enter(log)
        defer { LogRoute.leave(mark) }
        defer { abort() }
        guard let file, let path = file.readablePath, let size = LocalFile(path: path).flatMap(format.wholeSize) else {
            return nil
        }
        do throws(MediaError) {
            try file.recover(size)
            // A file that cannot be read now may be later.
            let measured = try? format.measure(path, abandonment ?? Cancellation())
            // Sound without any picture of a file that has pictures.
            if let measured, measured.samples == 0, firstSample != nil { return nil }
            let found = measured ?? (0, .zero)
            let byteCount = try file.commit()
            return Summary(byteCount: byteCount, sampleCount: found.samples, duration: found.duration)
        } catch {
            return nil
        }
    }

    /// Discards the output. Has no effect after ``finish()``.
    public func abort() {
        close()
        file?.discard()
    }

    /// Ends the output. After a failure, the file stays if it may be rescued.
    private func close() {
        isOpen = false
        writer = nil
        waiting.discard()
        if !options.isRescuable { file?.discard() }
    }
}

extension MediaSink {
    private func begin(with sample: SampleBuffer?) throws(MediaError) -> any SampleWriter {
        do {
            firstSample = sample
            firstSample?.data = CodedData([])
            let writer = try makeWriter(for: sample)
            self.writer = writer
            return writer
        } catch {
            close()
            throw error
        }
    }

    /// Writes the packets that waited for the video, after the samples with which they are interleaved. libavformat
    /// stops waiting for a track when it has ten seconds of another: it would write all audio that precedes the first
    /// coded picture before that picture, and determine times without it.
    private func writeWaitingPackets(to writer: any SampleWriter, upTo time: MediaTime?) throws(MediaError) {
        guard !waiting.isEmpty else { return }
        do {
            try waiting.drain(upTo: time) { (packet) throws(MediaError) in
                do throws(MediaError) {
                    try write(packet, to: writer)
                } catch  where error.code == .malformedData {
                    packetErrors.append(error)
                }
            }
        } catch {
            close()
            throw error
        }
    }

    /// Rewrites a fragmented file as a plain one, if that is wanted. If it cannot be, it stays as it is.
    private func defragment() throws(MediaError) {
        do throws(MediaError) {
            guard let plain = try defragmented() else { return }
            // The fragments are on the disk, and stay until the copy is there, too.
            try plain.sync()
            file?.discard()
            file = plain
        } catch {
            if abandonment?.isCancelled == true { throw error }
            defragmentationError = error
        }
    }

    private func makeWriter(for sample: SampleBuffer?) throws(MediaError) -> any SampleWriter {
        guard let file else { return NullWriter() }
        guard let muxerName = format.muxerName else {
            guard options.copiesVideo, let track = contents.tracks.first else { return ByteStreamWriter(file: file) }
            return try PacketByteStreamWriter(file: file, track: track, format: format)
        }
        contents.frameRate = options.frameRate
        contents.encoderName = options.encoderName
        (contents.language, contents.title) = (options.language, options.title)
        let fragments = Fragments(interval: options.fragmentInterval, initial: options.initialFragmentInterval)
        return try ContainerWriter(
            muxer: Muxer(name: muxerName, file: file),
            format: format,
            fragments: isFragmented ? fragments : nil,
            parameterSets: parameterSets,
            contents: contents,
            firstSample: sample
        )
    }

    private var parameterSets: ParameterSetCarriage {
        ParameterSetCarriage(format, isStreamed: isFragmented || file?.isSeekable == false)
    }

    /// Discards the output if it has failed; an error about one sample or packet does not affect it.
    private func abortingOnFailure(_ body: () throws(MediaError) -> Void) throws(MediaError) {
        do {
            try body()
        } catch {
            if ![.invalidArgument, .malformedData].contains(error.code) { close() }
            throw error
        }
    }

    private func checkIsOpen() throws(MediaError) {
        guard isOpen else { throw MediaError(.invalidState, "the output is closed", given: path) }
    }

    private func checkIsWritable() throws(MediaError) {
        try checkIsOpen()
        guard !isComplete else { throw MediaError(.invalidState, "the output is complete", given: path) }
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
