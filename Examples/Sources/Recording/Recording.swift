// SPDX-License-Identifier: GPL-2.0-or-later

import AssetWriting
import AudioCoding
import Foundation
import MediaTypes
import TestCard

/// Records generated pictures and a tone into a file: `Recording OUTPUT [SECONDS]`.
@main struct Recording {
    static func main() async throws {
        guard CommandLine.arguments.count > 1 else {
            print("usage: Recording OUTPUT [SECONDS]")
            return
        }
        let seconds = CommandLine.arguments.count > 2 ? Int(CommandLine.arguments[2]) ?? 5 : 5
        var configuration = EncoderConfiguration(width: 640, height: 360)
        configuration.codec = .h264
        configuration.frameRate = 25
        let format = AudioFormat(sampleType: .float32, sampleRate: 48000, layout: .mono)

        var options = AssetWriter.Options()
        options.sink.overwrite = true
        options.sink.isFragmented = true
        options.sink.fragmentInterval = MediaTime(value: 2, timescale: 1)  // a fragment is synced at least that often
        let writer = try await AssetWriter(path: CommandLine.arguments[1], options: options)
        let video = try await writer.addVideo(configuration)
        let audio = try await writer.addAudio(.voice, format: format)
        try await writer.startSession(.at(.zero))

        let filming = Task {
            for number in 0..<seconds * 25 {
                try await video.waitUntilReady()
                let picture = try video.session.pixelBufferPool.make()
                try paintTestCard(number, into: picture)
                try await video.append(picture, at: MediaTime(value: Int64(number), timescale: 25))
            }
            await video.markAsFinished()
        }
        for number in 0..<seconds * 50 {
            try await audio.waitUntilReady()
            try await audio.append(tone(from: number * 960, count: 960, format))
        }
        await audio.markAsFinished()
        try await filming.value

        let summary = try await writer.finish()
        print("\(summary.file.sampleCount) pictures, \(summary.file.byteCount) bytes to \(CommandLine.arguments[1])")
    }

    /// A tone of 440 Hz.
    private static func tone(from first: Int, count: Int, _ format: AudioFormat) -> AudioBuffer {
        let time = MediaTime(value: Int64(first), timescale: 48000)
        return AudioBuffer(format: format, frameCount: count, presentationTime: time) { _, memory in
            for frame in 0..<count {
                let value = Float(sin(Double(first + frame) / 48000 * 440 * 2 * .pi) * 0.3)
                memory.storeBytes(of: value, toByteOffset: frame * 4, as: Float.self)
            }
        }
    }
}
