// SPDX-License-Identifier: GPL-2.0-or-later

import Glibc
import MediaTypes
import Testing

@testable import Capture

@Suite(.blocks, .serialized) struct X11RefusalTests {
    private func refusal(_ display: String) throws -> MediaError? {
        let stop = try StopSignal()
        return #expect(throws: MediaError.self) { try X11Screen(X11Screen.Request(display: display), stop: stop) }
    }

    @Test func aDisplayWithoutAServerIsExplained() throws {
        let error = try refusal(":64999")
        #expect(error?.code == .unavailable)
        #expect(error?.message.contains("connection refused") == true)
        #expect(error?.given == ":64999")
    }

    @Test(arguments: ["nonsense", "", ":x"]) func aWrongNameIsExplained(name: String) throws {
        let error = try refusal(name)
        #expect(error?.allowed?.contains(":0") == true)
    }

    @Test func aServerThatWantsACookieIsExplained() throws {
        var template = Array("/tmp/vatoolbox-cookie-XXXXXX".utf8CString)
        let descriptor = mkstemp(&template)
        try #require(descriptor >= 0)
        let path = template.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" }
        defer { unlink(path) }
        let name = Array("MIT-MAGIC-COOKIE-1".utf8)
        let cookie = (0..<16).map { _ in UInt8.random(in: 0...255) }
        // Any address and any display: FamilyWild of Xauth.
        let entry: [UInt8] = [0xff, 0xff, 0, 0, 0, 0, 0, UInt8(name.count)] + name + [0, 16] + cookie
        #expect(write(descriptor, entry, entry.count) == entry.count)
        close(descriptor)
        let server = try X11TestServer(["-auth", path])
        let error = try refusal(server.display)
        #expect(error?.code == .unavailable)
        #expect(error?.message.contains("MIT-MAGIC-COOKIE") == true)
        #expect(error?.remedies.isEmpty == false)
    }

    @Test(arguments: [(-1, 0, 10, 10), (0, 0, 321, 10), (311, 0, 10, 10), (0, 231, 10, 10), (.max, .max, 10, 10)])
    func aRegionOutsideTheScreenIsRefused(x: Int, y: Int, width: Int, height: Int) throws {
        let rig = try X11Rig()
        let error = #expect(throws: MediaError.self) {
            try rig.screen(.region(x: x, y: y, width: width, height: height))
        }
        #expect(error?.code == .invalidArgument)
        #expect(error?.given == "\(width)x\(height) at \(x),\(y)")
        #expect(error?.allowed == "within 320x240")
    }

    @Test func anEmptyRegionIsRefused() throws {
        let request = X11Screen.Request(area: .region(x: 0, y: 0, width: 0, height: 5))
        let error = #expect(throws: MediaError.self) { try request.validate() }
        #expect(error?.code == .invalidArgument)
    }

    @Test func otherPixelsAreRefused() throws {
        let server = try X11TestServer(depth: 16)
        let error = try refusal(server.display)
        #expect(error?.code == .unsupported)
        #expect(error?.given?.contains("16 bits per pixel") == true)
    }

    @Test(arguments: ["DAMAGE", "MIT-SHM", "RANDR"]) func aServerWithoutAnExtensionWorks(name: String) throws {
        let rig = try X11Rig(["-extension", name])
        let screen = try rig.screen()
        for color: UInt32 in [0x11_2233, 0x44_5566] {
            rig.client.fill((0, 0, 320, 240), color)
            try expectX11(screen, shows: X11Canvas(width: 320, height: 240, color))
        }
        #expect(screen.usesSharedMemory == (name != "MIT-SHM"))
    }

    @Test func whatNeedsAnExtensionIsRefusedWithoutIt() throws {
        let plain = try X11Rig(["-extension", "Composite"])
        let window = plain.client.window((0, 0, 50, 40), 0x11_1111)
        let noWindow = #expect(throws: MediaError.self) { try plain.screen(.window(window)) }
        #expect(noWindow?.code == .unsupported)
        #expect(noWindow?.message.contains("Composite") == true)
        _ = try plain.screen().read()
        let bare = try X11Rig(["-extension", "XFIXES"])
        let noCursor = #expect(throws: MediaError.self) { try bare.screen(drawsCursor: true) }
        #expect(noCursor?.code == .unsupported)
        #expect(noCursor?.message.contains("XFixes") == true)
    }

    @Test func aWindowThatDoesNotExistIsUnavailable() throws {
        let rig = try X11Rig()
        let error = #expect(throws: MediaError.self) { try rig.screen(.window(0x00ff_fff0)) }
        #expect(error?.code == .unavailable)
        #expect(error?.given == "0xfffff0")
    }
}
