// SPDX-License-Identifier: GPL-2.0-or-later

import Dispatch
import FFmpegSupport
import Foundation
import Logging
import MediaIO
import MediaTypes
import Synchronization
import TestSupport
import Testing

@Suite struct SourceDamageTests {
    let folder: ClipFolder

    init() throws { folder = try ClipFolder() }

    private func clip(_ name: String, _ options: String = "-c:v libx264 -preset veryfast -g 10 -pix_fmt yuv420p") throws
        -> String
    {
        try folder.ffmpeg("-f lavfi -i testsrc2=size=128x96:rate=25:duration=2 \(options) \(name)")
    }

    @Test(arguments: ["a.mp4", "a.mkv", "a.ts"])
    func flippedBytesCostPicturesNotTheWhole(name: String) throws {
        _ = try clip(name)
        var bytes = try folder.contents(name)
        for place in stride(from: bytes.count / 3, to: bytes.count / 2, by: 97) { bytes[place] ^= 0x55 }
        let source = try MediaSource(path: folder.write("b-\(name)", bytes))
        let frames = try Reading(source).frames
        #expect(frames.count >= 25)
        #expect(source.problems.isLossy)
        #expect((1...SourceProblems.describedCount).contains(source.problems.descriptions.count))
        let times = frames.map(\.presentationTime)
        #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 })
    }

    /// The file announces when it ends, or ends in the middle of a picture.
    @Test(arguments: ["a.mp4", "a.mkv", "a.y4m", "a.avi"])
    func truncatedFilesGiveWhatIsThereAndSaySo(name: String) throws {
        let options = "-c:v libx264 -preset veryfast -g 10 -pix_fmt yuv420p"
        _ = try clip(
            name,
            name.hasSuffix("y4m")
                ? "-pix_fmt yuv420p" : name.hasSuffix("mp4") ? "\(options) -movflags faststart" : options
        )
        let bytes = try folder.contents(name)
        let source = try MediaSource(path: folder.write("b-\(name)", bytes.prefix(bytes.count * 6 / 10)))
        let frames = try Reading(source).frames
        #expect((15..<50).contains(frames.count))
        #expect(source.problems.isLossy, "\(source.problems)")
    }

    /// libavformat asks to be called again each time that 64 KiB of a transport stream hold no packet.
    @Test(arguments: [false, true]) func holeInATransportStreamCostsWhatWasInIt(isPiped: Bool) throws {
        try folder.ffmpeg("-f lavfi -i testsrc2=size=64x48:rate=25:duration=8 -c:v mpeg2video -g 10 a.ts")
        var bytes = try folder.contents("a.ts")
        let middle = bytes.count / 2 / 188 * 188
        bytes.insert(contentsOf: [UInt8](repeating: 0, count: 200_000), at: middle)
        // At its end as well: what recorders reserve and do not fill.
        let damaged = bytes + [UInt8](repeating: 0, count: 300_000)
        try folder.write("b.ts", damaged)
        let source = try MediaSource(path: isPiped ? folder.pipe("b.ts") : folder.file("b.ts"))
        let frames = try Reading(source).frames
        #expect((195...200).contains(frames.count))
        #expect(source.problems.isLossy)
        let missing = source.problems.descriptions.filter { $0.contains("that it cannot parse") }
        #expect(missing.count == 2, "\(source.problems)")
    }

    /// Whatever is done to a file, opening and reading end with frames or with a typed error.
    @Test(arguments: ["a.mp4", "a.mkv", "a.ts", "a.y4m"])
    func randomDamageNeverEndsTheProcess(name: String) throws {
        _ = try folder.ffmpeg(
            "-f lavfi -i testsrc2=size=64x48:rate=25:duration=0.4 \(name.hasSuffix("y4m") ? "" : "-c:v mpeg4") \(name)"
        )
        let intact = try folder.contents(name)
        var state: UInt64 = 0x9E37_79B9_7F4A_7C15
        func random(_ limit: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % limit
        }
        for round in 0..<40 {
            var bytes = intact
            for _ in 0..<20 {
                // Headers are small and lie at both ends.
                let place = round % 2 == 0 ? random(bytes.count) : (bytes.count - 1000 + random(2000)) % bytes.count
                bytes[place] = UInt8(random(256))
            }
            let path = try folder.write("b", bytes)
            guard let source = try? MediaSource(path: path, options: .init(threads: 1)) else { continue }
            var last = MediaTime(value: .min, timescale: 1)
            while case let event? = try source.next() {
                guard case .frame(let frame) = event else { continue }
                #expect(frame.presentationTime > last)
                last = frame.presentationTime
            }
        }
    }

    @Test func inputsThatAreNoVideoAreNamedWithTheirPath() throws {
        let missing = folder.file("no such: file.mp4")
        let text = try folder.write("text.mp4", "This is no video at all.\n".utf8)
        let empty = try folder.write("empty.mp4", [])
        let sound = try folder.ffmpeg("-f lavfi -i sine=duration=0.2 -c:a aac sound.mp4")
        let broken = try clip("broken.ts")
        try folder.write("broken.ts", folder.contents("broken.ts").prefix(188 * 5))
        let cases: [(String, MediaError.Code, String)] = [
            (missing, .unavailable, "the input does not exist"), (folder.path, .invalidArgument, "directory"),
            (text, .malformedData, "cannot be opened"), (empty, .malformedData, "empty"),
            (sound, .malformedData, "no video stream, only audio"), (broken, .malformedData, "could be decoded"),
            ("", .unavailable, "the input does not exist"),
        ]
        for (path, code, words) in cases {
            let error = try openError(path)
            #expect(error.code == code, "\(error)")
            #expect(error.given == path)
            #expect(error.message.contains(words), "\(error)")
            #expect(!error.description.contains("\n"))
        }
        #expect(try openError(text, .init(format: "no-format")).code == .invalidArgument)
    }

    /// Root may read everything, so this says nothing there.
    @Test(.enabled(if: getuid() != 0)) func unreadableFileIsNamed() throws {
        let path = try clip("a.mp4")
        try #require(chmod(path, 0) == 0)
        let error = try openError(path)
        #expect(error.code == .unavailable)
        #expect(error.message.contains("no permission to read"))
    }

    @Test func messagesOfFFmpegGoToTheLogger() throws {
        let log = LogRecorder()
        MediaLog.logger = log.logger("test")
        defer { MediaLog.logger = nil }
        _ = try clip("a.mp4")
        let bytes = try folder.contents("a.mp4")
        _ = try openError(folder.write("b.mp4", bytes.prefix(bytes.count / 2)))
        #expect(log.lines.contains { $0.text.contains("moov atom not found") && $0.level == .warning })
    }

    /// The decoder has threads of its own, whose messages do not come on the thread of the source that they are about.
    @Test func eachSourceHasItsOwnMessages() throws {
        _ = try clip("whole.mp4")
        let bytes = try folder.contents("whole.mp4")
        let cut = try folder.write("cut.mp4", bytes.prefix(bytes.count / 2))
        let noisy = try folder.ffmpeg(
            "-f lavfi -i testsrc2=s=320x240:r=25:d=2 -c:v libx264 -g 50 -bsf:v noise=amount=2000:drop=0 noisy.h264"
        )
        let (ofCut, ofNoisy) = (LogRecorder(), LogRecorder())
        let loggers = [(cut, ofCut.logger(cut)), (noisy, ofNoisy.logger(noisy))]
        DispatchQueue.concurrentPerform(iterations: 8) { index in
            let (path, logger) = loggers[index % 2]
            let source = try? MediaSource(path: path, options: .init(threads: 4), logger: logger)
            while (try? source?.next()) != nil {}
        }
        #expect(ofCut.lines.count { $0.text.contains("moov atom not found") } == 4)
        #expect(ofCut.lines.allSatisfy { $0.metadata["component"] != "h264" }, "\(ofCut.lines)")
        #expect(ofNoisy.lines.contains { $0.text.contains("error while decoding MB") }, "\(ofNoisy.lines)")
        #expect(ofNoisy.lines.allSatisfy { $0.metadata["component"] == "h264" }, "\(ofNoisy.lines)")
    }
}

@Suite struct SourceCancellationTests {
    let folder: ClipFolder

    init() throws { folder = try ClipFolder() }

    /// Makes a FIFO that nobody writes to yet.
    private func fifo() throws -> String {
        let path = folder.file("fifo")
        try #require(mkfifo(path, 0o600) == 0)
        return path
    }

    /// Runs `body` on a thread of its own and gives its error once it has ended.
    private func error(of body: @escaping @Sendable () throws -> Void) async -> MediaError? {
        await withCheckedContinuation { continuation in
            Thread {
                do {
                    try body()
                    continuation.resume(returning: nil)
                } catch {
                    continuation.resume(returning: error as? MediaError)
                }
            }.start()
        }
    }

    @Test func openingWithoutAWriterEnds() async throws {
        let path = try fifo()
        let cancellation = Cancellation()
        async let result = error { _ = try MediaSource(path: path, cancellation: cancellation) }
        cancellation.cancel()
        #expect(await result?.code == .cancelled)
    }

    /// A FIFO without a writer is not an empty file: the source waits for one.
    @Test func writerMayComeLater() async throws {
        let path = try fifo()
        let folder = folder
        // On a thread of its own: a task that waits for the reader would keep one of the few that tasks have.
        Thread {
            let clip = "-f lavfi -i testsrc2=size=64x48:rate=25:duration=1 -c:v mpeg2video -f mpegts fifo"
            _ = try? folder.ffmpeg(clip)
        }.start()
        let frames = Mutex(0)
        let result = await error {
            let count = try Reading(path).frames.count
            frames.withLock { $0 = count }
        }
        #expect(result == nil)
        #expect(frames.withLock { $0 } == 25)
    }

    @Test func readingFromAStalledWriterEnds() async throws {
        let path = try fifo()
        try folder.ffmpeg("-f lavfi -i testsrc2=size=64x48:rate=25:duration=4 -c:v mpeg2video a.ts")
        let bytes = try folder.contents("a.ts")
        // Opened for reading as well, so that it neither waits for the reader nor ends before it.
        let descriptor = open(path, O_RDWR)
        defer { close(descriptor) }
        let writer = FileHandle(fileDescriptor: descriptor, closeOnDealloc: false)
        Thread { try? writer.write(contentsOf: Data(bytes)) }.start()
        let frames = Mutex(0)
        let cancellation = Cancellation()
        let result = await error {
            let source = try MediaSource(path: path, options: .init(threads: 1), cancellation: cancellation)
            while try source.next() != nil {
                // The writer stalls before the last picture is complete: the next call would block for ever.
                if frames.withLock({
                    $0 += 1; return $0
                }) == 95 {
                    Thread { source.cancel() }.start()
                }
            }
        }
        #expect(result?.code == .cancelled)
        #expect(frames.withLock { $0 } >= 95)
    }

    @Test func cancelledSourceStaysCancelled() throws {
        let path = try folder.ffmpeg("-f lavfi -i testsrc2=size=64x48:rate=25:duration=1 -c:v mpeg4 a.mp4")
        let source = try MediaSource(path: path)
        source.cancel()
        for _ in 0..<2 {
            let error = try #require(throws: MediaError.self) { while try source.next() != nil {} }
            #expect(error.code == .cancelled)
        }
    }
}
