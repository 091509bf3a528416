// SPDX-License-Identifier: GPL-2.0-or-later

import AudioCoding
import Logging
import MediaIO
import MediaTimeline
import MediaTypes

/// Decodes the packets of one audio track and encodes them again, on a dedicated thread.
actor AudioConverter {
    /// The track of the output.
    nonisolated let output: MediaTrack
    /// The description of the output, and how it came about.
    nonisolated let outcome: AudioOutcome
    /// The settings that the encoder could not use as given.
    nonisolated let settingAdjustments: [Adjustment]

    private let executor = ThreadExecutor(name: "vt-audio")
    private let input: MediaTrack
    private let settings: AudioEncoderSettings
    private let decoder: AudioDecoder
    private let encoder: AudioEncoder
    /// The decoded buffers that the encoder has not taken yet.
    private var buffers: [AudioBuffer] = []
    /// The format of the latest one.
    private var format: AudioFormat
    /// The end of the decoded sound.
    private var soundEnd = MediaTime.zero
    /// The largest magnitude of the decoded samples, 1 for full scale.
    private var inputPeak = 0.0
    private var isAtEnd = false
    private var isFlushing = false

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// - Parameters:
    ///   - loudness: How the gain of the settings was found, for the report.
    ///   - end: The time at which the sound is cut.
    /// - Throws: `invalidArgument` for settings out of range; `unsupported` if FFmpeg cannot decode the track;
    ///   `unavailable` if it has no such encoder; `outOfMemory`.
    init(
        _ input: MediaTrack,
        _ settings: AudioEncoderSettings,
        loudness: LoudnessOutcome? = nil,
        end: MediaTime?,
        logger: Logger?
    ) throws(MediaError) {
        guard let description = input.audio, let format = description.decodedFormat else {
            throw MediaError(
                .unsupported,
                "the sample rate or the channels of the audio are not known",
                given: "track \(input.index) (\(input.codecName))"
            )
        }
        (self.input, self.settings, self.format) = (input, settings, format)
        decoder = try AudioDecoder(description, logger: logger)
        encoder = try AudioEncoder(settings, input: format, end: end, policy: .file, logger: logger)
        output = try MediaTrack(audio: encoder.description, replacing: input)
        settingAdjustments = encoder.adjustments + (loudness?.adjustments(track: input.index) ?? [])
        outcome = AudioOutcome(
            index: input.index,
            inputCodec: input.codecName,
            output: encoder.description,
            isEncoded: true,
            gain: settings.gain,
            loudness: loudness
        )
    }

    /// How much of the input before the start the decoder needs: AAC one packet, Opus 80 ms (RFC 7845 4.6).
    static let preroll = MediaTime(value: 1, timescale: 10)
    /// The maximum number of packets that are returned at a time.
    private static let mostPackets = 64

    /// Decodes a packet of the input, after ``next()`` has returned none.
    func send(_ packet: MediaPacket) throws(MediaError) { add(try decoder.decode(packet.audioSample())) }

    /// Ends the input.
    ///
    /// - Parameter end: The time until which silence follows if the sound ends earlier; `nil` for none.
    func sendEnd(silentUntil end: MediaTime? = nil) throws(MediaError) {
        add(try decoder.finish())
        isAtEnd = true
        guard let end, end.isValid, end - soundEnd > Self.longestMissingEnd else { return }
        // The encoder fills the gap before these last milliseconds.
        let count = max(format.sampleRate / 100, 1)
        var last = AudioBuffer(format: format, frameCount: count)
        last.presentationTime = end - last.duration
        buffers.append(last)
    }

    /// Sound that ends this much early is left as it is.
    private static let longestMissingEnd = MediaTime(value: 1, timescale: 10)

    private func add(_ decoded: [AudioBuffer]) {
        buffers += decoded
        for buffer in decoded {
            inputPeak = max(inputPeak, buffer.peak)
            format = buffer.format
            soundEnd = (buffer.presentationTime.isValid ? buffer.presentationTime : soundEnd) + buffer.duration
        }
    }

    /// The largest magnitude of the samples after the gain, 1 for full scale. Mixing may reduce it further.
    var peak: Double { inputPeak * Decibels.factor(settings.gain) }

    /// A gain that exceeds full scale.
    var levelAdjustments: [Adjustment] {
        guard settings.gain > 0, outcome.loudness == nil, peak > 1 else { return [] }
        let gain = "\(Readable.number(settings.gain, places: 1)) dB"
        return [
            Adjustment(
                property: "gain of audio track \(input.index)",
                requested: gain,
                used: "\(gain), up to \(Readable.number(Decibels.level(peak), places: 1)) dB above full scale",
                reason: "the peak of the track is \(Readable.number(Decibels.level(inputPeak), places: 1)) dBFS"
            )
        ]
    }

    /// The duration of the output.
    var duration: MediaTime { encoder.duration }

    /// Returns the next packets of the output; none if more input is needed or, after ``sendEnd()``, at the end.
    func next() throws(MediaError) -> [MediaPacket] {
        var packets: [MediaPacket] = []
        while packets.count < Self.mostPackets {
            if let sample = try encoder.receive() {
                packets.append(try MediaPacket(sample, track: output))
            } else if !buffers.isEmpty {
                try encoder.send(buffers.removeFirst())
            } else if isAtEnd, !isFlushing {
                isFlushing = true
                encoder.sendEnd()
            } else {
                break
            }
        }
        return packets
    }

    /// The number of packets that could not be decoded, and the first reason.
    var failures: (count: Int, first: MediaError?) { (decoder.failureCount, decoder.firstFailure) }

    /// How the output differs from the times of the input.
    var timeAdjustments: [Adjustment] {
        let placement = encoder.placement
        let rate = Double(placement.sampleRate)
        var adjustments: [Adjustment] = []
        let parts = [(placement.inserted, "s of silence inserted"), (placement.skipped, "s cut")].filter { $0.0 > 0 }
        if !parts.isEmpty {
            adjustments.append(
                Adjustment(
                    property: "audio track \(input.index)",
                    requested: "with \(Readable.count(placement.jumps, "timestamp jump"))",
                    used: "continuous, "
                        + parts.map { "\(Readable.number(Double($0.0) / rate, places: 3)) \($0.1)" }
                        .joined(separator: ", "),
                    reason: "the times of the input are not continuous"
                )
            )
        }
        if placement.hasStretched {
            adjustments.append(
                Adjustment(
                    property: "rate of audio track \(input.index)",
                    requested: "constant",
                    used: "corrected",
                    reason: "it drifts from the times of the input"
                )
            )
        }
        return adjustments
    }
}
