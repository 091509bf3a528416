// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import Testing

@testable import Capture

@Suite(.blocks, .serialized) struct X11CursorTests {
    @Test func theCursorIsDrawnWhereItPoints() throws {
        let rig = try X11Rig()
        rig.client.setCursor(red: 0xffff, green: 0x4040, blue: 0)
        rig.client.fill((0, 0, 320, 240), 0x20_4060)
        let screen = try rig.screen(drawsCursor: true)
        let places = [(100, 50), (101, 50), (0, 0), (319, 239), (2, 238), (318, 1), (160, 120)]
        for (x, y) in places {
            rig.client.point(x: x, y: y)
            var canvas = X11Canvas(width: 320, height: 240, 0x20_4060)
            canvas.fill((x - 5, y - 3, 16, 16), 0xff_4000)
            try expectX11(screen, shows: canvas, "the cursor at \(x),\(y)")
        }
    }

    @Test func whatIsDrawnUnderTheCursorAppearsWhenItMoves() throws {
        let rig = try X11Rig()
        rig.client.setCursor(red: 0, green: 0xffff, blue: 0)
        let screen = try rig.screen(drawsCursor: true)
        var under = X11Canvas(width: 320, height: 240)
        rig.client.fill((0, 0, 320, 240), 0)
        var random = SystemRandomNumberGenerator()
        for round in 0..<40 {
            let (x, y) = (Int.random(in: 0..<320), Int.random(in: 0..<240))
            rig.client.point(x: x, y: y)
            if round % 3 > 0 { rig.draw(round % 3, on: &under, &random) }
            var canvas = under
            canvas.fill((x - 5, y - 3, 16, 16), 0x00_ff00)
            try expectX11(screen, shows: canvas, "round \(round)")
        }
    }

    @Test func aCursorThatChangesItsShapeIsDrawnAnew() throws {
        let rig = try X11Rig()
        rig.client.fill((0, 0, 320, 240), 0x20_4060)
        rig.client.setCursor(red: 0xffff, green: 0, blue: 0)
        rig.client.point(x: 80, y: 80)
        let screen = try rig.screen(drawsCursor: true)
        for (red, green, color) in [(0xffff, 0, 0xff_0000), (0, 0xffff, 0x00_ff00), (0x8080, 0, 0x80_0000)] {
            rig.client.setCursor(red: UInt16(red), green: UInt16(green), blue: 0)
            var canvas = X11Canvas(width: 320, height: 240, 0x20_4060)
            canvas.fill((75, 77, 16, 16), UInt32(color))
            try expectX11(screen, shows: canvas)
        }
    }

    @Test func theCursorIsPlacedInARegionAndLeftOutOutsideIt() throws {
        let rig = try X11Rig()
        rig.client.setCursor(red: 0xffff, green: 0, blue: 0)
        rig.client.fill((0, 0, 320, 240), 0)
        let screen = try rig.screen(.region(x: 100, y: 60, width: 80, height: 40), drawsCursor: true)
        for (x, y) in [(120, 80), (101, 61), (50, 50), (179, 99), (185, 80)] {
            rig.client.point(x: x, y: y)
            var canvas = X11Canvas(width: 80, height: 40)
            canvas.fill((x - 105, y - 63, 16, 16), 0xff_0000)
            try expectX11(screen, shows: canvas, "the cursor at \(x),\(y)")
        }
    }
}
