// SPDX-License-Identifier: GPL-2.0-or-later

import Foundation
import HelperIPC
import Testing

@testable import RenderNodes
@testable import VAToolboxCommand

/// `vatoolbox probe --brief`, whose lines stand in logs of containers.
@Suite struct ProbeVerdictTests {
    /// Two GPUs, of which one belongs to a group that this process is not in, and the CPU.
    @Test func usableAndRefusedNodes() throws {
        let lines = try verdict(
            nodes: "128=generic,130=generic",
            try Scratch.driver("libref") + [
                "RENDER_NODES_DENY=130=EACCES", "RENDER_NODES_MODE=130=660", "RENDER_NODES_GROUP=130=54321",
                "RENDER_NODES_OWNER=130=54321", "REFERENCE_DRIVER_VENDOR=A GPU of our own",
            ]
        )
        let both = "EncSlice and EncSliceLP"
        #expect(lines.first == "/dev/dri/renderD128: H.264 by \(both), HEVC by \(both), A GPU of our own")
        #expect(lines.dropFirst().first?.hasPrefix("not usable: /dev/dri/renderD130 (uid 54321, gid 54321, ") == true)
        #expect(lines.contains { $0.hasPrefix("  - ") && $0.contains(#"group_add: ["54321"]"#) }, "\(lines)")
        #expect(lines.last?.hasPrefix("on the CPU: H.264 by x264 ") == true)
    }

    @Test func aDriverThatCrashes() throws {
        let lines = try verdict(nodes: "128=generic", try Scratch.driver("libfaulty") + ["FAULTY_DRIVER=load=segv"])
        let said = "/dev/dri/renderD128: not usable: the driver libfaulty crashed while libva loaded the file"
        #expect(lines.first?.hasPrefix(said) == true, "\(lines)")
    }

    @Test func aDriverThatOnlyDecodes() {
        let decodes = DriverReport(
            majorVersion: 1,
            minorVersion: 17,
            vendor: "a decoder",
            file: nil,
            profiles: [.init(number: 7, entrypoints: [.init(number: 1)])]
        )
        let node = RenderNode(
            path: "/dev/dri/renderD128",
            minor: 128,
            file: nil,
            groupName: nil,
            kernelDriver: nil,
            pci: nil,
            huC: nil,
            access: .accessible
        )
        let report = ProbeReport(
            nodes: [.init(node: node, driver: .answers(ProbedDriver(decodes, []), trouble: nil))],
            absence: nil,
            software: [],
            ffmpegVersion: ""
        )
        let expected = "/dev/dri/renderD128: not usable: a decoder lists no encoder for H.264 or HEVC\n"
        #expect(report.verdict.hasPrefix(expected))
    }

    /// The kinds of output exclude each other.
    @Test(arguments: ["--json", "--verbose", "--exhaustive"])
    func oneKindOfOutput(option: String) throws {
        let result = try Scratch().run([Scratch.vatoolbox, "probe", "--brief", option])
        #expect(result.status == 2 && result.errors.contains("--brief cannot be combined with"), "\(result)")
    }

    private func verdict(nodes: String, _ environment: [String]) throws -> [String] {
        let machine = try Scratch.machine(nodes: nodes, driver: nil, environment)
        let result = try Scratch().run(machine + [Scratch.vatoolbox, "probe", "--brief"])
        #expect(result.status == 0 && result.errors.isEmpty, "\(result)")
        return result.output.split(separator: "\n").map { String($0) }
    }
}
