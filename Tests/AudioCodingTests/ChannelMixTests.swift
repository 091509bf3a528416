// SPDX-License-Identifier: GPL-2.0-or-later

import AudioCoding
import MediaTypes
import Testing

/// How channels are mixed, by the coefficients and by the encoder.
@Suite struct ChannelMixTests {
    private static let minus3 = 0.5.squareRoot()

    /// The coefficients of ITU-R BS.775-3, annex 4, divided by the largest sum of a row.
    @Test(
        arguments: [
            (ChannelLayout.stereo, ChannelLayout.mono, [[0.5, 0.5]]),
            (.mono, .stereo, [[minus3], [minus3]]),
            (.front3, .stereo, [[1, 0, minus3], [0, 1, minus3]].map { $0.map { $0 / (1 + minus3) } }),
            (
                .surround5Point1, .stereo,
                [[1, 0, minus3, 0, minus3, 0], [0, 1, minus3, 0, 0, minus3]].map { $0.map { $0 / (1 + 2 * minus3) } }
            ),
            (
                .surround5Point1, .mono,
                [[minus3, minus3, 1, 0, 0.5, 0.5].map { $0 / (2 + 2 * minus3) }]
            ),
            (
                .surround7Point1, .stereo,
                [[1, 0, minus3, 0, minus3, 0, minus3, 0], [0, 1, minus3, 0, 0, minus3, 0, minus3]]
                    .map { $0.map { $0 / (1 + 3 * minus3) } }
            ),
            (.surround4, .stereo, [[1, 0, minus3, 0.5], [0, 1, minus3, 0.5]].map { $0.map { $0 / (1.5 + minus3) } }),
            (
                .surround5Point1Side, .surround5Point1,
                [
                    [1, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0], [0, 0, 0, 1, 0, 0], [0, 0, 0, 0, 1, 0],
                    [0, 0, 0, 0, 0, 1],
                ]
            ),
            (.stereoWithSubwoofer, .stereo, [[1, 0, 0], [0, 1, 0]]),
        ] as [(ChannelLayout, ChannelLayout, [[Double]])]
    )
    func coefficients(input: ChannelLayout, output: ChannelLayout, expected: [[Double]]) {
        let mix = ChannelMix(from: input, to: output)
        #expect(mix.coefficients.count == expected.count)
        for (row, wanted) in zip(mix.coefficients, expected) {
            #expect(row.count == wanted.count)
            for (value, other) in zip(row, wanted) { #expect(abs(value - other) < 1e-9, "\(mix.coefficients)") }
        }
    }

    /// No mix of any two layouts can clip, and none loses a channel except for low-frequency effects.
    @Test func everyPairOfLayouts() {
        for (_, input) in ChannelLayout.named {
            for (_, output) in ChannelLayout.named {
                let mix = ChannelMix(from: input, to: output)
                for row in mix.coefficients { #expect(row.reduce(0, +) <= 1 + 1e-9, "\(input) to \(output)") }
                for channel in 0..<input.channelCount {
                    let isLost = mix.coefficients.allSatisfy { $0[channel] == 0 }
                    let isLow = input.speakers.contains(.lowFrequency) && channel == (input.channelCount == 3 ? 2 : 3)
                    let isKept = output.speakers.contains(.lowFrequency)
                    #expect(isLost == (isLow && !isKept), "channel \(channel) of \(input) to \(output)")
                }
                #expect(mix.isIdentity == (input == output))
            }
        }
        // A loudspeaker at the ceiling.
        let top = ChannelLayout(speakers: [.frontLeft, .frontRight, .init(rawValue: 1 << 12)])
        let mix = top.map { ChannelMix(from: $0, to: .stereo) }
        #expect((mix?.coefficients[0][2] ?? 0) > 0.4 && mix?.coefficients[1][2] == 0)
    }

    /// The encoder uses these coefficients: a constant in one channel of the input is found in the output.
    @Test(arguments: [ChannelLayout.stereo, .mono, .quad, .surround5Point1], [AudioFormat.SampleType.int16, .float32])
    func encoderMixes(output: ChannelLayout, type: AudioFormat.SampleType) throws {
        for input in [ChannelLayout.surround5Point1, .surround7Point1, .stereo, .front3] {
            let mix = ChannelMix(from: input, to: output)
            for channel in 0..<input.channelCount {
                var signal = Signal.clicks([], count: 2000, channelCount: input.channelCount)
                signal.channels[channel] = Array(repeating: 0.8, count: 2000)
                let format = AudioFormat(sampleType: type, sampleRate: 48000, layout: input)
                let buffers = try signal.buffers(format) { MediaTime(value: Int64($0), timescale: 48000) }
                let (_, decoded, _) = try roundTrip(buffers, AudioEncoderSettings(.pcm, layout: output))
                let result = Signal(decoded)
                #expect(result.frameCount == 2000)
                for (row, samples) in zip(mix.coefficients, result.channels) {
                    #expect(abs(samples[1000] - 0.8 * row[channel]) < 2e-4, "\(input) \(channel) to \(output)")
                }
            }
        }
    }

    /// A gain changes the level, and nothing else; integers are clipped, not wrapped.
    @Test(arguments: [AudioFormat.SampleType.int16, .int24, .float32], [-20.0, 3, 40])
    func gain(type: AudioFormat.SampleType, decibels: Double) throws {
        let signal = Signal(channels: [(0..<3000).map { $0 % 7 == 0 ? 0.3 : -0.2 }])
        let format = AudioFormat(sampleType: type, sampleRate: 48000, layout: .mono)
        let buffers = try signal.buffers(format) { MediaTime(value: Int64($0), timescale: 48000) }
        var settings = AudioEncoderSettings(.pcm)
        settings.gain = decibels
        let result = Signal(try roundTrip(buffers, settings).decoded)
        let factor = decibels == -20 ? 0.1 : decibels == 3 ? 1.4125375446 : 100
        #expect(result.frameCount == 3000)
        for (value, original) in zip(result.channels[0], signal.channels[0]) {
            let wanted = type == .float32 ? original * factor : max(-1, min(original * factor, 1))
            #expect(abs(value - wanted) < 2e-4, "\(value) \(wanted)")
        }
    }

    @Test(arguments: [101, -101, .infinity, .nan])
    func gainsOutOfRangeAreRefused(decibels: Double) {
        var settings = AudioEncoderSettings(.aac)
        settings.gain = decibels
        let format = AudioFormat(sampleType: .int16, sampleRate: 48000, layout: .mono)
        #expect { _ = try AudioEncoder(settings, input: format) } throws: { error in
            (error as? MediaError)?.code == .invalidArgument
        }
    }
}
