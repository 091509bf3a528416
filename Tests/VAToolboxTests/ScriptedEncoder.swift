// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import Dispatch
import MediaTypes
import Synchronization

/// What one scripted encoder does, from its creation to its end.
struct InstanceScript: Sendable {
    enum Creation: Sendable { case succeed, fail, failPermanently, hang }

    enum Step: Sendable {
        case normal
        case fail, failPermanently
        /// `encode` returns, and the failure comes as output.
        case failLater
        /// `encode` does not return before ``Stage/release()``; then it goes on as if nothing had happened.
        case hang
        /// From this frame on nothing comes out any more.
        case fallSilent
        /// The frame comes out without data.
        case empty
        /// The frame is left out on purpose.
        case leaveOut
        case duplicate, unknownNumber
        /// A key frame comes out marked as another frame.
        case notKey
        /// The frame becomes a key frame that comes out before those that are shown before it.
        case hastyKey
    }

    enum Drain: Sendable {
        case normal, fail, hang
        /// It returns, but keeps its frames.
        case keepFrames
    }

    enum Update: Sendable { case inPlace, onlyByNewEncoder, refuse, fail, hang }

    var creation = Creation.succeed
    /// By number of the call of `encode`, from 0.
    var steps: [Int: Step] = [:]
    var drain = Drain.normal
    var update = Update.inPlace
    /// What it says that it honours differently after an update.
    var updateAdjustments: [Adjustment] = []
    /// How it reorders: 0 not, 1 P before one B, 2 a pyramid of three B.
    var reorderDepth = 0
    /// What it says about that.
    var claimedReorderDepth: Int?
    /// Coded frames that it holds back.
    var lookahead = 0
    var keyFrameInterval: Int?
    var formatID: UInt8 = 0
    var bytesPerFrame = CodedPayload.size
    /// Whether outputs come from a thread of its own, after `encode` has returned.
    var hasCollector = false
    var isFailureFinal = false
    var supportedProperties: Set<EncoderOption> = [.frameQuantizer, .forceKeyFrame]

    var groupSize: Int { [1, 2, 4][reorderDepth] }
}

/// What a scripted encoder writes as coded data, so that tests see who coded what.
struct CodedPayload: Equatable {
    static let size = 24

    var instance: Int
    var number: Int64
    var bitRate: Int

    func data(byteCount: Int) -> CodedData {
        CodedData(capacity: max(byteCount, Self.size)) { memory in
            memory.initializeMemory(as: UInt8.self, repeating: 0)
            for (index, value) in [Int64(instance), number, Int64(bitRate)].enumerated() {
                memory.storeBytes(of: value, toByteOffset: index * 8, as: Int64.self)
            }
            return memory.count
        }
    }

    init(instance: Int, number: Int64, bitRate: Int) {
        self.instance = instance
        self.number = number
        self.bitRate = bitRate
    }

    init?(_ sample: SampleBuffer) {
        guard sample.data.count >= Self.size else { return nil }
        let values = sample.data.withUnsafeBytes { bytes in
            (0..<3).map { bytes.loadUnaligned(fromByteOffset: $0 * 8, as: Int64.self) }
        }
        self.init(instance: Int(values[0]), number: values[1], bitRate: Int(values[2]))
    }
}

/// Where scripted encoders play: what they did, how many are alive, and what they are stuck in.
final class Stage: Sendable {
    enum Entry: Equatable {
        case attempt(Int, candidate: String)
        case encode(Int, number: Int64)
        case drain(Int)
        case update(Int, bitRate: Int)
    }

    struct Attempt: Sendable {
        var candidate: String
        var configuration: EncoderConfiguration
        var maximumReorderDepth: Int?
    }

    private struct State {
        var entries: [Entry] = []
        var attempts: [Attempt] = []
        var alive = 0
        var stuck = 0
        var isReleased = false
    }

    private let state = Mutex(State())
    private let hung = DispatchGroup()

    init() { hung.enter() }
    deinit { release() }

    /// Lets every call that hangs go on, now and later.
    func release() {
        let isFirst = state.withLock { state in
            defer { state.isReleased = true }
            return !state.isReleased
        }
        if isFirst { hung.leave() }
    }

    var entries: [Entry] { state.withLock { $0.entries } }
    var attempts: [Attempt] { state.withLock { $0.attempts } }
    /// Encoders that have not been freed.
    var alive: Int { state.withLock { $0.alive } }
    /// Calls that hang.
    var stuck: Int { state.withLock { $0.stuck } }

    fileprivate func hang() {
        state.withLock { $0.stuck += 1 }
        hung.wait()
        state.withLock { $0.stuck -= 1 }
    }

    fileprivate func note(_ entry: Entry) { state.withLock { $0.entries.append(entry) } }
    fileprivate func born() { state.withLock { $0.alive += 1 } }
    fileprivate func died() { state.withLock { $0.alive -= 1 } }

    fileprivate func note(_ attempt: Attempt) -> Int {
        state.withLock { state in
            state.attempts.append(attempt)
            state.entries.append(.attempt(state.attempts.count - 1, candidate: attempt.candidate))
            return state.attempts.count - 1
        }
    }
}

/// A candidate whose encoders follow scripts.
final class ScriptedFactory: EncoderFactory {
    let identity: EncoderIdentity
    private let stage: Stage
    private let script: @Sendable (Int) -> InstanceScript
    private let attempts = Mutex(0)

    /// - Parameter script: The script of the nth encoder, from 0, that this factory is asked for.
    init(_ name: String, on stage: Stage, script: @escaping @Sendable (Int) -> InstanceScript) {
        identity = EncoderIdentity(name: name, codec: .h264)
        self.stage = stage
        self.script = script
    }

    func makeEncoder(_ request: EncoderRequest) throws(MediaError) -> any EncoderBackend {
        let attempt = attempts.withLock { count in
            defer { count += 1 }
            return count
        }
        let script = script(attempt)
        let id = stage.note(
            Stage.Attempt(
                candidate: identity.name,
                configuration: request.configuration,
                maximumReorderDepth: request.maximumReorderDepth
            )
        )
        switch script.creation {
        case .succeed: break
        case .fail: throw MediaError(.creationFailed, "scripted", given: "attempt \(attempt)")
        case .failPermanently: throw MediaError(.unsupported, "scripted refusal")
        case .hang: stage.hang()
        }
        return ScriptedEncoder(id, script, request, stage)
    }
}

/// An encoder that reorders, delays, fails and hangs as its script says.
final class ScriptedEncoder: EncoderBackend {
    let properties: EncoderProperties

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
    private let stage: Stage
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

    init(_ id: Int, _ script: InstanceScript, _ request: EncoderRequest, _ stage: Stage) {
        let configuration = request.configuration
        self.id = id
        self.script = script
        self.stage = stage
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
        stage.born()
    }

    deinit { stage.died() }

    func encode(_ frame: EncoderFrame) throws(MediaError) {
        stage.note(.encode(id, number: frame.number))
        let step = script.steps[calls] ?? .normal
        calls += 1
        switch step {
        case .fail: throw MediaError(.frameFailed, "scripted", given: "frame \(frame.number)")
        case .failPermanently: throw MediaError(.unsupported, "scripted refusal", given: "frame \(frame.number)")
        case .failLater: return put(.failed(MediaError(.frameFailed, "scripted output")))
        case .hang: stage.hang()
        case .fallSilent: isSilent = true
        case .normal, .empty, .leaveOut, .duplicate, .unknownNumber, .notKey, .hastyKey: break
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

    func update(_ configuration: EncoderConfiguration) throws(MediaError) -> EncoderUpdateOutcome {
        let rate = configuration.rateControl.bitsPerSecond ?? 0
        stage.note(.update(id, bitRate: rate))
        switch script.update {
        case .inPlace: break
        case .onlyByNewEncoder: return .needsNewEncoder
        case .refuse: throw MediaError(.unsupported, "scripted refusal", given: "\(rate)")
        case .fail: throw MediaError(.frameFailed, "scripted update")
        case .hang: stage.hang()
        }
        bitRate = rate
        return .done(adjustments: script.updateAdjustments)
    }

    func drain() throws(MediaError) {
        stage.note(.drain(id))
        switch script.drain {
        case .normal: break
        case .fail: throw MediaError(.frameFailed, "scripted drain")
        case .hang: stage.hang()
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
        coded.append(item.step == .duplicate ? [frame, frame] : [frame])
    }

    private func put(_ item: EncoderOutput) {
        guard let collector else { return output(item) }
        let output = output
        collector.async { output(item) }
    }
}
