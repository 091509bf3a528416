// SPDX-License-Identifier: GPL-2.0-or-later

import Glibc
import Testing

@testable import RenderNodes

@Suite struct AccessTests {
    @Test func notInTheGroupOnAHost() throws {
        let machine = try FakeMachine()
        machine.run(asUser: 1000, groups: [27, 1000])
        try machine.addNode(128, errno: EACCES)
        let refusal = try machine.onlyRefusal
        #expect(refusal.cause == .permissionDenied)
        #expect(refusal.code == EACCES)
        #expect(refusal.explanation.contains("group render (gid 104), mode 0660"))
        #expect(refusal.explanation.contains("user alice (uid 1000) in groups 27, 1000"))
        #expect(refusal.remedies.first?.hasSuffix("sudo usermod -aG render alice") == true)
        #expect(refusal.remedies.contains { $0.hasSuffix("docker run --device /dev/dri --group-add 104 ...") })
    }

    @Test func notInTheGroupInAContainerThatHasNoNameForIt() throws {
        let machine = try FakeMachine()
        machine.run(asUser: 4711, groups: [4711])
        try machine.write("run/.containerenv", "")
        try machine.addNode(128, group: 993, errno: EACCES)
        let refusal = try machine.onlyRefusal
        #expect(refusal.explanation.contains("(uid 0, gid 993, mode 0660)"))
        #expect(refusal.remedies.first?.hasSuffix("podman run --device /dev/dri --group-add 993 ...") == true)
        #expect(refusal.remedies.contains { $0.hasSuffix("group_add: [\"993\"]") })
        #expect(!refusal.remedies.contains { $0.contains("usermod") })
    }

    @Test func aMemberWhoHasNotLoggedInAgain() throws {
        let machine = try FakeMachine()
        try machine.write("etc/group", "render:x:104:bob,alice\n")
        try machine.addNode(128, errno: EACCES)
        #expect(try machine.onlyRefusal.remedies.first?.hasSuffix("newgrp render") == true)
    }

    @Test(arguments: [(0, 0o660), (104, 0o600), (104, 0o640)] as [(UInt32, UInt16)])
    func aModeThatNoMembershipOpens(group: UInt32, permissions: UInt16) throws {
        let machine = try FakeMachine()
        try machine.addNode(128, group: group, permissions: permissions, errno: EACCES)
        let refusal = try machine.onlyRefusal
        #expect(refusal.cause == .permissionDenied)
        #expect(refusal.remedies.contains { $0.contains("GROUP=\"render\", MODE=\"0660\"") })
        #expect(!refusal.remedies.contains { $0.contains("--group-add") })
    }

    @Test func deniedAlthoughThePermissionsAllowIt() throws {
        let machine = try FakeMachine()
        machine.run(asUser: 1000, groups: [104, 1000])
        try machine.addNode(128, errno: EACCES)
        let refusal = try machine.onlyRefusal
        #expect(refusal.cause == .permissionDenied)
        #expect(refusal.explanation.contains("SELinux or AppArmor"))
        #expect(!refusal.remedies.contains { $0.contains("usermod") })
    }

    @Test func aGroupThatTheUserNamespaceDoesNotMap() throws {
        let machine = try FakeMachine()
        machine.run(asUser: 0, groups: [0])
        try machine.addNode(128, owner: 65534, group: 65534, errno: EACCES)
        let refusal = try machine.onlyRefusal
        #expect(refusal.cause == .unmappedGroup)
        #expect(refusal.remedies.first?.contains("--group-add keep-groups") == true)

        try machine.write("proc/sys/kernel/overflowgid", "60000\n")
        #expect(try machine.onlyRefusal.cause == .permissionDenied)
    }

    @Test(
        arguments: [
            (EPERM, .deviceNotAllowed), (ENOENT, .vanished), (ENXIO, .noDriver), (ENODEV, .noDriver),
            (EMFILE, .outOfDescriptors), (ENFILE, .outOfDescriptors), (EBUSY, .failed),
        ] as [(Int32, NodeRefusal.Cause)]
    )
    func everyOtherFailureHasItsCause(code: Int32, cause: NodeRefusal.Cause) throws {
        let machine = try FakeMachine()
        try machine.addNode(128, errno: code)
        let refusal = try machine.onlyRefusal
        #expect(refusal.cause == cause)
        #expect(refusal.code == code)
        #expect(refusal.explanation.contains(machine.path("dev/dri/renderD128")))
    }

    @Test func aDeviceThatWasMountedRatherThanPassed() throws {
        let machine = try FakeMachine()
        try machine.addNode(128, errno: EPERM)
        #expect(try machine.onlyRefusal.remedies.last?.contains("DeviceAllow=char-drm rw") == true)
        try machine.write(".dockerenv", "")
        #expect(try machine.onlyRefusal.remedies.first?.hasSuffix("docker run --device /dev/dri ...") == true)
    }

    @Test(
        arguments: [(ENOENT, .vanished), (EACCES, .permissionDenied), (ELOOP, .failed)] as [(Int32, NodeRefusal.Cause)]
    )
    func aNodeThatCannotBeExamined(code: Int32, cause: NodeRefusal.Cause) throws {
        let machine = try FakeMachine()
        try machine.addNode(128)
        let path = machine.path("dev/dri/renderD128")
        let status = machine.system.status
        machine.system.status = { asked throws(SystemError) in
            if asked == path { throw SystemError(call: "stat", code: code) }
            return try status(asked)
        }
        let node = try #require(machine.survey.nodes.first)
        #expect(node.refusal?.cause == cause)
        #expect(node.file == nil)
        #expect(node.kernelDriver == "i915", "found by name where the numbers are unknown")
    }

    @Test func whatIsNoDeviceIsNotOpened() throws {
        let machine = try FakeMachine()
        try machine.makeFolder("dev/dri/renderD128")
        try machine.write("dev/dri/renderD129", "")
        machine.system.openDevice = { path throws(SystemError) in
            Issue.record("opened \(path)")
            throw SystemError(call: "open", code: EIO)
        }
        let refusals = machine.survey.nodes.compactMap(\.refusal)
        #expect(refusals.map(\.cause) == [.notACharacterDevice, .notACharacterDevice])
        #expect(refusals[0].explanation.contains("a folder"))
        #expect(refusals[1].explanation.contains("a plain file"))
    }

    @Test func descriptionListsEveryRemedy() throws {
        let machine = try FakeMachine()
        try machine.addNode(128, errno: EACCES)
        let refusal = try machine.onlyRefusal
        #expect(refusal.description.split(separator: "\n").count == 1 + refusal.remedies.count)
    }
}

@Suite struct OpenRenderNodeTests {
    @Test func aMissingNodeIsRefused() {
        #expect { _ = try OpenRenderNode(path: "/nonexistent/renderD128").descriptor } throws: { error in
            (error as? NodeRefusal)?.cause == .vanished
        }
    }

    @Test func aDescriptorIsClosedOnExecAndAtTheEndOfItsLife() throws {
        let descriptor = try {
            let node = try OpenRenderNode(path: "/dev/full")
            #expect(fcntl(node.descriptor, F_GETFD) == FD_CLOEXEC)
            #expect(fcntl(node.descriptor, F_GETFL) & O_ACCMODE == O_RDWR)
            #expect(node.kernelDriver == nil)
            return node.descriptor
        }()
        // Another test may have been given the number since, but none other opens this device.
        var full = stat()
        var now = stat()
        stat("/dev/full", &full)
        #expect(fstat(descriptor, &now) != 0 || now.st_rdev != full.st_rdev)
    }

    @Test(
        arguments: [
            (1000, 0, 0o600, true), (1000, 104, 0o060, false), (0, 104, 0o060, true), (0, 104, 0o606, false),
            (0, 0, 0o606, true), (0, 0, 0o664, false),
        ] as [(UInt32, UInt32, UInt16, Bool)]
    )
    func onlyTheFirstClassOfPermissionsCounts(owner: UInt32, group: UInt32, permissions: UInt16, expected: Bool) {
        let process = ProcessIdentity(user: 1000, userName: nil, groups: [104, 1000], container: nil)
        let file = DeviceFile(kind: .regularFile, owner: owner, group: group, permissions: permissions)
        #expect(process.mayReadAndWrite(file) == expected)
    }
}

extension FakeMachine {
    /// The refusal of the machine's only node.
    var onlyRefusal: NodeRefusal {
        get throws {
            let nodes = survey.nodes
            #expect(nodes.count == 1)
            return try #require(nodes.first?.refusal)
        }
    }
}
