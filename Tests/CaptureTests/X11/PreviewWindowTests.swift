// SPDX-License-Identifier: GPL-2.0-or-later

import CXCB
import MediaTypes
import Synchronization
import TestSupport
import Testing

@testable import Capture

/// The window of a preview, as its screen shows it.
@Suite(.blocks, .serialized) struct PreviewWindowTests {
    /// Two halves, left and right.
    private func picture(_ left: UInt32, _ right: UInt32, width: Int = 160, height: Int = 90) throws -> PixelBuffer {
        let picture = try PixelBuffer(.init(format: .bgra, width: width, height: height))
        try picture.withPlanes { planes in
            for row in 0..<height {
                let line = planes[0].baseAddress + row * planes[0].bytesPerRow
                for column in 0..<width {
                    line.storeBytes(of: column < width / 2 ? left : right, toByteOffset: column * 4, as: UInt32.self)
                }
            }
        }
        return picture
    }

    /// Whether two colours are the same but for rounding in limited range. Debian 12's libyuv also multiplies Cb by 2 where
    /// BT.709 has 2.11.
    private func close(_ one: UInt32, _ other: UInt32) -> Bool {
        [0, 8, 16].allSatisfy { abs(Int(one >> $0 & 0xff) - Int(other >> $0 & 0xff)) <= 16 }
    }

    /// Waits until points of the window have colours.
    private func expect(
        _ screen: X11Screen,
        shows points: [(x: Int, y: Int, color: UInt32)],
        of size: (Int, Int),
        _ location: SourceLocation = #_sourceLocation,
        offering: () throws -> Void = {}
    ) throws {
        let end = ContinuousClock.now + Patience.limit
        while true {
            try offering()
            let seen = try X11Canvas(screen.read().buffer)
            if (seen.width, seen.height) == size,
                points.allSatisfy({ close(seen.pixels[$0.y * seen.width + $0.x], $0.color) })
            {
                return
            }
            let colors = points.map {
                $0.x < seen.width && $0.y < seen.height ? String(seen.pixels[$0.y * seen.width + $0.x], radix: 16) : ""
            }
            try #require(.now < end, "\(seen.width)x\(seen.height) \(colors)", sourceLocation: location)
        }
    }

    private func shown(_ rig: X11Rig, title: String) throws -> X11Screen {
        var screen: X11Screen?
        #expect(
            Patience.block {
                screen = try? rig.screen(.windowTitled(title))
                return screen != nil
            }
        )
        return try #require(screen)
    }

    @Test func aPictureIsShownAsItIs() throws {
        let rig = try X11Rig()
        let window = try PreviewWindow(title: "what comes in", display: rig.server.display)
        let first = try picture(0xff20_4080, 0xffe0_c010)
        window.show(first)
        let screen = try shown(rig, title: "what comes in")
        try expect(screen, shows: [(20, 20, 0x20_4080), (140, 80, 0xe0_c010)], of: (160, 90))
        // Others follow; each only when the window is ready for it.
        let second = try picture(0xff00_ff00, 0xffff_00ff)
        try expect(screen, shows: [(20, 20, 0x00_ff00), (140, 80, 0xff_00ff)], of: (160, 90)) { window.show(second) }
    }

    /// The shape of pictures is kept in a window that is resized, and what others have covered is drawn again.
    @Test func theWindowFollowsItsSize() throws {
        let rig = try X11Rig()
        let window = try PreviewWindow(title: "preview", display: rig.server.display)
        let shown = try picture(0xff80_8080, 0xffff_ffff)
        window.show(shown)
        let screen = try self.shown(rig, title: "preview")
        try expect(screen, shows: [(20, 20, 0x80_8080)], of: (160, 90))
        let number = try #require(try X11Display.survey(rig.server.display, stop: rig.stop).windows.first).identifier
        rig.client.configure(number, x: 0, y: 0, width: 160, height: 190)
        // Bars of 50 rows are above and below.
        let points: [(x: Int, y: Int, color: UInt32)] = [
            (20, 20, 0), (20, 95, 0x80_8080), (140, 95, 0xff_ffff), (20, 170, 0),
        ]
        try expect(screen, shows: points, of: (160, 190)) { window.show(shown) }
    }

    @Test func largePicturesAreReducedAndSmallOnesAreNotEnlarged() throws {
        func size(_ width: Int, _ height: Int, _ ratio: Rational = .one) throws -> [Int] {
            var description = PixelBuffer.Description(format: .nv12, width: width, height: height)
            description.pixelAspectRatio = ratio
            let size = PreviewCanvas.size(for: try PixelBuffer(description))
            return [size.width, size.height]
        }
        #expect(try size(1920, 1080) == [960, 540])
        #expect(try size(1080, 1920) == [302, 540])
        #expect(try size(640, 480) == [640, 480])
        #expect(try size(720, 576, Rational(64, 45)) == [960, 540])
        #expect(try size(2, 2) == [16, 16])
        #expect(try size(8192, 16) == [960, 16])
    }

    /// Shows a picture in a window, and passes on the errors that it tells.
    private func withWindow(
        _ body: (X11Rig, PreviewWindow, PixelBuffer, _ errors: () -> [MediaError]) throws -> Void
    ) throws {
        let rig = try X11Rig()
        let errors = Mutex<[MediaError]>([])
        let window = try PreviewWindow(title: "preview", display: rig.server.display) { error in
            errors.withLock { $0.append(error) }
        }
        let picture = try picture(0xff12_3456, 0xff65_4321)
        window.show(picture)
        _ = try shown(rig, title: "preview")
        try body(rig, window, picture) { errors.withLock { $0 } }
    }

    @Test func aWindowThatIsClosedEndsNothingElse() throws {
        try withWindow { rig, window, picture, errors in
            let display = rig.server.display
            let number = try #require(try X11Display.survey(display, stop: rig.stop).windows.first).identifier
            rig.client.close(number)
            for _ in 0..<100 { window.show(picture) }
            #expect(Patience.block { (try? X11Display.survey(display, stop: rig.stop).windows.isEmpty) == true })
            #expect(errors().isEmpty)
        }
    }

    @Test func aServerThatEndsIsTold() throws {
        try withWindow { rig, window, picture, errors in
            rig.server.end(SIGKILL)
            #expect(
                Patience.block {
                    window.show(picture)
                    return !errors().isEmpty
                }
            )
            #expect(errors().map(\.code) == [.unavailable])
        }
    }

    @Test func withoutADisplayThereIsAnError() throws {
        let error = #expect(throws: MediaError.self) { try PreviewWindow(title: "", display: ":4711") }
        #expect(error?.code == .unavailable)
    }

    /// Whoever captures gets its pictures back.
    @Test func picturesAreNotKept() throws {
        let rig = try X11Rig()
        let window = try PreviewWindow(title: "preview", display: rig.server.display)
        weak var shown: PixelBuffer?
        try {
            let picture = try picture(0xff12_3456, 0xff65_4321)
            shown = picture
            window.show(picture)
        }()
        _ = try self.shown(rig, title: "preview")
        #expect(Patience.block { shown == nil })
        window.show(try picture(0xff12_3456, 0xff65_4321))
    }
}
