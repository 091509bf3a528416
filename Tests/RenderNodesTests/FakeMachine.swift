// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import Glibc

@testable import RenderNodes

/// A root of a file system in a temporary folder, whose plain files pass for devices. Deleted with the value.
final class FakeMachine {
    let root: String
    /// The system as the code under test sees it.
    var system = SystemCalls()
    /// Counts descriptors handed out and not yet closed.
    let descriptors = DescriptorCount()

    init() throws {
        root = NSTemporaryDirectory() + "vatoolbox-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
        try write("etc/passwd", "root:x:0:0:root:/root:/bin/sh\nalice:x:1000:1000::/home/alice:/bin/sh\n")
        try write("etc/group", "root:x:0:\nvideo:x:44:\nrender:x:104:\nbroken line\nusers:x:1000:\n")
        run(asUser: 1000, groups: [1000])
    }

    deinit { try? FileManager.default.removeItem(atPath: root) }

    var survey: RenderNodeSurvey { RenderNodeSurvey(examiner: NodeExaminer(root: root, system: system)) }

    func path(_ relative: String) -> String { root + "/" + relative }

    func write(_ relative: String, _ text: String) throws {
        let url = URL(fileURLWithPath: path(relative))
        try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: url)
    }

    func makeFolder(_ relative: String) throws {
        try FileManager.default.createDirectory(atPath: path(relative), withIntermediateDirectories: true)
    }

    func run(asUser user: UInt32, groups: [UInt32]) {
        system.effectiveUser = { user }
        system.groups = { groups }
    }

    /// Adds a node and its entry in sysfs; `errno` is what opening it gives, nil for success.
    func addNode(
        _ minor: UInt32,
        owner: UInt32 = 0,
        group: UInt32 = 104,
        permissions: UInt16 = 0o660,
        errno code: Int32? = nil,
        uevent: String = "DRIVER=i915\nPCI_CLASS=30000\nPCI_ID=8086:9A49\nPCI_SLOT_NAME=0000:00:02.0\n",
        driverName: String? = nil
    ) throws {
        let node = path("dev/dri/renderD\(minor)")
        try write("dev/dri/renderD\(minor)", "")
        try write("sys/dev/char/226:\(minor)/device/uevent", uevent)
        try write("sys/class/drm/renderD\(minor)/device/uevent", uevent)
        let file = DeviceFile(
            kind: .characterDevice(major: 226, minor: minor),
            owner: owner,
            group: group,
            permissions: permissions
        )
        let status = system.status
        system.status = { path throws(SystemError) in path == node ? file : try status(path) }

        let openDevice = system.openDevice
        let descriptors = descriptors
        system.openDevice = { path throws(SystemError) in
            guard path == node else { return try openDevice(path) }
            if let code { throw SystemError(call: "open", code: code) }
            descriptors.change(by: 1)
            return Int32(minor)
        }
        system.close = { _ in descriptors.change(by: -1) }
        let name = system.driverName
        system.driverName = { $0 == Int32(minor) ? driverName : name($0) }
    }
}

/// How many descriptors are open.
final class DescriptorCount: @unchecked Sendable {
    private let lock = NSLock()
    private var count = 0

    var value: Int { lock.withLock { count } }

    func change(by difference: Int) { lock.withLock { count += difference } }
}
