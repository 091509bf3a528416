// SPDX-License-Identifier: GPL-2.0-or-later

internal import AudioCoding
internal import BitstreamSyntax
internal import CFFmpeg
internal import FFmpegSupport
internal import MediaTimeline
internal import MediaTypes

/// The contents of a container besides the video samples.
struct ContainerContents {
    /// The copied tracks, in order after the video track.
    var tracks: [MediaTrack] = []
    /// The chapters.
    var chapters: [Chapter] = []
    /// The metadata of the whole file.
    var metadata: [String: String] = [:]
    /// The frame rate in frames per second, if it is constant.
    var frameRate: Rational?
    /// The name of the video encoder.
    var encoderName: String?
    /// The language and the title of the video.
    var language: String?
    var title: String?
}

/// How MP4 and QuickTime are written in fragments.
struct Fragments {
    /// The maximum duration of a fragment, each of which is synced to the disk; `nil` for ten seconds without that.
    var interval: MediaTime?
    /// The maximum duration of the first fragment; `nil` for that of the others.
    var initial: MediaTime?

    /// The maximum duration of the first fragment in microseconds.
    var microseconds: Int64 { (initial ?? interval)?.converted(to: 1_000_000).value ?? 10_000_000 }
}

/// Writes video and copied tracks with libavformat.
///
/// libavformat takes references to the samples' memory and interleaves tracks by decode time. It buffers at most ten
/// seconds of samples while it waits for a track that is behind.
final class ContainerWriter: SampleWriter {
    private let muxer: Muxer
    private let format: ContainerFormat
    private let fragments: Fragments?
    private let parameterSets: ParameterSetCarriage
    private let tracks: [MediaTrack]
    /// The index of the first track's stream.
    private let firstTrack: Int
    private var clocks: [TickClock] = []
    /// The rewriters of copied video, by the index of the track.
    private var rewriters: [Int: NALUnitRewriter] = [:]

    /// The delay of a transport stream's clock (PCR, ISO/IEC 13818-1 2.4.3.5) relative to the first decode time, in
    /// microseconds: the time for filling a decoder's buffer. The same as ffmpeg's `-muxdelay`.
    static let decoderDelay: Int32 = 700_000

    /// Sets up the streams and writes the header.
    ///
    /// - Parameters:
    ///   - fragments: How MP4 and QuickTime are written in fragments; `nil` for an index of the whole.
    ///   - firstSample: The first sample to be written, which describes the video track; `nil` if there is none.
    init(
        muxer: Muxer,
        format: ContainerFormat,
        fragments: Fragments?,
        parameterSets: ParameterSetCarriage,
        contents: ContainerContents,
        firstSample: SampleBuffer?
    ) throws(MediaError) {
        self.muxer = muxer
        self.format = format
        self.fragments = fragments
        self.parameterSets = parameterSets
        tracks = contents.tracks
        firstTrack = firstSample == nil ? 0 : 1
        if let firstSample { try addVideo(firstSample, contents) }
        for (index, track) in tracks.enumerated() {
            let stream = try muxer.addStream()
            try stream.copy(track, in: format, to: muxer.context)
            rewriters[index] = try NALUnitRewriter(track, format: format, carriage: parameterSets)
            try rewriters[index]?.describe(stream.pointee.codecpar, in: format)
        }
        try muxer.setChapters(contents.chapters)
        for (key, value) in contents.metadata { av_dict_set(&muxer.context.pointee.metadata, key, value, 0) }
        if format == .ts { muxer.context.pointee.max_delay = Self.decoderDelay }
        muxer.syncFragments(of: fragments?.interval, first: fragments?.initial)
        try muxer.writeHeader(options)
        clocks = (0..<firstTrack + tracks.count).map(makeClock)
    }

    private func addVideo(_ firstSample: SampleBuffer, _ contents: ContainerContents) throws(MediaError) {
        let video = try muxer.addStream()
        try video.describe(firstSample.formatDescription, in: format, inBand: parameterSets.isInBand)
        let times = [firstSample.presentationTime, firstSample.decodeTime, firstSample.duration]
        video.setTiming(times, frameRate: contents.frameRate)
        video.pointee.disposition = AV_DISPOSITION_DEFAULT
        if let encoder = contents.encoderName { av_dict_set(&video.pointee.metadata, "encoder", encoder, 0) }
        video.setNames(language: contents.language, title: contents.title, in: format)
    }

    func write(_ sample: SampleBuffer, duration: MediaTime, withParameterSets: Bool) throws(MediaError) {
        let data = try format.framed(sample, withParameterSets: withParameterSets)
        let times = try clocks[0].ticks(presentation: sample.presentationTime, decode: sample.decodeTime)
        let ticks = duration.converted(to: clocks[0].timescale)
        try muxer.write { (packet) throws(MediaError) in
            try packet.refer(to: data)
            packet.pointee.stream_index = 0
            packet.pointee.pts = times.pts
            packet.pointee.dts = times.dts
            packet.pointee.duration = ticks.value
            if sample.isKeyFrame { packet.pointee.flags |= AV_PKT_FLAG_KEY }
            if !sample.isReference { packet.pointee.flags |= AV_PKT_FLAG_DISPOSABLE }
        }
    }

    func write(_ packet: MediaPacket) throws(MediaError) {
        guard let index = tracks.firstIndex(where: { $0 === packet.track }) else {
            throw MediaError(.invalidArgument, "the packet's track was not added to the output")
        }
        let (presentation, decode) = try packet.times()
        let delay = format == .mkv ? packet.track.matroskaDelay : .zero
        let stream = firstTrack + index
        let timeBase = AVRational(num: 1, den: clocks[stream].timescale)
        do {
            let data = try rewriters[index]?.rewrite(packet)
            let times = try clocks[stream].ticks(presentation: presentation + delay, decode: decode + delay)
            try muxer.write { (copy) throws(MediaError) in
                try check(av_packet_ref(copy, packet.packet), "av_packet_ref", "no memory for a packet")
                if let data { try copy.replaceData(with: data) }
                copy.pointee.duration = av_rescale_q(copy.pointee.duration, packet.track.timeBase, timeBase)
                copy.pointee.stream_index = Int32(stream)
                copy.pointee.pts = times.pts
                copy.pointee.dts = times.dts
                copy.pointee.pos = -1
            }
        } catch  where error.code == .malformedData || isAboutData(error) {
            throw error.about(packet)
        }
    }

    /// Writes a packet of a file with the same streams as it is.
    ///
    /// - Parameter timeBase: The time base of the packet.
    func copy(_ packet: UnsafeMutablePointer<AVPacket>, timeBase: AVRational) throws(MediaError) {
        let index = Int(packet.pointee.stream_index)
        guard clocks.indices.contains(index), let stream = muxer.context.pointee.streams[index] else { return }
        try muxer.write { (copy) throws(MediaError) in
            try check(av_packet_ref(copy, packet), "av_packet_ref", "no memory for a packet")
            av_packet_rescale_ts(copy, timeBase, stream.pointee.time_base)
            copy.pointee.pos = -1
        }
    }

    func finish(parameterSetsHaveChanged: Bool) throws(MediaError) {
        try muxer.writeTrailer()
        let haveChanged = parameterSetsHaveChanged || rewriters.values.contains(where: \.haveChanged)
        if haveChanged, parameterSets.change == .sampleEntry, let file = muxer.file {
            try SampleEntry.allowInBandParameterSets(in: file)
        }
        let ends = tracks.map { $0.details?.end }
        if format.canBeFragmented, fragments == nil, ends.contains(where: { $0 != nil }), let file = muxer.file {
            try EditLists.end(tracks: Array(repeating: nil, count: firstTrack) + ends, in: file)
        }
    }
}

extension ContainerWriter {
    private var options: [String: String] {
        switch format {
        case .mp4, .mov:
            var options = ["movflags": "faststart"]
            if let fragments {
                options["movflags"] = "frag_keyframe+delay_moov+default_base_moof"
                options["frag_duration"] = String(fragments.microseconds)
            }
            // The unit of the durations in edit lists, which end the sound at an exact sample.
            if let rate = tracks.lazy.compactMap({ $0.audio?.sampleRate }).first(where: { $0 > 0 }) {
                options["movie_timescale"] = String(rate)
            } else if let ticks = tracks.first(where: { $0.kind == .video })?.timeBase.den, ticks >= 1000 {
                options["movie_timescale"] = String(ticks)
            }
            return options
        case .mkv, .ts, .h264, .hevc, .null: return [:]
        }
    }

    /// Returns whether the muxer, or a bitstream filter that it uses, rejected only a packet, so that the file is still
    /// valid.
    private func isAboutData(_ error: MediaError) -> Bool {
        muxer.file?.failure == nil && error.status == Int(ffmpeg_error_invalid_data)
    }

    private func makeClock(_ index: Int) -> TickClock {
        let stream = muxer.context.pointee.streams[index]
        let isSubtitle = stream?.pointee.codecpar.pointee.codec_type == AVMEDIA_TYPE_SUBTITLE
        return TickClock(
            timescale: stream?.pointee.time_base.den ?? 1000,
            order: isSubtitle || !format.storesDecodeTimes ? .nondecreasing : .increasing,
            // movenc stores both as 32-bit numbers: ISO/IEC 14496-12 8.6.1.
            largestStep: format.canBeFragmented ? Int64(Int32.max) - 1 : .max
        )
    }
}
