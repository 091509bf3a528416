// SPDX-License-Identifier: GPL-2.0-or-later

internal import CFFmpeg
internal import FFmpegSupport
internal import MediaTypes

/// Converts audio to the format of an encoder with libswresample, and collects it in a queue. Channels are mixed by
/// ``ChannelMix``.
///
/// Without a change of the rate and the level, the output has exactly the samples of the input. Used from one thread at a time.
final class Resampler {
    let input: AudioFormat
    let output: AudioFormat
    /// The factor of the samples.
    private let gain: Double

    private var context: OpaquePointer?
    private let queue: SampleFIFO
    private var isStretching = false
    /// The latest frames of the input, the history of a filter that starts in the middle.
    private var latest: AudioBuffer?

    /// The length of the history in frames: longer than libswresample's default filter of 32.
    private static let history = 64
    /// The number of samples after which a change of the rate ends by itself; hours.
    private static let stretchDistance = 1 << 30

    init(
        from input: AudioFormat,
        to output: AudioFormat,
        gain: Double,
        into queue: SampleFIFO
    ) throws(MediaError) {
        self.input = input
        self.output = output
        self.gain = gain
        self.queue = queue
        context = try Self.makeContext(input, output, gain, isFiltered: false)
    }

    deinit { swr_free(&context) }

    private static func makeContext(
        _ input: AudioFormat,
        _ output: AudioFormat,
        _ gain: Double,
        isFiltered: Bool
    ) throws(MediaError) -> OpaquePointer? {
        var context: OpaquePointer?
        var (from, to) = (input.layout.libraryLayout, output.layout.libraryLayout)
        var status = swr_alloc_set_opts2(
            &context,
            &to,
            output.libraryFormat,
            Int32(clamping: output.sampleRate),
            &from,
            input.libraryFormat,
            Int32(clamping: input.sampleRate),
            0,
            nil
        )
        let settings = UnsafeMutableRawPointer(context)
        if status >= 0, input.layout != output.layout || gain != 1 {
            let mix = ChannelMix(from: input.layout, to: output.layout)
            // Without this, 16 bits are mixed in integers, which overflow with a gain.
            status = av_opt_set_sample_fmt(settings, "internal_sample_fmt", AV_SAMPLE_FMT_FLTP, 0)
            let matrix = mix.coefficients.flatMap { row in row.map { $0 * gain } }
            if status >= 0 { status = swr_set_matrix(context, matrix, Int32(clamping: input.layout.channelCount)) }
        }
        if status >= 0, isFiltered { status = av_opt_set(settings, "flags", "+res", 0) }
        if status >= 0 { status = swr_init(context) }
        if status < 0 { swr_free(&context) }
        try check(
            status,
            "swr_init",
            "audio cannot be converted from \(input) to \(output)",
            code: .unsupported
        )
        return context
    }

    /// The number of frames, at the rate of the output, that are not in the queue yet.
    var delay: Int { Int(swr_get_delay(context, Int64(output.sampleRate))) }

    /// Returns the number of output frames for a number of input frames.
    func outputCount(_ count: Int) -> Int { Self.rescale(count, from: input, to: output) }

    /// Returns the number of input frames for a number of output frames.
    func inputCount(_ count: Int) -> Int { Self.rescale(count, from: output, to: input) }

    private static func rescale(_ count: Int, from: AudioFormat, to: AudioFormat) -> Int {
        guard from.sampleRate != to.sampleRate else { return count }
        let time = MediaTime(value: Int64(count), timescale: Int32(clamping: from.sampleRate))
        return Int(clamping: time.converted(to: Int32(clamping: to.sampleRate)).value)
    }

    /// Converts a part of a buffer, which has the format of the input.
    func convert(_ buffer: AudioBuffer, _ range: Range<Int>) throws(MediaError) {
        guard !range.isEmpty else { return }
        try buffer.withLibraryPlanes(range) { (planes, count) throws(MediaError) in try convert(planes, count) }
        latest = buffer
    }

    /// Moves the frames of the filter to the queue, at the end of the input.
    func drain() throws(MediaError) {
        // Without input, libswresample continues with frames after the end.
        let most = delay
        if most > 0 { try convert(nil, 0, atMost: most) }
    }

    /// Produces one frame more (less, if negative) per this number of frames; `nil` ends that.
    func stretch(_ framesPerExtraFrame: Int?) throws(MediaError) {
        guard let frames = framesPerExtraFrame, frames != 0 else {
            if isStretching { swr_set_compensation(context, 0, 0) }
            return
        }
        if !isStretching { try startFilter() }
        let count = max(Self.stretchDistance / abs(frames), 1)
        try check(
            swr_set_compensation(
                context,
                Int32(clamping: frames.signum() * count),
                Int32(clamping: abs(frames) * count)
            ),
            "swr_set_compensation",
            "the audio rate cannot be changed",
            code: .unsupported
        )
    }

    /// Continues with a filter. It gets the latest frames once more, so that it does not start from silence, which
    /// would be heard as a click.
    private func startFilter() throws(MediaError) {
        isStretching = true
        guard input.sampleRate == output.sampleRate else { return }
        let filtered = try Self.makeContext(input, output, gain, isFiltered: true)
        swr_free(&context)
        context = filtered
        guard let latest else { return }
        let start = max(latest.frameCount - Self.history, 0)
        swr_drop_output(context, Int32(latest.frameCount - start))
        try latest.withLibraryPlanes(start..<latest.frameCount) { (planes, count) throws(MediaError) in
            try convert(planes, count)
        }
    }

    private func convert(
        _ planes: UnsafeMutablePointer<UnsafePointer<UInt8>?>?,
        _ count: Int,
        atMost most: Int = .max
    ) throws(MediaError) {
        let room = swr_get_out_samples(context, Int32(count))
        try check(room, "swr_get_out_samples", "audio cannot be converted")
        guard room > 0 else { return }
        let memory = try SampleMemory(output, frameCount: Int(room))
        let converted = try check(
            swr_convert(context, memory.planes, room, planes, Int32(count)),
            "swr_convert",
            "audio cannot be converted"
        )
        try queue.append(memory, count: min(Int(converted), most))
    }
}

extension AudioBuffer {
    /// Calls `body` with pointers to the planes of a part, in the format that FFmpeg gets.
    fileprivate func withLibraryPlanes(
        _ range: Range<Int>,
        _ body: (UnsafeMutablePointer<UnsafePointer<UInt8>?>?, Int) throws(MediaError) -> Void
    ) throws(MediaError) {
        let source =
            switch format.sampleType {
            case .int24: widened
            case .float32: hasOnlyNumbers(range) ? self : withoutNonNumbers
            case .int16, .int32: self
            }
        let stride = source.format.bytesPerPlaneFrame
        try source.withUnsafePlanes { (planes) throws(MediaError) in
            var pointers = planes.map { plane in
                plane.baseAddress.map { ($0 + range.lowerBound * stride).assumingMemoryBound(to: UInt8.self) }
            }
            try pointers.withUnsafeMutableBufferPointer { (buffer) throws(MediaError) in
                try body(buffer.baseAddress, range.count)
            }
        }
    }

    /// Whether all floating-point samples of a part are finite numbers.
    private func hasOnlyNumbers(_ range: Range<Int>) -> Bool {
        let count = format.bytesPerPlaneFrame / MemoryLayout<Float>.size
        return withUnsafePlanes { planes in
            planes.allSatisfy { plane in
                plane.withMemoryRebound(to: Float.self) { samples in
                    // Zero times a number is zero, except for infinities and NaN.
                    let sum = samples[range.lowerBound * count..<range.upperBound * count].reduce(0) { $0 + $1 * 0 }
                    return sum == 0
                }
            }
        }
    }

    /// The buffer with silence in place of samples that are not finite numbers, which encoders refuse.
    private var withoutNonNumbers: AudioBuffer {
        withUnsafePlanes { planes in
            AudioBuffer(format: format, frameCount: frameCount, presentationTime: presentationTime) { index, memory in
                let source = planes[index].bindMemory(to: Float.self)
                let target = memory.bindMemory(to: Float.self)
                for sample in source.indices { target[sample] = source[sample].isFinite ? source[sample] : 0 }
            }
        }
    }

    /// The buffer with samples of 24 bits as the upper bits of 32.
    private var widened: AudioBuffer {
        var wide = format
        wide.sampleType = .int32
        return withUnsafePlanes { planes in
            AudioBuffer(format: wide, frameCount: frameCount, presentationTime: presentationTime) { index, memory in
                let plane = planes[index]
                for sample in 0..<plane.count / 3 {
                    let bytes = (
                        UInt32(plane[sample * 3]), UInt32(plane[sample * 3 + 1]), UInt32(plane[sample * 3 + 2])
                    )
                    let value = bytes.0 << 8 | bytes.1 << 16 | bytes.2 << 24
                    memory.storeBytes(of: value, toByteOffset: sample * 4, as: UInt32.self)
                }
            }
        }
    }
}

/// Memory for frames in a format of FFmpeg.
final class SampleMemory {
    let planes: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>
    private let planeCount: Int

    /// - Parameter frameCount: The number of frames, at least 1.
    init(_ format: AudioFormat, frameCount: Int) throws(MediaError) {
        planeCount = format.planeCount
        planes = .allocate(capacity: planeCount)
        planes.initialize(repeating: nil, count: planeCount)
        let channels = Int32(clamping: format.layout.channelCount)
        let status = av_samples_alloc(planes, nil, channels, Int32(clamping: frameCount), format.libraryFormat, 0)
        try check(status, "av_samples_alloc", "no memory for audio", code: .outOfMemory)
    }

    deinit {
        av_freep(planes)
        planes.deallocate()
    }

    /// Calls `body` with the planes as libavutil's queue takes them.
    func withRawPlanes(_ body: (UnsafeMutablePointer<UnsafeMutableRawPointer?>) -> Int32) -> Int32 {
        planes.withMemoryRebound(to: UnsafeMutableRawPointer?.self, capacity: planeCount, body)
    }
}

/// A queue of frames in a format of FFmpeg.
final class SampleFIFO {
    private let fifo: OpaquePointer
    private let planeCount: Int
    /// The number of frames that were ever appended.
    private(set) var total: Int64 = 0

    init(_ format: AudioFormat) throws(MediaError) {
        let channels = Int32(clamping: format.layout.channelCount)
        guard let fifo = av_audio_fifo_alloc(format.libraryFormat, channels, 4096) else {
            throw MediaError(.outOfMemory, "no memory for audio", call: "av_audio_fifo_alloc")
        }
        self.fifo = fifo
        planeCount = format.planeCount
    }

    deinit { av_audio_fifo_free(fifo) }

    /// The number of frames.
    var count: Int { Int(av_audio_fifo_size(fifo)) }

    /// Appends frames, as a copy.
    func append(_ memory: SampleMemory, count: Int) throws(MediaError) {
        guard count > 0 else { return }
        let status = memory.withRawPlanes { av_audio_fifo_write(fifo, $0, Int32(clamping: count)) }
        try check(status, "av_audio_fifo_write", "no memory for audio", code: .outOfMemory)
        total += Int64(count)
    }

    /// Moves the first frames into a frame with enough memory.
    func remove(_ count: Int, into frame: UnsafeMutablePointer<AVFrame>) throws(MediaError) {
        guard let data = frame.pointee.extended_data else { return }
        let status = data.withMemoryRebound(to: UnsafeMutableRawPointer?.self, capacity: planeCount) { planes in
            av_audio_fifo_read(fifo, planes, Int32(clamping: count))
        }
        try check(status, "av_audio_fifo_read", "audio cannot be read")
    }
}
