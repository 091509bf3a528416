// SPDX-License-Identifier: GPL-2.0-or-later

import Capture
import Glibc
import MediaTypes

/// Cameras that are unplugged and plugged in again.
enum Plugging {
    private static let size = V4L2Camera.Request.Size(64, 48)

    /// The device disappears while the reader waits.
    static func unplug() throws {
        let camera = try Rig.camera(["format NV12 64x48@30", "unplug 5"], .init(size: size))
        var held: [CapturedPicture] = []
        for number in 0..<5 {
            let picture = try camera.read()
            try Drawing.check(picture.buffer, is: number)
            if number > 2 { held.append(picture) }
        }
        let error = try expectError(.unavailable) { _ = try camera.read() }
        try expect(!error.remedies.isEmpty, "no remedies")
        say("\(error)")
        try expectError(.unavailable) { _ = try camera.read() }
        try expectError(.unavailable) { _ = try camera.controls.all() }
        for (index, picture) in held.enumerated() { try Drawing.check(picture.buffer, is: 3 + index) }
        held = []
    }

    /// The device disappears while the reader has all buffers.
    static func unplugWhileHeld() throws {
        let camera = try Rig.camera(["format NV12 64x48@30", "buffers 3"], .init(size: size))
        let held = try (0..<3).map { _ in try camera.read() }
        let remover = Thread { Rig.unplug(0) }
        try expectError(.unavailable) { _ = try camera.read() }
        remover.join()
        for (number, picture) in held.enumerated() { try Drawing.check(picture.buffer, is: number) }
    }

    /// The camera comes back with another number, and is found by its id.
    static func replug() throws {
        let id = "usb-Fake_Camera_1234-video-index0"
        let description = ["bus usb-1", "format NV12 64x48@30", "unplug 2"]
        try Rig.plug(0, description)
        Rig.link(id, to: 0)
        let stop = try StopSignal()
        let camera = try V4L2Camera(.init(camera: .id(id), size: size), in: Rig.folder, stop: stop)
        try expect(camera.device.id == id, camera.device.id)
        for _ in 0..<2 { _ = try camera.read() }
        try expectError(.unavailable) { _ = try camera.read() }
        unlink("\(Rig.folder)/v4l/by-id/\(id)")
        try expectError(.unavailable) { _ = try V4L2Camera(.init(camera: .id(id)), in: Rig.folder, stop: stop) }
        // As the kernel and udev do: the node first, which the user may not open yet, then the link.
        let plugger = Thread {
            try? Rig.plug(3, description + ["denied"])
            try? Rig.plug(3, ["bus usb-1", "format NV12 64x48@30"])
            Rig.link(id, to: 3)
        }
        let found = try V4L2Camera.wait(for: .id(id), in: Rig.folder, stop: stop)
        plugger.join()
        try expect(found.path == Rig.path(3), found.path)
        let again = try V4L2Camera(.init(camera: .id(id), size: size), in: Rig.folder, stop: stop)
        try Drawing.check(again.read().buffer, is: 0)
        // A wait that nothing ends but the signal.
        let stopper = Thread { stop.stop() }
        try expectError(.cancelled) {
            _ = try V4L2Camera.wait(for: .name("Another Camera"), in: Rig.folder, stop: stop)
        }
        stopper.join()
    }
}
