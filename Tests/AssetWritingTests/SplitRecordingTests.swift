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

/// Recordings that continue in another file.
@Suite struct SplitRecordingTests {
    private enum Order { case together, soundFirst, picturesFirst }

    /// Records numbered pictures and noise for some seconds.
    private func record(
        _ path: String,
        _ splitting: AssetWriter.Splitting?,
        codec: AudioCodec = .flac,
        seconds: Int = 10,
        clock: Double = 1,
        order: Order = .together,
        change: (inout AssetWriter.Options, inout EncoderConfiguration) -> Void = { _, _ in }
    ) async throws -> AssetWriter.Summary {
        let scene = Scene(clock: clock)
        var options = AssetWriter.Options()
        options.splitting = splitting
        var configuration = Scene.configuration()
        configuration.rateControl = .constantQuantizer(10)
        change(&options, &configuration)
        let writer = try await AssetWriter(path: path, options: options)
        let video = try await writer.addVideo(configuration, session: Scene.software())
        let sound = try await writer.addAudio(AudioEncoderSettings(codec), format: scene.format)
        try await writer.startSession(.at(.zero))
        let (pictures, samples) = (seconds * Scene.framesPerSecond, Int(Double(seconds * 48000) / clock))
        func film(_ number: Int) async throws {
            let picture = try scene.numbered(number, video.session.pixelBufferPool)
            try await video.append(picture, at: scene.time(ofPicture: number))
        }
        func listen(_ first: Int) async throws {
            try await sound.append(scene.noise(from: first, count: min(samples - first, 1000)))
        }
        var first = 0
        if order == .soundFirst {
            for first in stride(from: 0, to: samples, by: 1000) { try await listen(first) }
        }
        for number in 0..<pictures {
            try await film(number)
            while order == .together, first < min((number + 1) * 4800, samples) {
                try await listen(first)
                first += 1000
            }
        }
        if order == .picturesFirst {
            for first in stride(from: 0, to: samples, by: 1000) { try await listen(first) }
        }
        return try await writer.finish()
    }

    /// What is in the files, joined, is what is in one file.
    private func expectWhole(
        _ folder: RecordingFolder,
        _ files: [AssetWriter.File],
        equals whole: String,
        pictures: Int
    ) throws {
        let names = files.map { URL(fileURLWithPath: $0.path).lastPathComponent }
        #expect(try names.flatMap { try folder.numbers($0) } == (0..<pictures).map { $0 % 40 })
        #expect(try names.flatMap { try folder.samples($0) } == folder.samples(whole))
        for (file, name) in zip(files, names) {
            let first = try #require(try folder.probe(name, "v", "packet=pts_time,flags").first)
            #expect(first.contains("K"), "\(first)")
            let start = try #require(Double(first.prefix { $0 != "," }))
            #expect(abs(start) < 0.002)
            #expect(file.end > file.start)
        }
        #expect(zip(files, files.dropFirst()).allSatisfy { $0.end == $1.start })
    }

    @Test(arguments: [1, 1.001], ["out.mkv", "out.mov"])
    func splitsByTime(clock: Double, name: String) async throws {
        let folder = try RecordingFolder()
        let codec = name == "out.mov" ? AudioCodec.pcm : .flac
        let whole = try await record(folder.path(name), nil, codec: codec, clock: clock)
        #expect(whole.files.count == 1 && whole.files[0].summary == whole.file)
        let summary = try await record(
            folder.path("{number}-" + name),
            .init(interval: MediaTime(value: 3, timescale: 1)),
            codec: codec,
            clock: clock
        )
        #expect(summary.files.map(\.start.seconds) == [0, 3, 6, 9])
        #expect(summary.files.map(\.summary.sampleCount) == [30, 30, 30, 10])
        #expect(summary.files.map(\.path) == (1...4).map { folder.path("00\($0)-" + name) })
        #expect(summary.audio == whole.audio && summary.audio[0].hasStretched == (clock != 1))
        try expectWhole(folder, summary.files, equals: name, pictures: 100)
        #expect(folder.names.count == 5)
    }

    /// Whatever is appended first: files wait for their sound, and sound for its file.
    @Test(arguments: [true, false]) func inputsOneAfterTheOther(soundFirst: Bool) async throws {
        let folder = try RecordingFolder()
        _ = try await record(folder.path("out.mkv"), nil)
        let summary = try await record(
            folder.path("{number}.mkv"),
            .init(interval: MediaTime(value: 2, timescale: 1)),
            order: soundFirst ? .soundFirst : .picturesFirst
        )
        #expect(summary.files.map(\.start.seconds) == [0, 2, 4, 6, 8])
        try expectWhole(folder, summary.files, equals: "out.mkv", pictures: 100)
    }

    /// Files of AAC end at the exact sample, and flashes and beeps stay together.
    @Test(arguments: ["mp4", "mov", "ts"], [false, true])
    func soundStaysInStepAtTheSeams(name: String, isFragmented: Bool) async throws {
        guard name != "ts" || !isFragmented else { return }
        let folder = try RecordingFolder()
        let scene = Scene()
        var options = AssetWriter.Options()
        options.sink.isFragmented = isFragmented
        options.sink.isDefragmented = isFragmented
        options.splitting = .init(interval: MediaTime(value: 25, timescale: 10))
        let writer = try await AssetWriter(path: folder.path("{number}.\(name)"), options: options)
        let video = try await writer.addVideo(Scene.configuration(), session: Scene.software())
        let sound = try await writer.addAudio(.voice, format: scene.format)
        try await writer.startSession(.at(.zero))
        for number in 0..<100 {
            let picture = try scene.picture(number, video.session.pixelBufferPool)
            try await video.append(picture, at: scene.time(ofPicture: number))
            try await sound.append(scene.sound(from: number * 4800, count: 4800))
        }
        let files = try await writer.finish().files
        #expect(files.map(\.start.seconds) == [0, 2.5, 5, 7.5] && files.allSatisfy { $0.summary.sampleCount == 25 })
        #expect(files.allSatisfy { $0.summary.defragmentationError == nil })
        var (flashes, beeps): ([Double], [Double]) = ([], [])
        for file in files {
            let own = URL(fileURLWithPath: file.path).lastPathComponent
            flashes += try folder.flashes(own).map { $0 + file.start.seconds }
            beeps += try folder.beeps(own).map { $0 + file.start.seconds }
            guard name != "ts" else { continue }
            #expect(try !folder.boxes(own).contains("moof"))
            let last = try #require(try folder.probe(own, "a", "packet=pts,duration").last)
            let numbers = last.split(separator: ",").compactMap { Int($0) }
            #expect(numbers.reduce(0, +) == 120_000, "\(last)")
        }
        // The times of a transport stream begin at 1.4 s, or so.
        let offset = name == "ts" ? try #require(flashes.first) : 0
        #expect(zip(flashes, 0..<10).allSatisfy { abs($0 - offset - Double($1)) < 0.001 } && flashes.count == 10)
        #expect(zip(beeps, flashes).allSatisfy { abs($0 - $1) < 0.01 || name == "ts" } && beeps.count == 10)
    }

    /// The last file may begin with the last picture, of which nothing tells how long it is shown.
    @Test(arguments: ["mkv", "mov"]) func aFileOfOnePictureHasItsDuration(name: String) async throws {
        let folder = try RecordingFolder()
        let scene = Scene()
        var options = AssetWriter.Options()
        options.splitting = .init(interval: MediaTime(value: 3, timescale: 1))
        let writer = try await AssetWriter(path: folder.path("{number}.\(name)"), options: options)
        let video = try await writer.addVideo(Scene.configuration(), session: Scene.software())
        try await writer.startSession(.at(.zero))
        for number in 0...30 {
            let picture = try scene.picture(number, video.session.pixelBufferPool)
            try await video.append(picture, at: scene.time(ofPicture: number))
        }
        let files = try await writer.finish().files
        #expect(files.map(\.summary.sampleCount) == [30, 1])
        #expect(files.map(\.start.seconds) == [0, 3] && files.map(\.end.seconds) == [3, 3.1])
    }

    @Test func splitsBySize() async throws {
        let folder = try RecordingFolder()
        _ = try await record(folder.path("out.mkv"), nil, seconds: 20)
        let summary = try await record(folder.path("{number}.mkv"), .init(byteCount: 200_000), seconds: 20)
        #expect(summary.files.count > 3)
        for file in summary.files.dropLast() {
            // The encoder holds some pictures when the size is reached.
            #expect((190_000..<500_000).contains(file.summary.byteCount), "\(file)")
        }
        try expectWhole(folder, summary.files, equals: "out.mkv", pictures: 200)
    }

    /// Pictures out of order: a file begins with a key frame, and no picture of before it is shown later.
    @Test func reorderedPictures() async throws {
        let folder = try RecordingFolder()
        func change(_: inout AssetWriter.Options, _ configuration: inout EncoderConfiguration) {
            configuration.software.preset = .medium
            configuration.bFrames = .maximum(3)
        }
        _ = try await record(folder.path("out.mkv"), nil, change: change)
        let interval = MediaTime(value: 16, timescale: 10)
        let summary = try await record(folder.path("{number}.mkv"), .init(interval: interval), change: change)
        #expect(summary.files.map(\.start.seconds) == [0, 1.6, 3.2, 4.8, 6.4, 8, 9.6])
        try expectWhole(folder, summary.files, equals: "out.mkv", pictures: 100)
    }

    /// An input without anything does not keep files open.
    @Test func aTrackThatNeverDelivers() async throws {
        let folder = try RecordingFolder()
        let scene = Scene()
        var options = AssetWriter.Options()
        options.splitting = .init(interval: MediaTime(value: 4, timescale: 1))
        let writer = try await AssetWriter(path: folder.path("{number}.mp4"), options: options)
        let video = try await writer.addVideo(Scene.configuration(), session: Scene.software())
        let sound = try await writer.addAudio(.voice, format: scene.format)
        try await writer.startSession(.at(.zero))
        for number in 0..<300 {
            let picture = try scene.numbered(number, video.session.pixelBufferPool)
            try await video.append(picture, at: scene.time(ofPicture: number))
        }
        #expect(await Patience.wait { writer.files.count >= 3 })
        // Sound of a file that is complete comes too late; the rest is where it belongs.
        for sample in stride(from: 0, to: 30 * 48000, by: 4800) {
            try await sound.append(scene.sound(from: sample, count: 4800))
        }
        let files = try await writer.finish().files
        #expect(files.map(\.summary.sampleCount) == [40, 40, 40, 40, 40, 40, 40, 20])
        let names = files.map { URL(fileURLWithPath: $0.path).lastPathComponent }
        #expect(try names.flatMap { try folder.numbers($0) } == (0..<300).map { $0 % 40 })
        #expect(try folder.beeps(names[0]).isEmpty)
        #expect(try folder.beeps(names[6]).map { ($0 * 10).rounded() / 10 } == [0, 1, 2, 3])
    }

    /// Sound alone is cut at the exact sample.
    @Test(arguments: ["mkv", "mov"]) func soundAlone(name: String) async throws {
        let folder = try RecordingFolder()
        let scene = Scene()
        func record(_ path: String, _ splitting: AssetWriter.Splitting?) async throws -> [AssetWriter.File] {
            var options = AssetWriter.Options()
            options.splitting = splitting
            let writer = try await AssetWriter(path: folder.path(path), options: options)
            let settings = AudioEncoderSettings(name == "mov" ? .pcm : .flac)
            let sound = try await writer.addAudio(settings, format: scene.format)
            try await writer.startSession(.first)
            for first in stride(from: 48000, to: 6 * 48000, by: 1000) {
                try await sound.append(scene.noise(from: first, count: 1000))
            }
            return try await writer.finish().files
        }
        let whole = try await record("out.\(name)", nil)
        #expect(whole.count == 1 && whole[0].end.seconds == 5 && whole[0].summary.sampleCount == 0)
        let expected = try folder.samples("out.\(name)")
        #expect(expected.count == 240_000)
        let byTime = try await record("t{number}.\(name)", .init(interval: MediaTime(value: 13, timescale: 10)))
        #expect(byTime.map(\.start.seconds) == [0, 1.3, 2.6, 3.9])
        let bySize = try await record("s{number}.\(name)", .init(byteCount: 150_000))
        #expect(bySize.count > 2)
        for files in [byTime, bySize] {
            let names = files.map { URL(fileURLWithPath: $0.path).lastPathComponent }
            #expect(try names.flatMap { try folder.samples($0) } == expected)
        }
    }

    /// Packets are in the file in which they begin, with times that count from its start.
    @Test func copiedPackets() async throws {
        let folder = try RecordingFolder()
        _ = try folder.tool([
            "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=64x48:rate=5:duration=6", "-f", "lavfi", "-i",
            "sine=duration=6", "-c:a", "ac3", folder.path("in.mkv"),
        ])
        let source = try MediaSource(path: folder.path("in.mkv"))
        let scene = Scene()
        var options = AssetWriter.Options()
        options.splitting = .init(interval: MediaTime(value: 2, timescale: 1))
        let writer = try await AssetWriter(path: folder.path("{number}.mkv"), options: options)
        let video = try await writer.addVideo(Scene.configuration(), session: Scene.software())
        let copied = try await writer.addTrack(try #require(source.tracks.first))
        try await writer.startSession(.at(.zero))
        var times: [Double] = []
        while let event = try source.next() {
            guard case .packet(let packet) = event else { continue }
            times.append(packet.presentationTime.seconds)
            try await copied.append(packet)
        }
        for number in 0..<60 {
            let picture = try scene.numbered(number, video.session.pixelBufferPool)
            try await video.append(picture, at: scene.time(ofPicture: number))
        }
        let files = try await writer.finish().files
        #expect(files.map(\.start.seconds) == [0, 2, 4])
        var found: [Double] = []
        for file in files {
            let name = URL(fileURLWithPath: file.path).lastPathComponent
            found += try folder.probe(name, "a", "packet=pts_time").compactMap { Double($0) }
                .map { $0 + file.start.seconds }
        }
        #expect(found.count == times.count)
        #expect(zip(found, times).allSatisfy { abs($0 - $1) < 0.002 })
    }

    @Test func whatCannotBeSplitIsRefused() async throws {
        let folder = try RecordingFolder()
        let second = MediaTime(value: 1, timescale: 1)
        func code(_ path: String, _ splitting: AssetWriter.Splitting) async -> MediaError.Code? {
            var options = AssetWriter.Options()
            options.splitting = splitting
            do throws(MediaError) {
                _ = try await AssetWriter(path: path, options: options)
                return nil
            } catch {
                return error.code
            }
        }
        let pattern = folder.path("{number}.mp4")
        #expect(await code(folder.path("out.mp4"), .init(interval: second)) == .invalidArgument)
        #expect(await code(folder.path("{number}/out.mp4"), .init(interval: second)) == .invalidArgument)
        #expect(await code(pattern, .init()) == .invalidArgument)
        #expect(await code(pattern, .init(interval: .zero)) == .invalidArgument)
        #expect(await code(pattern, .init(interval: .invalid, byteCount: 5)) == .invalidArgument)
        #expect(await code(pattern, .init(interval: second, byteCount: 0)) == .invalidArgument)
        let path = folder.path("same.mp4")
        #expect(await code(pattern, .init(interval: second) { _ in path }) == .invalidArgument)
        try Data([1]).write(to: URL(fileURLWithPath: folder.path("002.mp4")))
        #expect(await code(pattern, .init(interval: second)) == .invalidArgument)
        #expect(folder.names == ["002.mp4"])
    }

    /// A later file cannot be made: the writer ends, and what is complete stays.
    @Test func completeFilesStay() async throws {
        let folder = try RecordingFolder()
        let names = { @Sendable (number: Int) in folder.path(number < 5 ? "\(number).mp4" : "missing/5.mp4") }
        let error = await #expect(throws: MediaError.self) {
            let splitting = AssetWriter.Splitting(interval: MediaTime(value: 1, timescale: 1), path: names)
            _ = try await record("x.mp4", splitting, codec: .aac)
        }
        #expect(error?.code == .invalidArgument, "\(String(describing: error))")
        #expect(await Patience.wait { folder.names.sorted() == ["1.mp4", "2.mp4", "3.mp4"] }, "\(folder.names)")
        for name in ["1.mp4", "2.mp4", "3.mp4"] { #expect(try folder.numbers(name).count == 10) }
    }
}
