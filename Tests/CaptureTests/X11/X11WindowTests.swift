// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import Testing

@testable import Capture

@Suite(.blocks, .serialized) struct X11WindowTests {
    @Test func aWindowIsFollowedAndNotWhatCoversIt() throws {
        let rig = try X11Rig()
        rig.client.fill((0, 0, 320, 240), 0x0000ff)
        let window = rig.client.window((20, 30, 100, 60), 0x10_2030, border: 3)
        let screen = try rig.screen(.window(window))
        #expect((screen.stream.width, screen.stream.height) == (100, 60))
        var canvas = X11Canvas(width: 100, height: 60, 0x10_2030)
        try expectX11(screen, shows: canvas)
        // Moved, also beyond the border of the screen, and covered.
        for (x, y) in [(150, 100), (280, 200), (-50, -20), (5, 5)] {
            rig.client.configure(window, x: x, y: y, width: 100, height: 60)
            let color = UInt32(0x40_0000 + abs(x))
            rig.client.fill((10, 10, 30, 20), color, in: window)
            canvas.fill((10, 10, 30, 20), color)
            try expectX11(screen, shows: canvas, "the window at \(x),\(y)")
        }
        let cover = rig.client.window((0, 0, 320, 240), 0xff_ffff)
        rig.client.fill((50, 5, 10, 10), 0x77_7777, in: window)
        canvas.fill((50, 5, 10, 10), 0x77_7777)
        try expectX11(screen, shows: canvas, "a covered window")
        rig.client.close(cover)
        try expectX11(screen, shows: canvas, "a window that is not covered any more")
    }

    @Test func aWindowThatIsResizedChangesTheStream() throws {
        let rig = try X11Rig()
        let window = rig.client.window((20, 30, 100, 60), 0x10_2030)
        let screen = try rig.screen(.window(window))
        let held = try expectX11(screen, shows: X11Canvas(width: 100, height: 60, 0x10_2030))
        for (width, height) in [(200, 33), (31, 150), (100, 60)] {
            rig.client.configure(window, x: 20, y: 30, width: width, height: height)
            let picture = try expectX11(screen, shows: X11Canvas(width: width, height: height, 0x10_2030))
            #expect((screen.stream.width, screen.stream.height) == (width, height))
            #expect((picture.buffer.width, picture.buffer.height) == (width, height))
        }
        #expect(try X11Canvas(held.buffer) == X11Canvas(width: 100, height: 60, 0x10_2030))
    }

    @Test func theCursorIsPlacedInTheWindow() throws {
        let rig = try X11Rig()
        rig.client.setCursor(red: 0xffff, green: 0, blue: 0)
        let window = rig.client.window((50, 60, 100, 80), 0x10_2030, border: 2)
        let screen = try rig.screen(.window(window), drawsCursor: true)
        for x in [90, 40, 150] {
            rig.client.configure(window, x: x, y: 60, width: 100, height: 80)
            rig.client.point(x: 145, y: 100)
            var canvas = X11Canvas(width: 100, height: 80, 0x10_2030)
            canvas.fill((145 - x - 2 - 5, 100 - 60 - 2 - 3, 16, 16), 0xff_0000)
            try expectX11(screen, shows: canvas, "the window at \(x)")
        }
    }

    @Test(arguments: [false, true]) func aWindowThatIsGoneIsUnavailable(isClosed: Bool) throws {
        let rig = try X11Rig()
        let window = rig.client.window((50, 60, 100, 80), 0x10_2030)
        let screen = try rig.screen(.window(window), drawsCursor: true)
        _ = try screen.read()
        if isClosed { rig.client.close(window) } else { rig.client.hide(window) }
        let error = #expect(throws: MediaError.self) { while true { _ = try screen.read() } }
        #expect(error?.code == .unavailable)
        #expect(error?.message.contains(isClosed ? "closed" : "not shown") == true)
        #expect(throws: MediaError.self) { try screen.read() }
        // So it is when it is opened.
        let other = #expect(throws: MediaError.self) { try rig.screen(.window(window)) }
        #expect(other == error)
    }

    @Test func aWindowIsFoundByItsTitle() throws {
        let rig = try X11Rig()
        let editor = rig.client.window((0, 0, 50, 40), 0x11_1111, title: "Éditeur – notes.txt")
        let player = rig.client.window((60, 0, 70, 30), 0x22_2222, title: "Player")
        _ = rig.client.window((60, 60, 20, 20), 0x33_3333, title: "Player – film")
        try expectX11(try rig.screen(.windowTitled("Player")), shows: X11Canvas(width: 70, height: 30, 0x22_2222))
        try expectX11(try rig.screen(.windowTitled("NOTES")), shows: X11Canvas(width: 50, height: 40, 0x11_1111))
        let several = #expect(throws: MediaError.self) { try rig.screen(.windowTitled("play")) }
        #expect(several?.code == .invalidArgument)
        #expect(several?.allowed?.contains("0x\(String(player, radix: 16))") == true)
        let none = #expect(throws: MediaError.self) { try rig.screen(.windowTitled("Browser")) }
        #expect(none?.code == .unavailable)
        #expect(none?.allowed?.contains("Éditeur – notes.txt") == true)
        // Those that a window manager lists, if there is one.
        #expect(try X11Display.survey(rig.server.display, stop: rig.stop).windows.count == 3)
        rig.client.setClients([editor])
        #expect(
            try X11Display.survey(rig.server.display, stop: rig.stop).windows == [
                X11Display.Window(identifier: editor, title: "Éditeur – notes.txt", width: 50, height: 40)
            ]
        )
    }
}
