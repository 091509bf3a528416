// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import FFmpegSupport
import HelperIPC
import MediaIO
import MediaTypes
import RenderNodes
import SoftwareEncoder
import Transcoding
import VAAPI
import VAToolbox

/// The encoders and decoders of this machine.
struct ProbeReport {
    /// The render nodes in the order of their numbers.
    var nodes: [Node]
    /// The reason why there is no render node; `nil` if there is one.
    var absence: NodeRefusal?
    /// The software encoders of this build.
    var software: [SoftwareEncoder]
    /// The version of FFmpeg's libraries.
    var ffmpegVersion: String
    /// Whether a signal interrupted the examination.
    var wasInterrupted = false

    /// A render node, and the driver behind it.
    struct Node {
        var node: RenderNode
        var driver: Driver
        /// The additional information about the device; `nil` for a node that cannot be opened.
        var standing: DeviceStanding?
        /// The facts about its GPU.
        var facts: DeviceFacts?
        /// The trials on the node; `nil` if none were requested.
        var trials: NodeTrials?
    }

    /// The state of a node's driver.
    enum Driver {
        /// The node cannot be used.
        case outOfReach(NodeRefusal)
        /// There is no driver, or it failed before it answered.
        case failed(DriverTrouble)
        /// The driver answered. It may have failed afterwards, while its encoding capabilities were queried or it was
        /// closed.
        case answers(ProbedDriver, trouble: DriverTrouble?)
    }

    /// An encoder that runs on the CPU.
    struct SoftwareEncoder {
        var codec: String
        var name: String
        var bitDepths: [Int]
        /// The supported chroma formats, such as `4:2:0`.
        var chromaFormats: [String]
    }

    /// Examines the machine. Inspects the VA-API drivers of all accessible nodes at the same time, each in a separate
    /// helper process, and loads none of them into this process.
    ///
    /// - Parameters:
    ///   - patience: The deadline for each driver.
    ///   - encodes: Whether drivers must prove that they encode and decode what they list, unless the result is stored.
    static func ofThisMachine(patience: Duration, encodes: Bool) -> ProbeReport {
        let survey = RenderNodeSurvey()
        return ProbeReport(
            nodes: survey.nodes.inParallel { node in
                let facts = DeviceFacts(node)
                let driver = driver(of: node, facts, patience)
                if case .outOfReach = driver { return Node(node: node, driver: driver, facts: facts) }
                var devices = DeviceOptions()
                devices.verifier = DecodingVerifier()
                devices.proofDeadline = min(devices.proofDeadline, patience)
                let probed: ProbedDriver? = if case .answers(let probed, nil) = driver { probed } else { nil }
                let standing = DeviceStanding(
                    of: node,
                    devices,
                    isTried: encodes && probed?.encodesH264 == true,
                    decoding: encodes ? probed?.knownStreams ?? [] : []
                )
                return Node(node: node, driver: driver, standing: standing, facts: facts)
            },
            absence: survey.absence,
            software: [
                SoftwareEncoder(
                    codec: "H.264",
                    name: X264EncoderFactory.libraryName,
                    bitDepths: X264EncoderFactory.bitDepths,
                    chromaFormats: EncoderConfiguration.chromaFormats(.h264).map(\.name)
                ),
                SoftwareEncoder(
                    codec: "HEVC",
                    name: X265EncoderFactory.libraryName,
                    bitDepths: X265EncoderFactory.bitDepths,
                    chromaFormats: EncoderConfiguration.chromaFormats(.hevc).map(\.name)
                ),
            ],
            ffmpegVersion: MediaLibraries.version
        )
    }

    private static func driver(of node: RenderNode, _ facts: DeviceFacts, _ patience: Duration) -> Driver {
        if case .refused(let refusal) = node.access { return .outOfReach(refusal) }
        var options = RemoteDriver.Options()
        options.deadline = patience
        switch RemoteDriver.inspect(path: node.path, options: options) {
        case .failed(let failure): return .failed(DriverTrouble(failure, on: facts))
        case .reported(let report, let encoders, let failure):
            return .answers(ProbedDriver(report, encoders), trouble: failure.map { DriverTrouble($0, on: facts) })
        }
    }
}

extension ProbeReport.Node {
    /// The limitations of a driver that answered: no H.264, or only constant quantizers.
    var limitations: [Diagnosis] {
        guard let facts, case .answers(let driver, _) = driver else { return [] }
        let h264 = driver.description.profiles.filter { "\($0.profile)".hasPrefix("H264") }
        let encoders = driver.encoders.filter { encoder in h264.contains { $0.profile == encoder.profile } }
        if encoders.isEmpty {
            let vendor = driver.description.vendor
            return [Diagnosis(lackOfEncoder: !h264.isEmpty, vendor: vendor, on: facts).readable]
        }
        // The low-power encoder requires firmware for rate control; a full encoder does not.
        let hasRates = encoders.contains { $0.answer.capabilities.map { $0.rateControlModes != .cqp } ?? true }
        return hasRates ? [] : [Diagnosis(firmwareOf: facts)?.readable].compactMap(\.self)
    }
}

extension RenderNode {
    /// Owner and mode, such as `group render (gid 104), mode 0660`.
    var permissionText: String? {
        guard let file else { return nil }
        let group = groupName.map { "group \($0) (gid \(file.group))" } ?? "gid \(file.group)"
        return "\(group), mode 0\(String(file.permissions, radix: 8))"
    }
}
