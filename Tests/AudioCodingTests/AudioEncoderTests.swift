// SPDX-License-Identifier: GPL-2.0-or-later

import AudioCoding
import BitstreamSyntax
import Foundation
import MediaTimeline
import MediaTypes
import Testing

@Suite struct AudioEncoderTests {
    private func mono(_ rate: Int, _ type: AudioFormat.SampleType = .float32) -> AudioFormat {
        AudioFormat(sampleType: type, sampleRate: rate, layout: .mono)
    }

    private func exact(_ rate: Int, from start: Int = 0) -> (Int) -> MediaTime {
        { MediaTime(value: Int64(start + $0), timescale: Int32(rate)) }
    }

    /// A click of the input is at the same sample of the output, and both have as many samples.
    @Test(arguments: AudioSpecificConfig.sampleRates, [20000, 20480, 1, 1023])
    func samplesOfAACKeepTheirPlace(rate: Int, count: Int) throws {
        let clicks = count > 12345 ? [12345] : []
        let signal = Signal.clicks(clicks, count: count)
        let (samples, decoded, encoder) = try roundTrip(
            signal.buffers(mono(rate), time: exact(rate)),
            AudioEncoderSettings(.aac, bitRate: 6 * rate)
        )
        #expect(encoder.description.sampleRate == rate)
        #expect(encoder.adjustments == [])
        #expect(samples.first?.presentationTime == MediaTime(value: -1024, timescale: Int32(rate)))
        let result = Signal(decoded)
        #expect(result.frameCount == count)
        #expect(result.loud() == clicks)
        let configuration = try AudioSpecificConfig(bytes: encoder.description.configuration)
        #expect(configuration.samplingFrequency.sampleRate == rate)
    }

    @Test(arguments: [AudioCodec.opus, .flac, .pcm], [48000, 47999, 5])
    func samplesOfOtherCodecsKeepTheirPlace(codec: AudioCodec, count: Int) throws {
        let clicks = count > 12345 ? [12345] : []
        let signal = Signal.clicks(clicks, count: count)
        let bitRate = codec == .opus ? 256_000 : nil
        let (samples, decoded, encoder) = try roundTrip(
            signal.buffers(mono(48000, .int16), time: exact(48000)),
            AudioEncoderSettings(codec, bitRate: bitRate)
        )
        let result = Signal(decoded)
        #expect(result.frameCount == count)
        #expect(result.loud() == clicks)
        // The times of the samples follow each other without gaps.
        for (sample, next) in zip(samples, samples.dropFirst()) {
            #expect(sample.presentationTime + sample.duration == next.presentationTime)
        }
        if codec == .flac || codec == .pcm { #expect(result.channels == signal.rounded(.int16).channels) }
        #expect(encoder.description.priming == (codec == .opus ? 312 : 0))
    }

    /// Every type of samples, interleaved and planar, comes out as it went in.
    @Test(arguments: AudioFormat.SampleType.allCases, [true, false])
    func everyFormatIsAccepted(type: AudioFormat.SampleType, isInterleaved: Bool) throws {
        var signal = Signal.clicks([], count: 5000, channelCount: 2)
        for frame in 0..<5000 {
            signal.channels[0][frame] = sin(Double(frame) / 20) * 0.8
            signal.channels[1][frame] = cos(Double(frame) / 33) * 0.7
        }
        let format = AudioFormat(sampleType: type, sampleRate: 48000, layout: .stereo, isInterleaved: isInterleaved)
        let pcm = try roundTrip(signal.buffers(format, time: exact(48000)), AudioEncoderSettings(.pcm))
        let expected = signal.rounded(type)
        let worst = zip(Signal(pcm.decoded).channels, expected.channels).map {
            zip($0, $1).map { abs($0 - $1) }.max() ?? 1
        }
        #expect(worst.allSatisfy { $0 < 1e-9 }, "\(worst)")
        // Lossless with up to 24 bits.
        let flac = try roundTrip(signal.buffers(format, time: exact(48000)), AudioEncoderSettings(.flac))
        let difference = zip(Signal(flac.decoded).channels, expected.channels).map {
            zip($0, $1).map { abs($0 - $1) }.max() ?? 1
        }
        #expect(difference.allSatisfy { $0 < 2e-7 }, "\(difference)")
    }

    @Test func theNearestRateAndTheSmallestLayoutAreUsed() throws {
        func setup(_ codec: AudioCodec, _ rate: Int, _ layout: ChannelLayout) throws -> (Int, ChannelLayout?, [String])
        {
            let input = AudioFormat(sampleType: .int16, sampleRate: rate, layout: layout)
            let encoder = try AudioEncoder(AudioEncoderSettings(codec), input: input)
            let description = encoder.description
            return (description.sampleRate, description.layout, encoder.adjustments.map(\.property))
        }
        #expect(try setup(.aac, 37800, .mono) == (32000, .mono, ["audio sample rate"]))
        #expect(try setup(.aac, 192_000, .mono) == (96000, .mono, ["audio sample rate"]))
        #expect(try setup(.aac, 46050, .stereo) == (48000, .stereo, ["audio sample rate"]))
        #expect(try setup(.opus, 44100, .stereo) == (48000, .stereo, ["audio sample rate"]))
        #expect(try setup(.flac, 37800, .mono) == (37800, .mono, []))
        #expect(try setup(.aac, 48000, .stereoWithSubwoofer) == (48000, .surround5Point1, ["audio channels"]))
        #expect(try setup(.aac, 48000, .quad) == (48000, .surround5, ["audio channels"]))
        #expect(try setup(.aac, 48000, .surround5Point1Side) == (48000, .surround5Point1, ["audio channels"]))
        #expect(try setup(.aac, 48000, .surround6Point1) == (48000, .surround7Point1, ["audio channels"]))
        for channels in 1...8 {
            let layout = try #require(ChannelLayout.standard(channelCount: channels))
            for codec in AudioCodec.allCases {
                let result = try setup(codec, 48000, layout)
                #expect(result.1?.channelCount ?? 0 >= channels, "\(codec) \(layout)")
            }
        }
    }

    @Test func valuesOutOfRangeAreRefused() throws {
        let input = mono(48000)
        for settings in [
            AudioEncoderSettings(.aac, bitRate: 1000), .init(.aac, bitRate: 300_000), .init(.opus, bitRate: 5000),
            .init(.flac, bitRate: 64000), .init(.pcm, sampleRate: 0), .init(.aac, sampleRate: 1_000_000),
        ] {
            let error = #expect(throws: MediaError.self) { try AudioEncoder(settings, input: input) }
            #expect(error?.code == .invalidArgument)
            #expect(error?.given != nil && error?.allowed != nil)
        }
        let error = #expect(throws: MediaError.self) {
            try AudioBuffer(
                planes: [[1, 2, 3]],
                format: AudioFormat(sampleType: .int16, sampleRate: 8000, layout: .mono)
            )
        }
        #expect(error?.allowed == "1 of the same size, a multiple of 2 bytes, at most 16777216 frames")
    }

    @Test func theOriginalsVoice() throws {
        let signal = Signal.clicks([], count: 44100, channelCount: 2)
        let format = AudioFormat(sampleType: .int16, sampleRate: 44100, layout: .stereo)
        let (samples, _, encoder) = try roundTrip(signal.buffers(format, time: exact(44100)), .voice)
        let description = encoder.description
        #expect(description.bitRate == 64000 && description.sampleRate == 48000 && description.layout == .mono)
        #expect(samples.count == 48)
    }

    @Test func nothingIsEncodedFromNothing() throws {
        let encoder = try AudioEncoder(.voice, input: mono(48000))
        #expect(try encoder.finish().isEmpty)
        #expect(try encoder.finish().isEmpty)
        let error = #expect(throws: MediaError.self) {
            try encoder.encode(AudioBuffer(format: mono(48000), frameCount: 100))
        }
        #expect(error?.code == .invalidState)
    }

    /// Rate, channels and type change in mid-stream; the sound goes on.
    @Test func theFormatMayChange() throws {
        let first = try Signal.clicks([10000], count: 48000).buffers(mono(48000), time: exact(48000))
        let layout = AudioFormat(sampleType: .int16, sampleRate: 32000, layout: .stereo, isInterleaved: false)
        var second = Signal.clicks([16000], count: 32000, channelCount: 2)
        second.channels[1] = second.channels[0]
        let (_, decoded, _) = try roundTrip(
            first + second.buffers(layout, time: exact(32000, from: 32000)),
            AudioEncoderSettings(.pcm)
        )
        let result = Signal(decoded)
        #expect(result.frameCount == 96000)
        let loud = result.loud()
        #expect(loud.first == 10000 && loud.contains(72000) && loud.count <= 4, "\(loud)")
    }

    @Test func holesOverlapsAndTheEnd() throws {
        let format = mono(48000)
        // Half a second late, a hole of a second after it, an overlap of a quarter of a second, cut at three seconds.
        let parts = [(24000, 24000), (96000, 24000), (108_000, 48000)]
        var buffers: [AudioBuffer] = []
        for (start, count) in parts {
            let signal = Signal.clicks([12000], count: count)
            buffers += try signal.buffers(format, time: exact(48000, from: start))
        }
        let (_, decoded, encoder) = try roundTrip(
            buffers,
            AudioEncoderSettings(.pcm),
            end: MediaTime(value: 3, timescale: 1)
        )
        let result = Signal(decoded)
        #expect(result.frameCount == 144_000)
        // The last click is in the overlap.
        #expect(result.loud() == [36000, 108_000, 120_000])
        #expect(encoder.placement.inserted == 48000 && encoder.placement.skipped == 12000)
    }

    /// A buffer far in the future is not made in memory at once: the samples come one by one.
    @Test func longHolesComePieceByPiece() throws {
        let encoder = try AudioEncoder(.voice, input: mono(48000))
        try encoder.send(
            AudioBuffer(format: mono(48000), frameCount: 100, presentationTime: MediaTime(value: 7200, timescale: 1))
        )
        var count = 0
        while count < 1000, let sample = try encoder.receive() {
            #expect(sample.presentationTime == MediaTime(value: Int64(count - 1) * 1024, timescale: 48000))
            count += 1
        }
        #expect(count == 1000)
        let error = #expect(throws: MediaError.self) {
            try encoder.send(AudioBuffer(format: mono(48000), frameCount: 1))
        }
        #expect(error?.code == .invalidState)
    }

    @Test func samplesThatAreNoNumbersAreSilence() throws {
        var signal = Signal.clicks([5000], count: 20000)
        for (frame, value) in [(100, Double.nan), (200, .infinity), (300, -.infinity)] {
            signal.channels[0][frame] = value
        }
        let (_, decoded, _) = try roundTrip(
            signal.buffers(mono(48000), time: exact(48000)),
            AudioEncoderSettings(.aac, bitRate: 256_000)
        )
        #expect(Signal(decoded).loud() == [5000])
    }

    @Test func theNextRateOfFLAC() throws {
        for (rate, nearest) in [(37801, 37801), (65534, 65534), (65535, 65540), (96000, 96000), (768_000, 655_340)] {
            let encoder = try AudioEncoder(AudioEncoderSettings(.flac), input: mono(rate))
            #expect(encoder.description.sampleRate == nearest)
        }
        let error = #expect(throws: MediaError.self) {
            try AudioEncoder(.voice, input: mono(48000)).encode(AudioBuffer(format: mono(2_000_000_000), frameCount: 1))
        }
        #expect(error?.code == .invalidArgument)
    }

    /// A device that runs 200 ppm fast: no sample jumps, and the end is where the times say.
    @Test(arguments: [200.0, -200.0])
    func driftIsCorrectedWithoutClicks(ppm: Double) throws {
        let count = 48000 * 120
        let frequency = 441.0
        var signal = Signal.clicks([], count: count)
        for frame in 0..<count { signal.channels[0][frame] = 0.5 * sin(2 * .pi * frequency * Double(frame) / 48000) }
        let buffers = try signal.buffers(mono(48000)) { frame in
            MediaTime(seconds: Double(frame) * (1 + ppm / 1e6) / 48000, preferredTimescale: 1_000_000)
        }
        let (_, decoded, encoder) = try roundTrip(buffers, AudioEncoderSettings(.pcm))
        let samples = Signal(decoded).channels[0]
        #expect(encoder.placement.hasStretched && encoder.placement.jumps == 0)
        let expected = Double(count) * (1 + ppm / 1e6)
        #expect(abs(Double(samples.count) - expected) < 0.01 * 48000, "\(samples.count) for \(expected)")
        // The steepest step of the sine, and a little for the filter.
        let steepest = 0.5 * 2 * .pi * frequency / 48000
        // The filter of the last samples has no successors to work with.
        let worst = zip(samples, samples.dropFirst()).dropLast(32).map { abs($1 - $0) }.max() ?? 1
        #expect(worst < steepest * 1.02, "\(worst) for \(steepest)")
    }
}

extension Signal {
    /// As a type stores it.
    func rounded(_ type: AudioFormat.SampleType) -> Signal {
        Signal(
            channels: channels.map { channel in
                channel.map { value in type.bytes(value).withUnsafeBytes { type.value($0, 0) } }
            }
        )
    }
}
