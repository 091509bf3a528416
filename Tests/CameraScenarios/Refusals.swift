// SPDX-License-Identifier: GPL-2.0-or-later

import Capture
import MediaTypes

/// What cannot be done.
enum Refusals {
    private static let size = V4L2Camera.Request.Size(64, 48)

    /// Another program uses the camera, as drivers say it in different places; and one that really does.
    static func busy() throws {
        for place in ["open", "format", "buffers", "start"] {
            let error = try expectError(.busy) {
                _ = try Rig.camera(["format NV12 64x48@30", "busy \(place)"], .init(size: size))
            }
            try expect(!error.remedies.isEmpty, "no remedies")
            say("\(place): \(error)")
        }
        let camera = try Rig.camera(["format NV12 64x48@30"], .init(size: size))
        _ = try camera.read()
        try expectError(.busy) { _ = try V4L2Camera(.init(size: size), in: Rig.folder, stop: try StopSignal()) }
        _ = try camera.read()
    }

    static func others() throws {
        let stop = try StopSignal()
        func open(_ request: V4L2Camera.Request) throws { _ = try V4L2Camera(request, in: Rig.folder, stop: stop) }

        say("none: \(try expectError(.unavailable) { try open(.init()) })")
        try Rig.plug(0, ["format NV12 64x48@30", "denied"])
        let denied = try expectError(.unavailable) { try open(.init()) }
        try expect(denied.cause?.rawValue == "permission-denied", "\(String(describing: denied.cause))")
        try expect(denied.remedies.contains { $0.contains("group video") }, "\(denied.remedies)")
        say("denied: \(denied)")

        try Rig.plug(0, ["format NV12 64x48@30", "format MJPG 64x48@60"])
        try Rig.plug(1, ["node metadata"])
        say("no path: \(try expectError(.unavailable) { try open(.init(camera: .path(Rig.path(9)))) })")
        say("no name: \(try expectError(.unavailable) { try open(.init(camera: .name("Other"))) })")
        say("metadata: \(try expectError(.unsupported) { try open(.init(camera: .path(Rig.path(1)))) })")
        try expectError(.unsupported) {
            _ = try V4L2Camera.wait(for: .path(Rig.path(1)), in: Rig.folder, stop: stop)
        }
        say("no size: \(try expectError(.unsupported) { try open(.init(size: .init(128, 96))) })")
        let fast = V4L2Camera.Request(size: size, frameRate: 60, format: .nv12)
        say("no rate: \(try expectError(.unsupported) { try open(fast) })")
        say("no format: \(try expectError(.unsupported) { try open(.init(size: size, format: .yuyv)) })")
        say("no size at all: \(try expectError(.invalidArgument) { try open(.init(size: .init(0, 48))) })")
        try expectError(.invalidArgument) { try open(.init(size: size, frameRate: 0)) }
        try expectError(.invalidArgument) { try open(.init(size: size, format: .h264)) }
        try expectError(.invalidArgument) { try open(.init(size: size, settings: [.init("focus", 1)])) }
        try expectError(.unavailable) {
            _ = try V4L2Camera(.init(camera: .path("/dev/null/x")), in: Rig.folder, stop: stop)
        }
        try expectError(.unsupported) {
            _ = try V4L2Camera(.init(camera: .path("/dev/null")), in: Rig.folder, stop: stop)
        }
        try expectError(.inputOutput) { _ = try V4L2Camera.list(in: "/nonexistent") }
    }

    /// Drivers without enough buffers.
    static func noPictures() throws {
        try expectError(.outOfMemory) {
            _ = try Rig.camera(["format NV12 64x48@30", "buffers 1"], .init(size: size))
        }
        let camera = try Rig.camera(["format NV12 64x48@30", "buffers 2"], .init(size: size))
        for number in 0..<10 { try Drawing.check(camera.read().buffer, is: number) }
    }
}
