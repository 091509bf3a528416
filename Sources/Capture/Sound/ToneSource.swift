// SPDX-License-Identifier: GPL-2.0-or-later

public import AudioCoding
internal import Glibc
public import MediaTypes

/// The test tone: a beep in the first 100 ms of each second of `CLOCK_MONOTONIC`, and silence otherwise.
///
/// Together with a test chart that flashes at whole seconds, it shows whether sound and pictures are in step. A reader
/// that is more than a second late loses sound, which is counted.
public final class ToneSource: SoundDevice {
    /// What to play.
    public struct Request: Sendable, Hashable {
        /// The frequency of the beep in Hz, 20 to half of the sample rate.
        public var frequency = 1000.0
        /// The peak of the beep in dBFS, -100 to 0.
        public var level = -12.0
        /// The sample rate in Hz, 1000 to 768000.
        public var sampleRate = 48000
        /// The number of channels, 1 to 8, which have the same sound.
        public var channelCount = 2

        /// Makes a beep of 1 kHz in stereo.
        public init() {}
    }

    /// The format of the buffers.
    public let format: AudioFormat

    private let stop: StopSignal
    private let beep: [Float]
    /// The number of the next frame, from zero of the clock.
    private var position: Int64

    /// The number of buffers per second.
    private static let buffersPerSecond: Int64 = 100

    /// Makes a tone that begins now.
    ///
    /// - Parameters:
    ///   - request: What to play.
    ///   - stop: Ends every wait.
    /// - Throws: `invalidArgument` for a value out of range.
    public init(_ request: Request = Request(), stop: StopSignal) throws(MediaError) {
        guard AudioFormat.allowedSampleRates.contains(request.sampleRate) else {
            let allowed = "\(AudioFormat.allowedSampleRates.text) Hz"
            throw .outOfRange("sample rate", "\(request.sampleRate) Hz", allowed)
        }
        let frequencies = 20...Double(request.sampleRate) / 2
        guard frequencies.contains(request.frequency) else {
            throw .outOfRange("frequency", "\(request.frequency) Hz", "\(frequencies.text) Hz")
        }
        guard (-100...0).contains(request.level) else {
            throw .outOfRange("level", "\(request.level) dBFS", "-100 to 0 dBFS")
        }
        guard let layout = ChannelLayout.standard(channelCount: request.channelCount) else {
            let allowed = ChannelLayout.standardChannelCounts.text
            throw .outOfRange("number of channels", "\(request.channelCount)", allowed)
        }
        self.stop = stop
        format = AudioFormat(sampleType: .float32, sampleRate: request.sampleRate, layout: layout)
        let amplitude = Decibels.factor(request.level)
        beep = (0..<request.sampleRate / 10).map { frame in
            Float(amplitude * sin(2 * .pi * request.frequency * Double(frame) / Double(request.sampleRate)))
        }
        position = Self.frame(at: MonotonicClock.now, format.sampleRate)
    }

    /// Waits for the end of the next buffer.
    ///
    /// - Throws: `cancelled` after the stop signal.
    public func read() throws(MediaError) -> CapturedSound {
        let rate = Int64(format.sampleRate)
        let late = Self.frame(at: MonotonicClock.now, format.sampleRate) - position
        let lost = late > rate ? late : 0
        position += lost
        let count = max(rate / Self.buffersPerSecond, 1)
        let channels = format.layout.channelCount
        let buffer = AudioBuffer(format: format, frameCount: Int(count)) { _, memory in
            let samples = memory.bindMemory(to: Float.self)
            for frame in 0..<Int(count) {
                let sample = Int((position + Int64(frame)) % rate)
                let value = sample < beep.count ? beep[sample] : 0
                for channel in 0..<channels { samples[frame * channels + channel] = value }
            }
        }
        position += count
        let end = MediaTime(value: position, timescale: Int32(format.sampleRate)).converted(to: 1_000_000_000)
        try wait(until: end)
        return CapturedSound(buffer, arrival: end, lostFrames: Int(lost))
    }

    private func wait(until end: MediaTime) throws(MediaError) {
        try stop.check()
        while case let left = end.value - MonotonicClock.now.value, left > 0 {
            try stop.wait(for: [], until: Int32(clamping: (left + 999_999) / 1_000_000))
        }
    }

    private static func frame(at time: MediaTime, _ sampleRate: Int) -> Int64 {
        time.converted(to: Int32(sampleRate), rounding: .down).value
    }
}
