// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import Foundation
import MediaTypes
import Synchronization
import Testing

@testable import MediaIO

/// What happens when the system refuses bytes, and when callers give what cannot be written.
@Suite struct SinkFailureTests {
    /// Samples that are together larger than any buffer on the way.
    private static func large() throws -> [SampleBuffer] {
        let video = try EncodedVideo.standard.get()
        return (0..<64).map { index in
            video.samples[0].changed {
                // One unit of 64 KiB of a type that decoders pass over.
                $0.data = CodedData([0, 1, 0, 0, 0x0C] + [UInt8](repeating: 0xFF, count: 65535))
                $0.presentationTime = MediaTime(value: Int64(index), timescale: 25)
                $0.decodeTime = $0.presentationTime
            }
        }
    }

    /// The kernel itself would wait until somebody reads, and nothing but a signal would end that.
    @Test(arguments: [true, false]) func theWaitForAReaderCanBeEnded(isAbandoned: Bool) throws {
        let folder = try SinkFolder()
        let path = folder.path("fifo")
        try #require(mkfifo(path, 0o600) == 0)
        let cancellation = Cancellation()
        cancellation.cancel()
        var options = MediaSink.Options()
        options.format = .ts
        let error = #expect(throws: MediaError.self) {
            try isAbandoned
                ? MediaSink(path: path, options: options, abandonment: cancellation)
                : MediaSink(path: path, options: options, cancellation: cancellation)
        }
        #expect(error?.code == .cancelled && error?.given == path)
    }

    /// A pipe is full soon if nobody takes anything out of it.
    @Test(arguments: [ContainerFormat.h264, .mp4, .ts])
    func aReaderThatStallsCanBeAbandoned(format: ContainerFormat) throws {
        let folder = try SinkFolder()
        let path = folder.path("fifo")
        try #require(mkfifo(path, 0o600) == 0)
        let reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        defer { close(reader) }
        var options = MediaSink.Options()
        options.format = format
        let abandonment = Cancellation()
        let sink = try MediaSink(path: path, options: options, abandonment: abandonment)
        abandonment.cancel()
        let error = #expect(throws: MediaError.self) {
            for sample in try Self.large() { try sink.write(sample) }
        }
        #expect(error?.code == .cancelled && error?.given == path)
    }

    /// A reader that always takes a little would keep a writer busy for long.
    @Test func aReaderThatTricklesCanBeAbandoned() throws {
        let folder = try SinkFolder()
        let path = folder.path("fifo")
        try #require(mkfifo(path, 0o600) == 0)
        let reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        let isOver = Atomic(false)
        let isDone = DispatchSemaphore(value: 0)
        try PlainThread.start(name: "trickle") {
            var page = [UInt8](repeating: 0, count: 4096)
            while !isOver.load(ordering: .relaxed) {
                var entry = pollfd(fd: reader, events: Int16(POLLIN), revents: 0)
                if poll(&entry, 1, 10) > 0 { _ = read(reader, &page, page.count) }
            }
            isDone.signal()
        }
        defer {
            isOver.store(true, ordering: .relaxed)
            isDone.wait()
            close(reader)
        }
        var options = MediaSink.Options()
        options.format = .h264
        let abandonment = Cancellation()
        let sink = try MediaSink(path: path, options: options, abandonment: abandonment)
        abandonment.cancel()
        // The pipe is full again and again, and never for as long as a wait takes.
        let error = #expect(throws: MediaError.self) {
            for _ in 0..<64 { for sample in try Self.large() { try sink.write(sample) } }
        }
        #expect(error?.code == .cancelled && error?.given == path)
    }

    @Test(arguments: [ContainerFormat.h264, .mp4, .mkv, .ts])
    func aFullDeviceIsATypedErrorThatSaysHowMuchWasWritten(format: ContainerFormat) throws {
        let error = #expect(throws: MediaError.self) {
            try writeSamples(Self.large(), to: "/dev/full", .init { $0.format = format })
        }
        #expect(error?.code == .inputOutput)
        #expect(error?.status == Int(ENOSPC))
        #expect(error?.given == "/dev/full")
        #expect(error?.message == "writing failed after 0 bytes: No space left on device")
    }

    @Test(.enabled(if: SmallDisk.isPossible), arguments: ["a.h264", "a.mp4", "a.mkv", "a.ts"])
    func aFullDiskLeavesNothing(name: String) throws {
        let disk = try SmallDisk(size: 1 << 20)
        defer { disk.unmount() }
        let error = #expect(throws: MediaError.self) { try writeSamples(Self.large(), to: disk.folder.path(name)) }
        #expect(error?.code == .inputOutput)
        #expect(error?.status == Int(ENOSPC))
        #expect(error?.given == disk.folder.path(name))
        #expect(try disk.folder.contents == [])
    }

    /// Of a file that may be rescued, what is whole stays, and has its name.
    @Test(.enabled(if: SmallDisk.isPossible), arguments: ["a.mp4", "a.mkv", "a.ts", "a.h264"])
    func aFullDiskKeepsWhatIsWhole(name: String) throws {
        // Key frames alone, so that Matroska has a cluster of each few, and noise, so that they are large.
        let video = try EncodedVideo(frames: 200, options: ["-g", "1", "-crf", "0"])
        let size = video.samples.reduce(0) { $0 + $1.data.count }
        let disk = try SmallDisk(size: max(size / 2, 512 << 10))
        defer { disk.unmount() }
        var options = MediaSink.Options()
        options.isRescuable = true
        options.isFragmented = name == "a.mp4"
        options.fragmentInterval = name == "a.mp4" ? MediaTime(value: 1, timescale: 5) : nil
        let path = disk.folder.path(name)
        let sink = try MediaSink(path: path, options: options)
        let error = #expect(throws: MediaError.self) {
            for count in 0..<(1 << 20) {
                let time = MediaTime(value: Int64(count), timescale: 25)
                let sample = video.samples[count % video.samples.count].changed {
                    ($0.presentationTime, $0.decodeTime) = (time, time)
                }
                try sink.write(sample)
            }
        }
        #expect(error?.status == Int(ENOSPC))
        #expect(try disk.folder.contents.count == 1 && disk.folder.contents != [name])
        let summary = sink.rescue()
        // A byte stream has no parts that would be whole.
        guard name != "a.h264" else {
            #expect(summary == nil)
            #expect(try disk.folder.contents == [])
            return
        }
        let kept = try #require(summary)
        #expect(try disk.folder.contents == [name])
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)).count == Int(kept.byteCount))
        #expect(try frameHashes(of: path).count == kept.sampleCount)
        #expect(kept.sampleCount > 10)
        #expect(abs(kept.duration.seconds - Double(kept.sampleCount) / 25) < 0.05)
    }

    /// Where nothing has failed but the encoder, everything stays.
    @Test func whatHasNotFailedIsRescuedWhole() throws {
        let video = try EncodedVideo.standard.get()
        let folder = try SinkFolder()
        let sink = try MediaSink(path: folder.path("a.mp4"), options: .init { $0.isRescuable = true })
        for sample in video.samples { try sink.write(sample) }
        #expect(sink.rescue()?.sampleCount == video.samples.count)
        #expect(try frameHashes(of: folder.path("a.mp4")) == video.hashes)
        let empty = try MediaSink(path: folder.path("b.mp4"), options: .init { $0.isRescuable = true })
        #expect(empty.rescue() == nil)
        #expect(try folder.contents == ["a.mp4"])
    }

    /// A long recording is not lost because another file has its name.
    @Test(arguments: ["a.mp4", "a.mkv", "a.ts", "a.h264"], [true, false])
    func whatCannotGetItsNameIsKept(name: String, isRescue: Bool) throws {
        let video = try EncodedVideo.standard.get()
        let folder = try SinkFolder()
        let sink = try MediaSink(path: folder.path(name), options: .init { $0.isRescuable = true })
        for sample in video.samples { try sink.write(sample) }
        try Data("precious".utf8).write(to: folder.url.appending(path: name))
        var error: MediaError?
        if !isRescue { error = #expect(throws: MediaError.self) { try sink.finish() } }
        #expect(sink.rescue() == nil)
        sink.abort()
        let kept = try #require(sink.keptPath)
        #expect(isRescue || error?.message.contains(kept) == true && error?.code == .invalidArgument)
        #expect(error?.naming(keptPath: kept) == error, "it is named once")
        #expect(try folder.contents.count == 2)
        #expect(try Data(contentsOf: folder.url.appending(path: name)) == Data("precious".utf8))
        #expect(try frameHashes(of: kept) == video.hashes)
        // Without that wish, nothing is left, as ever.
        let other = try MediaSink(path: folder.path("b.mp4"))
        for sample in video.samples { try other.write(sample) }
        try Data().write(to: folder.url.appending(path: "b.mp4"))
        #expect(throws: MediaError.self) { try other.finish() }
        #expect(other.keptPath == nil)
        #expect(try folder.contents.count == 3)
    }

    @Test(.enabled(if: SmallDisk.isPossible))
    func aDiskThatIsFullOnlyAtTheEndLeavesNothingEither() throws {
        let disk = try SmallDisk(size: 1 << 20)
        defer { disk.unmount() }
        // All of it waits in the output buffer until the end.
        let samples = try EncodedVideo.standard.get().samples
        try Data(count: (1 << 20) - 8192).write(to: disk.folder.url.appending(path: "fill"))
        let error = #expect(throws: MediaError.self) { try writeSamples(samples, to: disk.folder.path("a.mp4")) }
        #expect(error?.status == Int(ENOSPC))
        #expect(try disk.folder.contents == ["fill"])
    }

    @Test func aLimitOnFileSizesIsAnErrorAndNoSignal() async {
        await #expect(processExitsWith: .success) {
            let folder = try SinkFolder()
            var limit = rlimit(rlim_cur: 1 << 20, rlim_max: 1 << 20)
            let samples = try Self.large()
            setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
            for name in ["a.h264", "a.mp4"] {
                do {
                    try writeSamples(samples, to: folder.path(name))
                    exit(2)
                } catch let error as MediaError {
                    guard error.status == Int(EFBIG), try folder.contents == [] else { exit(3) }
                }
            }
        }
    }

    @Test func aPipeThatNobodyReadsIsAnErrorAndNoSignal() async {
        await #expect(processExitsWith: .success) {
            signal(SIGPIPE, SIG_DFL)
            var ends: [Int32] = [0, 0]
            pipe(&ends)
            let saved = dup(STDOUT_FILENO)
            dup2(ends[1], STDOUT_FILENO)
            close(ends[0])
            for format in [ContainerFormat.h264, .mp4, .mkv, .ts] {
                do {
                    try writeSamples(try Self.large(), to: "-", .init { $0.format = format })
                    exit(2)
                } catch let error as MediaError {
                    guard error.status == Int(EPIPE), error.given == "standard output" else { _exit(3) }
                }
            }
            dup2(saved, STDOUT_FILENO)
        }
    }

    @Test(arguments: [ContainerFormat.h264, .mp4, .mov, .mkv, .ts])
    func aPipeGetsWhatDecodesToTheSameFrames(format: ContainerFormat) throws {
        let video = try EncodedVideo.standard.get()
        let folder = try SinkFolder()
        let pipe = try FIFOReader(in: folder)
        let summary = try writeSamples(video.samples, to: pipe.path, .init { $0.format = format })
        let copy = pipe.waitForEnd()
        #expect(try Data(contentsOf: URL(fileURLWithPath: copy)).count == Int(summary.byteCount))
        #expect(try frameHashes(of: copy) == video.hashes)
        #expect(try folder.contents == ["copy", "fifo"])
    }

    @Test func standardOutputThatIsATerminalIsRefused() async {
        await #expect(processExitsWith: .success) {
            guard let (terminal, name) = openTerminal() else { exit(4) }
            dup2(terminal, STDOUT_FILENO)
            for path in ["-", name] {
                do {
                    _ = try MediaSink(path: path, options: .init { $0.format = .h264 })
                    exit(2)
                } catch let error as MediaError {
                    guard error.code == .invalidArgument, error.message.contains("terminal") else { exit(3) }
                }
            }
        }
    }

    @Test func aDeviceIsWrittenDirectly() throws {
        let video = try EncodedVideo.standard.get()
        for format in [ContainerFormat.h264, .mp4, .mkv, .ts] {
            let summary = try writeSamples(video.samples, to: "/dev/zero", .init { $0.format = format })
            #expect(summary.byteCount > 5000)
        }
        var status = stat()
        #expect(stat("/dev/zero", &status) == 0 && status.st_mode & S_IFMT == S_IFCHR)
    }

    @Test func descriptorsAndFilesDoNotLeak() async {
        await #expect(processExitsWith: .success) {
            let samples = try EncodedVideo.standard.get().samples
            let folder = try SinkFolder()
            func descriptors() throws -> Int {
                try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
            }
            try writeSamples(samples, to: folder.path("first.mp4"))
            let before = try descriptors()
            for round in 0..<200 {
                let sink = try MediaSink(path: folder.path("\(round).\(["mp4", "mkv", "ts", "h264"][round % 4])"))
                for sample in samples.prefix(round % 5) { try sink.write(sample) }
                if round % 2 == 0 { sink.abort() }
                if round % 10 == 9 { _ = try sink.finish() }
            }
            guard try descriptors() == before, try folder.contents.count == 21 else { exit(2) }
        }
    }

    @Test(arguments: ["a.h264", "a.mp4", "a.mkv", "a.ts"], [false, true])
    func theSamplesMemoryIsGivenBackOnce(name: String, aborts: Bool) throws {
        let video = try EncodedVideo.standard.get()
        let folder = try SinkFolder()
        let counter = Counter()
        do {
            let sink = try MediaSink(path: folder.path(name))
            for sample in video.samples {
                try sink.write(
                    sample.changed {
                        let bytes = $0.data.withUnsafeBytes { Array($0) }
                        let memory = UnsafeMutableRawPointer.allocate(byteCount: bytes.count, alignment: 16)
                        memory.copyMemory(from: bytes, byteCount: bytes.count)
                        $0.data = CodedData(noCopy: memory, count: bytes.count) {
                            $0.deallocate()
                            counter.add()
                        }
                    }
                )
            }
            if aborts { sink.abort() } else { _ = try sink.finish() }
        }
        #expect(counter.value == video.samples.count)
        if !aborts { #expect(try frameHashes(of: folder.path(name)) == video.hashes) }
    }

    private final class Counter: Sendable {
        private let count = Mutex(0)
        var value: Int { count.withLock { $0 } }
        func add() { count.withLock { $0 += 1 } }
    }

    @Test func samplesThatCannotFollowAreRefusedAndTheRestIsWritten() throws {
        let video = try EncodedVideo.standard.get()
        let folder = try SinkFolder()
        let samples = video.samples
        let sink = try MediaSink(path: folder.path("a.mp4"))
        func refused(_ code: MediaError.Code, _ sample: SampleBuffer, _ change: (inout SampleBuffer) -> Void) {
            let error = #expect(throws: MediaError.self) { try sink.write(sample.changed(change)) }
            #expect(error?.code == code)
        }
        refused(.invalidArgument, samples[1]) { _ in }
        refused(.invalidArgument, samples[0]) { $0.presentationTime = .invalid }
        refused(.invalidArgument, samples[0]) { $0.decodeTime = .invalid }
        refused(.invalidArgument, samples[0]) {
            $0.decodeTime = $0.presentationTime + MediaTime(value: 1, timescale: 9)
        }
        refused(.malformedData, samples[0]) { $0.data = CodedData([]) }
        try sink.write(samples[0])
        try sink.write(samples[1])
        refused(.invalidArgument, samples[1]) { _ in }
        refused(.malformedData, samples[2]) { $0.data = CodedData([]) }
        let other = try EncodedVideo.other.get().format
        refused(.invalidArgument, samples[2]) { $0.formatDescription = other }
        for sample in samples.dropFirst(2) { try sink.write(sample) }
        _ = try sink.finish()
        #expect(try frameHashes(of: folder.path("a.mp4")) == video.hashes)
    }

    @Test func dataThatAreNoNALUnitsAreRefusedWhereTheyAreTakenApart() throws {
        let video = try EncodedVideo.standard.get()
        let folder = try SinkFolder()
        for name in ["a.h264", "a.ts"] {
            for bytes in [[1], [0, 0, 0, 0], [0, 0, 0, 9, 0x65], [0xFF, 0xFF, 0xFF, 0xFF, 1]] as [[UInt8]] {
                let sink = try MediaSink(path: folder.path(name))
                let error = #expect(throws: MediaError.self) {
                    try sink.write(video.samples[0].changed { $0.data = CodedData(bytes) })
                }
                #expect(error?.code == .malformedData)
            }
        }
        #expect(try folder.contents == [])
    }

    @Test func aCodecThatTheContainerDoesNotTakeIsRefused() throws {
        let video = try EncodedVideo.standard.get()
        let folder = try SinkFolder()
        let error = #expect(throws: MediaError.self) { try writeSamples(video.samples, to: folder.path("a.h265")) }
        #expect((error?.code, error?.given, error?.allowed) == (.invalidArgument, "h264", "hevc"))
        #expect(throws: MediaError.self) { try ContainerFormat.h264.validate(.hevc) }
        #expect(try folder.contents == [])
    }
}

/// Makes a terminal of which the caller is the user.
private func openTerminal() -> (descriptor: Int32, path: String)? {
    typealias OpenPTY =
        @convention(c) (
            UnsafeMutablePointer<Int32>, UnsafeMutablePointer<Int32>, UnsafeMutablePointer<CChar>, OpaquePointer?,
            OpaquePointer?
        ) -> Int32
    // Swift's C library module does not show openpty(3).
    guard let symbol = dlsym(nil, "openpty") else { return nil }
    var (main, user): (Int32, Int32) = (-1, -1)
    var name = [CChar](repeating: 0, count: 128)
    guard unsafeBitCast(symbol, to: OpenPTY.self)(&main, &user, &name, nil, nil) == 0 else { return nil }
    return (user, String(decoding: name.prefix { $0 != 0 }.map(UInt8.init), as: UTF8.self))
}

/// A file system in memory of a chosen size; only root can make one.
struct SmallDisk {
    let folder: SinkFolder

    static let isPossible = (try? SmallDisk(size: 4096)).map { $0.unmount() } != nil

    init(size: Int) throws {
        folder = try SinkFolder()
        try runTool("mount", ["-t", "tmpfs", "-o", "size=\(size)", "tmpfs", folder.url.path])
    }

    func unmount() { _ = try? runTool("umount", [folder.url.path]) }
}
