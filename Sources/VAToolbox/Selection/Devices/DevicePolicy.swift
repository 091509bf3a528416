// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import RenderNodes

/// The devices on which the encoders or decoders of a session may run.
public enum DevicePolicy: Sendable, Hashable {
    /// A GPU if one supports the configuration or the stream, otherwise the CPU.
    case preferHardware
    /// GPUs only: without a suitable GPU, the creation fails with the reason, and the session never falls back to the
    /// CPU.
    case requireHardware
    /// The CPU.
    case requireSoftware
    /// These render nodes in this order, by path or by another name that `RenderNodeSurvey.node(named:)` accepts, for
    /// example `/dev/dri/renderD129` or `0000:03:00.0`; then the CPU if `software` is set.
    case devices([String], software: Bool)
}

extension DevicePolicy {
    /// The render nodes that the policy allows and this process can open.
    package var usableNodes: [String] { DeviceChoice(self) { EncoderSelector.surveyMachine() }.nodes.map(\.path) }

    /// Whether the CPU may be used.
    package var allowsSoftware: Bool {
        switch self {
        case .preferHardware, .requireSoftware: true
        case .requireHardware: false
        case .devices(_, let software): software
        }
    }
}

/// The render nodes that a policy allows, in order, and those that cannot be used.
struct DeviceChoice {
    /// The nodes that this process can open, best first.
    private(set) var nodes: [RenderNode] = []
    /// The reason for their rank, as text for users.
    private(set) var reason = ""
    /// What cannot be used, with the reasons.
    private(set) var rejected: [EncoderDescription.Rejection] = []

    /// - Parameter survey: Surveys the render nodes of this machine, unless the policy excludes them all.
    init(_ policy: DevicePolicy, survey: () -> RenderNodeSurvey) {
        guard policy != .requireSoftware else { return }
        let survey = survey()
        reason = policy == .requireHardware ? "a GPU was requested" : "GPUs are preferred to the CPU"
        switch policy {
        case .devices(let paths, _):
            reason = "this render node was requested"
            for path in paths {
                guard let node = survey.node(named: path) else {
                    rejected.append(Self.missing(path, survey))
                    continue
                }
                // A node may have been named in several ways.
                if !nodes.contains(node) { nodes.append(node) }
            }
        case .preferHardware, .requireHardware, .requireSoftware:
            if let absence = survey.absence {
                rejected.append(EncoderDescription.Rejection(name: "GPU", Diagnosis(absence)))
            }
            nodes = survey.nodes
        }
        for node in nodes {
            guard case .refused(let error) = node.access else { continue }
            rejected.append(EncoderDescription.Rejection(name: node.path, Diagnosis(error)))
        }
        nodes.removeAll { $0.access != .accessible }
    }

    private static func missing(_ path: String, _ survey: RenderNodeSurvey) -> EncoderDescription.Rejection {
        let known = survey.nodes.map(\.path).joined(separator: ", ")
        let found = "no such render node; " + (known.isEmpty ? "there is none" : "existing: \(known)")
        let remedies = ["list the render nodes: vatoolbox probe"]
        return EncoderDescription.Rejection(name: path, Diagnosis(.unknownDevice, found, remedies: remedies))
    }
}
