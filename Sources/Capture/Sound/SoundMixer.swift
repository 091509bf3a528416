// SPDX-License-Identifier: GPL-2.0-or-later

public import AudioCoding
internal import MediaTimeline
public import MediaTypes

/// Mixes sources of sound, each with a clock of its own, into one continuous stream.
///
/// A `DeviceClock` per input follows its clock, and an `AudioEncoder` for PCM puts its sound in place: it fills gaps
/// with silence, and corrects the drift by an inaudible change of the rate. Inputs have any format, which may change.
/// The sum is limited to full scale, and does not wrap around.
///
/// The output waits for the slowest input. An input that delivers nothing for ``patience`` seconds is not waited for
/// until it delivers again; what it then delivers for times that are mixed already is dropped.
///
/// A mixer has no effect outside, and does not read a clock. It is used from one thread at a time.
public final class SoundMixer {
    /// The format of the output: floating-point samples between -1 and 1.
    public let format: AudioFormat
    /// The time in seconds after which an input is not waited for.
    public let patience: Double

    private var strands: [SoundStrand] = []
    /// The first frame of the output, from zero of the clock; `nil` before the first buffer.
    private var start: Int64?
    /// The number of frames that were mixed.
    private var mixed: Int64 = 0
    private var firstArrival: MediaTime?

    /// Makes a mixer.
    ///
    /// - Parameters:
    ///   - gains: The gain of each input in dB, -100 to 100; at least one.
    ///   - sampleRate: The sample rate of the output in Hz.
    ///   - layout: The channels of the output, to which those of the inputs are mixed.
    ///   - patience: The time in seconds after which an input is not waited for, 0.01 to 60. It should exceed the
    ///     length of the inputs' buffers and the variation of their delay.
    /// - Throws: `invalidArgument` for a value out of range; `unavailable` and `unsupported` as `AudioEncoder`;
    ///   `outOfMemory`.
    public init(
        gains: [Double],
        sampleRate: Int = 48000,
        layout: ChannelLayout = .stereo,
        patience: Double = 0.2
    ) throws(MediaError) {
        guard !gains.isEmpty else { throw .outOfRange("number of inputs", "0", "at least 1") }
        guard AudioFormat.allowedSampleRates.contains(sampleRate) else {
            throw .outOfRange("sample rate", "\(sampleRate) Hz", "\(AudioFormat.allowedSampleRates.text) Hz")
        }
        guard (0.01...60).contains(patience) else { throw .outOfRange("patience", "\(patience) s", "0.01 to 60 s") }
        format = AudioFormat(sampleType: .float32, sampleRate: sampleRate, layout: layout)
        self.patience = patience
        for gain in gains { strands.append(try SoundStrand(gain: gain, format)) }
    }

    /// Adds a buffer of an input.
    ///
    /// - Parameters:
    ///   - sound: The buffer. It is ignored if its time is a minute away from the present time.
    ///   - index: The number of the input; a buffer of an unknown input, or of one that has ended, is ignored.
    ///   - now: The present time of `CLOCK_MONOTONIC`.
    /// - Throws: `invalidArgument` and `unsupported` if the format cannot be converted; `outOfMemory`.
    public func append(_ sound: CapturedSound, from index: Int, now: MediaTime) throws(MediaError) {
        guard strands.indices.contains(index), !strands[index].hasEnded else { return }
        let strand = strands[index]
        if let last = strand.lastArrival, (now - last).seconds > patience { try strand.pause() }
        guard let time = strand.place(sound), abs((time - now).seconds) <= Self.farthest else { return }
        let frame = time.converted(to: Int32(format.sampleRate)).value
        guard frame.magnitude < 1 << 50 else { return }
        if firstArrival == nil { firstArrival = now }
        let start = start ?? frame
        self.start = start
        strand.lastArrival = now
        try strand.append(sound, at: time, start: start, mixed: mixed)
    }

    /// The largest difference between a buffer's time and the present time in seconds.
    private static let farthest = 60.0

    /// Ends an input; its remaining sound is mixed.
    ///
    /// - Throws: As ``append(_:from:now:)``.
    public func end(_ index: Int) throws(MediaError) {
        if strands.indices.contains(index) { try strands[index].end() }
    }

    /// Returns the next buffer of the output, at most a second; `nil` if inputs have to deliver first, and at the end.
    ///
    /// Its time is that of `CLOCK_MONOTONIC`, and directly follows the previous buffer.
    ///
    /// - Parameter now: The present time of `CLOCK_MONOTONIC`.
    /// - Throws: `outOfMemory`.
    public func take(now: MediaTime) throws(MediaError) -> AudioBuffer? {
        guard let start, let firstArrival else { return nil }
        let limit = min(try limit(now, start, firstArrival), mixed + Int64(format.sampleRate))
        guard limit > mixed else { return nil }
        let channels = format.layout.channelCount
        let range = mixed..<limit
        mixed = limit
        return AudioBuffer(
            format: format,
            frameCount: range.count,
            presentationTime: MediaTime(value: start + range.lowerBound, timescale: Int32(format.sampleRate))
        ) { _, memory in
            let sum = memory.bindMemory(to: Float.self)
            for strand in strands { strand.mix(range, channels, into: sum) }
            for index in sum.indices { sum[index] = min(max(sum[index], -1), 1) }
        }
    }

    /// The frame up to which everything can be mixed.
    private func limit(
        _ now: MediaTime,
        _ start: Int64,
        _ firstArrival: MediaTime
    ) throws(MediaError) -> Int64 {
        for strand in strands where (now - (strand.lastArrival ?? firstArrival)).seconds > patience {
            try strand.pause()
        }
        guard strands.contains(where: { !$0.hasEnded }) else { return strands.map(\.endFrame).max() ?? 0 }
        let awaited = strands.filter { !$0.hasEnded && !$0.isPaused }
        if let least = awaited.map(\.endFrame).min() { return least }
        let past = now - MediaTime(seconds: patience, preferredTimescale: 1_000_000)
        let frame = past.converted(to: Int32(format.sampleRate), rounding: .down).value
        return min(max(frame, start), start + 1 << 50) - start
    }
}

/// The sound of one input, in place.
private final class SoundStrand {
    private let gain: Double
    private let output: AudioFormat
    private var clock = DeviceClock(ticksPerSecond: 48000)
    /// The number of frames of the device, with those that are lost.
    private var position: Int64 = 0
    private var encoder: AudioEncoder
    /// The frame of the output at which the encoder's timeline begins.
    private var origin: Int64 = 0
    /// Samples that are not mixed yet, and the frame of the first one.
    private var samples: [Float] = []
    private var firstFrame: Int64 = 0
    /// Whether the encoder has delivered everything, because nothing followed.
    private(set) var isPaused = false
    private(set) var hasEnded = false
    var lastArrival: MediaTime?

    init(gain: Double, _ output: AudioFormat) throws(MediaError) {
        (self.gain, self.output) = (gain, output)
        encoder = try Self.makeEncoder(gain, output)
    }

    private static func makeEncoder(_ gain: Double, _ output: AudioFormat) throws(MediaError) -> AudioEncoder {
        var settings = AudioEncoderSettings(.pcm, sampleRate: output.sampleRate, layout: output.layout)
        settings.gain = gain
        return try AudioEncoder(settings, input: output)
    }

    /// The frame of the output up to which the sound is known.
    var endFrame: Int64 { firstFrame + Int64(samples.count / output.layout.channelCount) }

    /// Counts a buffer.
    ///
    /// - Returns: The time of its first frame; `nil` if it is not known yet.
    func place(_ sound: CapturedSound) -> MediaTime? {
        let rate = Int32(clamping: sound.buffer.format.sampleRate)
        if rate != clock.ticksPerSecond {
            (clock, position) = (DeviceClock(ticksPerSecond: rate), 0)
        } else if isPaused {
            // A device that was gone did not count what it has missed.
            clock.restart()
        }
        position &+= Int64(max(sound.lostFrames, 0))
        let time = clock.place(position: position, count: sound.buffer.frameCount, arrival: sound.arrival)
        position &+= Int64(sound.buffer.frameCount)
        return time.isValid ? time : nil
    }

    func append(_ sound: CapturedSound, at time: MediaTime, start: Int64, mixed: Int64) throws(MediaError) {
        let frame = time.converted(to: Int32(output.sampleRate)).value - start
        let isFar = frame > origin + encoder.producedFrames + Int64(output.sampleRate)
        if isFar { try pause() }
        if isPaused {
            encoder = try Self.makeEncoder(gain, output)
            // A long gap takes no memory.
            if isFar || endFrame < mixed { (samples, firstFrame) = ([], max(frame, mixed)) }
            (origin, isPaused) = (endFrame, false)
        }
        var buffer = sound.buffer
        buffer.presentationTime = time - MediaTime(value: start + origin, timescale: Int32(output.sampleRate))
        buffer.followsLoss = sound.lostFrames > 0
        try encoder.send(buffer)
        try collect()
    }

    /// Takes the rest from the encoder.
    func pause() throws(MediaError) {
        guard !isPaused else { return }
        isPaused = true
        encoder.sendEnd()
        try collect()
    }

    func end() throws(MediaError) {
        hasEnded = true
        try pause()
    }

    private func collect() throws(MediaError) {
        while let sample = try encoder.receive() {
            // Little-endian, as the machines that this runs on.
            sample.data.withUnsafeBytes { bytes in
                bytes.withMemoryRebound(to: Float.self) { samples.append(contentsOf: $0) }
            }
        }
    }

    /// Adds a range of frames to a sum, and forgets what is before its end.
    func mix(_ range: Range<Int64>, _ channels: Int, into sum: UnsafeMutableBufferPointer<Float>) {
        let known = range.clamped(to: firstFrame..<max(endFrame, firstFrame))
        let source = Int(known.lowerBound - firstFrame) * channels
        let target = Int(known.lowerBound - range.lowerBound) * channels
        samples.withUnsafeBufferPointer { samples in
            for index in 0..<known.count * channels { sum[target + index] += samples[source + index] }
        }
        let past = Int(max(min(range.upperBound, endFrame) - firstFrame, 0))
        samples.removeFirst(past * channels)
        firstFrame += Int64(past)
    }
}
