// SPDX-License-Identifier: GPL-2.0-or-later

internal import AudioCoding
internal import BitstreamSyntax
internal import MediaTypes

/// Makes the messages of media: the bodies of FLV tags (Video File Format 10.1, annex E) and, for HEVC, those of
/// Enhanced RTMP.
///
/// A new format of the video or a new configuration of the audio sends its sequence header first.
struct RTMPMediaWriter: Sendable {
    private var tracks: LiveTracks
    private var sentFormat: FormatDescription?
    private var sentConfiguration: [UInt8]?
    private var audioClock = MillisecondClock()
    private var videoClock = MillisecondClock()

    /// - Throws: `unsupported` for tracks that RTMP cannot carry; `malformedData` if the parameter sets cannot be read.
    init(_ tracks: LiveTracks) throws(MediaError) {
        guard tracks.video != nil || !tracks.audio.isEmpty else {
            throw MediaError(.invalidArgument, "a live stream needs a track")
        }
        guard tracks.audio.count <= 1 else {
            throw MediaError(
                .unsupported,
                "RTMP carries one audio track",
                given: Readable.count(tracks.audio.count, "track")
            )
        }
        if let audio = tracks.audio.first {
            guard audio.codecName == "aac" else {
                throw MediaError(
                    .unsupported,
                    "RTMP does not carry this audio codec",
                    given: audio.codecName,
                    allowed: "aac"
                )
            }
            guard audio.configuration.count >= 2 else {
                throw MediaError(.unsupported, "AAC in RTMP needs an AudioSpecificConfig")
            }
        }
        if let video = tracks.video, !video.parameterSets.isEmpty { _ = try video.decoderConfigurationRecord() }
        self.tracks = tracks
    }

    /// Returns the metadata and the sequence headers that are known, which come before the first unit.
    mutating func opening() throws(MediaError) -> [RTMPMessage] {
        var messages = [metadata]
        if let video = tracks.video, !video.parameterSets.isEmpty {
            messages.append(try sequenceHeader(of: video))
        }
        if let audio = tracks.audio.first { messages.append(sequenceHeader(configuration: audio.configuration)) }
        return messages
    }

    /// Returns the messages of a unit; none for a picture that was dropped.
    ///
    /// - Throws: `unsupported` if RTMP cannot carry the unit; `invalidArgument` for times that are invalid or negative.
    mutating func messages(for unit: LiveUnit) throws(MediaError) -> [RTMPMessage] {
        switch unit {
        case .video(let sample): try messages(forPicture: sample)
        case .audio(let sample, let track): try messages(forPacket: sample, track: track)
        }
    }

    /// Returns what tells the end of the video.
    func ending() -> [RTMPMessage] {
        guard let format = sentFormat else { return [] }
        let payload: [UInt8] =
            switch format.codec {
            case .h264: [FLVTag.keyFrame | FLVTag.avc, 2, 0, 0, 0]
            case .hevc: [FLVTag.enhanced | FLVTag.keyFrame | 2] + FLVTag.hevc
            }
        return [RTMPMessage(kind: .video, timestamp: videoClock.last, payload: payload)]
    }
}

// MARK: - Video: Video File Format E.4.3, Enhanced RTMP "ExVideoTagHeader"

/// The numbers in the headers of tags.
private enum FLVTag {
    static let keyFrame: UInt8 = 1 << 4
    static let interFrame: UInt8 = 2 << 4
    static let avc: UInt8 = 7
    static let enhanced: UInt8 = 0x80
    static let hevc = Array("hvc1".utf8)
    /// AAC; the rate, size and channels that a reader of AAC ignores.
    static let aac: UInt8 = 0xAF
}

extension RTMPMediaWriter {
    private mutating func messages(forPicture sample: SampleBuffer) throws(MediaError) -> [RTMPMessage] {
        guard let codec = tracks.video?.codec, codec == sample.formatDescription.codec else {
            throw MediaError(
                .unsupported,
                "the stream was announced without video of this codec",
                given: sample.formatDescription.codec.rawValue,
                allowed: tracks.video?.codec.rawValue ?? "no video"
            )
        }
        guard !sample.isDropped, sample.data.count > 0 else { return [] }
        let timestamp = try videoClock.timestamp(sample.decodeTime, "the decode time of a picture")
        let offset = try compositionOffset(sample)
        var messages: [RTMPMessage] = []
        let format = sample.formatDescription
        if format != sentFormat {
            let isChange = sentFormat.map { $0.width != format.width || $0.height != format.height } ?? false
            tracks.video = format
            if isChange { messages.append(metadata) }
            messages.append(try sequenceHeader(of: format))
        }
        let type = sample.isKeyFrame ? FLVTag.keyFrame : FLVTag.interFrame
        var payload: [UInt8] = []
        payload.reserveCapacity(sample.data.count + 8)
        switch format.codec {
        case .h264: payload += [type | FLVTag.avc, 1]
        // CodedFramesX has no composition offset, which is then zero.
        case .hevc: payload += [FLVTag.enhanced | type | (offset == 0 ? 3 : 1)] + FLVTag.hevc
        }
        if format.codec == .h264 || offset != 0 { payload.append(bigEndian: offset, count: 3) }
        sample.data.withUnsafeBytes { payload += $0 }
        messages.append(try message(.video, timestamp: timestamp, payload))
        return messages
    }

    /// The presentation time less the decode time in milliseconds, 24 bits with a sign. Each time is rounded for
    /// itself, so that presentation times are exact.
    private func compositionOffset(_ sample: SampleBuffer) throws(MediaError) -> UInt32 {
        let offset = try MillisecondClock.milliseconds(sample.presentationTime, "the presentation time of a picture")
            .subtractingReportingOverflow(MillisecondClock.milliseconds(sample.decodeTime, "the decode time"))
        guard !offset.overflow, (-0x80_0000...0x7F_FFFF).contains(offset.partialValue) else {
            throw MediaError(
                .unsupported,
                "RTMP cannot carry a picture that is shown so long after it is decoded",
                given: "\(sample.presentationTime) after \(sample.decodeTime)"
            )
        }
        return UInt32(truncatingIfNeeded: offset.partialValue)
    }

    private mutating func sequenceHeader(of format: FormatDescription) throws(MediaError) -> RTMPMessage {
        let record = try format.decoderConfigurationRecord()
        let header: [UInt8] =
            switch format.codec {
            case .h264: [FLVTag.keyFrame | FLVTag.avc, 0, 0, 0, 0]
            case .hevc: [FLVTag.enhanced | FLVTag.keyFrame] + FLVTag.hevc
            }
        sentFormat = format
        return try message(.video, timestamp: videoClock.last, header + record)
    }

    private func message(
        _ kind: RTMPMessage.Kind,
        timestamp: UInt32,
        _ payload: [UInt8]
    ) throws(MediaError) -> RTMPMessage {
        guard payload.count <= RTMPChunkWriter.greatestPayload else {
            throw MediaError(
                .unsupported,
                "a unit is too large for RTMP",
                given: Readable.count(payload.count, "byte"),
                allowed: "at most \(RTMPChunkWriter.greatestPayload)"
            )
        }
        return RTMPMessage(kind: kind, timestamp: timestamp, payload: payload)
    }
}

// MARK: - Audio: Video File Format E.4.2

extension RTMPMediaWriter {
    private mutating func messages(
        forPacket sample: AudioSample,
        track: Int
    ) throws(MediaError) -> [RTMPMessage] {
        guard tracks.audio.indices.contains(track) else {
            throw MediaError(
                .unsupported,
                "the stream was announced without this audio track",
                given: "\(track)",
                allowed: tracks.audio.isEmpty ? "no audio track" : "0"
            )
        }
        guard sample.data.count > 0 else { return [] }
        let timestamp = try audioClock.timestamp(sample.presentationTime, "the time of a packet of audio")
        var messages: [RTMPMessage] = []
        let configuration = sample.newConfiguration ?? sentConfiguration ?? tracks.audio[track].configuration
        if configuration != sentConfiguration { messages.append(sequenceHeader(configuration: configuration)) }
        var payload = [FLVTag.aac, 1]
        sample.data.withUnsafeBytes { payload += $0 }
        messages.append(try message(.audio, timestamp: timestamp, payload))
        return messages
    }

    private mutating func sequenceHeader(configuration: [UInt8]) -> RTMPMessage {
        sentConfiguration = configuration
        return RTMPMessage(kind: .audio, timestamp: audioClock.last, payload: [FLVTag.aac, 0] + configuration)
    }
}

// MARK: - Metadata: Video File Format E.5

extension RTMPMediaWriter {
    private var metadata: RTMPMessage {
        var properties: [AMF0Value.Property] = [.init("duration", .number(0))]
        if let video = tracks.video {
            properties += [
                .init("width", .number(Double(video.width))), .init("height", .number(Double(video.height))),
            ]
            if let rate = tracks.frameRate, rate.denominator != 0 {
                properties.append(.init("framerate", .number(Double(rate.numerator) / Double(rate.denominator))))
            }
            if let rate = tracks.videoBitRate {
                properties.append(.init("videodatarate", .number(Double(rate) / 1000)))
            }
            let codec =
                switch video.codec {
                case .h264: Double(FLVTag.avc)
                case .hevc: Double(FLVTag.hevc.reduce(0) { $0 << 8 | UInt32($1) })
                }
            properties.append(.init("videocodecid", .number(codec)))
        }
        if let audio = tracks.audio.first {
            if audio.bitRate > 0 { properties.append(.init("audiodatarate", .number(Double(audio.bitRate) / 1000))) }
            properties += [
                .init("audiosamplerate", .number(Double(audio.sampleRate))), .init("audiosamplesize", .number(16)),
                .init("audiochannels", .number(Double(audio.channelCount))),
                .init("stereo", .boolean(audio.channelCount > 1)), .init("audiocodecid", .number(10)),
            ]
        }
        properties.append(.init("encoder", .string("VAToolbox \(PackageVersion.current)")))
        let values: [AMF0Value] = [.string("@setDataFrame"), .string("onMetaData"), .ecmaArray(properties)]
        return RTMPMessage(kind: .dataAMF0, timestamp: videoClock.last, payload: AMF0Value.bytes(values))
    }
}
