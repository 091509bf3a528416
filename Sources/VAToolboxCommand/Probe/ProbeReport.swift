// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import EncoderIPC
import MediaIO
import MediaTypes
import RenderNodes
import SoftwareEncoder
import Transcoding
import VAAPI
import VAToolbox

/// What this machine has to encode with.
struct ProbeReport {
    /// The render nodes, ascending by number.
    var nodes: [Node]
    /// Why there is no render node; `nil` if there is one.
    var absence: NodeRefusal?
    /// The software encoders of this build.
    var software: [SoftwareEncoder]
    /// The version of FFmpeg's libraries.
    var ffmpegVersion: String
    /// Whether a signal ended the looking before everything was seen.
    var wasInterrupted = false

    /// A render node, and the driver behind it.
    struct Node {
        var node: RenderNode
        var driver: Driver
        /// What is known of the device beyond its driver; `nil` for a node that does not open.
        var standing: DeviceStanding?
        /// What is known of its GPU.
        var facts: DeviceFacts?
        /// What was tried with it; `nil` if nothing was to be tried.
        var trials: NodeTrials?
    }

    /// How far one comes with a node.
    enum Driver {
        /// The node itself is out of reach.
        case outOfReach(NodeRefusal)
        /// There is no driver, or it failed before it had answered.
        case failed(DriverTrouble)
        /// The driver answered; it may have failed after that, when it was asked how it encodes or was let go of.
        case answers(ProbedDriver, trouble: DriverTrouble?)
    }

    /// An encoder that runs on the CPU.
    struct SoftwareEncoder {
        var codec: String
        var name: String
        var bitDepths: [Int]
        /// Such as `4:2:0`.
        var chromaFormats: [String]
    }

    /// Looks at the machine. Has the VA-API drivers of the nodes that open asked, each in a helper process of its own
    /// and all at the same time, and loads none of them into this process.
    ///
    /// - Parameters:
    ///   - patience: How long each driver may take.
    ///   - encodes: Whether those that list H.264 are to prove that they encode it, unless that is known.
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
                let lists = if case .answers(let probed, nil) = driver { probed.encodesH264 } else { false }
                let standing = DeviceStanding(of: node, devices, isTried: encodes && lists)
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
    /// What its driver, which has answered, cannot be used for: H.264 at all, or anything but constant quantizers.
    var limitations: [Diagnosis] {
        guard let facts, case .answers(let driver, _) = driver else { return [] }
        let h264 = driver.description.profiles.filter { "\($0.profile)".hasPrefix("H264") }
        let encoders = driver.encoders.filter { encoder in h264.contains { $0.profile == encoder.profile } }
        if encoders.isEmpty {
            let vendor = driver.description.vendor
            return [Diagnosis(lackOfEncoder: !h264.isEmpty, vendor: vendor, on: facts).readable]
        }
        // Firmware is what the low-power encoder's control of rates runs on; a full encoder beside it does without.
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
