// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import MediaTypes
import Testing

@testable import RenderNodes
@testable import VAToolbox

/// Which encoders a session may use on which machine, in which order, and what is said of the others.
@Suite struct SelectorTests {
    private struct NoFactory: EncoderFactory {
        let identity: EncoderIdentity
        func makeEncoder(_ request: EncoderRequest) throws(MediaError) -> any EncoderBackend {
            throw MediaError(.unsupported, "never asked")
        }
    }

    /// A machine with these nodes; those that are refused exist and cannot be opened.
    private func selector(nodes: [UInt32], refused: Set<UInt32> = []) -> EncoderSelector {
        var system = SystemCalls()
        system.names = { folder throws(SystemError) in
            if folder == "/dev/dri", !nodes.isEmpty { return nodes.map { "renderD\($0)" } }
            throw SystemError(call: "opendir", code: 2)
        }
        system.text = { _ throws(SystemError) in throw SystemError(call: "open", code: 2) }
        system.status = { path throws(SystemError) in
            guard let node = nodes.first(where: { path == "/dev/dri/renderD\($0)" }) else {
                throw SystemError(call: "stat", code: 2)
            }
            let kind = DeviceFile.Kind.characterDevice(major: 226, minor: node)
            return DeviceFile(kind: kind, owner: 0, group: 104, permissions: 0o660)
        }
        system.openDevice = { path throws(SystemError) in
            let isRefused = refused.contains { path == "/dev/dri/renderD\($0)" }
            if isRefused { throw SystemError(call: "open", code: 13) }
            return -1
        }
        system.close = { _ in }
        system.driverName = { _ in "i915" }
        system.huCStatus = { _ in 1 }
        system.effectiveUser = { 1000 }
        system.groups = { [1000] }
        let survey = RenderNodeSurvey(examiner: NodeExaminer(root: "/", system: system))
        return EncoderSelector(
            software: [.h264: NoFactory(identity: .init(name: "cpu", codec: .h264))],
            hardware: { device, codec in
                codec == .h264 ? NoFactory(identity: .init(name: "gpu", codec: codec, device: device)) : nil
            },
            survey: { survey }
        )
    }

    private func configuration(_ codec: CodecSelection = .automatic) -> EncoderConfiguration {
        var configuration = EncoderConfiguration(width: 64, height: 64)
        configuration.codec = codec
        return configuration
    }

    private static func path(_ node: UInt32) -> String { "/dev/dri/renderD\(node)" }

    @Test(arguments: [CodecSelection.automatic, .h264])
    func everyGPUThatOpensComesBeforeTheCPU(codec: CodecSelection) throws {
        let selector = selector(nodes: [130, 128, 129], refused: [129])
        let selection = try selector.select(for: configuration(codec), policy: .preferHardware)
        #expect(selection.candidates.map(\.identity.device) == [Self.path(128), Self.path(130), nil])
        #expect(selection.candidates.allSatisfy { $0.codec == .h264 && !$0.reason.isEmpty })
        #expect(selection.rejected.map(\.name) == [Self.path(129)])
        #expect(selection.rejected[0].reason.contains("render"))
    }

    @Test func hardwareAloneOrSoftwareAlone() throws {
        let selector = selector(nodes: [128])
        let hardware = try selector.select(for: configuration(), policy: .requireHardware)
        #expect(hardware.candidates.map(\.identity.device) == [Self.path(128)])
        let software = try selector.select(for: configuration(), policy: .requireSoftware)
        #expect(software.candidates.map(\.identity.name) == ["cpu"] && software.rejected.isEmpty)
        #expect(software.candidates[0].reason == "software was asked for")
    }

    @Test func devicesInTheOrderThatWasAskedFor() throws {
        let selector = selector(nodes: [128, 129])
        let paths = [Self.path(129), "/dev/dri/none", Self.path(128)]
        let selection = try selector.select(for: configuration(), policy: .devices(paths, software: true))
        #expect(selection.candidates.map(\.identity.device) == [Self.path(129), Self.path(128), nil])
        #expect(selection.rejected.map(\.name) == ["/dev/dri/none"])
        #expect(selection.rejected[0].reason.contains("\(Self.path(128)), \(Self.path(129))"))
        #expect(throws: MediaError.self) {
            try selector.select(for: configuration(), policy: .devices(["/dev/dri/none"], software: false))
        }
    }

    @Test func noGPU() throws {
        let selector = selector(nodes: [])
        let selection = try selector.select(for: configuration(), policy: .preferHardware)
        #expect(selection.candidates.map(\.identity.name) == ["cpu"] && selection.rejected.map(\.name) == ["GPU"])
        #expect(selection.candidates[0].reason == selection.rejected[0].description)
        let error = #expect(throws: MediaError.self) {
            try selector.select(for: configuration(), policy: .requireHardware)
        }
        #expect(error?.code == .unavailable && error?.message.contains(selection.rejected[0].reason) == true)
    }

    @Test func noHEVC() throws {
        let selector = selector(nodes: [128])
        let error = #expect(throws: MediaError.self) {
            try selector.select(for: configuration(.hevc), policy: .preferHardware)
        }
        #expect(error?.code == .unsupported && error?.given == "hevc")
        let required = #expect(throws: MediaError.self) {
            try selector.select(for: configuration(.hevc), policy: .requireHardware)
        }
        #expect(required?.code == .unavailable && required?.message.contains(Self.path(128)) == true)
    }
}
