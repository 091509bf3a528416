// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import Testing

@testable import Capture

@Suite("Times of PipeWire", .blocks)
struct PipeWireTimingTests {
    @Test("are those of the source if they are on the clock")
    func source() {
        var timing = PipeWireTiming()
        let now: Int64 = 1_000_000_000_000
        #expect(timing.time(now - 5_000_000, arrival: now) == now - 5_000_000)
        #expect(timing.usesSourceTime)
        #expect(timing.time(now + 7_000_000, arrival: now) == now + 7_000_000)
        for other in [nil, 0, -1, 3_000_000, now * 2] as [Int64?] {
            let later = now + 20_000_000
            #expect(timing.time(other, arrival: later) >= later)
            #expect(!timing.usesSourceTime)
        }
    }

    @Test("increase")
    func order() {
        var timing = PipeWireTiming()
        let first = timing.time(nil, arrival: 100)
        #expect(timing.time(nil, arrival: 100) == first + 1)
        #expect(timing.time(nil, arrival: 50) == first + 2)
    }

    @Test("have gaps where the source counts on or pictures were skipped")
    func gaps() {
        var timing = PipeWireTiming()
        #expect(timing.lost(before: 5) == 0)
        #expect(timing.lost(before: 6) == 0)
        #expect(timing.lost(before: 9) == 2)
        timing.skip()
        #expect(timing.lost(before: 11) == 1)
        timing.skip(3)
        #expect(timing.lost(before: 11) == 3)
        #expect(timing.lost(before: 2) == 0)
        timing.skip()
        #expect(timing.lost(before: nil) == 1)
        #expect(timing.lost(before: 100) == 0)
    }
}

@Suite("The planes of PipeWire's buffers", .blocks)
struct PipeWireLayoutTests {
    private typealias Block = PipeWireLayout.Block

    private func planes(_ layout: PipeWireLayout) -> [[Int]] {
        layout.planes.map { [$0.object, $0.layout.offset, $0.layout.bytesPerRow] }
    }

    @Test("follow each other in one block")
    func oneBlock() throws {
        let block = Block(offset: 100, bytesPerRow: 80, byteCount: 100_000)
        #expect(
            planes(try PipeWireLayout(.nv12, width: 64, height: 47, blocks: [block])) == [
                [0, 100, 80], [0, 3940, 80],
            ]
        )
        #expect(
            planes(try PipeWireLayout(.i420, width: 64, height: 48, blocks: [block]))
                == [[0, 100, 80], [0, 3940, 40], [0, 4900, 40]]
        )
        let packed = Block(offset: 0, bytesPerRow: 0, byteCount: 64 * 48 * 4)
        #expect(planes(try PipeWireLayout(.bgra, width: 64, height: 48, blocks: [packed])) == [[0, 0, 256]])
    }

    @Test("are in blocks of their own")
    func blocks() throws {
        let blocks = [Block(offset: 0, bytesPerRow: 64, byteCount: 3072), Block(offset: 16, bytesPerRow: 64)]
        #expect(
            planes(try PipeWireLayout(.nv12, width: 64, height: 48, blocks: blocks)) == [[0, 0, 64], [1, 16, 64]]
        )
    }

    @Test("begin at the valid part, at even edges")
    func crop() throws {
        let block = Block(offset: 0, bytesPerRow: 64, byteCount: 64 * 72)
        let crop = PipeWireLayout.Crop(x: 7, y: 5, width: 21, height: 11)
        let layout = try PipeWireLayout(.nv12, width: 64, height: 48, crop: crop, blocks: [block])
        #expect(planes(layout) == [[0, 4 * 64 + 6, 64], [0, 48 * 64 + 2 * 64 + 6, 64]])
        #expect(layout.width == 22 && layout.height == 12)
    }

    @Test("are refused where they do not fit")
    func wrong() {
        let small = Block(offset: 0, bytesPerRow: 256, byteCount: 64 * 48 * 4 - 1)
        let narrow = Block(offset: 0, bytesPerRow: 255, byteCount: 100_000)
        let upwards = Block(offset: 0, bytesPerRow: -256, byteCount: 100_000)
        let good = Block(offset: 0, bytesPerRow: 256, byteCount: 100_000)
        for blocks in [[small], [narrow], [upwards], [good, good], []] {
            #expect(throws: MediaError.self) { try PipeWireLayout(.bgra, width: 64, height: 48, blocks: blocks) }
        }
        for crop in [(-1, 0, 8, 8), (0, 0, 65, 8), (60, 0, 8, 8), (0, 44, 8, 8), (0, 0, 0, 8)] {
            let crop = PipeWireLayout.Crop(x: crop.0, y: crop.1, width: crop.2, height: crop.3)
            #expect(throws: MediaError.self) {
                try PipeWireLayout(.bgra, width: 64, height: 48, crop: crop, blocks: [good])
            }
        }
        let part = PipeWireLayout.Crop(x: 2, y: 0, width: 8, height: 8)
        #expect(throws: MediaError.self) {
            try PipeWireLayout(.bgra, width: 64, height: 48, crop: part, blocks: [good], isTiled: true)
        }
    }
}

@Suite("What is asked of PipeWire and the portal", .blocks)
struct PipeWireRequestTests {
    @Test("is checked")
    func requests() {
        typealias Request = PipeWireStream.Request
        let wrong = [
            Request(size: .init(width: 0, height: 10)), Request(size: .init(width: 10, height: 1 << 20)),
            Request(frameRate: Rational(0)), Request(frameRate: Rational(2000)),
            Request(modifiers: [UInt64](repeating: 0, count: 65)),
        ]
        for request in wrong {
            #expect { try request.validate() } throws: { ($0 as? MediaError)?.code == .invalidArgument }
        }
        #expect(throws: Never.self) {
            try Request(frameRate: Rational(30000, 1001), modifiers: [UInt64](repeating: 0, count: 64)).validate()
        }
    }

    @Test("becomes parameters of SPA, also with the most modifiers")
    func parameters() {
        let request = PipeWireStream.Request(modifiers: [UInt64](repeating: 1, count: 64))
        #expect(PipeWireOffers(request).withParameters { $0.count } == PipeWireFormat.offered.count * 2)
        #expect(PipeWireOffers.withNeeds(usesDMABuf: true) { $0.count } == 4)
    }

    @Test("prefers sources by their priority, then by their age")
    func preferred() {
        func node(_ id: UInt32, _ mediaClass: String, _ priority: Int = 0) -> PipeWireNode {
            PipeWireNode(id: id, name: "\(id)", mediaClass: mediaClass, priority: priority)
        }
        let nodes = [
            node(1, "Audio/Source", 9), node(4, "Video/Source"), node(3, "Video/Source"), node(5, "Video/Source", 2),
            node(2, "Video/Sink"), node(6, "Stream/Output/Video"), node(7, "Stream/Input/Video"),
        ]
        #expect(PipeWireNode.preferred(nodes).map(\.id) == [5, 3, 4, 6])
    }

    @Test("is limited to what the node offers")
    func offered() {
        let node = PipeWireNode(id: 1, name: "camera")
        func error(_ offered: PipeWireOffered, _ modifiers: [UInt64] = []) -> MediaError? {
            do throws(MediaError) {
                try offered.check(.init(modifiers: modifiers), node)
                return nil
            } catch {
                return error
            }
        }
        let bgrx = PipeWireFormat.offered[0].code
        #expect(error(PipeWireOffered()) == nil)
        #expect(error(PipeWireOffered(others: ["mjpg"]))?.given?.contains("mjpg") == true)
        #expect(error(PipeWireOffered(pictures: [.init(code: bgrx, needsModifier: false)], others: ["mjpg"])) == nil)
        let tiled = PipeWireOffered(pictures: [.init(code: bgrx, needsModifier: true)])
        #expect(error(tiled)?.code == .unsupported)
        #expect(error(tiled, [1]) == nil)
    }

    @Test("is limited to what the desktop offers")
    func selection() throws {
        func offer(_ version: UInt32, sources: UInt32 = 3, cursor: UInt32 = 7) -> ScreenCastOffer {
            ScreenCastOffer([
                "version": .unsigned(version), "AvailableSourceTypes": .unsigned(sources),
                "AvailableCursorModes": .unsigned(cursor),
            ])
        }
        var request = ScreenCastPortal.Request(sources: [.monitor, .virtual], persistence: .whileRunning)
        let full = try offer(4).selection(request)
        #expect(full.mapValues(\.number) == ["types": 1, "multiple": nil, "cursor_mode": 2, "persist_mode": 1])
        #expect(try offer(3).selection(request)["persist_mode"] == nil)
        #expect(throws: MediaError.self) { try offer(4, sources: 2).selection(request) }
        #expect(throws: MediaError.self) { try offer(4, cursor: 1).selection(request) }
        #expect(throws: MediaError.self) { try offer(1).selection(request) }
        request.drawsCursor = false
        #expect(try offer(4, cursor: 1).selection(request)["cursor_mode"]?.number == 1)
        #expect(try offer(1).selection(request)["cursor_mode"] == nil)
    }

    @Test("has errors of D-Bus with a remedy")
    func refusals() {
        let names = ["ServiceUnknown", "Spawn.Failed", "UnknownMethod", "NoReply", "AccessDenied"]
        let codes: [MediaError.Code] = [.unavailable, .unavailable, .unsupported, .deadlineExceeded, .unsupported]
        for (name, code) in zip(names, codes) {
            let error = PortalFailure.refused("Start", "org.freedesktop.DBus.Error.\(name)", "text")
            #expect(error.code == code && !error.remedies.isEmpty)
        }
        #expect(PortalFailure.refused("Start", "org.example.Odd", "").message.contains("org.example.Odd"))
    }
}

@Suite("The word of a permission", .blocks)
struct RestoreTokenTests {
    @Test("is kept, replaced and removed")
    func file() throws {
        let path = "/tmp/vatoolbox-token-\(UInt64.random(in: 0...(.max)))"
        let token = RestoreToken(path: path)
        defer { try? token.write(nil) }
        #expect(token.read() == nil)
        try token.write("one")
        try token.write("two")
        #expect(token.read() == "two")
        try token.write(nil)
        #expect(token.read() == nil)
        let impossible = RestoreToken(path: "/proc/nothing/token")
        #expect(throws: MediaError.self) { try impossible.write("word") }
    }
}
