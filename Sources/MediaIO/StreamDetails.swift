// SPDX-License-Identifier: GPL-2.0-or-later

internal import CFFmpeg
internal import FFmpegSupport
internal import MediaTypes

/// The properties of a stream that a copy keeps, beside its codec parameters, language, title and disposition.
struct StreamDetails {
    /// Data beside the packets, such as a display matrix or HDR metadata.
    struct SideData {
        let type: AVPacketSideDataType
        let bytes: [UInt8]
    }

    /// The time base of the packets.
    var timeBase: AVRational
    let sideData: [SideData]
    /// The metadata, with FFmpeg's keys.
    var metadata: [String: String]
    /// The average frame rate in frames per second; zero if it is not known.
    var averageFrameRate: AVRational
    /// The pixel aspect ratio of the container, or of the codec; zero if neither states it.
    let pixelAspectRatio: AVRational
    /// The number of samples at the start of an audio track that are not played.
    var priming = 0
    /// The bytes of an attached file that is not one in the input; `nil` for everything else.
    var contents: [UInt8]?
    /// Where the track ends, on the timeline of the output, although its last packets may reach beyond; `nil` for the end of
    /// the last packet.
    var end: MediaTime?

    init(_ stream: UnsafeMutablePointer<AVStream>) {
        let properties = stream.pointee
        timeBase = properties.time_base
        averageFrameRate = properties.avg_frame_rate
        let ofContainer = properties.sample_aspect_ratio
        pixelAspectRatio = ofContainer.num > 0 ? ofContainer : properties.codecpar.pointee.sample_aspect_ratio
        metadata = Demuxer.strings(properties.metadata)
        sideData = (0..<ffmpeg_side_data_count(stream)).compactMap { index in
            guard let data = ffmpeg_side_data_at(stream, index)?.pointee, let bytes = data.data else { return nil }
            return SideData(type: data.type, bytes: Array(UnsafeBufferPointer(start: bytes, count: data.size)))
        }
    }

    /// Completes codec parameters.
    func apply(to parameters: UnsafeMutablePointer<AVCodecParameters>) throws(MediaError) {
        if let contents {
            parameters.pointee.codec_type = AVMEDIA_TYPE_ATTACHMENT
            try parameters.setExtradata(contents)
        }
        if pixelAspectRatio.num > 0 { parameters.pointee.sample_aspect_ratio = pixelAspectRatio }
        if priming > 0 { parameters.pointee.initial_padding = Int32(clamping: priming) }
    }

    /// The metadata that describe the file of the input and not its contents.
    private static let ofFile: Set = [
        "_statistics_tags", "_statistics_writing_app", "_statistics_writing_date_utc", "bps", "duration", "encoder",
        "number_of_bytes", "number_of_frames", "vendor_id", "variant_bitrate", "language", "title",
    ]

    /// The metadata that a copy keeps, beside language and title.
    var kept: [String: String] {
        metadata.filter { key, _ in
            let plain = key.lowercased()
            return !Self.ofFile.contains(plain) && !Self.ofFile.contains(String(plain.prefix { $0 != "-" }))
        }
    }
}

extension UnsafeMutablePointer<AVStream> {
    /// Sets the properties of a copied stream.
    func set(_ details: StreamDetails) throws(MediaError) {
        pointee.sample_aspect_ratio = pointee.codecpar.pointee.sample_aspect_ratio
        pointee.avg_frame_rate = details.averageFrameRate
        for (key, value) in details.kept { av_dict_set(&pointee.metadata, key, value, 0) }
        for data in details.sideData {
            guard let memory = av_mallocz(data.bytes.count + Int(AV_INPUT_BUFFER_PADDING_SIZE)) else {
                throw MediaError(.outOfMemory, "no memory for the properties of a stream", call: "av_mallocz")
            }
            memory.copyMemory(from: data.bytes, byteCount: data.bytes.count)
            try addSideData(data.type, memory, data.bytes.count)
        }
    }
}
