// SPDX-License-Identifier: GPL-2.0-or-later

import AudioCoding
import Foundation
import MediaIO
import MediaTimeline
import MediaTypes
import StreamingPlaylists
import Synchronization
import Testing
import Transcoding
import VAToolbox

@testable import AssetWriting

/// Recordings whose writer hands over segments.
@Suite struct SegmentedRecordingTests {
    /// Records flashes and beeps.
    private func record(
        _ options: SegmentSink.Options,
        seconds: Int,
        receive: @escaping @Sendable (MediaSegment) throws(MediaError) -> Void
    ) async throws -> AssetWriter.Summary {
        let scene = Scene()
        let writer = try await AssetWriter(segments: options, receive: receive)
        #expect(writer.temporaryPath == nil)
        var configuration = Scene.configuration()
        configuration.keyFrameInterval = KeyFrameInterval()
        let video = try await writer.addVideo(configuration, session: Scene.software())
        let sound = try await writer.addAudio(AudioEncoderSettings(.aac), format: scene.format)
        try await writer.startSession(.at(.zero))
        var first = 0
        for number in 0..<seconds * Scene.framesPerSecond {
            let picture = try scene.picture(number, video.session.pixelBufferPool)
            try await video.append(picture, at: scene.time(ofPicture: number))
            while first < (number + 1) * 4800 {
                try await sound.append(scene.sound(from: first, count: min(1024, seconds * 48000 - first)))
                first += 1024
            }
        }
        return try await writer.finish()
    }

    @Test(arguments: SegmentFormat.allCases) func segmentsBecomeAPresentation(format: SegmentFormat) async throws {
        let folder = try RecordingFolder()
        var options = SegmentSink.Options(format: format, duration: MediaTime(value: 2, timescale: 1))
        options.frameRate = Rational(Int32(Scene.framesPerSecond), 1)
        var stream = StreamOptions(path: folder.path("main.m3u8"))
        stream.format = format
        let output = try StreamFolder(stream)
        let reports = Mutex<[MediaSegment]>([])
        let summary = try await record(options, seconds: 7) { segment throws(MediaError) in
            try output.store(segment)
            reports.withLock { $0.append(segment) }
        }
        #expect(summary.files.isEmpty && summary.file.sampleCount == 70)
        // Nothing is there before it is published.
        #expect(!folder.names.contains("main.m3u8"))
        let report = try output.publish(frameRate: Rational(Int32(Scene.framesPerSecond), 1))
        #expect(Set(folder.names) == ["main", "main.m3u8"])
        #expect(report.variants.map(\.segmentCount) == [4] && report.audio.count == 1)

        let video = reports.withLock { $0 }.filter { $0.track.number == 0 && $0.content == .media }
        #expect(video.map(\.start.seconds) == [0, 2, 4, 6])
        #expect(video.map(\.duration.seconds) == [2, 2, 2, 1])
        #expect(video.allSatisfy { $0.keyFrames.map(\.time) == [$0.start] })
        let flashes = try folder.flashes("main.m3u8")
        let origin = try #require(flashes.first)
        #expect(flashes.map { (($0 - origin) * 10).rounded() } == (0..<7).map { Double($0 * 10) })
        let numberOfPictures = try folder.probe("main.m3u8", "v", "packet=flags").count
        #expect(numberOfPictures == 70)
        let beeps = try folder.beeps("main.m3u8")
        #expect(beeps.count == 7)
        for (number, beep) in beeps.enumerated() { #expect(abs(beep - Double(number)) < 0.05, "\(beeps)") }
    }

    @Test func anErrorOfTheReceiverEndsTheWriter() async throws {
        let options = SegmentSink.Options(duration: MediaTime(value: 1, timescale: 1))
        let refusal = MediaError(.inputOutput, "the receiver has no room", given: "a segment")
        let error = await #expect(throws: MediaError.self) {
            _ = try await record(options, seconds: 4) { _ throws(MediaError) in throw refusal }
        }
        #expect(error?.message == refusal.message)
    }

    @Test func anUnpublishedFolderIsDeleted() async throws {
        let folder = try RecordingFolder()
        do {
            let output = try StreamFolder(StreamOptions(path: folder.path("main.m3u8")))
            let options = SegmentSink.Options(duration: MediaTime(value: 1, timescale: 1))
            _ = try await record(options, seconds: 2) { segment throws(MediaError) in try output.store(segment) }
            #expect(folder.names.count == 1)
        }
        #expect(folder.names.isEmpty)
    }

    @Test func whatSegmentsCannotDoIsRefused() async throws {
        let segments = SegmentSink.Options()
        var options = AssetWriter.Options()
        options.splitting = AssetWriter.Splitting(interval: MediaTime(value: 1, timescale: 1))
        await #expect(throws: MediaError.self) {
            _ = try await AssetWriter(segments: segments, options: options) { _ in }
        }
        let short = SegmentSink.Options(duration: MediaTime(value: 1, timescale: 10))
        await #expect(throws: MediaError.self) { _ = try await AssetWriter(segments: short) { _ in } }
        let writer = try await AssetWriter(segments: segments) { _ in }
        let sound = try await writer.addAudio(AudioEncoderSettings(.aac), format: Scene().format)
        let error = await #expect(throws: MediaError.self) { try await writer.startSession(.at(.zero)) }
        #expect(error?.code == .unsupported)
        _ = sound
        await writer.cancel()
        let folder = try RecordingFolder()
        let empty = try StreamFolder(StreamOptions(path: folder.path("main.m3u8")))
        #expect(throws: MediaError.self) { _ = try empty.publish(frameRate: 25) }
    }

    /// A picture that real-time mode drops may be the one with which a segment should begin.
    @Test func aDroppedKeyFrameIsRequestedAgain() {
        var keyFrames = SegmentKeyFrames(duration: MediaTime(value: 1, timescale: 1), frameRate: 10)
        func time(_ number: Int) -> MediaTime { MediaTime(value: Int64(number), timescale: 10) }
        var requests: [Int] = []
        for number in 0..<32 where keyFrames.requestsKeyFrame(at: time(number)) {
            requests.append(number)
            if number == 10 { keyFrames.requestAgain() }
        }
        #expect(requests == [0, 10, 11, 21, 31])
    }
}
