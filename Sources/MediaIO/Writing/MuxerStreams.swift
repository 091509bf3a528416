// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import CFFmpeg
internal import FFmpegSupport
internal import Glibc
internal import MediaTimeline
internal import MediaTypes

extension ContainerFormat {
    /// Returns the four-character code of a video track; 0 if the container has none.
    ///
    /// - Parameter inBand: Whether samples carry parameter sets.
    func sampleEntry(of codec: VideoCodec, inBand: Bool) -> UInt32 {
        guard canBeFragmented else { return 0 }
        return SampleEntry.tag(SampleEntry.type(of: codec, inBand: inBand))
    }
}

extension UnsafeMutablePointer<AVStream> {
    /// Sets the parameters of a video stream.
    ///
    /// - Parameter inBand: Whether samples carry parameter sets from the start.
    func describe(
        _ format: FormatDescription,
        in container: ContainerFormat,
        inBand: Bool
    ) throws(MediaError) {
        guard let width = Int32(exactly: format.width), let height = Int32(exactly: format.height), width > 0,
            height > 0
        else {
            throw MediaError(
                .invalidArgument,
                "the size of the video is not valid",
                given: "\(format.width)x\(format.height)",
                allowed: "1...\(Int32.max) each"
            )
        }
        let parameters: UnsafeMutablePointer<AVCodecParameters> = pointee.codecpar
        parameters.pointee.codec_type = AVMEDIA_TYPE_VIDEO
        parameters.pointee.codec_id = format.codec == .h264 ? AV_CODEC_ID_H264 : AV_CODEC_ID_HEVC
        parameters.pointee.codec_tag = container.sampleEntry(of: format.codec, inBand: inBand)
        parameters.pointee.width = width
        parameters.pointee.height = height
        let aspect = format.pixelAspectRatio.reduced
        if aspect.isPositive {
            parameters.pointee.sample_aspect_ratio = AVRational(num: aspect.numerator, den: aspect.denominator)
            pointee.sample_aspect_ratio = parameters.pointee.sample_aspect_ratio
        }
        parameters.describe(format.color)
        if container.framing != .annexB {
            try parameters.setExtradata(format.decoderConfigurationRecord(inBand: inBand))
        }
        try addHDRMetadata(format.attachments)
    }

    /// Sets the parameters of a copied stream.
    func copy(
        _ track: MediaTrack,
        in container: ContainerFormat,
        to context: UnsafePointer<AVFormatContext>
    ) throws(MediaError) {
        let parameters: UnsafeMutablePointer<AVCodecParameters> = pointee.codecpar
        try check(
            avcodec_parameters_copy(parameters, track.parameters),
            "avcodec_parameters_copy",
            "no memory for stream parameters"
        )
        let tags = context.pointee.oformat.pointee.codec_tag
        let isKnown = tags != nil && av_codec_get_id(tags, parameters.pointee.codec_tag) == parameters.pointee.codec_id
        if !isKnown { parameters.pointee.codec_tag = 0 }
        // If the output is seekable, the muxer adds this information after the first packet.
        if context.pointee.pb.pointee.seekable == 0, parameters.pointee.extradata_size == 0,
            let configuration = parameters.lowComplexityAACConfiguration
        {
            try parameters.setExtradata(configuration)
        }
        let rate = parameters.pointee.sample_rate
        pointee.time_base = rate > 0 ? AVRational(num: 1, den: rate) : track.timeBase
        pointee.disposition = track.disposition
        if let details = track.details { try set(details) }
        setNames(language: track.language, title: track.title, in: container)
    }

    /// Sets the frame rate of a video stream, and the time base that its first times need.
    func setTiming(_ times: [MediaTime], frameRate: Rational?) {
        let frameTime = frameRate.map { MediaTime(value: 1, timescale: $0.numerator) }
        pointee.time_base = AVRational(num: 1, den: TickClock.exactTimescale(of: times + [frameTime ?? .invalid]))
        guard let frameRate, frameRate.isPositive else { return }
        pointee.avg_frame_rate = AVRational(num: frameRate.numerator, den: frameRate.denominator)
    }

    /// Sets the language and the title of a track.
    func setNames(language: String?, title: String?, in container: ContainerFormat) {
        if let language {
            let known = container == .mov ? LanguageCode.forQuickTime(language) : language
            av_dict_set(&pointee.metadata, "language", known, 0)
        }
        guard let title else { return }
        av_dict_set(&pointee.metadata, "title", title, 0)
        // The name that players show for an MP4 track: ISO/IEC 14496-12 8.4.3. Other muxers ignore the key.
        if container.canBeFragmented { av_dict_set(&pointee.metadata, "handler_name", title, 0) }
    }

    /// Adds SMPTE ST 2086 and CTA-861.3 metadata, which is stored in the boxes `mdcv` and `clli` and in Matroska's
    /// elements.
    private func addHDRMetadata(_ attachments: PixelAttachments) throws(MediaError) {
        if let display = attachments.masteringDisplay {
            guard let metadata = av_mastering_display_metadata_alloc() else {
                throw MediaError(
                    .outOfMemory,
                    "no memory for HDR metadata",
                    call: "av_mastering_display_metadata_alloc"
                )
            }
            metadata.pointee = AVMasteringDisplayMetadata(display)
            try addSideData(
                AV_PKT_DATA_MASTERING_DISPLAY_METADATA,
                metadata,
                MemoryLayout<AVMasteringDisplayMetadata>.size
            )
        }
        if let light = attachments.contentLight {
            var size = 0
            guard let metadata = av_content_light_metadata_alloc(&size) else {
                throw MediaError(.outOfMemory, "no memory for HDR metadata", call: "av_content_light_metadata_alloc")
            }
            metadata.pointee.MaxCLL = UInt32(light.maximumContentLightLevel)
            metadata.pointee.MaxFALL = UInt32(light.maximumFrameAverageLightLevel)
            try addSideData(AV_PKT_DATA_CONTENT_LIGHT_LEVEL, metadata, size)
        }
    }

    func addSideData(
        _ type: AVPacketSideDataType,
        _ data: UnsafeMutableRawPointer,
        _ size: Int
    ) throws(MediaError) {
        let status = ffmpeg_add_side_data(self, type, data, size)
        guard status < 0 else { return }
        av_free(data)
        try check(status, "av_stream_add_side_data", "no memory for HDR metadata")
    }
}

extension UnsafeMutablePointer<AVCodecParameters> {
    /// Sets the code points of H.273, which FFmpeg uses unchanged, and range and chroma location, which it numbers
    /// differently.
    fileprivate func describe(_ color: ColorDescription) {
        pointee.color_primaries = AVColorPrimaries(UInt32(color.primaries.rawValue))
        pointee.color_trc = AVColorTransferCharacteristic(UInt32(color.transfer.rawValue))
        pointee.color_space = AVColorSpace(UInt32(color.matrix.rawValue))
        switch color.range {
        case .unspecified: pointee.color_range = AVCOL_RANGE_UNSPECIFIED
        case .limited: pointee.color_range = AVCOL_RANGE_MPEG
        case .full: pointee.color_range = AVCOL_RANGE_JPEG
        }
        if let location = color.chromaLocation {
            pointee.chroma_location = AVChromaLocation(UInt32(location.rawValue) + 1)
        }
    }

    /// The `AudioSpecificConfig` of AAC-LC, which streams with ADTS headers lack and a header that is written only once
    /// requires; `nil` for all other codecs.
    fileprivate var lowComplexityAACConfiguration: [UInt8]? {
        let channels = Int(pointee.ch_layout.nb_channels)
        guard pointee.codec_id == AV_CODEC_ID_AAC, pointee.profile == FF_PROFILE_AAC_LOW,
            (1...6).contains(channels) || channels == 8
        else { return nil }
        let number = channels == 8 ? 7 : channels
        let rate = Int(pointee.sample_rate)
        return try? AudioSpecificConfig(sampleRate: rate, channelConfiguration: number).bytes()
    }

    func setExtradata(_ bytes: [UInt8]) throws(MediaError) {
        guard let memory = av_mallocz(bytes.count + Int(AV_INPUT_BUFFER_PADDING_SIZE)) else {
            throw MediaError(.outOfMemory, "no memory for the decoder configuration", call: "av_mallocz")
        }
        memory.copyMemory(from: bytes, byteCount: bytes.count)
        av_freep(&pointee.extradata)
        pointee.extradata = memory.assumingMemoryBound(to: UInt8.self)
        pointee.extradata_size = Int32(clamping: bytes.count)
    }
}

extension AVMasteringDisplayMetadata {
    fileprivate init(_ display: MasteringDisplay) {
        func point(_ chromaticity: MasteringDisplay.Chromaticity) -> (AVRational, AVRational) {
            (AVRational(num: Int32(chromaticity.x), den: 50000), AVRational(num: Int32(chromaticity.y), den: 50000))
        }
        self.init(
            display_primaries: (point(display.red), point(display.green), point(display.blue)),
            white_point: point(display.whitePoint),
            min_luminance: AVRational(num: Int32(clamping: display.minimumLuminance), den: 10000),
            max_luminance: AVRational(num: Int32(clamping: display.maximumLuminance), den: 10000),
            has_primaries: 1,
            has_luminance: 1
        )
    }
}

extension UnsafeMutablePointer<AVPacket> {
    /// Makes a packet refer to other data; its times and side data stay.
    func replaceData(with bytes: [UInt8]) throws(MediaError) {
        av_buffer_unref(&pointee.buf)
        pointee.data = nil
        pointee.size = 0
        try refer(to: CodedData(bytes, padding: Int(AV_INPUT_BUFFER_PADDING_SIZE)))
    }

    /// Makes an empty packet refer to coded data, which exists as long as any reference to the packet's buffer.
    func refer(to data: CodedData) throws(MediaError) {
        guard let size = Int32(exactly: data.count) else {
            throw MediaError(
                .unsupported,
                "the sample is too large for a container",
                given: "\(data.count) bytes",
                allowed: "at most \(Int32.max) bytes"
            )
        }
        let owner = Unmanaged.passRetained(data)
        let bytes = data.withUnsafeBytes { bytes -> UnsafeMutablePointer<UInt8>? in
            UnsafeMutableRawPointer(mutating: bytes.baseAddress)?.assumingMemoryBound(to: UInt8.self)
        }
        let buffer = av_buffer_create(
            bytes,
            data.count,
            { owner, _ in owner.map { Unmanaged<CodedData>.fromOpaque($0).release() } },
            owner.toOpaque(),
            AV_BUFFER_FLAG_READONLY
        )
        guard let buffer else {
            owner.release()
            throw MediaError(.outOfMemory, "no memory for a packet", call: "av_buffer_create")
        }
        pointee.buf = buffer
        pointee.data = bytes
        pointee.size = size
    }
}

extension MediaError {
    /// Returns the error as `malformedData`, with the packet as the given value.
    func about(_ packet: MediaPacket) -> MediaError {
        var error = self
        let track = packet.track
        error.code = .malformedData
        error.message = "a packet cannot be copied: \(message)"
        error.given = "track \(track.index) (\(track.codecName)) at \(packet.presentationTime)"
        return error
    }
}

extension MediaPacket {
    /// Returns the presentation and decode times of the packet; if one is missing, the other replaces it.
    func times() throws(MediaError) -> (presentation: MediaTime, decode: MediaTime) {
        let decode = packet.pointee.dts == ffmpeg_no_pts ? presentationTime : track.time(packet.pointee.dts)
        guard decode.isValid else {
            throw MediaError(.malformedData, "a packet has no time", given: "track \(track.index) (\(track.codecName))")
        }
        return (presentationTime.isValid ? presentationTime : decode, decode)
    }
}

extension MediaTrack {
    /// The offset of packet times in Matroska, where times count from the start of an Opus stream's pre-skip
    /// (`CodecDelay` of RFC 9559).
    ///
    /// libavformat adds it from version 59.31 on; earlier versions delayed every other track instead.
    var matroskaDelay: MediaTime {
        guard parameters.pointee.codec_id == AV_CODEC_ID_OPUS, avformat_version() < ffmpeg_version(59, 31, 0) else {
            return .zero
        }
        return MediaTime(value: Int64(max(parameters.pointee.initial_padding, 0)), timescale: 48000)
    }

    fileprivate func time(_ ticks: Int64) -> MediaTime {
        .rational(ticks, numerator: Int64(timeBase.num), denominator: Int64(timeBase.den))
    }
}

extension Muxer {
    /// Adds chapters, with times in microseconds.
    func setChapters(_ chapters: [Chapter]) throws(MediaError) {
        for (index, chapter) in chapters.enumerated() {
            let memory = av_mallocz(MemoryLayout<AVChapter>.size)
            guard let mark = memory?.assumingMemoryBound(to: AVChapter.self) else {
                throw MediaError(.outOfMemory, "no memory for a chapter", call: "av_mallocz")
            }
            mark.pointee.id = Int64(index)
            mark.pointee.time_base = AVRational(num: 1, den: 1_000_000)
            mark.pointee.start = chapter.start.converted(to: 1_000_000).value
            mark.pointee.end = chapter.end.converted(to: 1_000_000).value
            if let title = chapter.title { av_dict_set(&mark.pointee.metadata, "title", title, 0) }
            try append(mark)
        }
    }

    private func append(_ mark: UnsafeMutablePointer<AVChapter>) throws(MediaError) {
        var count = Int32(clamping: context.pointee.nb_chapters)
        let status = av_dynarray_add_nofree(&context.pointee.chapters, &count, mark)
        context.pointee.nb_chapters = UInt32(clamping: count)
        guard status < 0 else { return }
        av_dict_free(&mark.pointee.metadata)
        av_free(mark)
        try check(status, "av_dynarray_add_nofree", "no memory for a chapter")
    }
}
