// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import CFFmpeg
internal import FFmpegSupport
internal import MediaTypes

/// A sample with the times of its packet, in ticks of the stream's time base.
struct TimedSample {
    /// The coded picture; the error if its packet has no readable NAL units.
    var content: Result<SampleBuffer, MediaError>
    var presentationTime: Int64?
    var decodeTime: Int64?
    /// 0 if not known.
    var duration: Int64
}

/// The samples that libavcodec has got before it is known which decoder does the work. The other decoder gets them again,
/// so that the choice can wait for the first picture, and works for inputs that cannot be read twice.
struct SampleRecord {
    /// The bytes that are kept at most.
    private static let mostBytes = 256 << 20

    /// Makes the samples of the packets.
    private(set) var sampler: PacketSampler
    private(set) var samples: [TimedSample] = []
    /// The time that libavcodec states for its first picture, after ``noteFirstPicture(_:)``.
    private(set) var firstPicture: Int64??
    /// Whether samples had to be left out.
    private(set) var isIncomplete = false

    private let track: MediaTrack
    private let fresh: PacketSampler
    private var byteCount = 0

    /// - Throws: `unsupported` if the stream is neither H.264 nor HEVC; `malformedData` if it has no parameter sets;
    ///   `outOfMemory`.
    init(_ stream: UnsafePointer<AVStream>, attachments: PixelAttachments) throws(MediaError) {
        track = try MediaTrack(stream: stream)
        guard let codec = VideoCodec(rawValue: track.codecName) else {
            throw MediaError(
                .unsupported,
                "videos of this codec are decoded by libavcodec on the CPU only",
                given: track.codecName,
                allowed: VideoCodec.allCases.map(\.rawValue).joined(separator: ", ")
            )
        }
        let parameters = stream.pointee.codecpar.pointee
        let ratio = parameters.sample_aspect_ratio
        let properties = PacketSampler.ContainerProperties(
            color: ColorDescription(
                primaries: .init(rawValue: UInt8(clamping: parameters.color_primaries.rawValue)),
                transfer: .init(rawValue: UInt8(clamping: parameters.color_trc.rawValue)),
                matrix: .init(rawValue: UInt8(clamping: parameters.color_space.rawValue)),
                range: parameters.color_range == AVCOL_RANGE_JPEG
                    ? .full : parameters.color_range == AVCOL_RANGE_MPEG ? .limited : .unspecified
            ),
            pixelAspectRatio: ratio.num > 0 && ratio.den > 0 ? Rational(ratio.num, ratio.den).reduced : nil,
            attachments: attachments
        )
        fresh = try PacketSampler(track, codec, properties)
        sampler = fresh
    }

    /// Adds a packet; those without a picture only change the format of the next one.
    ///
    /// - Parameter start: The time before which no picture is returned.
    mutating func add(_ packet: UnsafePointer<AVPacket>, start: Int64) throws(MediaError) {
        guard !isIncomplete, let sample = try next(packet) else { return }
        let count = (try? sample.content.get())?.data.count ?? 0
        let isBeforeStart = sample.presentationTime.map { $0 <= start } ?? false
        if isBeforeStart, (try? sample.content.get())?.randomAccess == .closed {
            // What precedes an IDR picture is not needed for the pictures after it.
            (samples, byteCount) = ([], 0)
        }
        samples.append(sample)
        byteCount += count
        if byteCount > Self.mostBytes { (samples, isIncomplete) = ([], true) }
    }

    /// Returns the sample of a packet; `nil` if it has no picture.
    mutating func next(_ packet: UnsafePointer<AVPacket>) throws(MediaError) -> TimedSample? {
        guard let copy = av_packet_clone(packet) else {
            throw MediaError(.outOfMemory, "no memory for a packet", call: "av_packet_clone")
        }
        let content: Result<SampleBuffer, MediaError>
        do throws(BitstreamError) {
            guard let sample = try sampler.sample(of: MediaPacket(track: track, taking: copy)) else { return nil }
            content = .success(sample)
        } catch {
            content = .failure(MediaError(.malformedData, "its NAL units cannot be found: \(error)"))
        }
        func time(_ ticks: Int64) -> Int64? { ticks == ffmpeg_no_pts ? nil : ticks }
        return TimedSample(
            content: content,
            presentationTime: time(packet.pointee.pts),
            decodeTime: time(packet.pointee.dts),
            duration: packet.pointee.duration
        )
    }

    /// Records the time that libavcodec states for a picture; only the first one counts.
    mutating func noteFirstPicture(_ time: Int64?) {
        if firstPicture == nil { firstPicture = .some(time) }
    }

    /// Discards the samples, as required after a seek.
    mutating func restart() {
        (sampler, samples, byteCount, firstPicture, isIncomplete) = (fresh, [], 0, nil, false)
    }

    /// Returns the format of the first sample.
    ///
    /// - Throws: `unsupported` if another decoder cannot do what libavcodec does: there are no presentation times, or
    ///   samples were left out.
    func formatDescription() throws(MediaError) -> FormatDescription {
        if isIncomplete {
            throw MediaError(
                .unsupported,
                "the first picture is too far behind the point where decoding begins",
                allowed: "\(Self.mostBytes >> 20) MiB"
            )
        }
        if samples.contains(where: { $0.presentationTime == nil }) {
            throw MediaError(.unsupported, "the input states no presentation times", given: track.codecName)
        }
        return samples.lazy.compactMap { try? $0.content.get().formatDescription }.first ?? fresh.format
    }
}
