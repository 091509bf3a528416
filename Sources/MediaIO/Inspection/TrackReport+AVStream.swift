// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import CFFmpeg
internal import FFmpegSupport
internal import MediaTypes
internal import VideoDecoding

extension TrackReport {
    /// Describes a stream by its headers.
    init(_ stream: UnsafeMutablePointer<AVStream>, in demuxer: Demuxer) {
        let properties = stream.pointee
        let parameters = properties.codecpar.pointee
        self.init(index: Int(properties.index), kind: MediaTrack.Kind(parameters.codec_type))
        if parameters.codec_id != AV_CODEC_ID_NONE { codec = String(cString: avcodec_get_name(parameters.codec_id)) }
        codecTag = Self.text(ofTag: parameters.codec_tag)
        profile = avcodec_profile_name(parameters.codec_id, parameters.profile).map { String(cString: $0) }
        level = Self.level(parameters)
        (language, title) = (properties.text("language"), properties.text("title"))
        dispositions = properties.dispositions.map(\.name)
        if properties.start_time != ffmpeg_no_pts {
            startTime = MediaTime(properties.start_time, in: properties.time_base)
        }
        if kind == .video || kind == .audio || properties.duration > 0 {
            duration = isCover ? nil : demuxer.duration(of: stream)
        }
        frameCount = properties.nb_frames > 0 ? properties.nb_frames : nil
        metadata = MediaReport.sorted(Demuxer.strings(properties.metadata)) { !["language", "title"].contains($0) }
        // libavformat measures the first packets of AAC without a header of the stream.
        let isMeasured = parameters.codec_id == AV_CODEC_ID_AAC && parameters.extradata_size == 0
        bitRate = parameters.bit_rate > 0 && !isMeasured ? parameters.bit_rate : statisticsBitRate
        switch kind {
        case .video: video = VideoProperties(stream)
        case .audio: audio = AudioProperties(parameters)
        default: break
        }
        if codec == "hevc", let tier = Self.tier(of: stream) { level = level.map { "\($0) (\(tier) tier)" } }
    }

    /// The bitrate that writers of Matroska state in the tag BPS.
    private var statisticsBitRate: Int64? {
        metadata.first { $0.key == "BPS" || $0.key.hasPrefix("BPS-") }.flatMap { Int64($0.value) }
    }

    /// The four characters of a code, as `av_fourcc2str` shows printable ones.
    private static func text(ofTag tag: UInt32) -> String? {
        let bytes = (0..<4).map { UInt8(truncatingIfNeeded: tag >> ($0 * 8)) }
        guard tag != 0, bytes.allSatisfy({ (0x20..<0x7F).contains($0) }) else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func level(_ parameters: AVCodecParameters) -> String? {
        let level = Int(parameters.level)
        guard level > 0 || parameters.codec_id == AV_CODEC_ID_AV1 && level == 0 else { return nil }
        func decimal(_ tenths: Int) -> String {
            tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)"
        }
        switch parameters.codec_id {
        // H.264 A.3.1: level 1b of the profiles from High on is 9.
        case AV_CODEC_ID_H264: return level == 9 ? "1b" : decimal(level)
        // H.265 A.4.1: general_level_idc is 30 times the level.
        case AV_CODEC_ID_HEVC: return decimal(level / 3)
        case AV_CODEC_ID_VP9: return decimal(level)
        // AV1 A.3: seq_level_idx.
        case AV_CODEC_ID_AV1: return "\(2 + level >> 2).\(level & 3)"
        // H.262 8.3.
        case AV_CODEC_ID_MPEG2VIDEO: return [4: "High", 6: "High 1440", 8: "Main", 10: "Low"][level] ?? "\(level)"
        default: return "\(level)"
        }
    }

    /// The tier of HEVC, which libavformat does not tell.
    private static func tier(of stream: UnsafePointer<AVStream>) -> String? {
        guard let track = try? MediaTrack(stream: stream), let sampler = try? PacketSampler(track, .hevc),
            let set = sampler.format.sequenceParameterSets.first.flatMap({ try? HEVCSequenceParameterSet(nalUnit: $0) })
        else { return nil }
        return set.profileTierLevel.general.tierFlag ? "High" : "Main"
    }
}

extension AVStream {
    /// The disposition flags that are set, with FFmpeg's names.
    var dispositions: [(flag: Int32, name: String)] {
        (0..<31).map { Int32(1) << $0 }.filter { disposition & $0 != 0 }.map { flag in
            (flag, av_disposition_to_string(flag).map { String(cString: $0) } ?? "\(flag)")
        }
    }
}

extension VideoProperties {
    /// Describes video by its headers.
    fileprivate init(_ stream: UnsafeMutablePointer<AVStream>) {
        let parameters = stream.pointee.codecpar.pointee
        self.init(size: Size(width: Int(max(parameters.width, 0)), height: Int(max(parameters.height, 0))))
        let ofContainer = stream.pointee.sample_aspect_ratio
        let ratio = ofContainer.num > 0 ? ofContainer : parameters.sample_aspect_ratio
        if ratio.num > 0, ratio.den > 0 { sampleAspectRatio = Rational(ratio.num, ratio.den).reduced }
        if let layout = PictureLayout(rawFormat: parameters.format) { set(layout) }
        set(
            primaries: parameters.color_primaries,
            transfer: parameters.color_trc,
            matrix: parameters.color_space,
            range: parameters.color_range
        )
        fieldOrder =
            switch parameters.field_order {
            case AV_FIELD_TT, AV_FIELD_BT: .topFirst
            case AV_FIELD_BB, AV_FIELD_TB: .bottomFirst
            default: nil
            }
        let data = StreamDetails(stream).sideData
        func bytes(_ type: AVPacketSideDataType) -> [UInt8]? { data.first { $0.type == type }?.bytes }
        if let matrix = bytes(AV_PKT_DATA_DISPLAYMATRIX) { orientation = Orientation(displayMatrix: matrix) }
        masteringDisplay = bytes(AV_PKT_DATA_MASTERING_DISPLAY_METADATA)
            .flatMap { $0.withUnsafeBytes { PictureColor.masteringDisplay($0) } }
        contentLight = bytes(AV_PKT_DATA_CONTENT_LIGHT_LEVEL)
            .flatMap { $0.withUnsafeBytes { PictureColor.contentLight($0) } }
        dynamicRange = DynamicRange(
            primaries: Int(parameters.color_primaries.rawValue),
            transfer: Int(parameters.color_trc.rawValue),
            dolbyVision: bytes(AV_PKT_DATA_DOVI_CONF).flatMap(Self.dolbyVisionProfile),
            hasSceneMetadata: false
        )
    }

    mutating func set(_ layout: PictureLayout) {
        pixelFormat = layout.name
        bitDepth = layout.bitDepth
        chroma = layout.isRGB ? "RGB" : layout.chromaFormat.name
        if layout.isFullRangeYCbCr { range = "full" }
    }

    /// Completes the colour by what a header or a picture states.
    mutating func set(
        primaries: AVColorPrimaries,
        transfer: AVColorTransferCharacteristic,
        matrix: AVColorSpace,
        range: AVColorRange
    ) {
        func name(_ text: UnsafePointer<CChar>?, _ isStated: Bool) -> String? {
            isStated ? text.map { String(cString: $0) } : nil
        }
        self.primaries =
            self.primaries
            ?? name(av_color_primaries_name(primaries), primaries != AVCOL_PRI_UNSPECIFIED && primaries.rawValue != 0)
        self.transfer =
            self.transfer
            ?? name(av_color_transfer_name(transfer), transfer != AVCOL_TRC_UNSPECIFIED && transfer.rawValue != 0)
        self.matrix =
            self.matrix
            ?? name(
                av_color_space_name(matrix),
                matrix != AVCOL_SPC_UNSPECIFIED && (matrix != AVCOL_SPC_RGB || chroma == "RGB")
            )
        self.range =
            self.range
            ?? (range == AVCOL_RANGE_JPEG ? "full" : range == AVCOL_RANGE_MPEG ? "limited" : nil)
    }

    /// Returns the profile of a `AVDOVIDecoderConfigurationRecord`, whose fields are bytes: version, minor version, profile,
    /// level, three flags, and which other decoders can show the base layer.
    private static func dolbyVisionProfile(_ bytes: [UInt8]) -> String? {
        guard bytes.count >= 8 else { return nil }
        // Without compatibility, the profile alone is the usual name.
        return bytes[7] == 0 ? "\(bytes[2])" : "\(bytes[2]).\(bytes[7])"
    }
}

extension AudioProperties {
    fileprivate init(_ parameters: AVCodecParameters) {
        self.init(
            sampleRate: Int(max(parameters.sample_rate, 0)),
            channels: Int(max(parameters.ch_layout.nb_channels, 0))
        )
        var described = parameters.ch_layout
        if described.order != AV_CHANNEL_ORDER_UNSPEC, described.nb_channels > 0 {
            layout = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { text in
                guard let base = text.baseAddress, av_channel_layout_describe(&described, base, text.count) > 0 else {
                    return nil
                }
                return String(cString: base)
            }
        }
        if let codec = avcodec_descriptor_get(parameters.codec_id)?.pointee,
            codec.props & AV_CODEC_PROP_LOSSLESS != 0, codec.props & AV_CODEC_PROP_LOSSY == 0
        {
            let bits = max(parameters.bits_per_raw_sample, parameters.bits_per_coded_sample)
            bitDepth = bits > 0 ? Int(bits) : nil
        }
        priming = Int(max(parameters.initial_padding, 0))
    }
}
