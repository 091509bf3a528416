// SPDX-License-Identifier: GPL-2.0-or-later

public import BitstreamSyntax
public import EncoderIPC
public import MediaTypes
import RenderNodes
import VAAPI

/// The capabilities of the GPUs of this machine: the counterpart of `VTIsHardwareDecodeSupported`.
///
/// Encoding support is proved by a short test encode, the same that a session runs before it uses a GPU
/// (``DeviceOptions``). The result is stored, also for sessions. Decoding support is what a driver lists. Drivers are
/// queried in helper processes only, so a driver that crashes or hangs is reported as unsupported.
public enum HardwareSupport {
    /// The answer for one GPU.
    public struct Answer: Sendable {
        /// The path of the render node.
        public var device: String
        /// Whether the GPU supports the request.
        public var isSupported: Bool
        /// The reason why it does not, as text for users; empty if it does.
        public var reason: String
        /// The cause if it does not, as far as it is known.
        public var cause: MediaError.Cause?
        /// What the user can do about it, most likely remedy first.
        public var remedies: [String]
    }

    /// Returns whether a GPU of this machine encodes to a codec, at 1280x720 with the defaults of
    /// ``MediaTypes/EncoderConfiguration``.
    ///
    /// This takes about a second if the result is not stored yet; a driver that hangs costs
    /// ``DeviceOptions/proofDeadline``.
    public static func isEncodeSupported(_ codec: VideoCodec, devices: DeviceOptions = .init()) async -> Bool {
        await isEncodeSupported(configuration(codec), devices: devices)
    }

    /// Returns whether a GPU of this machine supports a configuration: size, profile, rate control, B-frames and all
    /// other settings. If the configuration names no codec, either codec counts.
    public static func isEncodeSupported(
        _ configuration: EncoderConfiguration,
        devices: DeviceOptions = .init()
    ) async -> Bool {
        await encodeSupport(configuration, devices: devices).contains { $0.isSupported }
    }

    /// Returns whether a GPU of this machine decodes a codec: H.264 Main or High, HEVC Main.
    ///
    /// All drivers are queried again on each call, at the same time, for at most 10 seconds.
    public static func isDecodeSupported(_ codec: VideoCodec) async -> Bool {
        await decodeSupport(codec).contains { $0.isSupported }
    }

    /// Returns for each GPU of this machine whether it supports a configuration, in the order of the node numbers. A
    /// GPU that is busy or suspended counts as unsupported, with that cause.
    ///
    /// - Parameters:
    ///   - configuration: The configuration to encode with.
    ///   - devices: The settings of the test encode, the limit of sessions per GPU, and the place of the stored state.
    ///   - helpers: Defines the helper program.
    public static func encodeSupport(
        _ configuration: EncoderConfiguration,
        devices: DeviceOptions = .init(),
        helpers: HelperPool = .standard
    ) async -> [Answer] {
        let codecs = configuration.fixedCodec.map { [$0] } ?? [.hevc, .h264]
        return await ofEachNode { node in
            var refusal: MediaError?
            let hung = HungDevices()
            for codec in codecs {
                do throws(MediaError) {
                    try prove(configuration, codec, node, devices, helpers, hung: hung)
                    return Answer(device: node.path, isSupported: true, reason: "", cause: nil, remedies: [])
                } catch {
                    refusal = error.diagnosed(on: DeviceFacts(node), of: codec)
                }
            }
            return Answer(node, refusal ?? MediaError(.unsupported, "no codec was requested"))
        }
    }

    /// Returns for each GPU of this machine whether it decodes a codec, in the order of the node numbers.
    ///
    /// - Parameters:
    ///   - codec: The codec to decode.
    ///   - helpers: Defines the helper program.
    public static func decodeSupport(_ codec: VideoCodec, helpers: HelperPool = .standard) async -> [Answer] {
        let path = helpers.options.path
        return await ofEachNode { node in
            var options = RemoteDriver.Options()
            options.helperPath = path
            switch RemoteDriver.inspect(path: node.path, options: options) {
            case .failed(let failure):
                return Answer(node, Diagnosis(failure, on: DeviceFacts(node)))
            case .reported(let report, _, _):
                if report.decodes(codec) {
                    return Answer(device: node.path, isSupported: true, reason: "", cause: nil, remedies: [])
                }
                return Answer(node, Diagnosis(.driverWithoutCodec, "its driver lists no decoder for \(codec.rawValue)"))
            }
        }
    }

    private static func configuration(_ codec: VideoCodec) -> EncoderConfiguration {
        var configuration = EncoderConfiguration(width: 1280, height: 720)
        configuration.codec = codec == .hevc ? .hevc : .h264
        return configuration
    }

    static func prove(
        _ configuration: EncoderConfiguration,
        _ codec: VideoCodec,
        _ node: RenderNode,
        _ devices: DeviceOptions,
        _ helpers: HelperPool,
        hung: HungDevices = HungDevices()
    ) throws(MediaError) {
        guard let factory = EncoderSelector.hardwareFactory(node.path, codec) else {
            throw MediaError(
                .unsupported,
                "this version has no GPU encoder for the codec",
                given: codec.rawValue,
                cause: .codecNotInThisVersion
            )
        }
        let valid = try configuration.validated(for: codec).configuration
        var options = devices
        options.proof = .required
        var candidate = EncoderSelection.Candidate(factory: factory, reason: "")
        candidate.node = node
        let alone = EncoderSelection(candidates: [candidate])
        let selection = try alone.guarded(options, in: helpers, for: valid, hung: hung)
        guard let gated = selection.candidates[0].factory as? GatedFactory else { return }
        defer { gated.gate.leave() }
        try gated.gate.enter(gated.tests.test(of: valid))
        if case .impossible(let error) = gated.gate.proof { throw error }
    }

    /// Queries every accessible node at the same time, each on a thread that may block.
    private static func ofEachNode(_ ask: @escaping @Sendable (RenderNode) -> Answer) async -> [Answer] {
        await withCheckedContinuation { continuation in
            let work: @Sendable () -> Void = {
                let nodes = RenderNodeSurvey().nodes
                continuation.resume(
                    returning: nodes.inParallel { node in
                        if case .refused(let refusal) = node.access { return Answer(node, Diagnosis(refusal)) }
                        return ask(node)
                    }
                )
            }
            do { try PlainThread.start(name: "vt-support", work) } catch { work() }
        }
    }
}

extension HardwareSupport.Answer {
    /// - Parameter error: The diagnosed error.
    fileprivate init(_ node: RenderNode, _ error: MediaError) {
        self.init(node, Diagnosis(error.cause ?? .other, error.message, remedies: error.remedies))
    }

    fileprivate init(_ node: RenderNode, _ diagnosis: Diagnosis) {
        self.init(
            device: node.path,
            isSupported: false,
            reason: diagnosis.explanation,
            cause: diagnosis.cause,
            remedies: diagnosis.remedies
        )
    }
}

extension DriverReport {
    /// Whether the driver lists a decoder (`VAEntrypointVLD`) of a codec's usual profiles.
    fileprivate func decodes(_ codec: VideoCodec) -> Bool {
        let names: Set<String> =
            switch codec {
            case .h264: ["H264Main", "H264High"]
            case .hevc: ["HEVCMain"]
            }
        return profiles.contains { profile in
            names.contains(VAAPI.Profile(rawValue: profile.number).description)
                && profile.entrypoints.contains { $0.number == Self.bitstreamDecoder }
        }
    }

    /// `VAEntrypointVLD`.
    private static let bitstreamDecoder: UInt32 = 1
}
