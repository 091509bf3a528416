// SPDX-License-Identifier: GPL-2.0-or-later

import AssetWriting
import AudioCoding
import Foundation
import MediaIO
import MediaTimeline
import MediaTypes
import TestSupport
import Testing
import VAToolbox

/// Records flashes and beeps, and looks at the files with ffmpeg.
@Suite struct AssetWriterTests {
    /// Two hours by `VATOOLBOX_LONG_RECORDING`, else a minute: the offset of sound to pictures never exceeds 10 ms, nor
    /// steps by more than a frame.
    @Test(arguments: [1.0, 1.0002, 0.9998])
    func soundStaysInStep(clock: Double) async throws {
        let folder = try RecordingFolder()
        let seconds = ProcessInfo.processInfo.environment["VATOOLBOX_LONG_RECORDING"].flatMap(Int.init) ?? 60
        let scene = Scene(clock: clock)
        let writer = try await AssetWriter(path: folder.path("out.mp4"))
        let video = try await writer.addVideo(Scene.configuration(), session: Scene.software())
        let sound = try await writer.addAudio(.voice, format: scene.format)
        try await writer.startSession(.at(.zero))
        let pictures = seconds * Scene.framesPerSecond
        async let filming: Void = {
            for number in 0..<pictures {
                try await video.waitUntilReady()
                let picture = try scene.picture(number, video.session.pixelBufferPool)
                try await video.append(picture, at: scene.time(ofPicture: number))
            }
            await video.markAsFinished()
        }()
        async let listening: Void = {
            var sample = 0
            while scene.time(ofSample: sample).seconds < Double(seconds) {
                try await sound.waitUntilReady()
                let left = Int(Double(seconds) / clock * 48000) - sample
                try await sound.append(scene.sound(from: sample, count: min(max(left, 1), 1024)))
                sample += 1024
            }
            await sound.markAsFinished()
        }()
        _ = try await (filming, listening)
        let summary = try await writer.finish()
        #expect(summary.file.sampleCount == pictures)
        #expect(await writer.status == .completed)

        let (flashes, beeps) = (try folder.flashes("out.mp4"), try folder.beeps("out.mp4"))
        #expect(flashes.count == seconds)
        #expect(beeps.count == seconds, "\(beeps.count)")
        let offsets = zip(beeps, flashes).map { $0 - $1 }
        #expect(offsets.allSatisfy { abs($0) < 0.01 }, "\(offsets.min() ?? 0)...\(offsets.max() ?? 0)")
        #expect(summary.audio[0].hasStretched == (clock != 1))
    }

    /// Pictures and sound at their real times, and the sound by the arrival of its buffers, from a device whose clock is fast.
    /// It runs alone, because it says nothing on a machine whose threads wait for their turn for long.
    @Test(.enabled(if: realTimeSeconds > 0)) func soundIsInStepInRealTime() async throws {
        let folder = try RecordingFolder()
        let seconds = Self.realTimeSeconds
        let scene = Scene(clock: 0.9998)
        var options = Scene.software()
        options.realTime = RealTimeMode()
        let writer = try await AssetWriter(path: folder.path("out.mp4"))
        let video = try await writer.addVideo(Scene.configuration(), session: options)
        let sound = try await writer.addAudio(.voice, format: scene.format)
        let start = Self.now
        try await writer.startSession(.at(start))
        async let filming: Int = {
            var dropped = 0
            for number in 0..<seconds * Scene.framesPerSecond {
                let time = start + scene.time(ofPicture: number)
                try await Self.sleep(until: time)
                let picture = try scene.picture(number, video.session.pixelBufferPool)
                if try await video.append(picture, at: time) == .dropped { dropped += 1 }
            }
            await video.markAsFinished()
            return dropped
        }()
        async let listening: Void = {
            var sample = 0
            while scene.time(ofSample: sample).seconds < Double(seconds) {
                let buffer = scene.sound(from: sample)
                sample += buffer.frameCount
                try await Self.sleep(until: start + scene.time(ofSample: sample))
                try await sound.append(buffer, arrival: Self.now)
            }
            await sound.markAsFinished()
        }()
        let (dropped, _) = try await (filming, listening)
        let summary = try await writer.finish()
        #expect(dropped == 0 && summary.file.sampleCount == seconds * Scene.framesPerSecond)

        let (flashes, beeps) = (try folder.flashes("out.mp4"), try folder.beeps("out.mp4"))
        #expect(flashes.count == seconds && beeps.count >= seconds)
        let offsets = zip(beeps, flashes).map { $0 - $1 }
        #expect(offsets.allSatisfy { abs($0) < 0.01 }, "\(offsets)")
        let drift = summary.clocks[0]?.drift
        print("real time: \(seconds) s, offsets \(offsets.min() ?? 0)...\(offsets.max() ?? 0) s, drift \(drift ?? 0)")
    }

    private static let realTimeSeconds =
        ProcessInfo.processInfo.environment["VATOOLBOX_REALTIME_RECORDING"].flatMap(Int.init) ?? 0

    /// The time of `CLOCK_MONOTONIC`.
    private static var now: MediaTime {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return MediaTime(value: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec), timescale: 1_000_000_000)
    }

    private static func sleep(until time: MediaTime) async throws {
        let left = (time - now).seconds
        if left > 0 { try await Task.sleep(for: .seconds(left)) }
    }

    /// One task appends everything one after the other: nothing waits for ever, and nothing is lost.
    @Test(arguments: [true, false], ["out.mp4", "out.mkv", "out.ts"])
    func inputsInAnyOrder(soundFirst: Bool, name: String) async throws {
        let folder = try RecordingFolder()
        let scene = Scene()
        let writer = try await AssetWriter(path: folder.path(name))
        let video = try await writer.addVideo(Scene.configuration(), session: Scene.software())
        let sound = try await writer.addAudio(.voice, format: scene.format)
        try await writer.startSession(.at(.zero))
        for isSound in [soundFirst, !soundFirst] {
            if isSound {
                for sample in stride(from: 0, to: 15 * 48000, by: 1000) {
                    try await sound.append(scene.sound(from: sample, count: 1000))
                }
            } else {
                for number in 0..<150 {
                    let picture = try scene.picture(number, video.session.pixelBufferPool)
                    try await video.append(picture, at: scene.time(ofPicture: number))
                }
            }
        }
        let summary = try await writer.finish()
        #expect(summary.file.sampleCount == 150)
        #expect(try folder.flashes(name).count == 15)
        #expect(try folder.beeps(name).count == 15)
    }

    /// The original's order: pictures wait for the first sound, which is time zero.
    @Test func startsAtTheFirstAudio() async throws {
        let folder = try RecordingFolder()
        let scene = Scene()
        let writer = try await AssetWriter(path: folder.path("out.mp4"))
        let video = try await writer.addVideo(Scene.configuration(), session: Scene.software())
        let sound = try await writer.addAudio(.voice, format: scene.format)
        try await writer.startSession(.firstAudio)
        for number in 0..<15 {
            let picture = try scene.picture(number, video.session.pixelBufferPool)
            #expect(try await video.append(picture, at: scene.time(ofPicture: number)) == nil)
        }
        // From 1.5 s on.
        for sample in stride(from: 72000, to: 5 * 48000, by: 1000) {
            try await sound.append(scene.sound(from: sample, count: 1000))
        }
        for number in 15..<50 {
            let picture = try scene.picture(number, video.session.pixelBufferPool)
            #expect(try await video.append(picture, at: scene.time(ofPicture: number)) != nil)
        }
        let summary = try await writer.finish()
        #expect(summary.picturesBeforeStart == 15)
        #expect(summary.file.sampleCount == 35)
        let (flashes, beeps) = (try folder.flashes("out.mp4"), try folder.beeps("out.mp4"))
        #expect(flashes.map { ($0 * 10).rounded() } == [5, 15, 25])
        #expect(zip(beeps, flashes).allSatisfy { abs($0 - $1) < 0.01 } && beeps.count == 3)
    }

    @Test func endsAtATime() async throws {
        let folder = try RecordingFolder()
        let scene = Scene()
        let writer = try await AssetWriter(path: folder.path("out.mkv"))
        let video = try await writer.addVideo(Scene.configuration(), session: Scene.software())
        let sound = try await writer.addAudio(AudioEncoderSettings(.flac), format: scene.format)
        try await writer.startSession(.at(MediaTime(value: 1, timescale: 2)))
        try await writer.endSession(at: MediaTime(value: 33, timescale: 10))
        for sample in stride(from: 0, to: 5 * 48000, by: 1024) { try await sound.append(scene.sound(from: sample)) }
        for number in 0..<50 {
            let picture = try scene.picture(number, video.session.pixelBufferPool)
            try await video.append(picture, at: scene.time(ofPicture: number))
        }
        let summary = try await writer.finish()
        #expect(summary.picturesBeforeStart == 5 && summary.picturesAfterEnd == 17)
        #expect(summary.file.sampleCount == 28)
        #expect(try folder.samples("out.mkv").count == 134_400)
    }

    /// An input that delivers nothing holds the others back for a while, and then no more.
    @Test func aTrackThatNeverDelivers() async throws {
        let folder = try RecordingFolder()
        let scene = Scene()
        var options = AssetWriter.Options()
        options.patience = .milliseconds(20)
        let writer = try await AssetWriter(path: folder.path("out.mp4"), options: options)
        let video = try await writer.addVideo(Scene.configuration(), session: Scene.software())
        _ = try await writer.addAudio(.voice, format: scene.format)
        try await writer.startSession(.at(.zero))
        for number in 0..<20 {
            try await video.waitUntilReady()
            let picture = try scene.picture(number, video.session.pixelBufferPool)
            try await video.append(picture, at: scene.time(ofPicture: number))
        }
        // It is not waited for again.
        #expect(await video.isReadyForMoreMediaData)
        let summary = try await writer.finish()
        #expect(summary.file.sampleCount == 20)
        #expect(try folder.flashes("out.mp4").count == 2)
    }

    @Test func whatIsNotAllowedIsRefused() async throws {
        let folder = try RecordingFolder()
        let scene = Scene()
        let writer = try await AssetWriter(path: folder.path("out.ts"))
        func code(_ body: () async throws(MediaError) -> Void) async -> MediaError.Code? {
            do { try await body() } catch { return error.code }
            return nil
        }
        #expect(
            await code { () async throws(MediaError) in try await writer.startSession(.at(.zero)) } == .invalidArgument
        )
        #expect(
            await code { () async throws(MediaError) in
                _ = try await writer.addAudio(AudioEncoderSettings(.flac), format: scene.format)
            } == .invalidArgument
        )
        let video = try await writer.addVideo(Scene.configuration(), session: Scene.software())
        #expect(
            await code { () async throws(MediaError) in _ = try await writer.addVideo(Scene.configuration()) }
                == .invalidState
        )
        let picture = try scene.picture(0, video.session.pixelBufferPool)
        #expect(
            await code { () async throws(MediaError) in try await video.append(picture, at: .zero) } == .invalidState
        )
        #expect(
            await code { () async throws(MediaError) in try await writer.startSession(.at(.invalid)) }
                == .invalidArgument
        )
        try await writer.startSession(.at(.zero))
        #expect(
            await code { () async throws(MediaError) in try await writer.startSession(.at(.zero)) } == .invalidState
        )
        #expect(
            await code { () async throws(MediaError) in
                _ = try await writer.addAudio(.voice, format: scene.format)
            } == .invalidState
        )
        #expect(
            await code { () async throws(MediaError) in try await video.append(picture, at: .invalid) }
                == .invalidArgument
        )
        try await video.append(picture, at: .zero)
        // A time that goes back concerns only its picture.
        #expect(
            await code { () async throws(MediaError) in try await video.append(picture, at: .zero) } == .invalidArgument
        )
        try await video.append(picture, at: MediaTime(value: 1, timescale: 10))
        await video.markAsFinished()
        #expect(
            await code { () async throws(MediaError) in try await video.append(picture, at: .zero) } == .invalidState
        )
        #expect(try await writer.finish().file.sampleCount == 2)
        #expect(await code { () async throws(MediaError) in _ = try await writer.finish() } == .invalidState)
        #expect(folder.names == ["out.ts"])
    }

    @Test func nothingIsLeftWithoutAnEnd() async throws {
        let folder = try RecordingFolder()
        let scene = Scene()
        // Without a picture.
        let empty = try await AssetWriter(path: folder.path("empty.mp4"))
        _ = try await empty.addVideo(Scene.configuration(), session: Scene.software())
        try await empty.startSession(.at(.zero))
        await #expect(throws: MediaError.self) { try await empty.finish() }
        guard case .failed = await empty.status else {
            Issue.record("\(await empty.status)")
            return
        }
        // Cancelled.
        let cancelled = try await AssetWriter(path: folder.path("cancelled.mp4"))
        let video = try await cancelled.addVideo(Scene.configuration(), session: Scene.software())
        try await cancelled.startSession(.at(.zero))
        try await video.append(scene.picture(0, video.session.pixelBufferPool), at: .zero)
        await cancelled.cancel()
        #expect(await cancelled.status == .cancelled)
        await #expect(throws: MediaError.self) { try await cancelled.finish() }
        #expect(folder.names.isEmpty)
        // Released.
        try await {
            let dropped = try await AssetWriter(path: folder.path("dropped.mp4"))
            let video = try await dropped.addVideo(Scene.configuration(), session: Scene.software())
            try await dropped.startSession(.at(.zero))
            for number in 0..<30 {
                let picture = try scene.picture(number, video.session.pixelBufferPool)
                try await video.append(picture, at: scene.time(ofPicture: number))
            }
        }()
        #expect(await Patience.wait { folder.names.isEmpty })
    }

    /// What was accepted before the end is in the file; later pictures are refused, and nothing else happens.
    @Test func picturesThatArriveDuringTheEnd() async throws {
        let folder = try RecordingFolder()
        let scene = Scene()
        let writer = try await AssetWriter(path: folder.path("out.mp4"))
        let video = try await writer.addVideo(Scene.configuration(), session: Scene.software())
        try await writer.startSession(.at(.zero))
        let filming = Task {
            var accepted = 0
            do throws(MediaError) {
                for number in 0..<100_000 {
                    let picture = try video.session.pixelBufferPool.make()
                    try await video.append(picture, at: scene.time(ofPicture: number))
                    accepted += 1
                }
            } catch {
                #expect(error.code == .invalidState, "\(error)")
            }
            return accepted
        }
        try #require(await Patience.wait { await video.session.statistics.acceptedFrames > 50 })
        async let second = writer.finish()
        let summary = try await writer.finish()
        #expect(try await second == summary)
        #expect(await filming.value == summary.file.sampleCount)
        #expect(await writer.status == .completed)
        await writer.cancel()
        #expect(await writer.status == .completed && folder.names == ["out.mp4"])
    }

    /// A FIFO that nobody reads: opening and ending do not hang.
    @Test func aReaderThatStalls() async throws {
        let folder = try RecordingFolder()
        let scene = Scene()
        let path = folder.path("fifo")
        try #require(mkfifo(path, 0o600) == 0)
        var options = AssetWriter.Options()
        options.sink.format = .ts
        let opening = Task { [options] in try await AssetWriter(path: path, options: options) }
        opening.cancel()
        let error = await #expect(throws: MediaError.self) { try await opening.value }
        #expect(error?.code == .cancelled)

        let reader = open(path, O_RDONLY | O_NONBLOCK)
        defer { close(reader) }
        let writer = try await AssetWriter(path: path, options: options)
        var noisy = Scene.configuration()
        noisy.rateControl = .constantQuantizer(1)
        let video = try await writer.addVideo(noisy, session: Scene.software())
        try await writer.startSession(.at(.zero))
        // More than a pipe holds.
        for number in 0..<400 {
            let picture = try scene.picture(number, video.session.pixelBufferPool)
            try await video.append(picture, at: scene.time(ofPicture: number))
        }
        let ending = Task { try await writer.finish() }
        await writer.cancel()
        let outcome = await ending.result
        if case .success = outcome { Issue.record("finished without a reader") }
        #expect(await writer.status == .cancelled)
    }

    @Test func aFullDiskEndsTheWriter() async throws {
        let scene = Scene()
        var options = AssetWriter.Options()
        options.sink.format = .mp4
        let writer = try await AssetWriter(path: "/dev/full", options: options)
        let video = try await writer.addVideo(Scene.configuration(), session: Scene.software())
        let sound = try await writer.addAudio(.voice, format: scene.format)
        try await writer.startSession(.at(.zero))
        let error = await #expect(throws: MediaError.self) {
            for number in 0..<3000 {
                let picture = try scene.picture(number, video.session.pixelBufferPool)
                try await video.append(picture, at: scene.time(ofPicture: number))
                try await sound.append(scene.sound(from: number * 4800, count: 4800))
            }
            _ = try await writer.finish()
        }
        #expect(error?.code == .inputOutput, "\(String(describing: error))")
        #expect(await writer.status == error.map { .failed($0) })
    }
}
