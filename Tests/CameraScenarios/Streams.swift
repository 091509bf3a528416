// SPDX-License-Identifier: GPL-2.0-or-later

import Capture
import MediaTypes

/// Reading pictures.
enum Streams {
    /// Every format, exported and not, with rows of the least length and longer ones: every sample, and every time.
    static func formats() throws {
        let formats: [(code: String, node: String, format: PixelFormat)] = [
            ("NV12", "capture", .nv12), ("NM12", "planar", .nv12), ("YUYV", "capture", .yuy2),
            ("YU12", "capture", .i420), ("YM12", "planar", .i420), ("NV12", "planar", .nv12),
        ]
        for (code, node, format) in formats {
            for padding in [0, 32] {
                for isExported in [true, false] {
                    var description = ["node \(node)", "format \(code) 96x54@30", "padding \(padding)"]
                    if node == "planar" { description.append("offset 64") }
                    if !isExported { description.append("unexported") }
                    try capture(description, format, isExported: isExported)
                    say("\(code) \(node) padding \(padding) \(isExported ? "exported" : "mapped")")
                }
            }
        }
    }

    private static func capture(_ description: [String], _ format: PixelFormat, isExported: Bool) throws {
        let camera = try Rig.camera(description, .init(size: .init(96, 54)))
        let code = camera.mode.code.description
        let expected = PictureStream(width: 96, height: 54, frameRate: 30, format: code)
        try expect(camera.stream == expected, "\(camera.stream)")
        var latest = Int64.min
        for number in 0..<20 {
            let picture = try camera.read()
            try expect(picture.buffer.format == format, "\(picture.buffer.format)")
            try Drawing.check(picture.buffer, is: number)
            try expect(picture.lostBefore == 0, "lost \(picture.lostBefore) before \(number)")
            let color = ColorDescription(primaries: .bt709, transfer: .sRGB, matrix: .bt601Lines525, range: .limited)
            try expect(picture.buffer.color == color, "\(picture.buffer.color)")
            switch picture.buffer.storage {
            case .dmaBuf(let memory): try expect(isExported && memory.isLinear, "exported")
            case .external: try expect(!isExported, "not exported")
            default: throw Wrong("\(picture.buffer.storage)")
            }
            let stated = Rig.times()[number] ?? 0
            try expect(picture.time.value == stated, "time \(picture.time.value), not \(stated)")
            try expect(picture.time.timescale == 1_000_000_000 && stated > latest, "time \(picture.time)")
            latest = stated
        }
        try expect(camera.clock == .startOfExposure, "\(String(describing: camera.clock))")
    }

    /// Pictures that never arrive, that the driver marks, and that are too short.
    static func damage() throws {
        let description = ["format NV12 64x48@30", "lost 3,4", "marked 6,7", "shortened 9"]
        let camera = try Rig.camera(description, .init(size: .init(64, 48)))
        for (number, lost) in [(0, 0), (1, 0), (2, 0), (5, 2), (8, 2), (10, 1), (11, 0)] {
            let picture = try camera.read()
            try Drawing.check(picture.buffer, is: number)
            try expect(picture.lostBefore == lost, "lost \(picture.lostBefore) before \(number), not \(lost)")
        }
        // A driver that does not count.
        let uncounted = try Rig.camera(
            ["format YUYV 64x48@30", "unnumbered", "marked 0,3"],
            .init(size: .init(64, 48))
        )
        for (number, lost) in [(1, 1), (2, 0), (4, 1), (5, 0)] {
            let picture = try uncounted.read()
            try Drawing.check(picture.buffer, is: number)
            try expect(picture.lostBefore == lost, "lost \(picture.lostBefore) before \(number), not \(lost)")
        }
    }

    /// Times of the driver, and of the arrival where the driver's are of no use.
    static func clocks() throws {
        let clocks: [(String, V4L2Camera.Clock)] = [
            ("soe", .startOfExposure), ("eof", .endOfFrame), ("unknown", .arrival), ("realtime", .arrival),
        ]
        for (name, clock) in clocks {
            let camera = try Rig.camera(
                ["format NV12 64x48@30", "clock \(name)"],
                .init(size: .init(64, 48))
            )
            try expect(camera.clock == nil, "\(name) is known too early")
            var latest = MonotonicClock.now
            for number in 0..<5 {
                let picture = try camera.read()
                if clock == .arrival {
                    try expect(picture.time > latest, "\(name): \(picture.time) after \(latest)")
                } else {
                    try expect(picture.time.value == Rig.times()[number], "\(name): \(picture.time)")
                }
                try expect(picture.time <= MonotonicClock.now, "\(name) is late")
                latest = picture.time
            }
            try expect(camera.clock == clock, "\(name) is \(String(describing: camera.clock))")
        }
    }

    /// Interlaced pictures, and single fields, which are refused.
    static func fields() throws {
        for (field, order) in [(1, nil), (8, .topFirst), (9, .bottomFirst), (4, .topFirst)] as [(Int, FieldOrder?)] {
            let camera = try Rig.camera(
                ["format YUYV 64x576@25", "field \(field)"],
                .init(size: .init(64, 576), frameRate: 25)
            )
            let found = try camera.read().buffer.attachments.fieldOrder
            try expect(found == order, "field \(field) is \(String(describing: found))")
        }
        try expectError(.unsupported) {
            _ = try Rig.camera(["format YUYV 64x576@25", "field 7"], .init(size: .init(64, 576), frameRate: 25))
        }
    }

    /// Modes as they are set.
    static func modes() throws {
        let description = [
            "format YUYV 640x480@30,15 1280x720@10,5", "format NV12 32x32-1920x1080/8x2@1-60",
            "format MJPG 640x480@30 1280x720@30,60",
        ]
        let cases: [(V4L2Camera.Request, V4L2Camera.FormatCode, Int, Int, Rational)] = [
            (.init(), .nv12, 1280, 720, 30),
            (.init(size: .init(641, 480), frameRate: 25), .nv12, 648, 480, 25),
            (.init(size: .init(640, 480), frameRate: 10, format: .yuyv), .yuyv, 640, 480, 15),
            (.init(size: .init(1280, 720), frameRate: Rational(5), format: .yuyv), .yuyv, 1280, 720, 5),
        ]
        for (request, code, width, height, rate) in cases {
            let camera = try Rig.camera(description, request)
            let mode = camera.mode
            let isRight = mode.code == code && (mode.width, mode.height) == (width, height) && mode.frameRate == rate
            try expect(isRight, "\(mode)")
            try Drawing.check(camera.read().buffer, is: 0)
        }
        // A driver that lists neither sizes nor rates.
        let camera = try Rig.camera(["format YUYV 320x240 640x480", "unlisted"], .init(size: .init(400, 300)))
        try expect(camera.stream.width == 640 && camera.stream.frameRate == nil, "\(camera.stream)")
        try Drawing.check(camera.read().buffer, is: 0)
    }

    /// The stop signal ends the wait for a picture, and the wait for a buffer.
    static func stop() throws {
        for isHeld in [false, true] {
            let stop = try StopSignal()
            let camera = try Rig.camera(
                ["format NV12 64x48@30", isHeld ? "buffers 3" : "stall 3"],
                .init(size: .init(64, 48)),
                stop: stop
            )
            var held: [CapturedPicture] = []
            for _ in 0..<3 {
                let picture = try camera.read()
                if isHeld { held.append(picture) }
            }
            let stopper = Thread { stop.stop() }
            try expectError(.cancelled) { _ = try camera.read() }
            stopper.join()
            try expectError(.cancelled) { _ = try camera.read() }
            for (number, picture) in held.enumerated() { try Drawing.check(picture.buffer, is: number) }
        }
    }
}
