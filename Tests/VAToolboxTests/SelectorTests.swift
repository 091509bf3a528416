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
    private func selector(
        nodes: [UInt32],
        refused: Set<UInt32> = [],
        software: [VideoCodec] = [.h264, .hevc],
        hardware: [VideoCodec] = [.h264, .hevc]
    ) -> EncoderSelector {
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
            software: Dictionary(
                uniqueKeysWithValues: software.map { ($0, NoFactory(identity: .init(name: "cpu", codec: $0))) }
            ),
            hardware: { device, codec in
                hardware.contains(codec)
                    ? NoFactory(identity: .init(name: "gpu", codec: codec, device: device)) : nil
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

    @Test(arguments: [CodecSelection.hevc, .h264])
    func everyGPUThatOpensComesBeforeTheCPU(codec: CodecSelection) throws {
        let selector = selector(nodes: [130, 128, 129], refused: [129])
        let selection = try selector.select(for: configuration(codec), policy: .preferHardware)
        #expect(selection.candidates.map(\.identity.device) == [Self.path(128), Self.path(130), nil])
        #expect(selection.candidates.allSatisfy { $0.codec.rawValue == codec.rawValue && !$0.reason.isEmpty })
        #expect(selection.rejected.map(\.name) == [Self.path(129)])
        #expect(selection.rejected[0].reason.contains("render"))
    }

    @Test func hardwareAloneOrSoftwareAlone() throws {
        let selector = selector(nodes: [128])
        let hardware = try selector.select(for: configuration(.h264), policy: .requireHardware)
        #expect(hardware.candidates.map(\.identity.device) == [Self.path(128)])
        let software = try selector.select(for: configuration(), policy: .requireSoftware)
        #expect(software.candidates.map(\.identity.name) == ["cpu"] && software.rejected.isEmpty)
        #expect(software.candidates[0].reason == "a software encoder was requested")
    }

    @Test func devicesInTheOrderThatWasAskedFor() throws {
        let selector = selector(nodes: [128, 129])
        let paths = [Self.path(129), "/dev/dri/none", Self.path(128)]
        let selection = try selector.select(for: configuration(.h264), policy: .devices(paths, software: true))
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

    // MARK: - Codecs

    /// Each candidate as codec and node, 0 for the CPU; one that only goes on with streams in brackets.
    private func order(_ selection: EncoderSelection) -> [String] {
        selection.candidates.map { candidate in
            let text = "\(candidate.codec.rawValue) \(candidate.identity.device?.suffix(3) ?? "0")"
            return candidate.onlyContinues ? "(\(text))" : text
        }
    }

    @Test func anOpenCodecIsHEVCOnGPUsAndH264Elsewhere() throws {
        let selector = selector(nodes: [128, 129, 130], refused: [130])
        let selection = try selector.select(for: configuration(), policy: .preferHardware)
        #expect(order(selection) == ["hevc 128", "hevc 129", "h264 128", "h264 129", "h264 0", "(hevc 0)"])
        #expect(selection.rejected.map(\.name) == [Self.path(130)])
        #expect(selection.candidates[0].reason == "GPUs are preferred to the CPU, and HEVC to H.264")
        #expect(selection.candidates[2].reason == "GPUs are preferred to the CPU")
        #expect(order(try selector.select(for: configuration(), policy: .requireSoftware)) == ["h264 0"])
        let required = try selector.select(for: configuration(), policy: .requireHardware)
        #expect(order(required) == ["hevc 128", "hevc 129", "h264 128", "h264 129"])
        let device = try selector.select(for: configuration(), policy: .devices([Self.path(129)], software: true))
        #expect(order(device) == ["hevc 129", "h264 129", "h264 0", "(hevc 0)"])
        let twice = DevicePolicy.devices([Self.path(129), Self.path(128), Self.path(129)], software: false)
        let once = try selector.select(for: configuration(), policy: twice)
        #expect(order(once) == ["hevc 129", "hevc 128", "h264 129", "h264 128"])
        #expect(order(try self.selector(nodes: []).select(for: configuration(), policy: .preferHardware)) == ["h264 0"])
    }

    @Test func aFixedCodecStaysOnTheCPU() throws {
        let selector = selector(nodes: [128])
        let hevc = try selector.select(for: configuration(.hevc), policy: .preferHardware)
        #expect(order(hevc) == ["hevc 128", "hevc 0"])
        #expect(order(try selector.select(for: configuration(.hevc), policy: .requireSoftware)) == ["hevc 0"])
        #expect(
            order(try selector.select(for: configuration(.h264), policy: .preferHardware)) == ["h264 128", "h264 0"]
        )
    }

    @Test func optionsOfOneCodecFixIt() throws {
        let selector = selector(nodes: [128])
        let changes: [(String, (inout EncoderConfiguration) -> Void)] = [
            ("h264", { $0.profile = .h264Main }), ("hevc", { $0.profile = .hevcMain10 }),
            ("h264", { $0.h264Level = H264Level(name: "4") }), ("hevc", { $0.hevcLevel = HEVCLevel(name: "4") }),
            ("h264", { $0.entropyMode = .cavlc }),
        ]
        for (codec, change) in changes {
            var configuration = configuration()
            change(&configuration)
            let selection = try selector.select(for: configuration, policy: .preferHardware)
            #expect(order(selection) == ["\(codec) 128", "\(codec) 0"])
        }
    }

    /// Level 6.2 of HEVC takes more samples of a second than that of H.264 does, and the other way about in a picture.
    @Test func aCodecThatCannotDoItIsLeftOut() throws {
        var configuration = configuration()
        (configuration.width, configuration.height, configuration.frameRate) = (8192, 8192, Rational(1))
        let error = #expect(throws: MediaError.self) {
            try selector(nodes: [128]).select(for: configuration, policy: .preferHardware)
        }
        #expect(error?.code == .invalidArgument)
        (configuration.width, configuration.height, configuration.frameRate) = (128, 16200, Rational(30))
        let selection = try selector(nodes: [128]).select(for: configuration, policy: .preferHardware)
        #expect(Set(selection.candidates.map(\.codec)).count + selection.rejected.count == 2)
    }

    @Test func whereNoGPUHasHEVCNothingIsSaidOfIt() throws {
        let selector = selector(nodes: [128], hardware: [.h264])
        let open = try selector.select(for: configuration(), policy: .preferHardware)
        #expect(order(open) == ["h264 128", "h264 0"] && open.rejected.isEmpty)
        let fixed = try selector.select(for: configuration(.hevc), policy: .preferHardware)
        #expect(order(fixed) == ["hevc 0"] && fixed.rejected.map(\.cause) == [.codecNotInThisVersion])
        let error = #expect(throws: MediaError.self) {
            try self.selector(nodes: [], software: [.h264]).select(for: configuration(.hevc), policy: .requireSoftware)
        }
        #expect(error?.code == .unsupported && error?.given == "hevc" && error?.allowed == "h264")
    }
}
