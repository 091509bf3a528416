// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import CFFmpeg
internal import FFmpegSupport
public import Logging
public import MediaTimeline
public import MediaTypes

/// Encodes uncompressed audio: the counterpart of `AVAudioConverter` with a compressed output format.
///
/// **Time.** Samples are placed on a timeline by the times of their buffers (``MediaTimeline/SoundPlacement``). The
/// output begins at zero: sound that starts later begins with silence, sound before zero is cut. Holes become silence,
/// overlaps are cut, and the drift of a device's clock is corrected by an inaudible change of the rate. Sound whose
/// times fit together is encoded sample by sample: the frame N of the input is the frame N of the decoded output.
///
/// **Priming.** AAC and Opus encoders put ``AudioStreamDescription/priming`` frames in front of the sound. The first
/// sample therefore has a time before zero, and the last one may have ``AudioSample/trimAtEnd``. A container stores
/// both, and a player discards these frames.
///
/// Every accepted buffer is encoded. Buffers may have any format, also different ones. Calls block; an encoder is used
/// by one thread at a time.
public final class AudioEncoder {
    /// The description of the output.
    public let description: AudioStreamDescription
    /// The differences between the settings and the output.
    public let adjustments: [Adjustment]
    /// What was inserted, skipped and corrected.
    public private(set) var placement: SoundPlacement

    private let codec: EncoderContext
    private let format: AudioFormat
    private let log: LogRoute?
    private let queue: SampleFIFO
    private var resampler: Resampler?
    private var isFinished = false
    /// The number of frames that were passed to the encoder.
    private var submitted: Int64 = 0
    private var packets: PacketTimes
    /// The latest sample; only its successor, or the end, shows how much of it is trimmed.
    private var held: AudioSample?

    /// Makes an encoder.
    ///
    /// - Parameters:
    ///   - settings: The codec, bitrate, rate and channels.
    ///   - input: The format of the first buffer, which determines what the settings leave open.
    ///   - end: The time at which the sound is cut; `nil` for none.
    ///   - logger: Receives FFmpeg's messages, like `MediaLog.logger`; `nil` leaves them to that logger.
    /// - Throws: `invalidArgument` if a setting is out of range; `unavailable` if FFmpeg was built without the encoder;
    ///   `unsupported`; `outOfMemory`.
    public init(
        _ settings: AudioEncoderSettings,
        input: AudioFormat,
        end: MediaTime? = nil,
        logger: Logger? = nil
    ) throws(MediaError) {
        MediaLog.install()
        log = LogRoute(logger)
        let mark = LogRoute.enter(log)
        defer { LogRoute.leave(mark) }
        let setup = try EncoderSetup(settings, input: input)
        codec = try EncoderContext(settings.codec, setup, log: log)
        format = codec.format
        queue = try SampleFIFO(format)
        adjustments = setup.adjustments
        description = codec.description
        placement = SoundPlacement(sampleRate: setup.sampleRate, end: end)
        packets = PacketTimes(description)
    }

    /// Encodes a buffer.
    ///
    /// - Returns: The samples that are complete.
    /// - Throws: `invalidState` after ``finish()``; `unsupported` if the format cannot be converted; `frameFailed` if
    ///   the encoder fails; `outOfMemory`.
    public func encode(_ buffer: AudioBuffer) throws(MediaError) -> [AudioSample] {
        let mark = LogRoute.enter(log)
        defer { LogRoute.leave(mark) }
        guard !isFinished else { throw MediaError(.invalidState, "the audio encoder is finished") }
        let resampler = try resampler(for: buffer.format)
        var range = 0..<buffer.frameCount
        let steps = placement.place(
            at: buffer.presentationTime,
            count: resampler.outputCount(buffer.frameCount),
            position: queue.total + Int64(resampler.delay)
        )
        var samples: [AudioSample] = []
        for step in steps {
            switch step {
            case .insertSilence(let count): samples += try encodeSilence(resampler.inputCount(count), resampler)
            case .skip(let count): range = min(resampler.inputCount(count), range.upperBound)..<range.upperBound
            case .limit(let count):
                range = range.lowerBound..<min(range.lowerBound + resampler.inputCount(count), range.upperBound)
            case .stretch(let frames): try resampler.stretch(frames)
            }
        }
        try resampler.convert(buffer, range)
        return try samples + encodeQueue(all: false)
    }

    /// Encodes silence, of which the queue never holds more than a second.
    private func encodeSilence(_ count: Int, _ resampler: Resampler) throws(MediaError) -> [AudioSample] {
        var samples: [AudioSample] = []
        var left = count
        while left > 0 {
            let part = min(left, resampler.input.sampleRate)
            try resampler.convert(AudioBuffer(format: resampler.input, frameCount: part), 0..<part)
            samples += try encodeQueue(all: false)
            left -= part
        }
        return samples
    }

    /// Encodes what is left. Nothing can be encoded afterwards.
    ///
    /// - Returns: The last samples.
    /// - Throws: As ``encode(_:)``.
    public func finish() throws(MediaError) -> [AudioSample] {
        let mark = LogRoute.enter(log)
        defer { LogRoute.leave(mark) }
        guard !isFinished else { return [] }
        isFinished = true
        try resampler?.drain()
        var samples = try encodeQueue(all: true)
        guard submitted > 0 else { return [] }
        try codec.send(nil)
        samples += try receive()
        if var last = held.take() {
            last.trimAtEnd = Int(clamping: max(packets.end - submitted, 0))
            samples.append(last)
        }
        return samples
    }

    private func resampler(for input: AudioFormat) throws(MediaError) -> Resampler {
        if let resampler, resampler.input == input { return resampler }
        try resampler?.drain()
        let resampler = try Resampler(from: input, to: format, into: queue)
        self.resampler = resampler
        return resampler
    }

    private func encodeQueue(all: Bool) throws(MediaError) -> [AudioSample] {
        var samples: [AudioSample] = []
        while queue.count >= (all ? 1 : codec.framesPerPacket) {
            let count = min(queue.count, codec.framesPerPacket)
            let frame = try codec.frame(count)
            try queue.remove(count, into: frame.pointer)
            frame.pointer.pointee.pts = submitted
            submitted += Int64(count)
            try codec.send(frame.pointer)
            samples += try receive()
        }
        return samples
    }

    private func receive() throws(MediaError) -> [AudioSample] {
        var samples: [AudioSample] = []
        while let data = try codec.receive() {
            if let held { samples.append(held) }
            held = packets.next(data, submitted: submitted)
        }
        return samples
    }
}

/// Assigns times to the packets of an encoder: all have the same number of frames, except for the last one of a codec
/// without priming.
private struct PacketTimes {
    let description: AudioStreamDescription
    /// The end of the latest packet in frames, from zero of the timeline.
    private(set) var end: Int64

    init(_ description: AudioStreamDescription) {
        self.description = description
        end = -Int64(description.priming)
    }

    mutating func next(_ data: CodedData, submitted: Int64) -> AudioSample {
        let timescale = Int32(clamping: description.sampleRate)
        let whole = Int64(description.framesPerPacket)
        let count = description.priming == 0 ? min(whole, submitted - end) : whole
        defer { end += count }
        return AudioSample(
            data: data,
            presentationTime: MediaTime(value: end, timescale: timescale),
            duration: MediaTime(value: count, timescale: timescale)
        )
    }
}
