// SPDX-License-Identifier: GPL-2.0-or-later

import AudioCoding
import BitstreamSyntax
import Foundation
import MediaTypes
import Streaming
import TestSupport

/// A live stream without end: a clip of ffmpeg's encoders again and again, with the times of a live encoder.
struct SimulatedStream: Sendable {
    let frameRate: Int32
    let video: [SampleBuffer]
    /// The distances of presentation times to decode times, in pictures.
    let reordering: [Int]
    let audio: [AudioSample]
    let description: AudioStreamDescription
    static let sampleRate: Int32 = 48000

    /// - Parameters:
    ///   - seconds: The duration of the clip, a multiple of the distance of key frames.
    ///   - interval: The distance of key frames in pictures.
    init(
        seconds: Int = 4,
        frameRate: Int32 = 30,
        interval: Int = 60,
        reordering depth: Int = 2,
        size: String = "320x180",
        options: String = ""
    ) throws {
        self.frameRate = frameRate
        let frames = seconds * Int(frameRate)
        let stream = try CodedStream(
            .h264,
            source: "testsrc2=size=\(size):rate=\(frameRate)",
            frames: frames,
            "-preset veryfast -bf \(depth) -g \(interval) -keyint_min \(interval) -sc_threshold 0 "
                + "-x264-params b-pyramid=none:open-gop=0 -pix_fmt yuv420p \(options)"
        )
        video = stream.samples
        var distances = [Int](repeating: 0, count: frames)
        let delay = depth > 0 ? 1 : 0
        for (position, index) in try stream.presentationOrder().enumerated() {
            distances[index] = position + delay - index
        }
        reordering = distances
        (audio, description) = try Self.sound(seconds)
    }

    private static func sound(_ seconds: Int) throws -> ([AudioSample], AudioStreamDescription) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments =
            ["ffmpeg", "-v", "error", "-nostdin", "-f", "lavfi", "-i", "sine=440:r=48000:d=\(seconds)"]
            + ["-ac", "2", "-c:a", "aac", "-f", "adts", "-"]
        let output = Pipe()
        process.standardOutput = output
        process.standardInput = FileHandle.nullDevice
        try process.run()
        var rest = [UInt8](output.fileHandleForReading.readDataToEndOfFile())[...]
        process.waitUntilExit()
        var packets: [AudioSample] = []
        var description: AudioStreamDescription?
        while !rest.isEmpty {
            let header = try ADTSHeader(bytes: rest.prefix(9))
            packets.append(
                AudioSample(
                    data: CodedData(rest.prefix(Int(header.frameLength)).dropFirst(header.byteCount)),
                    presentationTime: .zero
                )
            )
            rest = rest.dropFirst(Int(header.frameLength))
            if description == nil {
                description = AudioStreamDescription(
                    codecName: "aac",
                    sampleRate: Int(sampleRate),
                    layout: .standard(channelCount: 2),
                    configuration: try header.configuration.bytes()
                )
                description?.framesPerPacket = 1024
                description?.bitRate = 128_000
            }
        }
        guard let description else { throw MediaError(.malformedData, "ffmpeg has made no sound") }
        return (packets, description)
    }

    var tracks: LiveTracks {
        LiveTracks(
            video: video[0].formatDescription,
            frameRate: Rational(frameRate),
            videoBitRate: 1_000_000,
            audio: [description]
        )
    }

    /// A picture by its number in decoding order.
    func picture(_ number: Int) -> SampleBuffer {
        var sample = video[number % video.count]
        let distance = reordering[number % video.count]
        sample.decodeTime = MediaTime(value: Int64(number), timescale: frameRate)
        sample.presentationTime = MediaTime(value: Int64(number + distance), timescale: frameRate)
        sample.duration = MediaTime(value: 1, timescale: frameRate)
        return sample
    }

    /// A packet of audio by its number.
    func packet(_ number: Int) -> AudioSample {
        var sample = audio[number % audio.count]
        sample.presentationTime = MediaTime(value: Int64(number) * 1024, timescale: Self.sampleRate)
        sample.duration = MediaTime(value: 1024, timescale: Self.sampleRate)
        return sample
    }

    /// The units of a time, by their decode times.
    func units(from start: Double = 0, to end: Double, withAudio: Bool = true) -> [LiveUnit] {
        let frames = Int((start * Double(frameRate)).rounded())..<Int((end * Double(frameRate)).rounded())
        let rate = Double(Self.sampleRate) / 1024
        let packets = Int((start * rate).rounded(.up))..<Int((end * rate).rounded(.up))
        let pictures = frames.map { LiveUnit.video(picture($0)) }
        let sounds = withAudio ? packets.map { LiveUnit.audio(packet($0), track: 0) } : []
        return (pictures + sounds).enumerated()
            .sorted { ($0.element.decodeTime, $0.offset) < ($1.element.decodeTime, $1.offset) }
            .map(\.element)
    }
}
