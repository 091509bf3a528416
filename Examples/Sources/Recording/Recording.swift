// SPDX-License-Identifier: GPL-2.0-or-later

import AssetWriting
import AudioCoding
import Foundation
import MediaIO
import MediaTypes
import TestCard
import Transcoding

/// Records generated pictures and a tone into a file, or for HTTP Live Streaming: `Recording OUTPUT [SECONDS]`.
@main struct Recording {
    static func main() async throws {
        guard CommandLine.arguments.count > 1 else {
            print("usage: Recording OUTPUT [SECONDS]")
            return
        }
        let seconds = CommandLine.arguments.count > 2 ? Int(CommandLine.arguments[2]) ?? 5 : 5
        if StreamOptions.isPlaylist(CommandLine.arguments[1]) {
            try await recordSegments(seconds: seconds)
        } else {
            try await recordFile(seconds: seconds)
        }
    }

    private static func recordFile(seconds: Int) async throws {
        var options = AssetWriter.Options()
        options.sink.overwrite = true
        options.sink.isFragmented = true
        options.sink.fragmentInterval = MediaTime(value: 2, timescale: 1)  // a fragment is synced at least that often
        let writer = try await AssetWriter(path: CommandLine.arguments[1], options: options)
        let summary = try await record(with: writer, seconds: seconds)
        print("\(summary.file.sampleCount) pictures, \(summary.file.byteCount) bytes to \(CommandLine.arguments[1])")
    }

    private static func recordSegments(seconds: Int) async throws {
        let segments = SegmentSink.Options(duration: MediaTime(value: 2, timescale: 1))
        let folder = try StreamFolder(StreamOptions(path: CommandLine.arguments[1]))
        let writer = try await AssetWriter(segments: segments) { segment throws(MediaError) in
            try folder.store(segment)
        }
        let summary = try await record(with: writer, seconds: seconds)
        let report = try folder.publish(frameRate: 25)
        print("\(summary.file.sampleCount) pictures, \(report.variants[0].segmentCount) segments to \(report.path)")
    }

    private static func record(with writer: AssetWriter, seconds: Int) async throws -> AssetWriter.Summary {
        var configuration = EncoderConfiguration(width: 640, height: 360)
        configuration.codec = .h264
        configuration.frameRate = 25
        let format = AudioFormat(sampleType: .float32, sampleRate: 48000, layout: .mono)

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

        return try await writer.finish()
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
