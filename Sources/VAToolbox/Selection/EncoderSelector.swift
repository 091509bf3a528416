// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import HardwareEncoder
public import MediaTypes
import RenderNodes
import SoftwareEncoder

/// Decides which encoders a session may use for a configuration, in which order, and says why.
///
/// GPUs come before the CPU, in the order of their render nodes. What the kernel lets this process open counts as usable:
/// whether a GPU's driver encodes what is wanted is found when its encoder is made, and the session goes on to the next one
/// if it does not.
public struct EncoderSelector: Sendable {
    private let software: [VideoCodec: any EncoderFactory]
    private let hardware: @Sendable (_ device: String, VideoCodec) -> (any EncoderFactory)?
    private let survey: @Sendable () -> RenderNodeSurvey

    /// Opening every node may wake GPUs and takes a while, on a thread that others wait for: once in a process is enough.
    /// A GPU that comes, or a permission that changes, is seen by the next process.
    private static let machineSurvey = RenderNodeSurvey()

    /// Makes a selector of the encoders that this package has, on this machine.
    public init() {
        self.init(software: [.h264: X264EncoderFactory()]) { Self.hardwareFactory($0, $1) }
    }

    /// The encoder of a codec on the GPU of a render node; `nil` if this package has none.
    static func hardwareFactory(_ device: String, _ codec: VideoCodec) -> (any EncoderFactory)? {
        VAAPIEncoderFactory(device: device, codec: codec)
    }

    /// - Parameters:
    ///   - software: The software encoder of each codec.
    ///   - hardware: The encoder of a codec on the GPU of a render node; `nil` if this package has none.
    ///   - survey: Looks at the render nodes of this machine.
    init(
        software: [VideoCodec: any EncoderFactory],
        hardware: @escaping @Sendable (_ device: String, VideoCodec) -> (any EncoderFactory)?,
        survey: @escaping @Sendable () -> RenderNodeSurvey = { Self.machineSurvey }
    ) {
        self.software = software
        self.hardware = hardware
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
        if policy != .requireSoftware { selection = selectHardware(codec, policy) }
        if allowsSoftware(policy) {
            if let factory = software[codec] {
                let reason = softwareReason(policy, selection)
                selection.candidates.append(EncoderSelection.Candidate(factory: factory, reason: reason))
            } else if selection.candidates.isEmpty {
                throw MediaError(
                    .unsupported,
                    "this version encodes no HEVC",
                    given: configuration.codec.rawValue,
                    allowed: "auto, h264"
                )
            }
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

    private func softwareReason(_ policy: EncoderPolicy, _ hardware: EncoderSelection) -> String {
        if policy == .requireSoftware { return "software was asked for" }
        if !hardware.candidates.isEmpty { return "the CPU comes after the GPUs" }
        return hardware.rejected.isEmpty ? "no GPU" : hardware.rejected.map(\.description).joined(separator: "; ")
    }

    // MARK: - GPUs

    private func selectHardware(_ codec: VideoCodec, _ policy: EncoderPolicy) -> EncoderSelection {
        let survey = survey()
        var selection = EncoderSelection(candidates: [])
        switch policy {
        case .devices(let paths, _):
            for path in paths {
                if let node = survey.nodes.first(where: { $0.path == path }) {
                    add(node, codec, "this render node was asked for", to: &selection)
                } else {
                    selection.rejected.append(missing(path, survey))
                }
            }
        case .preferHardware, .requireHardware, .requireSoftware:
            if let absence = survey.absence {
                selection.rejected.append(EncoderDescription.Rejection(name: "GPU", Diagnosis(absence)))
            }
            let reason = policy == .requireHardware ? "a GPU was asked for" : "a GPU comes before the CPU"
            for node in survey.nodes { add(node, codec, reason, to: &selection) }
        }
        return selection
    }

    private func add(_ node: RenderNode, _ codec: VideoCodec, _ reason: String, to selection: inout EncoderSelection) {
        let refusal: Diagnosis
        switch node.access {
        case .accessible:
            if let factory = hardware(node.path, codec) {
                var candidate = EncoderSelection.Candidate(factory: factory, reason: reason)
                candidate.node = node
                candidate.facts = DeviceFacts(node)
                return selection.candidates.append(candidate)
            }
            refusal = Diagnosis(.codecNotInThisVersion, "this version has no encoder of that codec for GPUs")
        case .refused(let error): refusal = Diagnosis(error)
        }
        selection.rejected.append(EncoderDescription.Rejection(name: node.path, refusal))
    }

    private func missing(_ path: String, _ survey: RenderNodeSurvey) -> EncoderDescription.Rejection {
        let known = survey.nodes.map(\.path).joined(separator: ", ")
        let found = "no such render node; there " + (known.isEmpty ? "is none" : "are \(known)")
        let remedies = ["see which there are: vatoolbox probe"]
        return EncoderDescription.Rejection(name: path, Diagnosis(.unknownDevice, found, remedies: remedies))
    }
}
