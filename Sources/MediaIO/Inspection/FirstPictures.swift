// SPDX-License-Identifier: GPL-2.0-or-later

internal import CFFmpeg
internal import FFmpegSupport
internal import MediaTypes
internal import VideoDecoding

/// What the first pictures of a video tell when they are decoded. Used from one thread at a time.
final class FirstPictures {
    /// The number of packets and pictures with damage.
    private(set) var damageCount = 0
    /// The first damage, described for users.
    private(set) var firstDamage: String?

    private let decoder: VideoDecoder
    private let maximum: Int
    private var (packetCount, pictureCount) = (0, 0)
    private var bFrames = BFrameRun()
    private var (hasSceneMetadata, hasCaptions) = (false, false)
    private var fieldOrder: VideoProperties.FieldOrder?
    private var first: FrameReference?
    private var isEnded = false

    /// Prepares the decoding; `nil` if libavcodec has no decoder, or if pictures are larger than this package accepts.
    ///
    /// - Parameters:
    ///   - maximum: The number of pictures to decode.
    ///   - pixels: The largest number of pixels of a picture; `nil` for libavcodec's limit.
    init?(_ stream: UnsafeMutablePointer<AVStream>, maximum: Int, pixels: Int?) {
        let parameters = stream.pointee.codecpar.pointee
        // With several threads, whether libavcodec marks a picture whose damage it concealed depends on their timing.
        guard max(parameters.width, parameters.height) <= PixelBuffer.maximumDimension,
            let decoder = try? VideoDecoder(stream: stream, threads: 1, pixels: pixels, log: nil)
        else { return nil }
        (self.decoder, self.maximum) = (decoder, maximum)
    }

    /// Decodes a packet unless there are enough pictures.
    func add(_ packet: UnsafeMutablePointer<AVPacket>) throws(MediaError) {
        guard !isEnded else { return }
        packetCount += 1
        let status = decoder.send(packet)
        if status < 0 { noteDamage(describe(status)) }
        try receive()
        if packetCount >= MediaInspector.mostDecodedPackets { try finish() }
    }

    /// Decodes what the decoder still holds.
    func finish() throws(MediaError) {
        guard !isEnded else { return }
        isEnded = true
        // With what is missing behind the last packet, pictures would be damaged.
        _ = decoder.send(nil)
        try receive()
    }

    private func receive() throws(MediaError) {
        while pictureCount < maximum {
            switch try decoder.receive() {
            case .needsInput, .finished: return
            case .failed(let status): noteDamage(describe(status))
            case .frame(let frame): add(frame)
            }
        }
        isEnded = true
    }

    private func add(_ reference: FrameReference) {
        pictureCount += 1
        let frame = reference.frame
        bFrames.add(isBFrame: frame.pointee.pict_type == AV_PICTURE_TYPE_B)
        if frame.pointee.decode_error_flags != 0 || frame.pointee.flags & AV_FRAME_FLAG_CORRUPT != 0 {
            noteDamage("the decoder had to conceal damage")
        }
        if ffmpeg_is_interlaced(frame) != 0, fieldOrder == nil {
            fieldOrder = ffmpeg_is_top_field_first(frame) != 0 ? .topFirst : .bottomFirst
        }
        if reference.sideData(AV_FRAME_DATA_DYNAMIC_HDR_PLUS.rawValue) != nil { hasSceneMetadata = true }
        if reference.sideData(AV_FRAME_DATA_A53_CC.rawValue) != nil { hasCaptions = true }
        if first == nil { first = reference }
    }

    private func noteDamage(_ text: String) {
        damageCount += 1
        if firstDamage == nil { firstDamage = text }
    }

    /// Completes the description of the track.
    func complete(_ track: inout TrackReport) {
        guard var video = track.video, let first else { return }
        defer { track.video = video }
        let frame = first.frame.pointee
        if let layout = PictureLayout(rawFormat: frame.format), video.pixelFormat == nil { video.set(layout) }
        video.set(
            primaries: frame.color_primaries,
            transfer: frame.color_trc,
            matrix: frame.colorspace,
            range: frame.color_range
        )
        let coded = VideoProperties.Size(width: decoder.codedSize.width, height: decoder.codedSize.height)
        if coded.width > 0, coded.height > 0 { video.codedSize = coded }
        if video.sampleAspectRatio == nil, frame.sample_aspect_ratio.num > 0, frame.sample_aspect_ratio.den > 0 {
            video.sampleAspectRatio = Rational(frame.sample_aspect_ratio.num, frame.sample_aspect_ratio.den).reduced
        }
        if video.fieldOrder == nil { video.fieldOrder = fieldOrder }
        let attachments = PictureColor.attachments(of: first, stream: PixelAttachments())
        video.masteringDisplay = video.masteringDisplay ?? attachments.masteringDisplay
        video.contentLight = video.contentLight ?? attachments.contentLight
        if let matrix = first.sideData(AV_FRAME_DATA_DISPLAYMATRIX.rawValue), video.orientation == .upright {
            video.orientation = Orientation(displayMatrix: PictureColor.displayMatrix(matrix))
        }
        video.dynamicRange = DynamicRange(
            primaries: Int(frame.color_primaries.rawValue),
            transfer: Int(frame.color_trc.rawValue),
            dolbyVision: video.dynamicRange.profile,
            hasSceneMetadata: hasSceneMetadata
        )
        video.bFrames = bFrames.longest
        video.hasCaptions = hasCaptions
    }
}
