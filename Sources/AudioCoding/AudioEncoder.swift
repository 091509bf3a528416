// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import CFFmpeg
internal import FFmpegSupport
public import Logging
public import MediaTimeline
public import MediaTypes

/// Encodes uncompressed audio: the counterpart of `AVAudioConverter` with a compressed output format.
///
/// **Time.** Audio is placed on a timeline by the times of its buffers (``MediaTimeline/AudioPlacement``). The output
/// begins at zero: audio that starts later is preceded by silence, and audio before zero is cut. Gaps are filled with
/// silence, overlaps are cut, and the drift of a device's clock is corrected by an inaudible change of the rate. If the
/// times are continuous, start at zero, and the sample rate stays the same, no sample is added, dropped or moved.
///
/// **Priming.** AAC and Opus encoders put ``AudioStreamDescription/priming`` frames in front of the audio. The first
/// sample therefore has a time before zero and ``AudioSample/trimAtStart``; the last may have ``AudioSample/trimAtEnd``.
/// A container stores both, and a player discards these frames.
///
/// **Channels** are mixed by ``ChannelMix``; ``AudioEncoderSettings/gain`` is applied with it.
///
/// The format may change from buffer to buffer. Samples that are not finite numbers are replaced with silence. Calls
/// block; an encoder is used by one thread at a time.
public final class AudioEncoder {
    /// The description of the output.
    public let description: AudioStreamDescription
    /// The differences between the settings and the output.
    public let adjustments: [Adjustment]
    /// What was inserted, skipped and corrected.
    public private(set) var placement: AudioPlacement

    private var codec: EncoderContext
    private let codecName: AudioCodec
    private let setup: EncoderSetup
    private let format: AudioFormat
    private let log: LogRoute?
    private let queue: SampleFIFO
    private var resampler: Resampler
    private var pending: Pending?
    private var stretch: Int?
    private var isFinishing = false
    /// Whether the codec was told that there is no more input.
    private var isFlushed = false
    /// The number of frames that were passed to the encoder.
    private var submitted: Int64 = 0
    /// The first frame of the present stream.
    private var streamStart: Int64 = 0
    /// The frame up to which frames may be encoded, as long as it is not known whether the stream ends before; `nil` for
    /// no limit. Further frames are kept.
    package var limit: Int64?
    private var packets: PacketTimes
    /// The latest sample; only its successor, or the end, shows how much of it is trimmed.
    private var held: AudioSample?

    /// What is still to be converted of the buffer that was sent last.
    private struct Pending {
        var silence: Int
        var buffer: AudioBuffer
        var range: Range<Int>

        var isDone: Bool { silence == 0 && range.isEmpty }
    }

    /// Makes an encoder.
    ///
    /// - Parameters:
    ///   - settings: The codec, bitrate, rate and channels.
    ///   - input: The format of the first buffer. It supplies the values that the settings leave `nil`.
    ///   - end: The time at which the audio is cut; `nil` for none.
    ///   - policy: The thresholds for gaps and drift.
    ///   - logger: Receives FFmpeg's messages, like `MediaLog.logger`; `nil` leaves them to that logger.
    /// - Throws: `invalidArgument` if a setting is out of range; `unavailable` if FFmpeg was built without the encoder;
    ///   `unsupported` if the encoder or the conversion does not support a value; `outOfMemory`.
    public init(
        _ settings: AudioEncoderSettings,
        input: AudioFormat,
        end: MediaTime? = nil,
        policy: AudioPlacement.Policy = .device,
        logger: Logger? = nil
    ) throws(MediaError) {
        MediaLog.install()
        log = LogRoute(logger)
        let mark = LogRoute.enter(log)
        defer { LogRoute.leave(mark) }
        let setup = try EncoderSetup(settings, input: input)
        codec = try EncoderContext(settings.codec, setup, log: log)
        codecName = settings.codec
        self.setup = setup
        format = codec.format
        queue = try SampleFIFO(format)
        resampler = try Resampler(from: input, to: format, gain: setup.gain, into: queue)
        adjustments = setup.adjustments
        description = codec.description
        placement = AudioPlacement(sampleRate: setup.sampleRate, end: end, policy: policy)
        packets = PacketTimes(codec)
    }

    /// Encodes a buffer: ``send(_:)``, and ``receive()`` until it needs input.
    ///
    /// - Returns: The samples that are complete. After a gap of hours the array is large; use ``send(_:)`` and
    ///   ``receive()`` to get the samples one at a time.
    /// - Throws: As ``send(_:)`` and ``receive()``.
    public func encode(_ buffer: AudioBuffer) throws(MediaError) -> [AudioSample] {
        try send(buffer)
        return try all()
    }

    /// Encodes what is left: ``sendEnd()``, and ``receive()`` until the end. Nothing can be encoded afterwards.
    ///
    /// - Throws: As ``receive()``.
    public func finish() throws(MediaError) -> [AudioSample] {
        sendEnd()
        return try all()
    }

    private func all() throws(MediaError) -> [AudioSample] {
        var samples: [AudioSample] = []
        while let sample = try receive() { samples.append(sample) }
        return samples
    }

    /// The duration of the audio that was encoded so far, from zero and without priming.
    public var duration: MediaTime { MediaTime(value: submitted, timescale: Int32(clamping: description.sampleRate)) }

    /// Sets the time at which later buffers are cut.
    public func end(at time: MediaTime) { placement.end(at: time) }

    /// Accepts a buffer. Call ``receive()`` until it returns `nil` before the next call.
    ///
    /// - Throws: `invalidState` if the previous buffer is not consumed, and after ``sendEnd()``; `invalidArgument` for a sample rate out of range;
    ///   `unsupported` if the format cannot be converted; `outOfMemory`.
    public func send(_ buffer: AudioBuffer) throws(MediaError) {
        guard !isFinishing else { throw MediaError(.invalidState, "the audio encoder is finished") }
        guard pending == nil else {
            throw MediaError(.invalidState, "the audio encoder has not converted the previous buffer yet")
        }
        let mark = LogRoute.enter(log)
        defer { LogRoute.leave(mark) }
        try adapt(to: buffer.format)
        var pending = Pending(silence: 0, buffer: buffer, range: 0..<buffer.frameCount)
        let steps = placement.place(
            at: buffer.presentationTime,
            count: resampler.outputCount(buffer.frameCount),
            position: queue.total + Int64(resampler.delay),
            followsLoss: buffer.followsLoss
        )
        for step in steps {
            let range = pending.range
            switch step {
            case .insertSilence(let count): pending.silence = resampler.inputCount(count)
            case .skip(let count):
                pending.range = min(resampler.inputCount(count), range.upperBound)..<range.upperBound
            case .limit(let count):
                pending.range = range.lowerBound..<range.lowerBound + min(resampler.inputCount(count), range.count)
            case .stretch(let frames):
                stretch = frames
                try resampler.stretch(frames)
            }
        }
        self.pending = pending
    }

    /// Ends the input. ``receive()`` returns what is left.
    public func sendEnd() { isFinishing = true }

    /// Returns the next sample; `nil` if the encoder needs a buffer or, after ``sendEnd()``, at the end.
    ///
    /// - Throws: `frameFailed` if the encoder fails; `outOfMemory`.
    public func receive() throws(MediaError) -> AudioSample? {
        let mark = LogRoute.enter(log)
        defer { LogRoute.leave(mark) }
        while true {
            if let data = try codec.receive() {
                let previous = held
                held = packets.next(data, submitted: submitted - streamStart)
                if let previous { return previous }
            } else if queue.count >= codec.framesPerPacket, isWithinLimit {
                try submit(codec.framesPerPacket)
            } else if pending != nil {
                try convertPending()
            } else if isFinishing {
                if isFlushed { return takeLast() }
                try flush()
            } else {
                return nil
            }
        }
    }

    /// Converts at most a second of what is pending.
    private func convertPending() throws(MediaError) {
        guard var pending else { return }
        let second = max(resampler.input.sampleRate, 1)
        if pending.silence > 0 {
            let count = min(pending.silence, second)
            try resampler.convert(AudioBuffer(format: resampler.input, frameCount: count), 0..<count)
            pending.silence -= count
        } else {
            let end = min(pending.range.lowerBound + second, pending.range.upperBound)
            try resampler.convert(pending.buffer, pending.range.lowerBound..<end)
            pending.range = end..<pending.range.upperBound
        }
        self.pending = pending.isDone ? nil : pending
    }

    private func submit(_ count: Int) throws(MediaError) {
        let frame = try codec.frame(count)
        try queue.remove(count, into: frame.pointer)
        frame.pointer.pointee.pts = submitted - streamStart
        submitted += Int64(count)
        try codec.send(frame.pointer)
    }

    /// Passes the rest to the encoder, and the end after it.
    private func flush() throws(MediaError) {
        try resampler.drain()
        // The rest is submitted when there is less than a packet.
        if queue.count >= codec.framesPerPacket { return try submit(codec.framesPerPacket) }
        if queue.count > 0 { try submit(queue.count) }
        isFlushed = true
        if submitted > streamStart { try codec.send(nil) }
    }

    private var isWithinLimit: Bool { limit.map { submitted + Int64(codec.framesPerPacket) <= $0 } ?? true }

    private func takeLast() -> AudioSample? {
        guard var last = held.take() else { return nil }
        last.trimAtEnd = Int(clamping: max(packets.end - (submitted - streamStart), 0))
        return last
    }

    /// The number of frames that were placed and converted so far, from zero.
    package var producedFrames: Int64 { queue.total }
    /// The number of frames that were passed to the codec so far, from zero.
    package var encodedFrames: Int64 { submitted }

    /// Ends the coded stream at a frame, and begins another one there, which has its own priming and whose times count from
    /// that frame. No frame is lost or doubled. Sound that is missing before the frame becomes silence.
    ///
    /// - Parameters:
    ///   - frame: The first frame of the next stream, at least ``encodedFrames``.
    ///   - hasEnded: Whether no sound follows; then nothing is inserted.
    /// - Returns: The remaining samples of the stream that ends.
    /// - Throws: `invalidArgument` if the frame is encoded already; as ``receive()``.
    package func split(at frame: Int64, hasEnded: Bool = false) throws(MediaError) -> [AudioSample] {
        guard frame >= submitted else {
            throw MediaError(
                .invalidArgument,
                "the audio is encoded beyond the end of its stream",
                given: "\(frame)",
                allowed: "at least \(submitted)"
            )
        }
        let mark = LogRoute.enter(log)
        defer { LogRoute.leave(mark) }
        while pending != nil { try convertPending() }
        var samples: [AudioSample] = []
        while !hasEnded, queue.total < frame {
            let count = min(max(resampler.inputCount(Int(frame - queue.total)), 1), resampler.input.sampleRate)
            try resampler.convert(AudioBuffer(format: resampler.input, frameCount: count), 0..<count)
            // An hour of silence is not kept in memory before it is encoded.
            while queue.count >= codec.framesPerPacket, submitted + Int64(codec.framesPerPacket) <= frame {
                try submit(codec.framesPerPacket)
                try takeAll(into: &samples)
            }
        }
        if hasEnded { try resampler.drain() }
        limit = nil
        while submitted < frame, queue.count > 0 {
            try submit(min(codec.framesPerPacket, queue.count, Int(frame - submitted)))
            try takeAll(into: &samples)
        }
        if submitted > streamStart { try codec.send(nil) }
        try takeAll(into: &samples)
        if let last = takeLast() { samples.append(last) }
        codec = try EncoderContext(codecName, setup, log: log)
        packets = PacketTimes(codec)
        streamStart = frame
        submitted = frame
        return samples
    }

    private func takeAll(into samples: inout [AudioSample]) throws(MediaError) {
        while let data = try codec.receive() {
            if let held { samples.append(held) }
            held = packets.next(data, submitted: submitted - streamStart)
        }
    }

    /// Prepares for buffers of a format.
    private func adapt(to input: AudioFormat) throws(MediaError) {
        guard resampler.input != input else { return }
        guard AudioFormat.allowedSampleRates.contains(input.sampleRate) else {
            throw .outOfRange("sample rate", input.sampleRate, AudioFormat.allowedSampleRates, unit: "Hz")
        }
        let next = try Resampler(from: input, to: format, gain: setup.gain, into: queue)
        try next.stretch(stretch)
        try resampler.drain()
        resampler = next
    }
}

/// Assigns times to the packets of an encoder: all have the same number of frames, except for the last one of a codec
/// without priming.
private struct PacketTimes {
    private let sampleRate: Int
    private let framesPerPacket: Int64
    private let priming: Int
    /// The end of the latest packet in frames, from zero of the timeline.
    private(set) var end: Int64

    init(_ codec: EncoderContext) {
        sampleRate = codec.description.sampleRate
        framesPerPacket = Int64(codec.framesPerPacket)
        priming = codec.description.priming
        end = -Int64(priming)
    }

    mutating func next(_ data: CodedData, submitted: Int64) -> AudioSample {
        let timescale = Int32(clamping: sampleRate)
        let count = priming == 0 ? min(framesPerPacket, submitted - end) : framesPerPacket
        defer { end += count }
        let isFirst = end < 0 && end == -Int64(priming)
        return AudioSample(
            data: data,
            presentationTime: MediaTime(value: end, timescale: timescale),
            duration: MediaTime(value: count, timescale: timescale),
            trimAtStart: isFirst ? priming : 0
        )
    }
}
