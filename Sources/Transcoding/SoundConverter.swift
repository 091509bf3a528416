// SPDX-License-Identifier: GPL-2.0-or-later

import AudioCoding
import Logging
import MediaIO
import MediaTimeline
import MediaTypes

/// Decodes the packets of one audio track and encodes them again, on a dedicated thread.
actor SoundConverter {
    /// The track of the output.
    nonisolated let output: MediaTrack
    /// The description of the output, and how it came about.
    nonisolated let outcome: AudioOutcome
    /// The settings that the encoder could not use as given.
    nonisolated let settingAdjustments: [Adjustment]

    private let executor = ThreadExecutor(name: "vt-sound")
    private let input: MediaTrack
    private let decoder: AudioDecoder
    private let encoder: AudioEncoder

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// - Parameter end: The time at which the sound is cut.
    /// - Throws: `invalidArgument` for settings out of range; `unsupported` if FFmpeg cannot decode the track;
    ///   `unavailable` if it has no such encoder; `outOfMemory`.
    init(
        _ input: MediaTrack,
        _ settings: AudioEncoderSettings,
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
        self.input = input
        decoder = try AudioDecoder(description, logger: logger)
        encoder = try AudioEncoder(settings, input: format, end: end, logger: logger)
        output = try MediaTrack(audio: encoder.description, replacing: input)
        settingAdjustments = encoder.adjustments
        outcome = AudioOutcome(
            index: input.index,
            inputCodec: input.codecName,
            output: encoder.description,
            isEncoded: true
        )
    }

    /// Converts a packet of the input.
    func convert(_ packet: MediaPacket) throws(MediaError) -> [MediaPacket] {
        try encode(decoder.decode(packet.audioSample()))
    }

    /// Converts what decoder and encoder still hold.
    func finish() throws(MediaError) -> [MediaPacket] {
        try encode(decoder.finish()) + packets(encoder.finish())
    }

    private func encode(_ buffers: [AudioBuffer]) throws(MediaError) -> [MediaPacket] {
        var result: [MediaPacket] = []
        for buffer in buffers { result += try packets(encoder.encode(buffer)) }
        return result
    }

    private func packets(_ samples: [AudioSample]) throws(MediaError) -> [MediaPacket] {
        var result: [MediaPacket] = []
        for sample in samples { result.append(try MediaPacket(sample, track: output)) }
        return result
    }

    /// The number of packets that could not be decoded, and the first reason.
    var failures: (count: Int, first: MediaError?) { (decoder.failureCount, decoder.firstFailure) }

    /// How the output differs from the times of the input.
    var timeAdjustments: [Adjustment] {
        let placement = encoder.placement
        let rate = Double(placement.sampleRate)
        var adjustments: [Adjustment] = []
        if placement.jumps > 0 {
            let parts = [(placement.inserted, "s of silence inserted"), (placement.skipped, "s cut")]
            adjustments.append(
                Adjustment(
                    property: "audio track \(input.index)",
                    requested: "with \(Readable.count(placement.jumps, "hole")) or overlaps",
                    used: parts.filter { $0.0 > 0 }.map { "\(Readable.number(Double($0.0) / rate, places: 3)) \($0.1)" }
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
