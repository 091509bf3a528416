// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import Glibc
import Testing

@testable import RenderNodes

@Suite struct SurveyTests {
    @Test func severalGPUsWithGapsAreListedInOrderOfTheirNumbers() throws {
        let machine = try FakeMachine()
        let amd = "DRIVER=amdgpu\nPCI_ID=1002:73BF\nPCI_SLOT_NAME=0000:03:00.0\n"
        try machine.addNode(1000, uevent: "DRIVER=virtio_gpu\nMODALIAS=virtio:d00000010v00001AF4\n")
        try machine.addNode(130, uevent: amd, driverName: "amdgpu")
        try machine.addNode(128)
        for other in ["card0", "renderD", "renderDx", "renderD+1", "renderD-1", "renderD99999999999", "by-path"] {
            try machine.write("dev/dri/\(other)", "")
        }

        let survey = machine.survey

        #expect(survey.absence == nil)
        #expect(survey.nodes.map(\.minor) == [128, 130, 1000])
        #expect(survey.nodes.map(\.path) == [128, 130, 1000].map { machine.path("dev/dri/renderD\($0)") })
        #expect(survey.nodes.map(\.access) == [.accessible, .accessible, .accessible])
        #expect(survey.nodes.map(\.kernelDriver) == ["i915", "amdgpu", "virtio_gpu"])
        #expect(survey.nodes[0].pci == PCIFunction(address: "0000:00:02.0", vendorID: 0x8086, deviceID: 0x9A49))
        #expect(survey.nodes.map(\.pci?.vendorName) == ["Intel", "AMD", nil])
        #expect(survey.nodes.map(\.groupName) == ["render", "render", "render"])
        #expect(survey.nodes[0].file?.permissions == 0o660)
        #expect(machine.descriptors.value == 0, "every node that was opened is closed again")
    }

    @Test func nodesHaveNamesThatDoNotChangeWithTheirNumbers() throws {
        let machine = try FakeMachine()
        try machine.addNode(128, uevent: "DRIVER=virtio_gpu\nMODALIAS=virtio:d00000010v00001AF4\n")
        try machine.addNode(130, uevent: "DRIVER=amdgpu\nPCI_ID=1002:73BF\nPCI_SLOT_NAME=0000:03:00.0\n")
        let survey = machine.survey
        for name in [machine.path("dev/dri/renderD130"), "0000:03:00.0", "/dev/dri/by-path/pci-0000:03:00.0-render"] {
            #expect(survey.node(named: name)?.minor == 130, "\(name)")
        }
        #expect(survey.node(named: machine.path("dev/dri/renderD128"))?.minor == 128)
        for name in ["", "0000:03:00.1", "/dev/dri/by-path/pci-0000:03:00.0-card", "renderD130"] {
            #expect(survey.node(named: name) == nil, "\(name)")
        }
    }

    @Test func theDriversOwnNameWinsOverSysfs() throws {
        let machine = try FakeMachine()
        try machine.addNode(128, uevent: "DRIVER=nvidia\n", driverName: "nvidia-drm")
        #expect(machine.survey.nodes.map(\.kernelDriver) == ["nvidia-drm"])
    }

    @Test func aNodeThatIsRefusedIsStillDescribed() throws {
        let machine = try FakeMachine()
        try machine.addNode(128, errno: EACCES)
        let node = try #require(machine.survey.nodes.first)
        #expect(node.kernelDriver == "i915")
        #expect(node.pci?.deviceID == 0x9A49)
        #expect(node.refusal?.cause == .permissionDenied)
    }

    @Test(arguments: [
        "", "garbage", "DRIVER=\nPCI_ID=8086\n", "PCI_ID=8086:9A49:1\nPCI_SLOT_NAME=x", "PCI_ID=xx:yy\n=\n",
    ])
    func malformedSysfsGivesNoFacts(uevent: String) throws {
        let machine = try FakeMachine()
        try machine.addNode(128, uevent: uevent)
        let node = try #require(machine.survey.nodes.first)
        #expect(node.kernelDriver == nil)
        #expect(node.pci == nil)
        #expect(node.access == .accessible)
    }

    @Test func theProcessIsIdentified() throws {
        let machine = try FakeMachine()
        machine.run(asUser: 1000, groups: [27, 1000])
        #expect(machine.survey.process.description == "user alice (uid 1000) in groups 27, 1000")
        machine.run(asUser: 4711, groups: [9])
        #expect(machine.survey.process.description == "uid 4711 in group 9")
        #expect(machine.survey.process.container == nil)
        try machine.write(".dockerenv", "")
        #expect(machine.survey.process.container == .docker)
        try machine.write("run/.containerenv", "")
        #expect(machine.survey.process.container == .podman)
    }

    @Test func theRealSystemIsSurveyedWithoutFailure() {
        let survey = RenderNodeSurvey()
        #expect(survey.nodes.isEmpty == (survey.absence != nil))
        #expect(survey.process.user == geteuid())
        #expect(survey.process.groups.contains(getegid()))
    }
}

@Suite struct AbsenceTests {
    @Test func noFolderAndNoGPU() throws {
        let refusal = try #require(try FakeMachine().survey.absence)
        #expect(refusal.cause == .noDeviceFolder)
        #expect(refusal.code == ENOENT)
        #expect(refusal.explanation.contains("this machine has no GPU"))
        #expect(refusal.remedies.contains { $0.contains("lspci") })
    }

    @Test func noFolderInAContainerWhoseHostHasAGPU() throws {
        let machine = try FakeMachine()
        try machine.write(".dockerenv", "")
        try machine.makeFolder("sys/class/drm/renderD129")
        try machine.makeFolder("sys/class/drm/renderD128")
        try machine.makeFolder("sys/class/drm/card0")
        let refusal = try #require(machine.survey.absence)
        #expect(refusal.cause == .noDeviceFolder)
        #expect(refusal.explanation.contains("the kernel has renderD128, renderD129"))
        #expect(refusal.remedies.first?.hasSuffix("docker run --device /dev/dri ...") == true)
        #expect(refusal.remedies.contains { $0.hasSuffix("devices: [\"/dev/dri:/dev/dri\"]") })
    }

    @Test func noFolderInAContainerWhoseHostHasNoGPU() throws {
        let machine = try FakeMachine()
        try machine.write("run/.containerenv", "")
        let refusal = try #require(machine.survey.absence)
        #expect(refusal.explanation.contains("the container's host has no GPU"))
    }

    @Test func aFolderWithoutRenderNodesNamesWhatItHolds() throws {
        let machine = try FakeMachine()
        try machine.write("dev/dri/card1", "")
        try machine.write("dev/dri/card0", "")
        let refusal = try #require(machine.survey.absence)
        #expect(refusal.cause == .displayNodeOnly)
        #expect(refusal.explanation.contains("only card0, card1"))
    }

    @Test(
        arguments: [
            (EACCES, .permissionDenied), (EMFILE, .outOfDescriptors), (EIO, .failed), (ENOTDIR, .failed),
        ] as [(Int32, NodeRefusal.Cause)]
    )
    func aFolderThatCannotBeListed(code: Int32, cause: NodeRefusal.Cause) throws {
        let machine = try FakeMachine()
        machine.system.names = { _ throws(SystemError) in throw SystemError(call: "opendir", code: code) }
        let refusal = try #require(machine.survey.absence)
        #expect(refusal.cause == cause)
        #expect(refusal.code == code)
        #expect(refusal.path == machine.path("dev/dri"))
        #expect(machine.survey.lackedDescriptors == (code == EMFILE))
    }

    /// What was found without descriptors is not what is there.
    @Test func nodesThatWereNotOpenedForWantOfDescriptors() throws {
        let machine = try FakeMachine()
        try machine.addNode(128)
        try machine.addNode(129)
        #expect(!machine.survey.lackedDescriptors)
        let usual = machine.system.openDevice
        machine.system.openDevice = { path throws(SystemError) in
            if path.hasSuffix("129") { throw SystemError(call: "open", code: EMFILE) }
            return try usual(path)
        }
        #expect(machine.survey.nodes.map { $0.access == .accessible } == [true, false])
        #expect(machine.survey.lackedDescriptors)
    }
}

extension RenderNode {
    var refusal: NodeRefusal? {
        if case .refused(let refusal) = access { refusal } else { nil }
    }
}
