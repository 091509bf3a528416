// SPDX-License-Identifier: GPL-2.0-or-later

import Capture
import Glibc
import MediaTypes
import TestSupport
import Testing

/// Everything with a real server of its own and a real session manager.
@Suite("A source of PipeWire", .blocks, .serialized)
struct PipeWireStreamTests {
    private let rig: PipeWireRig
    private let stop: StopSignal

    init() throws {
        rig = try PipeWireRig()
        stop = try StopSignal()
    }

    private func open(
        _ source: PictureSource,
        _ modifiers: [UInt64] = [],
        rate: Rational? = nil
    ) throws -> PipeWireStream {
        try PipeWireStream(request(.node(source.node), modifiers, rate: rate), stop: stop)
    }

    private func request(
        _ target: PipeWireStream.Request.Target,
        _ modifiers: [UInt64] = [],
        rate: Rational? = nil
    ) -> PipeWireStream.Request {
        PipeWireStream.Request(target, frameRate: rate, modifiers: modifiers, remote: rig.socket)
    }

    private func error(_ body: () throws -> Void) -> MediaError? {
        do {
            try body()
            return nil
        } catch {
            return error as? MediaError
        }
    }

    // MARK: - Pictures

    struct Kind: Sendable, CustomTestStringConvertible {
        var settings: [String]
        var format: PixelFormat
        var isCopied: Bool
        var testDescription: String { settings.joined(separator: " ") }
    }

    @Test(
        "delivers exact pictures of every format and memory",
        arguments: [
            Kind(settings: ["format=BGRx", "memory=shared"], format: .bgra, isCopied: true),
            Kind(settings: ["format=BGRA", "memory=sealed", "padding=32"], format: .bgra, isCopied: false),
            Kind(settings: ["format=NV12", "memory=sealed", "padding=64"], format: .nv12, isCopied: false),
            Kind(settings: ["format=NV12", "memory=unsealed"], format: .nv12, isCopied: true),
            Kind(settings: ["format=YUY2", "memory=unsealed", "padding=16"], format: .yuy2, isCopied: true),
            Kind(settings: ["format=I420", "memory=shared", "padding=8"], format: .i420, isCopied: true),
        ]
    )
    func pictures(kind: Kind) throws {
        let source = try rig.source(kind.settings)
        let stream = try open(source)
        #expect(stream.stream.width == 64 && stream.stream.height == 48 && stream.stream.frameRate == 50)
        var sequence = PatternSequence()
        for _ in 0..<20 {
            let picture = try stream.read()
            #expect(try sequence.check(picture) == nil)
            #expect(picture.buffer.format == kind.format)
        }
        #expect(stream.copies == (kind.isCopied ? 20 : 0))
        #expect(stream.usesSourceTime)
    }

    @Test("keeps pictures that are held, and the source goes on")
    func held() throws {
        let source = try rig.source(["memory=sealed", "rate=200"])
        var stream: PipeWireStream? = try open(source)
        var pictures: [CapturedPicture] = []
        var sequence = PatternSequence()
        while pictures.count < 40, let picture = try stream?.read() {
            #expect(try sequence.check(picture) == nil)
            pictures.append(picture)
        }
        let copies = try #require(stream?.copies)
        #expect(copies > 20 && copies < 40)
        var again = PatternSequence()
        for picture in pictures { #expect(try again.check(picture) == nil) }

        pictures.removeFirst(30)
        let released = try #require(stream?.copies)
        for _ in 0..<5 { _ = try stream?.read() }
        #expect(stream?.copies == released)

        stream = nil
        source.end()
        var last = PatternSequence()
        for picture in pictures { #expect(try last.check(picture) == nil) }
        pictures = []
        #expect(Self.mappedPictures() == 0)
    }

    /// The memory files of sources that this process has open.
    private static func mappedPictures() -> Int {
        guard let folder = opendir("/proc/self/fd") else { return -1 }
        defer { closedir(folder) }
        var count = 0
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            var target = [CChar](repeating: 0, count: 256)
            guard readlink("/proc/self/fd/\(name)", &target, 255) > 0 else { continue }
            if target.starts(with: "/memfd:picture".utf8CString.dropLast()) { count += 1 }
        }
        return count
    }

    @Test("releases pictures on other threads")
    func otherThreads() throws {
        let source = try rig.source(["memory=sealed", "rate=200"])
        let stream = try open(source)
        var sequence = PatternSequence()
        for _ in 0..<100 {
            let picture = try stream.read()
            #expect(try sequence.check(picture) == nil)
            try PlainThread.start(name: "release") { withExtendedLifetime(picture) {} }
        }
        #expect(stream.copies < 50)
    }

    @Test("counts pictures that are lost, damaged or empty", arguments: ["lose=3", "corrupt=4", "empty=5"])
    func lost(setting: String) throws {
        let source = try rig.source([setting, "memory=sealed"])
        let stream = try open(source)
        var sequence = PatternSequence()
        for _ in 0..<24 { #expect(try sequence.check(stream.read()) == nil) }
        #expect(sequence.lost >= 4)
    }

    @Test("respects the valid part", arguments: ["BGRx", "NV12", "YUY2", "I420"])
    func crop(format: String) throws {
        let source = try rig.source(["format=\(format)", "crop=20x16+6+4", "memory=sealed"])
        let stream = try open(source)
        var sequence = PatternSequence()
        for _ in 0..<5 {
            let picture = try stream.read()
            #expect(picture.buffer.width == 20 && picture.buffer.height == 16)
            #expect(try sequence.check(picture, x: 6, y: 4) == nil)
        }
        #expect(stream.stream.width == 20 && stream.stream.height == 16)
    }

    @Test("reports pictures that are rotated")
    func rotated() throws {
        let source = try rig.source(["transform=1"])
        let stream = try open(source)
        let error = error { _ = try stream.read() }
        #expect(error?.code == .unsupported && error?.remedies.isEmpty == false)
    }

    @Test("uses the arrival if the source has no times of the clock", arguments: ["time=zero", "time=none"])
    func arrival(setting: String) throws {
        let source = try rig.source([setting])
        let stream = try open(source)
        var last = MonotonicClock.now.value
        for _ in 0..<5 {
            let time = try stream.read().time.value
            #expect(time > last && time <= MonotonicClock.now.value)
            last = time
        }
        #expect(!stream.usesSourceTime)
    }

    @Test("follows another size", arguments: ["shared", "sealed"])
    func resize(memory: String) throws {
        let source = try rig.source(["memory=\(memory)", "resize=10:96x32", "rate=25"])
        let stream = try open(source)
        var old: [CapturedPicture] = []
        var picture = try stream.read()
        while picture.buffer.width == 64 {
            old.append(picture)
            picture = try stream.read()
        }
        #expect(!old.isEmpty)
        #expect(stream.stream.width == 96 && stream.stream.height == 32)
        var sequence = PatternSequence()
        for _ in 0..<5 {
            #expect(try sequence.check(picture) == nil)
            picture = try stream.read()
        }
        // Those of the old size are in memory that the stream does not have any more.
        var before = PatternSequence()
        for picture in old { #expect(try before.check(picture) == nil) }
    }

    // MARK: - DMA-BUFs

    @Test("agrees on a modifier and delivers DMA-BUFs")
    func modifiers() throws {
        let source = try rig.source(["memory=dmabuf", "modifiers=0x100000000000002,0"])
        let stream = try open(source, [3, 0])
        var sequence = PatternSequence()
        for _ in 0..<20 {
            let picture = try stream.read()
            guard case .dmaBuf(let buffer) = picture.buffer.storage else {
                Issue.record("not a DMA-BUF")
                return
            }
            #expect(buffer.modifier == 0)
            #expect(try sequence.check(picture) == nil)
        }
        #expect(stream.copies == 0)
        #expect(source.program.line() == "format BGRx dmabuf")
    }

    @Test("keeps tiled DMA-BUFs, which the CPU cannot read")
    func tiled() throws {
        let source = try rig.source(["memory=dmabuf", "modifiers=0,0x100000000000002"])
        let stream = try open(source, [0x100_0000_0000_0002])
        for _ in 0..<5 {
            let picture = try stream.read()
            guard case .dmaBuf(let buffer) = picture.buffer.storage else {
                Issue.record("not a DMA-BUF")
                return
            }
            #expect(buffer.modifier == 0x100_0000_0000_0002 && !picture.buffer.isMapped)
        }
    }

    @Test("changes to other memory when it is asked to, and what is held stays")
    func otherMemory() throws {
        let source = try rig.source(["memory=dmabuf", "modifiers=0", "also=sealed"])
        let stream = try open(source, [0])
        var sequence = PatternSequence()
        var held: [CapturedPicture] = []
        for _ in 0..<3 { held.append(try stream.read()) }
        for picture in held { #expect(try sequence.check(picture) == nil) }
        #expect(held.allSatisfy { isDMABuf($0) })
        var picture = held[0]
        while isDMABuf(picture) {
            try stream.avoidDMABufs()
            picture = try stream.read()
            #expect(try sequence.check(picture) == nil)
        }
        for _ in 0..<20 {
            try stream.avoidDMABufs()
            picture = try stream.read()
            #expect(!isDMABuf(picture))
            #expect(try sequence.check(picture) == nil)
        }
        #expect(source.program.lines() == ["format BGRx dmabuf", "format BGRx memory"])
        var again = PatternSequence()
        for picture in held { #expect(try again.check(picture) == nil) }
    }

    @Test("goes on with DMA-BUFs if the source has nothing else")
    func noOtherMemory() throws {
        let source = try rig.source(["memory=dmabuf", "modifiers=0"])
        let stream = try open(source, [0])
        var sequence = PatternSequence()
        for _ in 0..<10 {
            try stream.avoidDMABufs()
            let picture = try stream.read()
            #expect(isDMABuf(picture))
            #expect(try sequence.check(picture) == nil)
        }
        #expect(source.program.lines() == ["format BGRx dmabuf"])
    }

    @Test("copies DMA-BUFs rather than leave the source without buffers, and says so")
    func heldDMABufs() throws {
        let source = try rig.source(["memory=dmabuf", "modifiers=0", "rate=200"])
        let stream = try open(source, [0])
        var sequence = PatternSequence()
        var pictures: [CapturedPicture] = []
        for _ in 0..<40 {
            pictures.append(try stream.read())
            #expect(try sequence.check(pictures.last ?? pictures[0]) == nil)
        }
        #expect(pictures.allSatisfy { $0.isCopy != isDMABuf($0) })
        #expect(stream.copies == pictures.filter(\.isCopy).count && stream.copies > 0 && stream.copies < 40)
        pictures = []
        for _ in 0..<5 { #expect(try !stream.read().isCopy) }
    }

    private func isDMABuf(_ picture: CapturedPicture) -> Bool {
        if case .dmaBuf = picture.buffer.storage { true } else { false }
    }

    @Test("falls back to shared memory without a common modifier")
    func noModifier() throws {
        let source = try rig.source(["memory=sealed", "modifiers=7"])
        let stream = try open(source, [0])
        var sequence = PatternSequence()
        for _ in 0..<5 { #expect(try sequence.check(stream.read()) == nil) }
        #expect(source.program.line() == "format BGRx memory")
    }

    // MARK: - Sources

    @Test("lists the sources")
    func list() throws {
        let first = try rig.source(["name=first"])
        let second = try rig.source(["name=second", "class=Stream/Output/Video"])
        let nodes = try PipeWireNode.list(remote: rig.socket, stop: stop)
        #expect(nodes.map(\.name).sorted() == ["first", "second"])
        #expect(Set(nodes.map(\.id)) == [first.node, second.node])
        #expect(nodes.allSatisfy { $0.description == "Moving pattern" })
    }

    @Test("finds a source by its name, or the preferred one")
    func names() throws {
        let source = try rig.source(["name=pattern"])
        for target in [PipeWireStream.Request.Target.named("pattern"), .preferred] {
            let stream = try PipeWireStream(request(target), stop: stop)
            #expect(stream.node.id == source.node)
            _ = try stream.read()
        }
    }

    @Test("says what there is instead of a source that is missing")
    func missing() throws {
        let none = error { _ = try PipeWireStream(request(.preferred), stop: stop) }
        #expect(none?.code == .unavailable)
        let source = try rig.source(["name=pattern"])
        let wrong = error { _ = try PipeWireStream(request(.node(99_999)), stop: stop) }
        #expect(wrong?.code == .unavailable && wrong?.allowed?.contains("\(source.node) (pattern)") == true)
        let server = error { _ = try PipeWireNode.list(remote: rig.folder + "/nothing", stop: stop) }
        #expect(server?.code == .unavailable && server?.remedies.isEmpty == false)
    }

    @Test("says which formats a source has, if none is supported")
    func formats() throws {
        let source = try rig.source(["format=RGBx"])
        let error = error { _ = try open(source) }
        #expect(error?.code == .unsupported)
        #expect(error?.given?.contains("RGBx") == true && error?.allowed?.contains("BGRx") == true)
    }

    @Test("says that a source cannot be used without DMA-BUFs")
    func onlyDMABufs() throws {
        let source = try rig.source(["memory=dmabuf", "modifiers=0"])
        let error = error { _ = try open(source) }
        #expect(error?.code == .unsupported && error?.message.contains("DMA-BUF") == true)
    }

    @Test("explains that nothing links it with the source")
    func noManager() throws {
        let source = try rig.source()
        rig.killManager()
        var request = request(.node(source.node))
        request.startLimit = 500
        let error = error { _ = try PipeWireStream(request, stop: stop) }
        #expect(error?.code == .unavailable && error?.remedies.first?.contains("wireplumber") == true)
    }

    // MARK: - Ends

    @Test("gives back all buffers at its end, for any number of openings", arguments: ["sealed", "shared"])
    func reopened(memory: String) throws {
        let source = try rig.source(["memory=\(memory)", "rate=200"])
        let hasEnded = try StopSignal()
        let signal = stop
        try PlainThread.start(name: "watchdog") {
            guard (try? hasEnded.wait(for: [], until: 120_000)) != nil else { return }
            signal.stop()
        }
        defer { hasEnded.stop() }
        for attempt in 0..<40 {
            let stream = try open(source)
            // The last picture is released, but its buffer has not returned; others wait to be read.
            for _ in 0..<(1 + attempt % 3) { _ = try stream.read() }
            if attempt % 4 == 0 { usleep(30_000) }
        }
        let stream = try open(source)
        var sequence = PatternSequence()
        for _ in 0..<20 { #expect(try sequence.check(stream.read()) == nil) }
    }

    @Test("reports a source that ends")
    func sourceEnds() throws {
        let source = try rig.source(["memory=sealed"])
        let stream = try open(source)
        let picture = try stream.read()
        source.end()
        let end = error { while true { _ = try stream.read() } }
        #expect(end?.code == .unavailable)
        #expect(error { _ = try stream.read() } == end)
        #expect(try Pattern.number(picture.buffer) != nil)
    }

    @Test("reports a server that ends")
    func serverEnds() throws {
        let source = try rig.source()
        let stream = try open(source)
        _ = try stream.read()
        rig.killServer()
        let end = error { while true { _ = try stream.read() } }
        #expect(end?.code == .unavailable)
    }

    @Test("ends its waits with the stop signal")
    func stopped() throws {
        // It leaves out every picture.
        let source = try rig.source(["lose=1"])
        let stream = try open(source)
        let thread = Self.thread
        let signal = stop
        try PlainThread.start(name: "stopper") {
            _ = Patience.block { Self.isAsleep(thread) }
            signal.stop()
        }
        #expect(error { _ = try stream.read() }?.code == .cancelled)
        #expect(error { _ = try open(source) }?.code == .cancelled)
    }

    /// The folder of the calling thread in `/proc`.
    private static var thread: String {
        var target = [CChar](repeating: 0, count: 256)
        let count = readlink("/proc/thread-self", &target, 255)
        return "/proc/" + String(decoding: target.prefix(max(count, 0)).map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    private static func isAsleep(_ thread: String) -> Bool {
        guard let file = fopen("\(thread)/stat", "re") else { return false }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 1024)
        guard fgets(&line, 1024, file) != nil else { return false }
        return line.lastIndex(of: CChar(UInt8(ascii: ")"))).map { line[$0 + 2] == CChar(UInt8(ascii: "S")) } ?? false
    }

    @Test("is opened again by a reader when the source is back")
    func reader() async throws {
        let request = request(.named("pattern"))
        var source: PictureSource? = try rig.source(["name=pattern"])
        let reader = try DeviceReader<PictureStream, Int>(name: "reader") { stop throws(MediaError) in
            let stream = try PipeWireStream(request, stop: stop)
            return (stream.stream, { () throws(MediaError) in try stream.read().buffer.width })
        }
        var events: [String] = []
        while events.filter({ $0 == "opened" }).count < 2 || events.last != "picture", let event = await reader.next() {
            switch event {
            case .opened: events.append("opened")
            case .item: if events.last != "picture" { events.append("picture") }
            case .gone:
                events.append("gone")
                source = try rig.source(["name=pattern"])
            case .failed(let error):
                Issue.record(error)
                return
            }
            if events == ["opened", "picture"] { source?.end() }
        }
        #expect(events == ["opened", "picture", "gone", "opened", "picture"])
        withExtendedLifetime(source) {}
    }
}
