// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
public import MediaTypes
import RenderNodes
import SoftwareEncoder

/// Decides which encoders a session may use for a configuration, in which order, and says why.
///
/// This version has no VA-API encoder: every GPU is turned down with that reason, or with the reason why it could not
/// be reached at all.
public struct EncoderSelector: Sendable {
    private let software: [VideoCodec: any EncoderFactory]
    private let survey: @Sendable () -> RenderNodeSurvey

    /// Opening every node may wake GPUs and takes a while, on a thread that others wait for: once in a process is enough.
    /// A GPU that comes, or a permission that changes, is seen by the next process.
    private static let machineSurvey = RenderNodeSurvey()

    /// Makes a selector of the encoders that this package has, on this machine.
    public init() { self.init(software: [.h264: X264EncoderFactory()]) }

    /// - Parameters:
    ///   - software: The software encoder of each codec.
    ///   - survey: Looks at the render nodes of this machine.
    init(
        software: [VideoCodec: any EncoderFactory],
        survey: @escaping @Sendable () -> RenderNodeSurvey = { Self.machineSurvey }
    ) {
        self.software = software
        self.survey = survey
    }

    /// Selects encoders.
    ///
    /// - Throws: `unsupported` if no encoder of the codec exists, `unavailable` if the policy rules all of them out.
    public func select(
        for configuration: EncoderConfiguration,
        policy: EncoderPolicy
    ) throws(MediaError) -> EncoderSelection {
        let codec: VideoCodec = configuration.codec == .hevc ? .hevc : .h264
        var selection = EncoderSelection(candidates: [])
        if policy != .requireSoftware { selection.rejected = rejectedHardware(policy) }
        if allowsSoftware(policy) {
            guard let factory = software[codec] else {
                throw MediaError(
                    .unsupported,
                    "this version encodes no HEVC",
                    given: configuration.codec.rawValue,
                    allowed: "auto, h264"
                )
            }
            selection.candidates.append(
                EncoderSelection.Candidate(factory: factory, reason: softwareReason(policy, selection.rejected))
            )
        }
        if selection.candidates.isEmpty { throw selection.emptyError }
        return selection
    }

    private func allowsSoftware(_ policy: EncoderPolicy) -> Bool {
        switch policy {
        case .preferHardware, .requireSoftware: true
        case .requireHardware: false
        case .devices(_, let software): software
        }
    }

    private func softwareReason(_ policy: EncoderPolicy, _ rejected: [EncoderDescription.Rejection]) -> String {
        if policy == .requireSoftware { return "software was asked for" }
        return rejected.isEmpty ? "no GPU" : rejected.map(\.description).joined(separator: "; ")
    }

    private func rejectedHardware(_ policy: EncoderPolicy) -> [EncoderDescription.Rejection] {
        let survey = survey()
        func rejection(_ node: RenderNode) -> EncoderDescription.Rejection {
            let reason =
                switch node.access {
                case .accessible: "this version has no VA-API encoder"
                case .refused(let refusal): refusal.explanation
                }
            return EncoderDescription.Rejection(name: node.path, reason: reason)
        }
        guard case .devices(let paths, _) = policy else {
            if let absence = survey.absence {
                return [EncoderDescription.Rejection(name: "GPU", reason: absence.explanation)]
            }
            return survey.nodes.map(rejection)
        }
        return paths.map { path in
            if let node = survey.nodes.first(where: { $0.path == path }) { return rejection(node) }
            let known = survey.nodes.map(\.path).joined(separator: ", ")
            return EncoderDescription.Rejection(
                name: path,
                reason: "no such render node; there " + (known.isEmpty ? "is none" : "are \(known)")
            )
        }
    }
}
