// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import CFFmpeg
internal import FFmpegSupport
package import Logging
package import MediaTypes

/// Decodes samples with libavcodec, on the CPU or on a GPU.
///
/// Each packet has the number of its sample as its time, and libavcodec returns it with the picture. A sample whose
/// sequence parameter sets differ from those before begins a new stream: the decoder is drained and opened again,
/// because libavcodec can otherwise lose pictures, and with frame threads ignores a change of the reorder depth.
package final class LibraryDecoder: DecoderBackend {
    package let properties: DecoderProperties

    private let platform: any DecodingPlatform
    private let output: @Sendable (DecoderOutput) -> Void
    private let damage: DamageRecord
    private let log: LogRoute
    private var context: CodecContext
    /// The format of the latest sample.
    private var format: FormatDescription
    /// The formats of recent samples, each with the number of the first one.
    private var formats: [(first: Int64, format: FormatDescription)] = []
    /// The numbers of the first sample since the start or the last drain, and of the latest one.
    private var samples: ClosedRange<Int64>?
    /// Whether the device may work on the latest picture until the next sample comes.
    private let keepsLatest: Bool
    /// That picture.
    private var latest: FrameReference?
    /// An empty frame for the next picture.
    private var spare: FrameReference?

    /// The number of recent formats that are kept: no picture is returned later than that many formats.
    private static let recentFormats = 64
    /// The number of failures in a row, without a picture, that end the decoder.
    private static let mostFailures = 4096

    /// Opens a decoder.
    ///
    /// - Parameters:
    ///   - request: The parameters of the session.
    ///   - platform: The device.
    ///   - logger: Receives libavcodec's messages, like `MediaLog.logger`; `nil` leaves them to that logger.
    /// - Throws: `unsupported` if libavcodec has no decoder or refuses the format; `malformedData` if the parameter sets
    ///   cannot be parsed; `outOfMemory`; errors of the platform.
    package init(
        _ request: DecoderRequest,
        on platform: any DecodingPlatform,
        logger: Logger?
    ) throws(MediaError) {
        MediaLog.install()
        let damage = DamageRecord()
        let onMessage = platform.onMessage
        log = LogRoute(logger) { tag, message in
            switch onMessage(message) {
            case .damage: damage.note(tag, message)
            case .failure(let error): damage.fail(error)
            case .remark: break
            }
        }
        self.damage = damage
        self.platform = platform
        output = request.output
        keepsLatest = platform.completesLater && !request.isLowLatency
        format = request.formatDescription
        let mark = LogRoute.enter(log)
        defer { LogRoute.leave(mark) }
        context = try CodecContext(request.formatDescription, platform, mark: log.mark)
        try damage.checkFailure()
        properties = DecoderProperties(name: platform.name, threadCount: context.threadCount)
        damage.listen()
    }

    package var copiedPictures: Int { platform.copiedPictures }

    package func decode(_ sample: DecoderSample) throws(MediaError) {
        let number = sample.number
        if sample.sample.isDropped { return }
        let configuration = try follow(sample)
        let tag = DamageRecord.tag(number)
        let mark = LogRoute.enter(log, tag: tag)
        defer { LogRoute.leave(mark) }
        context.setMark(log.mark(tag: tag))
        samples = (samples?.lowerBound ?? number)...max(number, samples?.upperBound ?? number)
        if !sample.sample.hasSlice { damage.note(tag, "it has no slice") }
        guard sample.sample.data.count > 0 else { return reportDamage() }
        let packet = try SamplePacket(sample, configuration: configuration)
        var status = context.send(packet.packet)
        if status == ffmpeg_error_again {
            try receive()
            status = context.send(packet.packet)
        }
        if status < 0 {
            try note(status, "avcodec_send_packet")
            try receiveDuePictures()
        }
        try receive()
        try damage.checkFailure()
        reportDamage()
    }

    package func pause() throws(MediaError) {
        guard latest != nil, let samples else { return }
        let mark = LogRoute.enter(log, tag: DamageRecord.tag(samples.upperBound))
        defer { LogRoute.leave(mark) }
        try deliverLatest()
        reportDamage()
    }

    package func drain() throws(MediaError) {
        guard let samples else { return }
        let mark = LogRoute.enter(log, tag: DamageRecord.tag(samples.upperBound))
        defer { LogRoute.leave(mark) }
        if recentSamples.contains(where: damage.contains) { try receiveDuePictures() }
        let status = context.send(nil)
        if status < 0, status != ffmpeg_error_eof { try note(status, "avcodec_send_packet") }
        try receive()
        try deliverLatest()
        try damage.checkFailure()
        reportDamage()
        context.flush()
        self.samples = nil
    }
}

// MARK: - Input

extension LibraryDecoder {
    /// Prepares for a sample's format.
    ///
    /// - Returns: The configuration that has to accompany the sample; `nil` if it is that of the samples before.
    private func follow(_ sample: DecoderSample) throws(MediaError) -> [UInt8]? {
        let new = sample.sample.formatDescription
        defer {
            if formats.last?.format != new { formats.append((sample.number, new)) }
            if formats.count > Self.recentFormats { formats.removeFirst() }
        }
        guard new != format else { return nil }
        do {
            _ = try new.decoderConfigurationRecord()
        } catch  where error.code == .malformedData {
            // The sample is decoded as well as the sets before allow.
            damage.note(DamageRecord.tag(sample.number), "\(error)")
            return nil
        }
        let old = format
        format = new
        guard new.codec != old.codec || new.parameterSets != old.parameterSets else { return nil }
        // Only a random access point can use other sequence parameter sets.
        let isNewStream = new.codec != old.codec || new.sequenceParameterSets != old.sequenceParameterSets
        guard isNewStream, sample.sample.isKeyFrame || sample.sample.isRecoveryPoint else {
            return try new.decoderConfigurationRecord()
        }
        try drain()
        let mark = LogRoute.enter(log, tag: DamageRecord.tag(sample.number))
        defer { LogRoute.leave(mark) }
        context = try CodecContext(new, platform, mark: log.mark(tag: DamageRecord.tag(sample.number)))
        return nil
    }
}

extension SampleBuffer {
    /// Whether there is a slice. libavcodec says nothing about an HEVC sample without one.
    fileprivate var hasSlice: Bool {
        guard let units = try? accessUnitLayout().units else { return false }
        return data.withUnsafeBytes { bytes in
            units.contains { (try? formatDescription.codec.nalUnitHeader(of: bytes[$0]))?.isVideoCodingLayer == true }
        }
    }
}

/// Owns a packet with a copy of a sample's data.
private final class SamplePacket {
    let packet: UnsafeMutablePointer<AVPacket>

    convenience init(_ sample: DecoderSample, configuration: [UInt8]?) throws(MediaError) {
        try self.init(sample.sample.data)
        packet.pointee.pts = sample.number
        packet.pointee.dts = sample.number
        guard let configuration else { return }
        guard let memory = av_packet_new_side_data(packet, AV_PKT_DATA_NEW_EXTRADATA, configuration.count) else {
            throw MediaError(.outOfMemory, "no memory for a packet", call: "av_packet_new_side_data")
        }
        UnsafeMutableRawBufferPointer(start: memory, count: configuration.count).copyBytes(from: configuration)
    }

    init(_ data: CodedData) throws(MediaError) {
        guard let packet = av_packet_alloc() else {
            throw MediaError(.outOfMemory, "no memory for a packet", call: "av_packet_alloc")
        }
        self.packet = packet
        try check(
            av_new_packet(packet, Int32(clamping: data.count)),
            "av_new_packet",
            "no memory for a packet",
            code: .outOfMemory
        )
        data.withUnsafeBytes { bytes in
            UnsafeMutableRawBufferPointer(start: packet.pointee.data, count: Int(packet.pointee.size))
                .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes.prefix(Int(packet.pointee.size))))
        }
    }

    deinit {
        var packet: UnsafeMutablePointer<AVPacket>? = packet
        av_packet_free(&packet)
    }
}

// MARK: - Output

extension LibraryDecoder {
    /// Passes on all pictures that are complete.
    private func receive() throws(MediaError) {
        var failures = 0
        while true {
            let frame: FrameReference
            if let spare { frame = spare } else { frame = try FrameReference() }
            spare = frame
            let status = context.receive(frame)
            if status == ffmpeg_error_again || status == ffmpeg_error_eof { return }
            guard status >= 0 else {
                try note(status, "avcodec_receive_frame")
                failures += 1
                if failures > Self.mostFailures {
                    try check(status, "avcodec_receive_frame", "the decoder returns no pictures", code: .frameFailed)
                }
                continue
            }
            failures = 0
            spare = nil
            try take(frame)
        }
    }

    /// Passes on the pictures that libavcodec would lose with a damaged sample.
    private func receiveDuePictures() throws(MediaError) {
        guard DuePictures.areLost(by: format.codec) else { return }
        let unit = format.codec.accessUnitDelimiter(before: [])
        let packet = try SamplePacket(CodedData([0, 0, 0, UInt8(unit.count)] + unit))
        let due = try DuePictures(context, delimiter: packet.packet)
        for status in due.failures { try note(status, "avcodec_send_packet") }
        for frame in due.frames { try take(frame) }
    }

    /// Passes on a picture, or the one before if the device may still work on this one.
    private func take(_ frame: FrameReference) throws(MediaError) {
        try deliverLatest()
        guard keepsLatest else { return try deliver(frame) }
        latest = frame
    }

    private func deliverLatest() throws(MediaError) {
        if let frame = latest.take() { try deliver(frame) }
    }

    private func deliver(_ reference: FrameReference) throws(MediaError) {
        let frame = reference.frame.pointee
        let number = frame.pts
        guard number != ffmpeg_no_pts, samples?.contains(number) == true else {
            throw MediaError(.frameFailed, "a decoded picture does not match any sample", given: "\(number)")
        }
        if frame.decode_error_flags != 0 {
            damage.note(DamageRecord.tag(number), "errors 0x\(String(frame.decode_error_flags, radix: 16))")
        }
        if let damaged = try platform.wait(for: reference) { damage.note(DamageRecord.tag(number), damaged) }
        reportDamage()
        let format = formats.last { $0.first <= number }?.format ?? format
        let ratio = frame.sample_aspect_ratio
        let properties = FrameProperties(
            color: PictureColor.description(of: reference).completed(by: format.color),
            pixelAspectRatio: ratio.num > 0 && ratio.den > 0
                ? Rational(ratio.num, ratio.den).reduced : format.pixelAspectRatio,
            attachments: PictureColor.attachments(of: reference, stream: format.attachments)
        )
        let buffer = try platform.picture(of: reference, properties)
        let isDamaged = frame.flags & AV_FRAME_FLAG_CORRUPT != 0 || damage.contains(number)
        output(.picture(DecodedPicture(number: number, buffer: buffer, isDamaged: isDamaged)))
    }

    /// Registers a failed call.
    ///
    /// - Throws: The error of the decoder, if the data is not to blame.
    private func note(_ status: Int32, _ call: String) throws(MediaError) {
        try damage.checkFailure()
        if let failure = platform.failure(status) { throw failure }
        if status == ffmpeg_error_no_memory { try check(status, call, "no memory to decode a picture") }
        let recent = recentSamples
        if let first = recent.first, !recent.contains(where: damage.contains) {
            damage.note(DamageRecord.tag(first), describe(status))
        }
    }

    /// The numbers of the samples that a failed call may mean: with frame threads, all that the threads have worked on.
    private var recentSamples: Range<Int64> {
        guard let samples else { return 0..<0 }
        let first = max(samples.lowerBound, samples.upperBound - Int64(context.parallelSamples - 1))
        return first..<samples.upperBound + 1
    }

    private func reportDamage() {
        guard let latest = samples?.upperBound else { return }
        for (number, error) in damage.takeNew(upTo: latest) { output(.damaged(number: number, error)) }
    }
}

extension ColorDescription {
    /// Returns the description with the values of another one in the place of unspecified ones.
    fileprivate func completed(by other: ColorDescription) -> ColorDescription {
        var result = self
        if result.primaries == .unspecified { result.primaries = other.primaries }
        if result.transfer == .unspecified { result.transfer = other.transfer }
        if result.matrix == .unspecified { result.matrix = other.matrix }
        if result.range == .unspecified { result.range = other.range }
        if result.chromaLocation == nil { result.chromaLocation = other.chromaLocation }
        return result
    }
}
