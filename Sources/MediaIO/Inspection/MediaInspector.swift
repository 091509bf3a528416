// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import CFFmpeg
internal import FFmpegSupport
package import MediaTypes
internal import VideoDecoding

/// Finds out what a media file has, by its headers, its index and its beginning.
///
/// The work is bounded, whatever the file says: libavformat's limits apply to headers and to the number of streams, and
/// ``MediaInspector/mostPackets`` and the other limits to what is read and decoded after them. It is synchronous: use it
/// from one dedicated thread.
package struct MediaInspector {
    /// The packets of all tracks that are read, and their bytes.
    static let (mostPackets, mostBytes) = (4000, 64 << 20)
    /// The pictures that are decoded.
    static let mostPictures = 32
    /// The packets with which a decoder may try to return them.
    static let mostDecodedPackets = 96
    /// The chapters and the texts of metadata that a report has, and the characters of a text.
    static let (mostChapters, mostTexts, longestText) = (1000, 200, 4096)

    /// How an input is read.
    package struct Options: Sendable {
        /// FFmpeg's name of the format; `nil` to detect it.
        package var format: String?
        /// The frame rate of a raw H.264 or HEVC stream; `nil` for the one that its SPS states.
        package var frameRate: Rational?
        /// What the input may have at most.
        package var limits = InputLimits()

        package init() {}
    }

    /// Inspects an input.
    ///
    /// - Parameters:
    ///   - path: A path, `-` for standard input, or a URL.
    ///   - cancellation: Ends the reading, from another thread.
    /// - Throws: `invalidArgument` for a directory and an unknown format; `unsupported` for what exceeds the limits; `unavailable` if the input is missing or not
    ///   readable; `malformedData` if it is empty or is no media file; `inputOutput`; `outOfMemory`; `cancelled`.
    package static func report(
        on path: String,
        options: Options = Options(),
        cancellation: Cancellation = Cancellation()
    ) throws(MediaError) -> MediaReport {
        let outline = LocalFile(path: path).flatMap { ContainerOutline($0) }
        let demuxer: Demuxer
        do throws(MediaError) {
            var demuxing = MediaSource.Options(format: options.format)
            demuxing.limits = options.limits
            try demuxing.validate()
            demuxer = try Demuxer(path: path, options: demuxing, cancellation: cancellation)
        } catch {
            guard error.code == .malformedData, outline?.hasIndex == false else { throw error }
            throw MediaError(
                .malformedData,
                "the file has no index (moov box), without which nothing in it can be found: its writer did not finish "
                    + "it, or its end is missing",
                given: path,
                allowed: "a complete MP4 or QuickTime file",
                remedies: ["copy it again from where it was made, or record fragments: vatoolbox encode --fragmented"]
            )
        }
        if options.format == nil { try checkIsMedia(demuxer) }
        var examination = Examination(demuxer, outline, options)
        try examination.readBeginning()
        return examination.finished()
    }

    /// libavformat shows text as video on a terminal, and guesses at anything with the beginnings of a sound.
    private static func checkIsMedia(_ demuxer: Demuxer) throws(MediaError) {
        let isText = ["tty", "bin", "xbin", "adf", "idf"].contains(demuxer.formatName)
        let hasCodec = demuxer.streams.contains { $0.pointee.codecpar.pointee.codec_id != AV_CODEC_ID_NONE }
        guard isText || !hasCodec else { return }
        throw MediaError(
            .malformedData,
            isText ? "the input is text, and no media file" : "the input has no track of a known kind",
            given: demuxer.path,
            allowed: "a file in a format that FFmpeg reads"
        )
    }
}

/// The work on one input.
private struct Examination {
    private let demuxer: Demuxer
    private let outline: ContainerOutline?
    private let options: MediaInspector.Options
    private let streams: [UnsafeMutablePointer<AVStream>]
    private let video: UnsafeMutablePointer<AVStream>?
    private var report: MediaReport
    private var beginnings: [Int: StreamBeginning] = [:]
    private var pictures: FirstPictures?

    init(_ demuxer: Demuxer, _ outline: ContainerOutline?, _ options: MediaInspector.Options) {
        (self.demuxer, self.outline, self.options) = (demuxer, outline, options)
        streams = demuxer.streams
        video = demuxer.bestVideo
        report = MediaReport(formatName: demuxer.formatName, formatTitle: demuxer.formatTitle)
        report.startTime = demuxer.startTime
        report.duration = demuxer.duration
        report.byteCount = demuxer.byteCount
        report.tracks = streams.map { TrackReport($0, in: demuxer) }
        report.metadata = MediaReport.sorted(demuxer.metadata)
        let chapters = demuxer.chapters
        report.chapters = Array(chapters.prefix(MediaInspector.mostChapters))
        if chapters.count > report.chapters.count {
            note(.beyondLimits, "only \(report.chapters.count) of \(chapters.count) chapters are shown")
        }
        if let bytes = report.byteCount, let seconds = report.duration?.seconds, seconds > 0 {
            report.bitRate = Int64(exactly: (Double(bytes) * 8 / seconds).rounded())
        }
    }

    private mutating func note(_ kind: MediaProblem.Kind, _ text: String) {
        report.problems.append(MediaProblem(kind, text))
    }

    /// Reads packets until there are enough of the main track, and decodes the first pictures.
    mutating func readBeginning() throws(MediaError) {
        let reader = PacketReader(demuxer)
        if let video { try readFrameRate(of: video, reader) }
        var problems = SourceProblems()
        var (count, bytes) = (0, 0)
        let main = video ?? streams.first { $0.pointee.codecpar.pointee.codec_type == AVMEDIA_TYPE_AUDIO }
        guard let guide = main.map({ Int($0.pointee.index) }) else { return }
        pictures = video.flatMap {
            FirstPictures($0, maximum: MediaInspector.mostPictures, pixels: options.limits.pixels)
        }
        reading: while count < MediaInspector.mostPackets, bytes < MediaInspector.mostBytes {
            switch try reader.read(&problems) {
            case .finished, .abandoned: break reading
            // A demuxer returns after each 64 KiB in which it finds nothing.
            case .nothing: bytes += 65536
            case .packet(let packet):
                let index = Int(packet.pointee.stream_index)
                (count, bytes) = (count + 1, bytes + Int(packet.pointee.size))
                add(packet, index)
                if index == guide, video != nil { try pictures?.add(packet) }
                if beginnings[index]?.packetCount == PacketReader.picturesThatProveARate, index == guide {
                    break reading
                }
            }
        }
        try pictures?.finish()
        note(problems)
    }

    private mutating func add(_ packet: UnsafeMutablePointer<AVPacket>, _ index: Int) {
        guard streams.indices.contains(index) else { return }
        if beginnings[index] == nil {
            beginnings[index] = StreamBeginning()
            if report.tracks[index].audio != nil {
                report.tracks[index].audio?.priming = demuxer.priming(of: streams[index], packet)
            }
        }
        func time(_ ticks: Int64) -> Int64? { ticks == ffmpeg_no_pts ? nil : ticks }
        beginnings[index]?.add(
            StreamBeginning.Packet(
                presentationTime: time(packet.pointee.pts),
                decodeTime: time(packet.pointee.dts),
                isKeyFrame: packet.isKeyFrame,
                isIncomplete: packet.pointee.flags & AV_PKT_FLAG_CORRUPT != 0
            )
        )
    }

    /// Finds the frame rate as an encode does.
    private mutating func readFrameRate(
        of video: UnsafeMutablePointer<AVStream>,
        _ reader: PacketReader
    ) throws(MediaError) {
        let index = Int(video.pointee.index)
        guard let codec = VideoCodec(rawValue: demuxer.formatName) else {
            let rate = try reader.checkedFrameRate(FrameRateEstimate(stream: video), of: video)
            report.tracks[index].video?.frameRate = rate.rate
            report.tracks[index].video?.isVariableFrameRate = rate.isVariable
            return
        }
        // A raw stream has no times, and libavformat assumes a rate.
        if let rate = options.frameRate {
            report.tracks[index].video?.frameRate = rate
        } else if let rate = try? CopiedStream.statedFrameRate(video, codec, demuxer.path) {
            report.tracks[index].video?.frameRate = rate
        } else {
            report.tracks[index].video?.frameRate = nil
            note(.unstated, "the stream does not state its frame rate: players assume one, such as 25")
        }
    }
}

// MARK: - Results

extension Examination {
    /// Returns the report with what the beginning has told.
    mutating func finished() -> MediaReport {
        noteOutline()
        for index in report.tracks.indices { completeTrack(index) }
        if let video, let pictures {
            let index = Int(video.pointee.index)
            pictures.complete(&report.tracks[index])
            if pictures.damageCount > 0 {
                let reason = pictures.firstDamage.map { ": \($0)" } ?? ""
                let count = Readable.count(pictures.damageCount, "picture")
                note(
                    .damagedBeginning,
                    "\(count) at the beginning of track \(index) cannot be decoded without damage\(reason)"
                )
            }
        }
        report.problems = report.problems.enumerated()
            .sorted { ($0.element.kind, $0.offset) < ($1.element.kind, $1.offset) }.map(\.element)
        return report
    }

    private mutating func noteOutline() {
        if let outline, outline.missingBytes > 0 {
            let missing =
                outline.missingBytes == .max ? "the rest" : "at least \(Readable.byteCount(outline.missingBytes))"
            note(.truncated, "the file ends in the middle of its data: \(missing) is missing")
        }
        guard let outline, demuxer.formatName.hasPrefix("matroska") else { return }
        if outline.isUnfinished {
            note(.missingIndex, "the file was not finished: it states no length, and may have no index")
        } else if outline.hasIndex == false {
            note(.missingIndex, "the file has no index (Cues): players seek slowly or not at all")
        }
    }

    private mutating func note(_ problems: SourceProblems) {
        if problems.readErrors > 0 {
            let first = problems.descriptions.first.map { ": \($0)" } ?? ""
            let count = Readable.count(problems.readErrors, "part")
            note(.damagedBeginning, "\(count) of the beginning cannot be read\(first)")
        }
        if problems.discontinuities > 0 {
            let count = Readable.count(problems.discontinuities, "time")
            note(.timesGoBack, "the clock of the file jumps \(count) at the beginning")
        }
        if problems.repairedTimes > 0 {
            let count = Readable.count(problems.repairedTimes, "time")
            note(.timesGoBack, "\(count) at the beginning far ahead of the others")
        }
    }

    private mutating func completeTrack(_ index: Int) {
        let (track, stream) = (report.tracks[index], streams[index])
        let name = "track \(track.index)"
        let kinds: [MediaTrack.Kind] = [.video, .audio]
        if track.kind != .attachment, track.codec == nil {
            let kind = track.kind.rawValue + (track.codecTag.map { ", \($0)" } ?? "")
            note(.unknownCodec, "the codec of \(name) (\(kind)) is not known")
        } else if kinds.contains(track.kind), avcodec_find_decoder(stream.pointee.codecpar.pointee.codec_id) == nil {
            note(.unknownCodec, "FFmpeg has no decoder for \(name): \(track.codec ?? "")")
        }
        if let size = track.video?.size {
            let most = PixelBuffer.maximumDimension
            if max(size.width, size.height) > most {
                let text = "\(size.width)x\(size.height), at most \(most)x\(most)"
                note(.beyondLimits, "\(name) is too large to encode: \(text)")
            } else if min(size.width, size.height) < 1, track.codec != nil {
                note(.unstated, "the size of \(name) is not stated")
            }
        }
        guard let beginning = beginnings[index], !track.isCover else { return }
        let timeBase = stream.pointee.time_base
        if beginning.stepsBack > 0, let step = beginning.firstStepBack {
            let (from, to) = (MediaTime(step.from, in: timeBase).seconds, MediaTime(step.to, in: timeBase).seconds)
            let count = Readable.count(beginning.stepsBack, "time")
            note(
                .timesGoBack,
                "times of \(name) go back \(count), first from \(Readable.number(from, places: 3)) s to "
                    + "\(Readable.number(to, places: 3)) s"
            )
        }
        guard track.kind == .video else { return }
        if beginning.countBeforeKeyFrame > 0 {
            let count = Readable.count(beginning.countBeforeKeyFrame, "picture")
            note(.damagedBeginning, "\(name) begins with \(count) before the first key frame, which cannot be decoded")
        }
        report.tracks[index].video?.keyFrames = VideoProperties.KeyFrames(
            pictures: beginning.packetCount,
            count: beginning.keyFrameCount,
            longestInterval: beginning.longestKeyInterval.map { MediaTime($0, in: timeBase).seconds }
        )
    }
}

extension MediaReport {
    /// Returns the texts of metadata that a report has.
    static func sorted(
        _ texts: [String: String],
        where isShown: (String) -> Bool = { _ in true }
    ) -> [(key: String, value: String)] {
        let most = MediaInspector.longestText
        return texts.filter { isShown($0.key) }.sorted { $0.key < $1.key }.prefix(MediaInspector.mostTexts)
            .map { ($0.key, $0.value.count > most ? $0.value.prefix(most - 1) + "…" : $0.value) }
    }
}
