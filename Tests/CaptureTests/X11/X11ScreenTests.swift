// SPDX-License-Identifier: GPL-2.0-or-later

import Glibc
import MediaTypes
import Synchronization
import TestSupport
import Testing

@testable import Capture

/// A server, a program that draws, and a screen that is captured.
struct X11Rig {
    let server: X11TestServer
    let client: X11TestClient
    let stop: StopSignal

    init(width: Int = 320, height: Int = 240, _ arguments: [String] = []) throws {
        server = try X11TestServer(width: width, height: height, arguments)
        client = try X11TestClient(server)
        stop = try StopSignal()
    }

    func screen(
        _ area: X11Screen.Request.Area = .screen,
        drawsCursor: Bool = false,
        rate: Rational = 240
    ) throws -> X11Screen {
        let request = X11Screen.Request(
            display: server.display,
            area: area,
            drawsCursor: drawsCursor,
            frameRate: rate
        )
        let screen = try X11Screen(request, stop: stop)
        // A review would mend what the tests look for.
        screen.reviewPeriod = .max
        return screen
    }

    /// Fills areas of random places, sizes and colours, on the screen and on a canvas.
    func draw(_ count: Int, on canvas: inout X11Canvas, _ random: inout SystemRandomNumberGenerator) {
        for _ in 0..<count {
            let x = Int.random(in: 0..<canvas.width, using: &random)
            let y = Int.random(in: 0..<canvas.height, using: &random)
            let area = (
                x, y, Int.random(in: 1...canvas.width - x, using: &random),
                Int.random(in: 1...max(1, (canvas.height - y) / 4), using: &random)
            )
            let color = UInt32.random(in: 0...0xff_ffff, using: &random)
            client.fill(area, color)
            canvas.fill(area, color)
        }
    }
}

/// Reads until a picture shows a canvas: a server may tell what was drawn a little later.
///
/// - Returns: The picture, and the number of pictures that were lost up to it.
@discardableResult
func expectX11(
    _ screen: X11Screen,
    shows canvas: X11Canvas,
    _ what: String = "",
    _ location: SourceLocation = #_sourceLocation
) throws -> CapturedPicture {
    let end = ContinuousClock.now + Patience.limit
    while true {
        let picture = try screen.read()
        let seen = try X11Canvas(picture.buffer)
        if seen == canvas { return picture }
        try #require(.now < end, "\(what): \(seen.difference(canvas))", sourceLocation: location)
    }
}

@Suite(.blocks, .serialized) struct X11ScreenTests {
    @Test func picturesAreExact() throws {
        let rig = try X11Rig()
        var canvas = X11Canvas(width: 320, height: 240, 0x20_4060)
        rig.client.fill((0, 0, 320, 240), 0x20_4060)
        let screen = try rig.screen()
        #expect(screen.stream == PictureStream(width: 320, height: 240, frameRate: 240, format: "BGRA"))
        var random = SystemRandomNumberGenerator()
        for round in 0..<60 {
            rig.draw(round % 5, on: &canvas, &random)
            let picture = try expectX11(screen, shows: canvas, "round \(round)")
            #expect(picture.buffer.format == .bgra)
            #expect(picture.buffer.color == .sRGB)
            guard case .sharedMemory = picture.buffer.storage else {
                Issue.record("the picture is in \(picture.buffer.storage.name)")
                return
            }
        }
        #expect(screen.usesSharedMemory)
    }

    /// The server writes into the memory, and whoever gets its descriptor can only read it, as a helper process does.
    @Test func theMemoryOfAPictureCanBeSharedForReading() throws {
        let rig = try X11Rig()
        rig.client.fill((0, 0, 320, 240), 0x12_3456)
        let picture = try expectX11(try rig.screen(), shows: X11Canvas(width: 320, height: 240, 0x12_3456))
        guard case .sharedMemory(let memory) = picture.buffer.storage else {
            Issue.record("the picture is in \(picture.buffer.storage.name)")
            return
        }
        #expect(memory.byteCount == 320 * 240 * 4)
        #expect(memory.planes == [PlaneLayout(offset: 0, bytesPerRow: 320 * 4)])
        let (count, descriptor) = (memory.byteCount, memory.fileDescriptor)
        #expect(mmap(nil, count, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0) == MAP_FAILED)
        #expect(ftruncate(descriptor, 0) != 0)
        let mapping = mmap(nil, count, PROT_READ, MAP_SHARED, descriptor, 0)
        let base = try #require(mapping == MAP_FAILED ? nil : mapping)
        defer { munmap(base, count) }
        #expect(base.load(fromByteOffset: count - 4, as: UInt32.self) & 0xff_ffff == 0x12_3456)
    }

    @Test func nothingIsCopiedWhileNothingIsDrawn() throws {
        let rig = try X11Rig()
        rig.client.setCursor(red: 0xffff, green: 0, blue: 0)
        let screen = try rig.screen(drawsCursor: true)
        func address() throws -> UnsafeMutableRawPointer {
            try screen.read().buffer.withPlanes { $0[0].baseAddress }
        }
        // The server may tell late that there is something to copy at first.
        for _ in 0..<10 { _ = try screen.read() }
        let (first, copied) = (try address(), screen.copiedRows)
        for _ in 0..<60 { #expect(try address() == first) }
        #expect(screen.copiedRows == copied)
        screen.reviewPeriod = 0
        for _ in 0..<3 { _ = try screen.read() }
        #expect(screen.copiedRows == copied + 3 * 240)
    }

    @Test func onlyTheRowsThatWereDrawnAreCopied() throws {
        let rig = try X11Rig(width: 320, height: 2000)
        var canvas = X11Canvas(width: 320, height: 2000)
        rig.client.fill((0, 0, 320, 2000), 0)
        rig.client.setCursor(red: 0xffff, green: 0, blue: 0)
        rig.client.point(x: 100, y: 1800)
        canvas.fill((95, 1797, 16, 16), 0xff_0000)
        let screen = try rig.screen(drawsCursor: true)
        try expectX11(screen, shows: canvas)
        let before = screen.copiedRows
        for round in 0..<20 {
            rig.client.fill((3, 700, 5, 4), UInt32(round))
            canvas.fill((3, 700, 5, 4), UInt32(round))
            try expectX11(screen, shows: canvas)
        }
        // Segments take turns while the reader holds one, and begin empty. Each time, what was drawn and what the cursor
        // covered is copied, and again where the server told of it late.
        #expect(screen.copiedRows - before <= 2 * 2000 + 40 * (4 + 16))
    }

    @Test func aRegionIsThatPartOfTheScreen() throws {
        let rig = try X11Rig()
        var canvas = X11Canvas(width: 320, height: 240)
        var random = SystemRandomNumberGenerator()
        rig.client.fill((0, 0, 320, 240), 0)
        rig.draw(40, on: &canvas, &random)
        let area = (x: 31, y: 17, width: 101, height: 77)
        let screen = try rig.screen(.region(x: 31, y: 17, width: 101, height: 77))
        #expect(screen.stream.width == 101)
        #expect(screen.stream.height == 77)
        for round in 0..<30 {
            rig.draw(2, on: &canvas, &random)
            try expectX11(screen, shows: canvas.part(area), "round \(round)")
        }
    }

    @Test func aMonitorIsFoundByItsName() throws {
        let rig = try X11Rig()
        let display = try X11Display.survey(rig.server.display, stop: rig.stop)
        #expect((display.width, display.height) == (320, 240))
        let monitor = try #require(display.monitors.first)
        #expect((monitor.x, monitor.y, monitor.width, monitor.height) == (0, 0, 320, 240))
        rig.client.fill((0, 0, 320, 240), 0x11_2233)
        try expectX11(try rig.screen(.monitor(monitor.name)), shows: X11Canvas(width: 320, height: 240, 0x11_2233))
        let error = #expect(throws: MediaError.self) { try rig.screen(.monitor("DP-7")) }
        #expect(error?.code == .unavailable)
        #expect(error?.given == "DP-7")
        #expect(error?.allowed == monitor.name)
    }

    @Test func aHeldPictureStaysAsItWasAndOutlivesItsDevice() throws {
        let rig = try X11Rig()
        var screen: X11Screen? = try rig.screen()
        var held: [(picture: CapturedPicture, canvas: X11Canvas)] = []
        func show(_ color: UInt32) throws -> (picture: CapturedPicture, canvas: X11Canvas) {
            rig.client.fill((0, 0, 320, 240), color)
            let canvas = X11Canvas(width: 320, height: 240, color)
            return (try expectX11(try #require(screen), shows: canvas), canvas)
        }
        for round in 0..<UInt32(X11Memory.limit - 1) { held.append(try show(0x10_2030 * round)) }
        for color: UInt32 in 1...50 { _ = try show(color) }
        for (picture, canvas) in held { #expect(try X11Canvas(picture.buffer) == canvas) }
        weak let device = screen
        screen = nil
        #expect(device == nil)
        rig.server.end(SIGTERM)
        for (picture, canvas) in held { #expect(try X11Canvas(picture.buffer) == canvas) }
    }

    @Test func aReaderThatHoldsAllMemoryLosesPictures() throws {
        let rig = try X11Rig()
        let screen = try rig.screen(rate: 100)
        let held = try hold(X11Memory.limit, of: screen, rig)
        rig.client.fill((0, 0, 320, 240), 0xff_ffff)
        let begin = MonotonicClock.now
        try PlainThread.start(name: "vt-release") {
            _ = Patience.block { (MonotonicClock.now - begin).seconds > 0.1 }
            held.withLock { _ = $0.removeFirst() }
        }
        let picture = try screen.read()
        #expect((picture.time - begin).seconds > 0.1)
        #expect(picture.lostBefore >= 5)
        try expectX11(screen, shows: X11Canvas(width: 320, height: 240, 0xff_ffff))
        for (color, picture) in zip(UInt32(1)..., held.withLock { $0 }) {
            #expect(try X11Canvas(picture.buffer) == X11Canvas(width: 320, height: 240, color))
        }
    }

    @Test(arguments: [false, true]) func aStopEndsTheWaitForMemoryOrAServerThatHangs(isHanging: Bool) throws {
        let rig = try X11Rig()
        rig.client.setCursor(red: 0xffff, green: 0, blue: 0)
        let screen = try rig.screen(drawsCursor: isHanging)
        let held = isHanging ? nil : try hold(X11Memory.limit, of: screen, rig)
        rig.client.fill((0, 0, 320, 240), 0xff_ffff)
        if isHanging { rig.server.signal(SIGSTOP) }
        let (stop, begin) = (rig.stop, MonotonicClock.now)
        try PlainThread.start(name: "vt-stop") {
            _ = Patience.block { (MonotonicClock.now - begin).seconds > 0.1 }
            stop.stop()
        }
        // Without the stop, this does not end.
        let error = #expect(throws: MediaError.self) { while true { _ = try screen.read() } }
        #expect(error?.code == .cancelled)
        withExtendedLifetime(held) {}
        #expect(throws: MediaError.self) { try screen.read() }
    }

    @Test func aStopEndsTheWaitForTheNextSlot() throws {
        func waited() throws -> Double {
            let rig = try X11Rig()
            let screen = try rig.screen(rate: 1)
            _ = try screen.read()
            rig.stop.stop()
            let begin = MonotonicClock.now
            let error = #expect(throws: MediaError.self) { try screen.read() }
            #expect(error?.code == .cancelled)
            return (MonotonicClock.now - begin).seconds
        }
        // Once is enough: a busy machine may take as long as the wait would.
        #expect(try (0..<5).contains { _ in try waited() < 0.9 })
    }

    @Test func timesKeepTheSchedule() throws {
        let rig = try X11Rig()
        let screen = try rig.screen(rate: 60)
        let first = try screen.read()
        var (slot, last) = (0, first.time)
        for number in 0..<120 {
            rig.client.fill((0, 0, 320, 240), UInt32(number))
            let picture = try screen.read()
            #expect(picture.time > last)
            slot += 1 + picture.lostBefore
            last = picture.time
            let late = (last - first.time).seconds - Double(slot) / 60
            // The first picture takes a part of its period; later ones begin in their slot and may be answered late.
            #expect((-0.5...1).contains(late), "picture \(number) in slot \(slot) is late by \(late) s")
        }
        #expect((MonotonicClock.now - last).seconds < 60)
    }

    @Test func aServerThatEndsIsUnavailable() throws {
        let rig = try X11Rig()
        let screen = try rig.screen()
        _ = try screen.read()
        rig.server.end(SIGKILL)
        let error = #expect(throws: MediaError.self) { while true { _ = try screen.read() } }
        #expect(error?.code == .unavailable)
        #expect(error?.given == rig.server.display)
        let again = #expect(throws: MediaError.self) { try screen.read() }
        #expect(again == error)
    }

    @Test func aScreenThatShrinksChangesTheStream() throws {
        let rig = try X11Rig()
        let screen = try rig.screen()
        let region = try rig.screen(.region(x: 200, y: 100, width: 100, height: 100))
        let held = try screen.read()
        _ = try region.read()
        try rig.client.setScreen(width: 256, height: 200)
        rig.client.fill((0, 0, 256, 200), 0x12_3456)
        try expectX11(screen, shows: X11Canvas(width: 256, height: 200, 0x12_3456))
        #expect((screen.stream.width, screen.stream.height) == (256, 200))
        #expect((held.buffer.width, held.buffer.height) == (320, 240))
        _ = try X11Canvas(held.buffer)
        let error = #expect(throws: MediaError.self) { while true { _ = try region.read() } }
        #expect(error?.code == .unavailable)
        #expect(error?.allowed == "within 256x200")
    }

    /// A server that cannot have the memory of this process, as one on another machine, sends the pictures.
    @Test func aServerBehindANetworkSendsThePictures() throws {
        let rig = try X11Rig(["-listen", "tcp", "-ac"])
        let request = X11Screen.Request(display: "127.0.0.1\(rig.server.display)", drawsCursor: false, frameRate: 240)
        let screen = try X11Screen(request, stop: rig.stop)
        screen.reviewPeriod = .max
        var canvas = X11Canvas(width: 320, height: 240)
        rig.client.fill((0, 0, 320, 240), 0)
        var random = SystemRandomNumberGenerator()
        for round in 0..<20 {
            rig.draw(2, on: &canvas, &random)
            try expectX11(screen, shows: canvas, "round \(round)")
        }
        #expect(!screen.usesSharedMemory)
    }

    @Test(arguments: [false, true]) func ffmpegSeesTheSame(withCursor: Bool) throws {
        let rig = try X11Rig(width: 322, height: 241)
        var canvas = X11Canvas(width: 322, height: 241)
        var random = SystemRandomNumberGenerator()
        rig.client.setCursor(red: 0xffff, green: 0x8080, blue: 0x1111)
        rig.client.point(x: 315, y: 120)
        rig.client.fill((0, 0, 322, 241), 0)
        rig.draw(50, on: &canvas, &random)
        let screen = try rig.screen(drawsCursor: withCursor)
        let buffer = try screen.read().buffer
        let bytes = try buffer.withPlanes { planes in
            (0..<241).flatMap { (row: Int) -> [UInt8] in
                let line = planes[0].baseAddress + row * planes[0].bytesPerRow
                return [UInt8](UnsafeRawBufferPointer(start: line, count: 322 * 4))
            }
        }
        let other = try x11Output(
            "ffmpeg -nostdin -loglevel error -f x11grab -draw_mouse \(withCursor ? 1 : 0) -video_size 322x241"
                + " -i \(rig.server.display) -frames:v 1 -f rawvideo -pix_fmt bgr0 -"
        )
        #expect(other.count == bytes.count)
        #expect(zip(bytes, other).enumerated().count { $1.0 != $1.1 } == 0)
        #expect((try X11Canvas(buffer) == canvas) == !withCursor)
    }

    /// Takes pictures with the colours 0, 1, 2, ...
    private func hold(_ count: Int, of screen: X11Screen, _ rig: X11Rig) throws -> X11Held {
        let held = X11Held()
        for color in 0..<UInt32(count) {
            rig.client.fill((0, 0, 320, 240), color)
            // What is not kept would be waited for.
            let picture = try expectX11(screen, shows: X11Canvas(width: 320, height: 240, color))
            held.withLock { $0.append(picture) }
        }
        return held
    }
}

/// Pictures that are in use.
final class X11Held: Sendable {
    private let pictures = Mutex<[CapturedPicture]>([])

    func withLock<Result>(_ body: (inout sending [CapturedPicture]) throws -> sending Result) rethrows -> sending Result
    {
        try pictures.withLock(body)
    }
}
