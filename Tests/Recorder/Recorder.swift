// SPDX-License-Identifier: GPL-2.0-or-later

import AssetWriting
import AudioCoding
import BitstreamSyntax
import Glibc
import MediaIO
import MediaTimeline
import MediaTypes
import VAToolbox

/// Records pictures and sound in fragments until it is killed, as fast as it can.
///
///     Recorder PATH FRAGMENT_SECONDS [silent]
///
/// `silent` has an audio input that delivers nothing.
///
/// It says where the file is until it is complete, and then how many seconds are recorded, in a line each.
@main
enum Recorder {
    private static let framesPerSecond: Int32 = 25

    static func main() async throws {
        let arguments = CommandLine.arguments
        guard [3, 4].contains(arguments.count), let interval = Double(arguments[2]) else {
            say("usage: Recorder PATH FRAGMENT_SECONDS [silent]", to: STDERR_FILENO)
            exit(2)
        }
        var options = AssetWriter.Options()
        options.sink.isFragmented = true
        options.sink.fragmentInterval = MediaTime(seconds: interval, preferredTimescale: 1000)
        let writer = try await AssetWriter(path: arguments[1], options: options)
        say(writer.temporaryPath ?? "-")

        var configuration = EncoderConfiguration(width: 64, height: 64)
        configuration.codec = .h264
        configuration.frameRate = Rational(framesPerSecond, 1)
        configuration.isLowLatency = true
        configuration.keyFrameInterval = KeyFrameInterval(duration: MediaTime(value: 4, timescale: 1))
        configuration.software.preset = .ultrafast
        var session = SessionOptions()
        session.policy = .requireSoftware
        let video = try await writer.addVideo(configuration, session: session)
        let format = AudioFormat(sampleType: .int16, sampleRate: 48000, layout: .mono)
        let sound = try await writer.addAudio(.voice, format: format)
        try await writer.startSession(.at(.zero))

        let samplesPerFrame = format.sampleRate / Int(framesPerSecond)
        for number in 0..<Int64.max {
            let time = MediaTime(value: number, timescale: framesPerSecond)
            try await video.append(try video.session.pixelBufferPool.make(), at: time)
            if arguments.count == 3 {
                try await sound.append(AudioBuffer(format: format, frameCount: samplesPerFrame, presentationTime: time))
            }
            say("\(writer.recordedDuration.seconds)")
        }
    }

    /// Writes a line at once.
    private static func say(_ text: String, to descriptor: Int32 = STDOUT_FILENO) {
        let line = Array((text + "\n").utf8)
        _ = line.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
    }
}
