// SPDX-License-Identifier: GPL-2.0-or-later

public import BitstreamSyntax
import HardwareDecoder
public import HelperIPC
public import MediaTypes
import RenderNodes

/// The capabilities of the GPUs of this machine: the counterpart of `VTIsHardwareDecodeSupported`.
///
/// Encoding support is proved by a short test encode, the same that a session runs before it uses a GPU
/// (``DeviceOptions``), and decoding support by a short test decode. The results are stored, also for sessions. Drivers run
/// in helper processes only, so a driver that crashes or hangs is reported as unsupported.
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

    /// Returns whether a GPU of this machine decodes a codec: H.264 High, HEVC Main.
    ///
    /// This takes less than a second if the result is not stored yet; a driver that hangs costs
    /// ``DeviceOptions/proofDeadline``.
    public static func isDecodeSupported(_ codec: VideoCodec, devices: DeviceOptions = .init()) async -> Bool {
        await decodeSupport(codec, devices: devices).contains { $0.isSupported }
    }

    /// Returns whether a GPU of this machine decodes streams of a format's profile and bit depth, progressive or
    /// interlaced. A driver may still refuse the size.
    public static func isDecodeSupported(
        _ formatDescription: FormatDescription,
        devices: DeviceOptions = .init()
    ) async -> Bool {
        await decodeSupport(formatDescription, devices: devices).contains { $0.isSupported }
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

    /// Returns for each GPU of this machine whether it decodes a codec (H.264 High, HEVC Main), in the order of the node
    /// numbers. A GPU that is busy or suspended counts as unsupported, with that cause.
    ///
    /// - Parameters:
    ///   - codec: The codec to decode.
    ///   - devices: The settings of the test decode, the limit of sessions per GPU, and the place of the stored state.
    ///   - helpers: Defines the helper program, which must be one that decodes.
    public static func decodeSupport(
        _ codec: VideoCodec,
        devices: DeviceOptions = .init(),
        helpers: HelperPool = .decoding
    ) async -> [Answer] {
        await decodeSupport(codec, .success(KnownStream.usual(codec)), devices, helpers)
    }

    /// Returns for each GPU of this machine whether it decodes streams of a format's profile and bit depth, progressive or
    /// interlaced, in the order of the node numbers. A driver may still refuse the size.
    ///
    /// - Parameters:
    ///   - formatDescription: The format of the stream.
    ///   - devices: The settings of the test decode, the limit of sessions per GPU, and the place of the stored state.
    ///   - helpers: Defines the helper program, which must be one that decodes.
    public static func decodeSupport(
        _ formatDescription: FormatDescription,
        devices: DeviceOptions = .init(),
        helpers: HelperPool = .decoding
    ) async -> [Answer] {
        let stream: Result<KnownStream, MediaError>
        do throws(MediaError) {
            let found = try KnownStream.standing(for: formatDescription)
            stream = found.map { .success($0) } ?? .failure(Self.formatRefusal)
        } catch {
            stream = .failure(error)
        }
        return await decodeSupport(formatDescription.codec, stream, devices, helpers)
    }

    private static let formatRefusal = MediaError(
        .unsupported,
        "this version does not decode such streams on GPUs",
        allowed: "H.264 Baseline, Main and High, HEVC Main and Main 10, all 4:2:0",
        cause: .formatMissing
    )

    private static func decodeSupport(
        _ codec: VideoCodec,
        _ stream: Result<KnownStream, MediaError>,
        _ devices: DeviceOptions,
        _ helpers: HelperPool
    ) async -> [Answer] {
        await ofEachNode { node in
            do throws(MediaError) {
                try proveDecoding(try stream.get(), node, devices, helpers)
                return Answer(device: node.path, isSupported: true, reason: "", cause: nil, remedies: [])
            } catch {
                return Answer(node, error.diagnosed(on: DeviceFacts(node, isForDecoding: true), of: codec))
            }
        }
    }

    static func proveDecoding(
        _ stream: KnownStream,
        _ node: RenderNode,
        _ devices: DeviceOptions,
        _ helpers: HelperPool
    ) throws(MediaError) {
        guard let format = try stream.samples().first?.formatDescription else { return }
        let identity = VAAPIDecoderFactory(device: node.path, codec: stream.codec).identity
        var candidate = DecoderCandidate(factory: RemoteDecoderFactory(identity, pool: helpers), reason: "")
        candidate.node = node
        var options = devices
        options.proof = .required
        let alone = DecoderSelection(candidates: [candidate], rejected: [])
        let tests = try DecodingTests(identity, options, helpers: helpers)
        let selection = try alone.guarded(options, helpers.options.path, for: format) { _ in tests }
        guard let gated = selection.candidates[0].factory as? GatedDecoderFactory else { return }
        defer { gated.gate.leave() }
        try gated.gate.enter(tests.test(with: stream))
        if case .impossible(let error) = gated.gate.proof { throw error }
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
