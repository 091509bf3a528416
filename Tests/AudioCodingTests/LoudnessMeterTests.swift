// SPDX-License-Identifier: GPL-2.0-or-later

import AudioCoding
import Foundation
import MediaTypes
import Testing

/// The synthetic cases of EBU Tech 3341 and 3342, and what ffmpeg's `ebur128` measures.
@Suite struct LoudnessMeterTests {
    /// A part of a test signal: a sine of 1 kHz with the same phase in all channels.
    struct Tone: Sendable {
        var seconds: Double
        /// The peak level of each channel in dBFS; `nil` for silence.
        var levels: [Double?]

        init(_ seconds: Double, _ levels: Double?...) {
            self.seconds = seconds
            self.levels = levels.count == 1 ? levels + levels : levels
        }
    }

    private func measure(
        _ tones: [Tone],
        layout: ChannelLayout = .stereo,
        rate: Int = 48000,
        frequency: Double = 1000
    ) -> Loudness {
        var meter = LoudnessMeter(layout: layout)
        let format = AudioFormat(sampleType: .float32, sampleRate: rate, layout: layout, isInterleaved: false)
        var start = 0
        for tone in tones {
            let count = Int(tone.seconds * Double(rate))
            let buffer = AudioBuffer(format: format, frameCount: count) { channel, memory in
                let factor = tone.levels[channel].map { pow(10, $0 / 20) } ?? 0
                let samples = memory.bindMemory(to: Float.self)
                for index in samples.indices {
                    samples[index] = Float(factor * sin(2 * .pi * frequency * Double(start + index) / Double(rate)))
                }
            }
            start += count
            meter.append(buffer)
        }
        return meter.loudness
    }

    /// EBU Tech 3341, table 1, cases 1 to 5: -23 or -33 LUFS, within 0.1 LU.
    @Test(
        arguments: [
            ([Tone(20, -23)], -23.0), ([Tone(20, -33)], -33),
            ([Tone(10, -36), Tone(60, -23), Tone(10, -36)], -23),
            ([Tone(10, -72), Tone(10, -36), Tone(60, -23), Tone(10, -36), Tone(10, -72)], -23),
            ([Tone(20, -26), Tone(20.1, -20), Tone(20, -26)], -23),
        ] as [([Tone], Double)]
    )
    func integratedLoudness(tones: [Tone], expected: Double) throws {
        let integrated = try #require(measure(tones).integrated)
        #expect(abs(integrated - expected) <= 0.1, "\(integrated)")
    }

    /// EBU Tech 3341, case 6: 5.0 channels. The subwoofer does not count, and side channels are surround channels, too.
    @Test(
        arguments: [
            (ChannelLayout.surround5, [-28, -28, -24, -30, -30] as [Double?]),
            (.surround5Point1, [-28, -28, -24, -3, -30, -30]), (.surround5Point1Side, [-28, -28, -24, nil, -30, -30]),
        ] as [(ChannelLayout, [Double?])]
    )
    func channelsHaveWeights(layout: ChannelLayout, levels: [Double?]) throws {
        var tone = Tone(20, 0)
        tone.levels = levels
        let integrated = try #require(measure([tone], layout: layout).integrated)
        #expect(abs(integrated + 23) <= 0.1, "\(integrated)")
    }

    /// The weighting is the same at every rate, as far as the rate has the frequencies.
    @Test(arguments: [7350, 11025, 16000, 22050, 44100, 88200, 96000, 192_000])
    func everyRate(rate: Int) throws {
        let loudness = measure([Tone(5, -23)], rate: rate)
        #expect(abs(try #require(loudness.integrated) + 23) <= 0.15, "\(loudness)")
        #expect(abs(try #require(loudness.shortTermMaximum) + 23) <= 0.15)
        #expect(abs(try #require(loudness.momentaryMaximum) + 23) <= 0.15)
    }

    /// EBU Tech 3342, cases 1 to 4: the range within 1 LU.
    @Test(
        arguments: [
            ([-20.0, -30], 10.0), ([-20, -15], 5), ([-40, -20], 20), ([-50, -35, -20, -35, -50], 15),
        ] as [([Double], Double)]
    )
    func loudnessRange(levels: [Double], expected: Double) {
        let range = measure(levels.map { Tone(20, $0) }).range
        #expect(abs(range - expected) <= 1, "\(range)")
    }

    /// EBU Tech 3341, cases 15 to 19: peaks between the samples, within +0.2 and -0.4 dB. The last ones are not in it: other
    /// rates, and a frequency near the limit of hearing.
    @Test(
        arguments: [
            (48000, 4.0, 0.0, 0.5, -6.0), (48000, 4, 45, 0.5, -6), (48000, 6, 60, 0.5, -6), (48000, 8, 67.5, 0.5, -6),
            (48000, 4, 45, 1.41, 3), (96000, 4, 45, 0.5, -6), (44100, 2.2, 10, 0.5, -6), (192_000, 16, 11.25, 0.5, -6),
        ] as [(Int, Double, Double, Double, Double)]
    )
    func truePeak(rate: Int, period: Double, phase: Double, amplitude: Double, expected: Double) throws {
        let format = AudioFormat(sampleType: .float32, sampleRate: rate, layout: .mono)
        let count = rate / 10
        let buffer = AudioBuffer(format: format, frameCount: count) { _, memory in
            let samples = memory.bindMemory(to: Float.self)
            for index in samples.indices {
                // Faded in and out, because a sudden start has peaks of its own.
                let fade = min(1, Double(min(index, count - 1 - index)) / 1000)
                samples[index] = Float(
                    fade * amplitude * sin(2 * .pi * Double(index) / period + phase * .pi / 180)
                )
            }
        }
        var meter = LoudnessMeter(layout: .mono)
        meter.append(buffer)
        let peak = try #require(meter.loudness.truePeak)
        #expect(peak > expected - 0.4 && peak < expected + 0.2, "\(peak)")
    }

    /// The last sample counts as well.
    @Test func peakAtTheEnd() throws {
        let signal = Signal.clicks([999], count: 1000)
        let format = AudioFormat(sampleType: .int24, sampleRate: 48000, layout: .mono)
        var meter = LoudnessMeter(layout: .mono)
        for buffer in try signal.buffers(format, size: 7, time: { _ in .invalid }) { meter.append(buffer) }
        #expect(abs(try #require(meter.loudness.truePeak) - 20 * log10(0.9)) < 0.01)
    }

    @Test func silenceHasNoLoudness() {
        #expect(measure([Tone(2, nil)]) == Loudness())
        // Noise of a converter is below the gate, but has a peak.
        let faint = measure([Tone(2, -90)])
        #expect(faint.integrated == nil)
        #expect(abs((faint.truePeak ?? 0) + 90) < 0.1)
        #expect(LoudnessTarget().gain(for: faint) == nil)
        #expect(LoudnessMeter(layout: .stereo).loudness == Loudness())
    }

    /// The same sound in every format, in pieces of any size, and through a mix.
    @Test func formatsAndPiecesDoNotMatter() throws {
        let samples = (0..<30000).map { 0.25 * sin(Double($0) * 0.131) + 0.1 * sin(Double($0) * 1.7) }
        let signal = Signal(channels: [samples, samples.map { $0 / 2 }])
        var results: [Loudness] = []
        for type in AudioFormat.SampleType.allCases {
            for (isInterleaved, size) in [(true, 30000), (false, 777)] {
                let format = AudioFormat(
                    sampleType: type,
                    sampleRate: 48000,
                    layout: .stereo,
                    isInterleaved: isInterleaved
                )
                var meter = LoudnessMeter(layout: .stereo)
                for buffer in try signal.buffers(format, size: size, time: { _ in .invalid }) { meter.append(buffer) }
                results.append(meter.loudness)
            }
        }
        for result in results {
            #expect(abs((result.integrated ?? 0) - (results[0].integrated ?? 0)) < 0.01)
            #expect(abs((result.truePeak ?? 0) - (results[0].truePeak ?? 0)) < 0.01)
        }
        // Both halves of a mono mix are one and a half quarters: the sum of 1 and 1/2, divided by 2.
        let format = AudioFormat(sampleType: .float32, sampleRate: 48000, layout: .stereo)
        var mixed = LoudnessMeter(layout: .mono)
        var expected = LoudnessMeter(layout: .mono)
        let mono = Signal(channels: [samples.map { $0 * 0.75 }])
        for buffer in try signal.buffers(format, time: { _ in .invalid }) { mixed.append(buffer) }
        let single = AudioFormat(sampleType: .float32, sampleRate: 48000, layout: .mono)
        for buffer in try mono.buffers(single, time: { _ in .invalid }) { expected.append(buffer) }
        #expect(abs((mixed.loudness.integrated ?? 0) - (expected.loudness.integrated ?? 1)) < 0.001)
        #expect(abs((mixed.loudness.truePeak ?? 0) - (expected.loudness.truePeak ?? 1)) < 0.001)
    }

    /// What the filter measures, to its accuracy of 0.1. Sounds end softly, because a cut has a peak that the filter ignores.
    @Test(arguments: [
        (
            "anoisesrc=r=48000:a=0.3:c=pink:d=8:seed=7,volume='0.2+0.8*between(mod(t\\,4)\\,1\\,3)':eval=frame", 48000,
            "mono"
        ),
        (
            "aevalsrc='0.5*sin(300*t*(1+t/20))|0.4*sin(5000*t)*between(t\\,1\\,6)':s=44100:c=stereo:d=9,afade=t=out:st=8.9:d=0.1",
            44100,
            "stereo"
        ),
        (
            "aevalsrc='0.2*sin(900*t)|0.1*sin(1900*t)|0.3*sin(2900*t)|0.5*sin(300*t)|0.2*sin(4000*t)|0.2*sin(600*t*t)'"
                + ":s=32000:c=5.1:d=7,afade=t=out:st=6.9:d=0.1", 32000, "5.1"
        ),
    ])
    func agreesWithFFmpeg(source: String, rate: Int, layoutName: String) throws {
        let layout = try #require(ChannelLayout(name: layoutName))
        let path = NSTemporaryDirectory() + "loudness-\(UUID().uuidString).raw"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let graph = "\(source),asplit[a][b];[a]ebur128=peak=true[c];[c]anullsink;[b]anull[out]"
        let text = try ffmpeg([
            "-nostats", "-filter_complex", graph, "-map", "[out]", "-f", "f32le", "-y", path,
        ])
        let data = try Data(contentsOf: URL(fileURLWithPath: path))
        let format = AudioFormat(sampleType: .float32, sampleRate: rate, layout: layout)
        var meter = LoudnessMeter(layout: layout)
        meter.append(try AudioBuffer(planes: [Array(data)], format: format))
        let loudness = meter.loudness
        let integrated = try number(after: "I:", in: text)
        #expect(abs(try #require(loudness.integrated) - integrated) <= 0.11, "\(loudness) \(integrated)")
        let range = try number(after: "LRA:", in: text)
        #expect(abs(loudness.range - range) <= 0.21, "\(loudness) \(range)")
        let peak = try number(after: "Peak:", in: text)
        #expect(abs(try #require(loudness.truePeak) - peak) <= 0.21, "\(loudness) \(peak)")
    }

    /// The first number after the last appearance of a word.
    private func number(after word: String, in text: String) throws -> Double {
        let found = try #require(text.range(of: word, options: .backwards))
        return try #require(text[found.upperBound...].split(separator: " ").first.flatMap { Double($0) })
    }

    /// Runs ffmpeg; returns what it says.
    private func ffmpeg(_ arguments: [String]) throws -> String {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["ffmpeg", "-hide_banner"] + arguments
        let pipe = Pipe()
        process.standardError = pipe
        process.standardInput = FileHandle.nullDevice
        try process.run()
        let data = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        let text = String(decoding: data, as: UTF8.self)
        try #require(process.terminationStatus == 0, "\(text)")
        return text
    }
}
