// SPDX-License-Identifier: GPL-2.0-or-later

import AudioCoding
import BitstreamSyntax
import Foundation
import MediaTypes

/// Encodes a tone as AAC in ADTS: `EncodeSound OUTPUT [SECONDS]`.
@main struct EncodeSound {
    static func main() async throws {
        guard CommandLine.arguments.count > 1 else {
            print("usage: EncodeSound OUTPUT.aac [SECONDS]")
            return
        }
        let seconds = CommandLine.arguments.count > 2 ? Int(CommandLine.arguments[2]) ?? 5 : 5
        let path = CommandLine.arguments[1]
        let format = AudioFormat(sampleType: .int16, sampleRate: 44100, layout: .stereo)
        var settings = AudioEncoderSettings(.aac, bitRate: 128_000)
        settings.gain = -3
        let session = try AudioCompressionSession(settings, input: format)
        let configuration = try AudioSpecificConfig(bytes: session.description.configuration)

        let consumer = Task { [samples = session.samples] in
            var file: [UInt8] = []
            for try await sample in samples {
                file += try ADTSHeader(configuration, byteCount: sample.data.count).bytes()
                sample.data.withUnsafeBytes { file += $0 }
            }
            try Data(file).write(to: URL(fileURLWithPath: path))
        }
        for number in 0..<seconds * 10 {
            try await session.encode(tone(from: number * 4410, count: 4410, format))
        }
        try await session.finish()  // everything that was accepted is now in the samples
        try await consumer.value

        let statistics = await session.statistics
        print("\(statistics.sampleCount) packets, \(statistics.byteCount) bytes to \(path)")
    }

    /// A tone of 440 Hz on the left and 660 Hz on the right.
    private static func tone(from first: Int, count: Int, _ format: AudioFormat) -> AudioBuffer {
        let time = MediaTime(value: Int64(first), timescale: 44100)
        return AudioBuffer(format: format, frameCount: count, presentationTime: time) { _, memory in
            let samples = memory.bindMemory(to: Int16.self)
            for index in samples.indices {
                let angle = Double(first + index / 2) / 44100 * 2 * .pi
                samples[index] = Int16(sin(angle * (index % 2 == 0 ? 440 : 660)) * 10000)
            }
        }
    }
}
