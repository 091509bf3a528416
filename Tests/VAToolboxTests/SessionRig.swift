// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import Synchronization
import TestSupport
import Testing

@testable import VAToolbox

/// How frames are shaped in a test: every property is held against each of these.
struct Shape: Sendable, CustomTestStringConvertible {
    var reorderDepth: Int
    var isVariable: Bool
    /// Where the encoders work.
    var place = Place.inProcess

    static let all = Place.all.flatMap { place in
        [0, 1, 2].flatMap { depth in
            [false, true].map { Shape(reorderDepth: depth, isVariable: $0, place: place) }
        }
    }

    var testDescription: String {
        "depth \(reorderDepth), \(isVariable ? "variable" : "constant") rate, \(place.testDescription)"
    }

    /// A faultless encoder: with a constant rate it answers at once, with a variable one late and from its own thread.
    var script: InstanceScript {
        var script = InstanceScript()
        script.reorderDepth = reorderDepth
        script.lookahead = isVariable ? 3 : 0
        script.hasCollector = isVariable
        return script
    }

    func with(_ change: (inout InstanceScript) -> Void) -> InstanceScript {
        var script = script
        change(&script)
        return script
    }

    var configuration: EncoderConfiguration {
        var configuration = EncoderConfiguration(width: 16, height: 16)
        configuration.isFrameRateVariable = isVariable
        configuration.color = .unspecified
        configuration.pixelAspectRatio = .one
        return configuration
    }

    /// When frame `index` is shown, and how long.
    func time(_ index: Int) -> (presentation: MediaTime, duration: MediaTime) {
        guard isVariable else {
            return (MediaTime(value: Int64(index), timescale: 30), MediaTime(value: 1, timescale: 30))
        }
        let ticks = (0..<index).reduce(Int64(7)) { $0 + Int64(1 + ($1 * 7) % 40) }
        return (MediaTime(value: ticks, timescale: 1000), .invalid)
    }
}

/// A frame as a test gave it to a session.
struct Feed: Sendable {
    var index: Int
    var time: MediaTime
    var duration: MediaTime
}

/// Buffers in memory of the test, which counts how often each was given back.
final class BufferBank: Sendable {
    private static let byteCount = 16 * 16 * 3 / 2
    private let releases = Mutex<[Int]>([])
    private let memory = Mutex(UnsafeMutableRawBufferPointer.allocate(byteCount: byteCount, alignment: 64))

    deinit { memory.withLock { $0.deallocate() } }

    func make(color: ColorDescription = .unspecified) throws -> PixelBuffer {
        let planes = try memory.withLock { memory in
            let base = try #require(memory.baseAddress)
            return [
                PixelPlane(baseAddress: base, bytesPerRow: 16),
                PixelPlane(baseAddress: base + 256, bytesPerRow: 16),
            ]
        }
        let index = releases.withLock { releases in
            releases.append(0)
            return releases.count - 1
        }
        let description = PixelBuffer.Description(format: .nv12, width: 16, height: 16, color: color)
        return try PixelBuffer(description, planes: planes) { self.releases.withLock { $0[index] += 1 } }
    }

    /// How often each buffer was given back.
    var counts: [Int] { releases.withLock { $0 } }
    var areAllBack: Bool { counts.allSatisfy { $0 == 1 } }
}

/// A session on scripted encoders, with everything that a test wants to look at.
final class SessionRig: Sendable {
    let shape: Shape
    let stage: Stage
    let bank = BufferBank()
    let session: CompressionSession

    /// - Parameters:
    ///   - device: The device of the encoders; `nil` for the CPU.
    ///   - stagehand: Where the encoders work, if they are to share it with those of other sessions.
    init(
        _ shape: Shape,
        _ scripts: [@Sendable (Int) -> InstanceScript],
        options: SessionOptions = .init(),
        configuration: EncoderConfiguration? = nil,
        device: String? = nil,
        stage: Stage = Stage(),
        stagehand: Stagehand? = nil,
        outputHandler: CompressionSession.OutputHandler? = nil
    ) async throws {
        self.shape = shape
        self.stage = stage
        session = try await CompressionSession(
            configuration: configuration ?? shape.configuration,
            options: options,
            selection: Self.selection(
                scripts,
                stage,
                try stagehand ?? Stagehand(shape.place),
                options.limits,
                device: device
            ),
            outputHandler: outputHandler
        )
    }

    /// - Parameter session: A session on encoders of that stage.
    init(_ shape: Shape, _ stage: Stage, _ session: CompressionSession) {
        (self.shape, self.stage, self.session) = (shape, stage, session)
    }

    static func selection(
        _ scripts: [@Sendable (Int) -> InstanceScript],
        _ stage: Stage,
        _ stagehand: Stagehand = .inProcess,
        _ limits: SessionLimits = .init(),
        device: String? = nil
    ) -> EncoderSelection {
        EncoderSelection(
            candidates: scripts.enumerated().map { index, script in
                let name = "candidate \(index)"
                let factory = ScriptedFactory(name, device: device, on: stage, stagehand, limits, script: script)
                return .init(factory: factory, reason: "scripted")
            }
        )
    }

    @discardableResult
    func encode(_ index: Int, options: FrameOptions = .init()) async throws -> FrameDisposition {
        let (time, duration) = shape.time(index)
        return try await session.encode(
            try bank.make(),
            presentationTime: time,
            duration: duration,
            options: options,
            token: index
        )
    }

    func encode(_ range: Range<Int>) async throws -> [Feed] {
        for index in range { try await encode(index) }
        return feeds(range)
    }

    func feeds(_ range: some Sequence<Int>) -> [Feed] {
        range.map { Feed(index: $0, time: shape.time($0).presentation, duration: shape.time($0).duration) }
    }

    /// Consumes everything, in a task.
    func consume() -> Task<Consumed, Never> {
        Task { [samples = session.samples] in await Consumed(samples) }
    }

    func events() async -> [SessionEvent] {
        var events: [SessionEvent] = []
        for await event in session.events { events.append(event) }
        return events
    }
}

/// What a consumer saw.
struct Consumed: Sendable {
    var samples: [SampleBuffer] = []
    var error: MediaError?

    init() {}

    init(_ sequence: SampleSequence) async {
        do throws(MediaError) {
            var iterator = sequence.makeAsyncIterator()
            while let sample = try await iterator.next() { samples.append(sample) }
        } catch {
            self.error = error
        }
    }

    var payloads: [CodedPayload] { samples.compactMap { CodedPayload($0) } }
    /// Which instances coded the samples, in order, without repetition.
    var instances: [Int] {
        payloads.map(\.instance).reduce(into: []) { if $0.last != $1 { $0.append($1) } }
    }
}

/// How much must have come out of a session.
enum Extent {
    /// Every accepted frame.
    case all
    /// Whole groups: the frames that are missing are the last ones in presentation order.
    case groups
    /// Anything: the session was cancelled, perhaps while the consumer was within a group.
    case some
}

/// The contract of a session, held against what came out of it.
func expectContract(
    _ consumed: Consumed,
    accepted: [Feed],
    extent: Extent = .all,
    _ comment: Comment? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
) {
    for violation in contractViolations(consumed, accepted: accepted, extent: extent) {
        Issue.record("\(violation) \(comment?.rawValue ?? "")", sourceLocation: sourceLocation)
    }
}

/// See ``expectContract``; pure, so that the generator of random sequences can name its seed.
func contractViolations(_ consumed: Consumed, accepted: [Feed], extent: Extent) -> [String] {
    var violations: [String] = []
    func expect(_ condition: Bool, _ violation: @autoclosure () -> String) {
        if !condition { violations.append(violation()) }
    }
    let byIndex = Dictionary(uniqueKeysWithValues: accepted.map { ($0.index, $0) })
    let tokens = consumed.samples.map { $0.token as? Int ?? -1 }
    let indices = accepted.map(\.index).sorted()
    let isRight =
        switch extent {
        case .all: tokens.sorted() == indices
        case .groups: tokens.sorted() == Array(indices.prefix(tokens.count))
        case .some: Set(tokens).count == tokens.count && Set(tokens).isSubset(of: indices)
        }
    expect(isRight, "\(extent) of \(indices) should be out, \(tokens) are")

    var highest = -1
    var last: SampleBuffer?
    for (position, sample) in consumed.samples.enumerated() {
        let token = tokens[position]
        guard let feed = byIndex[token] else { continue }
        expect(sample.presentationTime == feed.time, "frame \(token) is shown at \(sample.presentationTime)")
        expect(sample.duration == feed.duration, "frame \(token) lasts \(sample.duration)")
        expect(sample.decodeTime <= sample.presentationTime, "frame \(token) is decoded after it is shown")
        if let last { expect(last.decodeTime < sample.decodeTime, "decode times do not rise at frame \(token)") }
        expect(
            sample.formatDescriptionChanged == (last?.formatDescription != sample.formatDescription),
            "formatDescriptionChanged is wrong at frame \(token)"
        )
        let instance = CodedPayload(sample)?.instance
        let switches = instance != nil && last.flatMap { CodedPayload($0)?.instance } != instance
        if switches, !sample.isDropped, last?.isDropped != true {
            expect(sample.isKeyFrame, "frame \(token) is the first of encoder \(instance ?? -1) and no key frame")
        }
        if sample.isKeyFrame {
            let before = accepted.filter { $0.index < token }.count
            expect(
                before == position && highest < token,
                "a frame shown before key frame \(token) is not out before it"
            )
        }
        highest = max(highest, token)
        last = sample
    }
    return violations
}

/// Waits until something is so that no event tells of.
func eventually(
    _ condition: @Sendable () async -> Bool,
    sourceLocation: SourceLocation = #_sourceLocation
) async throws {
    try #require(await Patience.wait(until: condition), sourceLocation: sourceLocation)
}

extension MediaError {
    /// What a call throws, for comparisons.
    static func of(_ body: () async throws -> Void) async -> MediaError? {
        do {
            try await body()
            return nil
        } catch {
            return error as? MediaError
        }
    }
}

extension SessionRig {
    /// Frames that wait to be accepted.
    var waiting: Int { get async { await session.engine.machine.waiting.count } }

    /// Calls `encode` for a frame that will have to wait, in a task, and returns when it waits.
    func encodeWaiting(_ index: Int) async throws -> Task<MediaError?, Never> {
        let before = await waiting
        let call = Task { await MediaError.of { try await self.encode(index) } }
        try await eventually { await self.waiting > before }
        return call
    }
}
