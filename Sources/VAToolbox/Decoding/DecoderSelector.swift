// SPDX-License-Identifier: GPL-2.0-or-later

import HardwareDecoder
import HelperIPC
import MediaTypes
import RenderNodes

/// Decides which decoders a session may use for a stream, in which order, and for which reasons: GPUs in the order of
/// their render nodes, or of their load, then the CPU.
///
/// A GPU is usable if the kernel lets this process open its render node, and if it passes a short test when the first
/// decoder is created (``DecompressionOptions/devices``). Whether its driver decodes the stream is determined then; if it
/// does not, the session continues with the next candidate.
struct DecoderSelector {
    let options: DecompressionOptions
    var survey: @Sendable () -> RenderNodeSurvey = { EncoderSelector.surveyMachine() }

    init(_ options: DecompressionOptions) { self.options = options }

    /// Selects decoders of a format.
    ///
    /// - Throws: `unavailable` if the policy excludes all of them.
    func select(_ format: FormatDescription) throws(MediaError) -> DecoderSelection {
        let choice = DeviceChoice(options.policy, survey: survey)
        var selection = DecoderSelection(candidates: [], rejected: choice.rejected)
        for node in choice.nodes {
            let identity = VAAPIDecoderFactory(device: node.path, codec: format.codec).identity
            let factory = RemoteDecoderFactory(
                identity,
                pool: options.helpers,
                options: options.remoteOptions,
                logger: options.logger
            )
            var candidate = DecoderCandidate(factory: factory, reason: choice.reason)
            candidate.node = node
            candidate.facts = DeviceFacts(node, isForDecoding: true)
            selection.candidates.append(candidate)
        }
        if options.policy.allowsSoftware {
            var candidate = DecoderCandidate.software(format.codec, logger: options.logger)
            candidate.reason = softwareReason(selection)
            selection.candidates.append(candidate)
        }
        if selection.candidates.isEmpty { throw selection.emptyError }
        let path = options.helpers.options.path
        return try selection.guarded(options.devices, path, for: format) { (candidate) throws(MediaError) in
            let identity = candidate.factory.identity
            return try DecodingTests(identity, options.devices, helpers: options.helpers, logger: options.logger)
        }
    }

    private func softwareReason(_ hardware: DecoderSelection) -> String {
        if options.policy == .requireSoftware { return "decoding on the CPU was requested" }
        if !hardware.candidates.isEmpty { return "the CPU is the fallback for the GPUs" }
        return hardware.rejected.isEmpty ? "no GPU" : hardware.rejected.map(\.description).joined(separator: "; ")
    }
}

extension DecompressionOptions {
    /// The options of decoders in helper processes: they have memory for the frames of the consumer, and for those that a
    /// flush takes out of the decoder before the consumer gets any.
    fileprivate var remoteOptions: RemoteDecoderFactory.Options {
        var options = RemoteDecoderFactory.Options()
        options.pictureLimit = waitingFrames + heldFrames + Self.mostPicturesInDecoder
        options.deadlines.fetch = copyDeadline
        return options
    }

    /// Reordered pictures of H.264 and HEVC (16), samples that may be on the way to a helper (8), and one that is copied.
    private static let mostPicturesInDecoder = 25
}

/// The decoders that a session may use, in order, and the rejected ones with the reasons.
struct DecoderSelection {
    /// The decoders that may be used, best first.
    var candidates: [DecoderCandidate]
    /// The devices that may not be used.
    var rejected: [EncoderDescription.Rejection]

    /// The error if there is no candidate.
    var emptyError: MediaError {
        let reasons = rejected.map(\.description).joined(separator: "; ")
        return MediaError(
            .unavailable,
            "no decoder can be used" + (reasons.isEmpty ? "" : ": \(reasons)"),
            cause: rejected.first?.cause,
            remedies: rejected.remedies
        )
    }
}
