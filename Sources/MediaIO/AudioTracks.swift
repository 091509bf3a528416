// SPDX-License-Identifier: GPL-2.0-or-later

public import AudioCoding
internal import CFFmpeg
internal import FFmpegSupport
public import MediaTypes

extension MediaTrack {
    /// The description of the stream for an `AudioDecoder`; `nil` if this is not an audio track.
    public var audio: AudioStreamDescription? {
        guard kind == .audio else { return nil }
        let stream = parameters.pointee
        var audio = AudioStreamDescription(
            codecName: codecName,
            sampleRate: Int(max(stream.sample_rate, 0)),
            layout: layout,
            configuration: Array(UnsafeBufferPointer(start: stream.extradata, count: Int(stream.extradata_size)))
        )
        audio.channelCount = Int(max(stream.ch_layout.nb_channels, 0))
        audio.bitRate = Int(clamping: stream.bit_rate)
        audio.framesPerPacket = Int(max(stream.frame_size, 0))
        audio.priming = Int(max(stream.initial_padding, 0))
        audio.bitsPerSample = Int(max(stream.bits_per_coded_sample, 0))
        audio.blockByteCount = Int(max(stream.block_align, 0))
        audio.codecTag = stream.codec_tag
        audio.profile = stream.profile == FF_PROFILE_UNKNOWN ? nil : stream.profile
        audio.decodedType =
            switch AVSampleFormat(stream.format) {
            case AV_SAMPLE_FMT_U8, AV_SAMPLE_FMT_U8P, AV_SAMPLE_FMT_S16, AV_SAMPLE_FMT_S16P: .int16
            case AV_SAMPLE_FMT_S32, AV_SAMPLE_FMT_S32P:
                max(stream.bits_per_raw_sample, stream.bits_per_coded_sample) == 24 ? .int24 : .int32
            default: nil
            }
        return audio
    }

    /// The loudspeakers, if the stream states them.
    private var layout: ChannelLayout? {
        let layout = parameters.pointee.ch_layout
        guard layout.order == AV_CHANNEL_ORDER_NATIVE else { return nil }
        return ChannelLayout(speakers: .init(rawValue: layout.u.mask))
    }

    /// Makes a track of encoded audio, which replaces a track of the input or is a new one.
    ///
    /// - Parameters:
    ///   - audio: The description of an `AudioEncoder`.
    ///   - track: The track with the same sound, whose index, language, title and disposition are kept.
    /// - Throws: `unsupported` if FFmpeg does not know the codec; `outOfMemory`.
    public convenience init(audio: AudioStreamDescription, replacing track: MediaTrack? = nil) throws(MediaError) {
        guard let codec = avcodec_descriptor_get_by_name(audio.codecName) else {
            throw MediaError(.unsupported, "FFmpeg does not know this codec", given: audio.codecName)
        }
        guard let parameters = avcodec_parameters_alloc() else {
            throw MediaError(.outOfMemory, "no memory for stream parameters", call: "avcodec_parameters_alloc")
        }
        self.init(
            taking: parameters,
            codecName: audio.codecName,
            timeBase: AVRational(num: 1, den: Int32(clamping: max(audio.sampleRate, 1))),
            replacing: track
        )
        parameters.pointee.codec_type = AVMEDIA_TYPE_AUDIO
        parameters.pointee.codec_id = codec.pointee.id
        parameters.pointee.codec_tag = audio.codecTag
        parameters.pointee.bit_rate = Int64(audio.bitRate)
        parameters.pointee.sample_rate = Int32(clamping: audio.sampleRate)
        parameters.pointee.frame_size = Int32(clamping: audio.framesPerPacket)
        parameters.pointee.initial_padding = Int32(clamping: audio.priming)
        parameters.pointee.bits_per_coded_sample = Int32(clamping: audio.bitsPerSample)
        parameters.pointee.bits_per_raw_sample = Int32(clamping: audio.bitsPerSample)
        parameters.pointee.block_align = Int32(clamping: audio.blockByteCount)
        if let profile = audio.profile { parameters.pointee.profile = profile }
        if let layout = audio.layout {
            av_channel_layout_from_mask(&parameters.pointee.ch_layout, layout.speakers.rawValue)
        } else {
            parameters.pointee.ch_layout.nb_channels = Int32(clamping: audio.channelCount)
        }
        if !audio.configuration.isEmpty { try parameters.setExtradata(audio.configuration) }
    }
}

extension MediaPacket {
    /// The packet as input of an `AudioDecoder`.
    ///
    /// - Throws: `outOfMemory`.
    public func audioSample() throws(MediaError) -> AudioSample {
        // The copy has a reference to the bytes, or its own bytes if the packet has none.
        guard let copy = av_packet_clone(packet) else {
            throw MediaError(.outOfMemory, "no memory for a packet", call: "av_packet_clone")
        }
        let reference = PacketReference(taking: copy)
        let data =
            copy.pointee.data.map { bytes in
                CodedData(noCopy: bytes, count: Int(copy.pointee.size)) { _ in withExtendedLifetime(reference) {} }
            } ?? CodedData([])
        var sample = AudioSample(data: data, presentationTime: presentationTime)
        sample.duration = duration
        sample.isDiscarded = packet.pointee.flags & AV_PKT_FLAG_DISCARD != 0
        sample.newConfiguration = sideData(AV_PKT_DATA_NEW_EXTRADATA)
        if let bytes = sideData(AV_PKT_DATA_SKIP_SAMPLES), let trim = SampleTrim(bytes: bytes) {
            (sample.trimAtStart, sample.trimAtEnd) = (trim.start, trim.end)
        }
        return sample
    }

    private func sideData(_ type: AVPacketSideDataType) -> [UInt8]? {
        var size = 0
        guard let bytes = av_packet_get_side_data(packet, type, &size) else { return nil }
        return Array(UnsafeBufferPointer(start: bytes, count: size))
    }

    /// Makes a packet of encoded audio.
    ///
    /// - Parameters:
    ///   - sample: A sample of the encoder whose description the track has.
    ///   - track: The track, made with ``MediaTrack/init(audio:replacing:)``.
    /// - Throws: `malformedData` if the sample has no valid time; `unsupported` if it is too large; `outOfMemory`.
    public convenience init(_ sample: AudioSample, track: MediaTrack) throws(MediaError) {
        guard let ticks = sample.presentationTime.ticks(in: track.timeBase, AV_ROUND_NEAR_INF) else {
            throw MediaError(
                .malformedData,
                "an audio sample has no valid time",
                given: sample.presentationTime.description
            )
        }
        guard let packet = av_packet_alloc() else {
            throw MediaError(.outOfMemory, "no memory for a packet", call: "av_packet_alloc")
        }
        packet.pointee.pts = ticks
        self.init(track: track, taking: packet)
        try packet.refer(to: sample.data)
        packet.pointee.dts = ticks
        packet.pointee.flags |= AV_PKT_FLAG_KEY
        let whole = sample.duration.ticks(in: track.timeBase, AV_ROUND_NEAR_INF) ?? 0
        let trimmed = max(Int64(sample.trimAtEnd), 0)
        packet.pointee.duration = max(whole - trimmed, 0)
        // Containers get the priming from the parameters of the track.
        guard let trim = SampleTrim(start: 0, end: sample.trimAtEnd) else { return }
        guard let memory = av_packet_new_side_data(packet, AV_PKT_DATA_SKIP_SAMPLES, SampleTrim.byteCount) else {
            throw MediaError(.outOfMemory, "no memory for a packet", call: "av_packet_new_side_data")
        }
        UnsafeMutableRawBufferPointer(start: memory, count: SampleTrim.byteCount).copyBytes(from: trim.bytes)
    }
}
