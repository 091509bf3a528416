// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import Testing

@testable import Capture

@Suite(.blocks) struct X11ValueTests {
    @Test func picturesAreDueAtMultiplesOfThePeriod() {
        var schedule = X11Schedule(rate: Rational(30000, 1001))
        let start: Int64 = 5_000_000_123
        #expect(schedule.due(at: start) == start)
        #expect(schedule.take(at: start) == 0)
        var now = start
        for number in 1...100_000 {
            now = schedule.due(at: now)
            let exact = Double(number) * 1001 / 30000 * 1e9
            #expect(abs(Double(now - start) - exact) < 2)
            #expect(schedule.take(at: now) == 0)
        }
    }

    @Test func slotsThatAreMissedAreCounted() {
        var schedule = X11Schedule(rate: 100)
        #expect(schedule.take(at: 0) == 0)
        // Late within the slot.
        #expect(schedule.take(at: 14_000_000) == 0)
        #expect(schedule.due(at: 14_000_001) == 20_000_000)
        // The slots 2 and 3 have passed.
        #expect(schedule.due(at: 43_000_000) == 40_000_000)
        #expect(schedule.take(at: 43_000_000) == 2)
        #expect(schedule.due(at: 43_000_001) == 50_000_000)
        // A reader that asks again at once does not get the same slot twice.
        #expect(schedule.take(at: 43_000_002) == 0)
        #expect(schedule.due(at: 43_000_003) == 60_000_000)
    }

    @Test func staleRowsAreTrackedForEachSegment() {
        var stale = X11StaleRows(height: 100)
        stale.add()
        stale.add()
        #expect(stale.rows(0) == [0..<100])
        stale.refresh(0, covered: 0..<0)
        #expect(stale.rows(0) == [])
        stale.change(20..<30)
        stale.refresh(1, covered: 90..<95)
        #expect(stale.rows(0) == [20..<30])
        #expect(stale.rows(1) == [90..<95])
        // What the cursor covered is copied apart from the rest, unless they touch.
        stale.change(10..<12)
        #expect(stale.rows(0) == [10..<30])
        #expect(stale.rows(1) == [10..<12, 90..<95])
        #expect(stale.count(1) == 7)
        stale.change(80..<90)
        #expect(stale.rows(1) == [10..<95])
    }

    @Test func aSourceKnowsTheRowsThatAnAreaTouches() {
        let source = X11Source(
            drawable: 1,
            position: X11Area(x: 10, y: 20, width: 30, height: 40),
            area: X11Area(x: 10, y: 20, width: 30, height: 40),
            bytesPerRow: 120
        )
        func rows(_ x: Int, _ y: Int, _ width: Int, _ height: Int) -> Range<Int>? {
            source.rows(of: X11Area(x: x, y: y, width: width, height: height))
        }
        #expect(rows(0, 0, 10, 100) == nil)
        #expect(rows(40, 0, 10, 100) == nil)
        #expect(rows(0, 0, 100, 20) == nil)
        #expect(rows(0, 60, 100, 20) == nil)
        #expect(rows(0, 0, 11, 21) == 0..<1)
        #expect(rows(39, 59, 1, 9) == 39..<40)
        #expect(rows(0, 0, 1000, 1000) == 0..<40)
        #expect(rows(12, 25, 3, 5) == 5..<10)
    }

    @Test func aCursorIsBlendedWithItsAlpha() {
        #expect(X11Cursor.blend(0xff12_3456, over: 0x5500_00ff) == 0x5512_3456)
        #expect(X11Cursor.blend(0, over: 0xffab_cdef) == 0xffab_cdef)
        #expect(X11Cursor.blend(0x8080_0000, over: 0x00ff_ffff) == 0x00ff_7f7f)
        // Components above alpha are wrong, and do not overflow into others.
        #expect(X11Cursor.blend(0x01ff_ffff, over: 0x00ff_ffff) == 0x00ff_ffff)
    }

    @Test func aCursorOutsideThePictureHasNoPlace() throws {
        let cursor = X11Cursor(
            serial: 7,
            width: 4,
            height: 4,
            hotColumn: 1,
            hotRow: 2,
            pixels: [UInt32](repeating: 0xff00_0001, count: 16)
        )
        func place(_ x: Int, _ y: Int) -> X11Cursor.Placement? { cursor.placement(x: x, y: y, width: 20, height: 10) }
        #expect(place(-3, 5) == nil)
        #expect(place(21, 5) == nil)
        #expect(place(5, -2) == nil)
        #expect(place(5, 12) == nil)
        #expect(try #require(place(-2, 5)).rows(of: 10) == 3..<7)
        #expect(try #require(place(5, -1)).rows(of: 10) == 0..<1)
        #expect(try #require(place(20, 11)).rows(of: 10) == 9..<10)
    }

    @Test func aCursorAtABorderIsClipped() {
        let cursor = X11Cursor(
            serial: 1,
            width: 3,
            height: 3,
            hotColumn: 0,
            hotRow: 0,
            pixels: (1...9).map { 0xff00_0000 | $0 }
        )
        let area = X11Area(x: 0, y: 0, width: 4, height: 4)
        let source = X11Source(drawable: 1, position: area, area: area, bytesPerRow: 16)
        func draw(_ x: Int, _ y: Int) -> [UInt32] {
            var pixels = [UInt32](repeating: 0, count: 16)
            pixels.withUnsafeMutableBytes { bytes in
                guard let base = bytes.baseAddress else { return }
                cursor.draw(at: X11Area(x: x, y: y, width: 3, height: 3), into: base, source)
            }
            return pixels
        }
        #expect(draw(-2, -1) == [6, 0, 0, 0, 9] + [UInt32](repeating: 0, count: 11))
        #expect(draw(3, 2) == [UInt32](repeating: 0, count: 11) + [1, 0, 0, 0, 4])
        #expect(draw(4, 4) == [UInt32](repeating: 0, count: 16))
        #expect(draw(-3, -3) == [UInt32](repeating: 0, count: 16))
    }

    @Test func theDisplayIsNamedOrThatOfTheEnvironment() throws {
        #expect(try X11Refusal.displayName(":5", display: ":1", wayland: "wayland-0") == ":5")
        #expect(try X11Refusal.displayName(nil, display: ":1", wayland: "wayland-0") == ":1")
        let wayland = #expect(throws: MediaError.self) {
            try X11Refusal.displayName(nil, display: "", wayland: "wayland-0")
        }
        #expect(wayland?.code == .unavailable)
        #expect(wayland?.message.contains("PipeWire") == true)
        let none = #expect(throws: MediaError.self) { try X11Refusal.displayName(nil, display: "", wayland: "") }
        #expect(none?.code == .unavailable)
        #expect(none?.message.contains("DISPLAY") == true)
    }

    @Test func anExactTitleGoesBeforeAPartOfOne() {
        let windows = ["Editor", "Editor - notes", "Terminal"].enumerated().map { index, title in
            X11Display.Window(identifier: UInt32(index), title: title, width: 1, height: 1)
        }
        func found(_ title: String) -> [UInt32] {
            X11Connection.windows(titled: title, among: windows).map(\.identifier)
        }
        #expect(found("Editor") == [0])
        #expect(found("editor") == [0, 1])
        #expect(found("NOTES") == [1])
        #expect(found("none") == [])
    }

    @Test(arguments: [Rational(0), Rational(241), Rational(1, 2), Rational(-30), Rational(30, 0), Rational(30, -1)])
    func aFrameRateOutOfRangeIsRefused(rate: Rational) {
        let error = #expect(throws: MediaError.self) { try X11Screen.Request(frameRate: rate).validate() }
        #expect(error?.code == .invalidArgument)
        #expect(error?.allowed == "1...240")
    }
}
