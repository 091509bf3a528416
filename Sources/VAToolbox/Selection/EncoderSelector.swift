// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import HardwareEncoder
public import Logging
public import MediaTypes
import RenderNodes
import SoftwareEncoder
import Synchronization

/// Decides which encoders a session may use for a configuration, in which order, and for which reasons.
///
/// GPUs come before the CPU, in the order of their render nodes. If the configuration names no codec, HEVC on any GPU
/// comes before H.264 on any GPU, and H.264 on the CPU comes last. HEVC on the CPU only continues a stream that a GPU
/// has begun, because a stream keeps its codec.
///
/// A GPU is usable if the kernel lets this process open its render node. Whether the driver supports the configuration
/// is determined when the encoder is created; if it does not, the session continues with the next candidate.
public struct EncoderSelector: Sendable {
    private let software: [VideoCodec: any EncoderFactory]
    private let hardware: @Sendable (_ device: String, VideoCodec) -> (any EncoderFactory)?
    private let survey: @Sendable () -> RenderNodeSurvey

    /// Opening every node may wake GPUs and takes time on a thread that others wait for, so it is done once per
    /// process. A new GPU or a changed permission is only seen by the next process. A survey that ran out of
    /// descriptors is not kept, because this process may have some a moment later.
    private static let machineSurvey = Mutex<RenderNodeSurvey?>(nil)

    static func surveyMachine() -> RenderNodeSurvey {
        machineSurvey.withLock { kept in
            if let kept { return kept }
            let survey = RenderNodeSurvey()
            if !survey.lackedDescriptors { kept = survey }
            return survey
        }
    }

    /// Creates a selector for the encoders of this package on this machine.
    ///
    /// - Parameter logger: Receives the logs of encoders in this process; `nil` for loggers with the labels
    ///   `vatoolbox.x264` and `vatoolbox.vaapi`.
    public init(logger: Logger? = nil) {
        let x264 = logger.map { X264EncoderFactory(logger: $0) } ?? X264EncoderFactory()
        self.init(software: [.h264: x264, .hevc: X265EncoderFactory()]) { Self.hardwareFactory($0, $1, logger) }
    }

    /// The encoder of a codec on the GPU of a render node; `nil` if this package has none.
    static func hardwareFactory(
        _ device: String,
        _ codec: VideoCodec,
        _ logger: Logger? = nil
    ) -> (any EncoderFactory)? {
        logger.map { VAAPIEncoderFactory(device: device, codec: codec, logger: $0) }
            ?? VAAPIEncoderFactory(device: device, codec: codec)
    }

    /// - Parameters:
    ///   - software: The software encoder of each codec.
    ///   - hardware: The encoder of a codec on the GPU of a render node; `nil` if this package has none.
    ///   - survey: Surveys the render nodes of this machine.
    init(
        software: [VideoCodec: any EncoderFactory],
        hardware: @escaping @Sendable (_ device: String, VideoCodec) -> (any EncoderFactory)?,
        survey: @escaping @Sendable () -> RenderNodeSurvey = { Self.surveyMachine() }
    ) {
        self.software = software
        self.hardware = hardware
        self.survey = survey
    }

    /// Selects encoders.
    ///
    /// - Throws: `unsupported` if no encoder of the codec exists; `unavailable` if the policy excludes all of them.
    public func select(
        for configuration: EncoderConfiguration,
        policy: DevicePolicy
    ) throws(MediaError) -> EncoderSelection {
        var selection = EncoderSelection(candidates: [])
        let codecs = try codecs(for: configuration, &selection)
        selectHardware(codecs, policy, &selection)
        if policy.allowsSoftware { try selectSoftware(configuration, codecs, policy, &selection) }
        if selection.candidates.isEmpty { throw selection.emptyError }
        return selection
    }

    /// Returns the codecs that may be used, best first, without those that do not support the configuration.
    private func codecs(
        for configuration: EncoderConfiguration,
        _ selection: inout EncoderSelection
    ) throws(MediaError) -> [VideoCodec] {
        if let codec = configuration.fixedCodec { return [codec] }
        var (codecs, refusal): ([VideoCodec], MediaError?) = ([], nil)
        for codec in [VideoCodec.hevc, .h264] {
            do {
                _ = try configuration.validated(for: codec)
                codecs.append(codec)
            } catch {
                refusal = error
                selection.rejected.append(EncoderDescription.Rejection(name: codec.name, reason: error.readable))
            }
        }
        if codecs.isEmpty, let refusal { throw refusal }
        return codecs
    }

    private func selectSoftware(
        _ configuration: EncoderConfiguration,
        _ codecs: [VideoCodec],
        _ policy: DevicePolicy,
        _ selection: inout EncoderSelection
    ) throws(MediaError) {
        // If the configuration names no codec: HEVC costs a CPU several times as much as H.264.
        let codec = codecs.last ?? .h264
        guard let factory = software[codec] else {
            if !selection.candidates.isEmpty { return }
            throw MediaError(
                .unsupported,
                "this version has no software encoder for the codec",
                given: configuration.codec.rawValue,
                allowed: software.keys.map(\.rawValue).sorted().joined(separator: ", ")
            )
        }
        let reason = softwareReason(policy, selection)
        let begun = Set(selection.candidates.map(\.codec))
        selection.candidates.append(EncoderSelection.Candidate(factory: factory, reason: reason))
        for other in codecs where other != codec && begun.contains(other) {
            guard let factory = software[other] else { continue }
            let reason = "the stream is \(other.name) and cannot change its codec"
            var candidate = EncoderSelection.Candidate(factory: factory, reason: reason)
            candidate.onlyContinues = true
            selection.candidates.append(candidate)
        }
    }

    private func softwareReason(_ policy: DevicePolicy, _ hardware: EncoderSelection) -> String {
        if policy == .requireSoftware { return "a software encoder was requested" }
        if !hardware.candidates.isEmpty { return "the CPU is the fallback for the GPUs" }
        return hardware.rejected.isEmpty ? "no GPU" : hardware.rejected.map(\.description).joined(separator: "; ")
    }

    // MARK: - GPUs

    private func selectHardware(
        _ codecs: [VideoCodec],
        _ policy: DevicePolicy,
        _ selection: inout EncoderSelection
    ) {
        let choice = DeviceChoice(policy, survey: survey)
        selection.rejected += choice.rejected
        for codec in codecs {
            let isPreferred = codecs.count > 1 && codec == codecs[0]
            let preference = isPreferred ? "\(choice.reason), and \(codec.name) to \(codecs[1].name)" : choice.reason
            for node in choice.nodes {
                add(node, codec, preference, isOnlyCodec: codecs.count == 1, to: &selection)
            }
        }
    }

    private func add(
        _ node: RenderNode,
        _ codec: VideoCodec,
        _ reason: String,
        isOnlyCodec: Bool,
        to selection: inout EncoderSelection
    ) {
        if let factory = hardware(node.path, codec) {
            var candidate = EncoderSelection.Candidate(factory: factory, reason: reason)
            candidate.node = node
            candidate.facts = DeviceFacts(node)
            selection.candidates.append(candidate)
        } else if isOnlyCodec {
            let refusal = Diagnosis(.codecNotInThisVersion, "this version has no GPU encoder for the codec")
            selection.rejected.append(EncoderDescription.Rejection(name: node.path, refusal))
        }
    }
}

extension VideoCodec {
    /// The name for users.
    var name: String {
        switch self {
        case .h264: "H.264"
        case .hevc: "HEVC"
        }
    }
}
