// SPDX-License-Identifier: GPL-2.0-or-later

internal import BitstreamSyntax
internal import Dispatch
package import MediaTypes

/// A call into a scripted encoder.
package enum ScriptedCall: Sendable, Equatable {
    case encode(number: Int64)
    case drain
    case update(bitRate: Int)
}

/// Who is told what one scripted encoder does, before it does it.
package protocol EncoderWitness: Sendable {
    func note(_ call: ScriptedCall)
    func born()
    func died()
    /// Returns when calls that hang are released.
    func hang()
}

/// An encoder that reorders, delays, fails and hangs as its script says.
package final class ScriptedEncoder: EncoderBackend {
    package let properties: EncoderProperties

    /// A frame that waits to be coded, with its picture unless the encoder keeps a copy of its own.
    private struct Item {
        var number: Int64
        var isForced: Bool
        var picture: PixelBuffer?
        var step: InstanceScript.Step
        var bitRate: Int
    }

    private let id: Int
    private let script: InstanceScript
    private let witness: any EncoderWitness
    private let output: @Sendable (EncoderOutput) -> Void
    private let collector: DispatchQueue?

    private var bitRate: Int
    private var calls = 0
    private var sinceKey: Int?
    private var isSilent = false
    /// Frames of a group of B-frames that is not complete.
    private var pending: [Item] = []
    /// Coded frames that are held back.
    private var coded: [[CodedFrame]] = []

    /// Makes the encoder, or fails as the script wants.
    ///
    /// - Parameters:
    ///   - id: What it writes into its frames.
    ///   - attempt: Which encoder of its candidate it is, for the error.
    package static func make(
        _ id: Int,
        attempt: Int,
        _ script: InstanceScript,
        _ request: EncoderRequest,
        _ witness: any EncoderWitness
    ) throws(MediaError) -> ScriptedEncoder {
        switch script.creation {
        case .succeed: break
        case .fail: throw MediaError(.creationFailed, "scripted", given: "attempt \(attempt)")
        case .failPermanently: throw MediaError(.unsupported, "scripted refusal")
        case .hang: witness.hang()
        }
        return ScriptedEncoder(id, script, request, witness)
    }

    private init(
        _ id: Int,
        _ script: InstanceScript,
        _ request: EncoderRequest,
        _ witness: any EncoderWitness
    ) {
        let configuration = request.configuration
        self.id = id
        self.script = script
        self.witness = witness
        output = request.output
        collector = script.hasCollector ? DispatchQueue(label: "collector") : nil
        bitRate = configuration.rateControl.bitsPerSecond ?? 0
        properties = EncoderProperties(
            name: "scripted",
            profile: "none",
            level: "none",
            reorderDepth: script.claimedReorderDepth ?? script.reorderDepth,
            maximumDelay: script.lookahead + script.groupSize,
            isFailureFinal: script.isFailureFinal,
            pixelFormats: [.nv12],
            supportedProperties: script.supportedProperties,
            formatDescription: FormatDescription(
                codec: .h264,
                width: configuration.width,
                height: configuration.height,
                parameterSets: [[script.formatID]],
                color: configuration.color ?? .unspecified,
                pixelAspectRatio: configuration.pixelAspectRatio ?? .one
            )
        )
        witness.born()
    }

    deinit { witness.died() }

    package func encode(_ frame: EncoderFrame) throws(MediaError) {
        witness.note(.encode(number: frame.number))
        let step = script.steps[calls] ?? .normal
        calls += 1
        switch step {
        case .fail: throw MediaError(.frameFailed, "scripted", given: "frame \(frame.number)")
        case .failPermanently: throw MediaError(.unsupported, "scripted refusal", given: "frame \(frame.number)")
        case .failLater: return put(.failed(MediaError(.frameFailed, "scripted output")))
        case .hang: witness.hang()
        case .fallSilent: isSilent = true
        case .normal, .passOver, .empty, .leaveOut, .duplicate, .unknownNumber, .notKey, .hastyKey: break
        }
        if isSilent { return }
        order(
            Item(
                number: frame.number,
                isForced: frame.options.forceKeyFrame,
                picture: script.isFailureFinal ? nil : frame.buffer,
                step: step,
                bitRate: bitRate
            )
        )
        while coded.count > script.lookahead { coded.removeFirst().forEach { put(.coded($0)) } }
    }

    package func update(_ configuration: EncoderConfiguration) throws(MediaError) -> EncoderUpdateOutcome {
        let rate = configuration.rateControl.bitsPerSecond ?? 0
        witness.note(.update(bitRate: rate))
        switch script.update {
        case .inPlace: break
        case .onlyByNewEncoder: return .needsNewEncoder
        case .refuse: throw MediaError(.unsupported, "scripted refusal", given: "\(rate)")
        case .fail: throw MediaError(.frameFailed, "scripted update")
        case .hang: witness.hang()
        }
        bitRate = rate
        return .done(adjustments: script.updateAdjustments)
    }

    package func drain() throws(MediaError) {
        witness.note(.drain)
        switch script.drain {
        case .normal: break
        case .fail: throw MediaError(.frameFailed, "scripted drain")
        case .hang: witness.hang()
        case .keepFrames: return
        }
        if isSilent { return }
        codePending()
        for frame in coded.joined() { put(.coded(frame)) }
        coded = []
        sinceKey = nil
        collector?.sync {}
    }

    // MARK: - Coding order

    private func order(_ item: Item) {
        if item.step == .hastyKey { return code(item, isKey: true) }
        guard let distance = sinceKey, !item.isForced, distance + 1 < script.keyFrameInterval ?? .max else {
            codePending()
            sinceKey = 0
            return code(item, isKey: true)
        }
        sinceKey = distance + 1
        pending.append(item)
        if pending.count == script.groupSize { codePending() }
    }

    /// The last frame first, then the middle one if there are four, then the others as they are shown.
    private func codePending() {
        guard let last = pending.popLast() else { return }
        code(last, isKey: false)
        if pending.count == 3 { code(pending.remove(at: 1), isKey: false) }
        pending.forEach { code($0, isKey: false) }
        pending = []
    }

    private func code(_ item: Item, isKey: Bool) {
        let number = item.number
        let payload = CodedPayload(instance: id, number: number, bitRate: item.bitRate)
        let isEmpty = item.step == .empty || item.step == .leaveOut
        let frame = CodedFrame(
            number: item.step == .unknownNumber ? number + 1000 : number,
            data: isEmpty ? CodedData([]) : payload.data(byteCount: script.bytesPerFrame),
            isKeyFrame: isKey && item.step != .notKey && item.step != .leaveOut,
            isReference: isKey,
            isDropped: item.step == .leaveOut
        )
        switch item.step {
        case .passOver: coded.append([])
        case .duplicate: coded.append([frame, frame])
        default: coded.append([frame])
        }
    }

    private func put(_ item: EncoderOutput) {
        guard let collector else { return output(item) }
        let output = output
        collector.async { output(item) }
    }
}
