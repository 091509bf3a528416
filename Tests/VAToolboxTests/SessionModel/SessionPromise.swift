// SPDX-License-Identifier: GPL-2.0-or-later

import MediaTypes
import TestSupport

@testable import VAToolbox

/// What a session promises, held against all that it does: written down a second time, without a look at how the session
/// does it.
///
/// Times are whole ticks: presentation times in units of 1/30 s, the clock in tenths of the deadline.
struct SessionPromise {
    /// A call that has not been answered.
    struct Call: Equatable {
        enum Kind: Equatable {
            case start
            case encode(time: Int64)
            /// Everything shown until then must be out.
            case flush(until: Int64)
            case finish
            case update(bitRate: Int)
        }

        var id: UInt64
        var kind: Kind
    }

    /// A frame that came in a call of `encode`.
    struct Frame: Equatable {
        var time: Int64
        var isForced: Bool
        /// Whether its encoder has taken it.
        var isTaken = false
    }

    /// A new encoder that has no frame yet takes over from one of a candidate.
    struct Change: Equatable {
        var from: Int
        var refresh: RefreshReason?
        var failures = 0
    }

    /// How the samples ended.
    enum End: Equatable { case finished, failed, cancelled }

    let world: SessionWorld
    var violations: [String] = []

    // What was asked for.
    var open: [Call] = []
    /// Frames that are not accepted, in the order of their calls.
    var requests: [Frame] = []
    var lastAcceptedTime: Int64 = -1
    var isFinishCalled = false
    /// Why a new encoder was asked for that has not come.
    var owed: RefreshReason?
    var isConsumerSlow = false
    /// The rate that applies, and that of an update which an encoder carries out.
    var bitRate = SessionWorld.bitRates[0]
    var bitRateInProgress: Int?

    // What came of it.
    /// Frames that are accepted and not out.
    var pending: [Frame] = []
    var end: End?
    var statistics = SessionStatistics()
    var lastDecodeTime: MediaTime?
    var lastFormat: FormatDescription?

    // Encoders.
    var instances = 0
    /// Which candidate is in turn, and how often it has failed.
    var candidate = 0
    var failedCreations = 0
    var failedFrames = 0
    var missedDeadlines = 0
    /// How many candidates it has said that it uses no more.
    var candidatesLeft = 0
    /// The candidate of the encoder that was created last, and its number.
    var lastCreated: Int?
    var lastCreatedInstance: Int?
    /// Whether the encoder has coded a key frame that is out, and anything at all.
    var hasBegun = false
    var hasProduced = false
    var change: Change?
    /// How many frames the encoder was given that an earlier one had had.
    var repeatedFrames = 0
    /// When the encoder last did anything, or was given work.
    var lastProgress = 0

    // Within one input.
    var move: SessionMove?
    var now = 0
    var openBefore: [Call] = []
    /// Whether the encoder that was in use is closed.
    var isClosed = false
    var isDisorderly = false
    /// Whether the update that an encoder carried out ends.
    var isUpdateEnding = false
    /// Whether the encoder was closed because another one was asked for, and had nothing left to do.
    var isClosedForNewOne = false
    var hasFailed = false
    /// Whether an encoder failed and no other one may be tried.
    var hasGivenUp = false

    init(_ world: SessionWorld) { self.world = world }

    mutating func expect(_ condition: Bool, _ violation: @autoclosure () -> String) {
        if !condition { violations.append(violation()) }
    }

    var isOver: Bool { end != nil }
    /// The time of the last frame that is accepted or waits for it; the next one must be later.
    var lastTime: Int64 { requests.last?.time ?? lastAcceptedTime }
    /// The rate that applies when every call that is open has succeeded.
    var lastAskedBitRate: Int {
        let asked = open.compactMap { if case .update(let rate) = $0.kind { rate } else { nil } }
        return asked.last { $0 != SessionWorld.invalidBitRate } ?? bitRateInProgress ?? bitRate
    }
}

// MARK: - What a session does

extension SessionPromise {
    mutating func create(_ id: Int, _ creation: SessionMachine.Creation, replacing old: ModelEncoder?) {
        let (candidate, configuration) = (creation.candidate, creation.configuration)
        let depth = creation.maximumReorderDepth
        expect(old == nil, "two encoders at once")
        expect(!isOver, "an encoder after the end")
        expect(id == instances, "encoder \(id) is none that is due")
        expect(candidate == self.candidate, "candidate \(candidate) is tried, and is not in turn")
        expect(configuration.rateControl.bitsPerSecond == bitRateInProgress ?? bitRate, "an encoder has the wrong rate")
        if let lastCreated {
            change = change ?? Change(from: lastCreated)
            if change?.refresh == nil { change?.refresh = owed }
        }
        expect(depth == (lastCreated == nil ? nil : world.reorderDepth), "the depth of reordering is \(depth as Any)")
        instances += 1
        hasBegun = false
        hasProduced = false
        owed = nil
        lastProgress = now
    }

    mutating func submit(_ frame: EncoderFrame, to id: Int, _ encoder: inout ModelEncoder?) {
        noteWork(encoder)
        let wasFirst = encoder?.expected == nil
        let first = Int64(statistics.codedFrames)
        let command = ModelEncoder.Command.encode(.init(number: frame.number, isForced: frame.options.forceKeyFrame))
        guard encoder?.id == id, encoder?.take(command) == true else {
            return violations.append("frame \(frame.number) goes to encoder \(id), which is closed, or has it")
        }
        expect(!wasFirst || frame.number == first, "an encoder begins with frame \(frame.number), \(first) is due")
        if frame.number == first + Int64(pending.count) { accept(encoder) }
        guard (first..<first + Int64(pending.count)).contains(frame.number) else {
            return violations.append("there is no frame \(frame.number) to be encoded")
        }
        let given = pending[Int(frame.number - first)]
        expect(frame.presentationTime == Self.time(given.time), "frame \(frame.number) has the time of another")
        expect(frame.options.forceKeyFrame == given.isForced, "frame \(frame.number) has other options")
    }

    private mutating func accept(_ encoder: ModelEncoder?) {
        guard !requests.isEmpty else { return violations.append("a frame is accepted that nobody gave") }
        let isDue = open.contains { if case .flush = $0.kind { true } else { false } } || isFinishCalled
        let ahead = encoder?.commands.count { if case .encode = $0 { true } else { false } } ?? 0
        expect(isDue || ahead <= world.framesAhead + 1, "\(ahead) frames are at the encoder")
        expect(isDue || !isConsumerSlow, "a frame is accepted though the consumer is slow")
        expect(!isOver, "a frame is accepted after the end")
        expect(!isFinishCalled || world.realTime != nil, "a frame is accepted after finish was called")
        lastAcceptedTime = requests[0].time
        pending.append(requests.removeFirst())
        statistics.acceptedFrames += 1
    }

    mutating func update(_ configuration: EncoderConfiguration, of id: Int, _ encoder: inout ModelEncoder?) {
        noteWork(encoder)
        let rate = configuration.rateControl.bitsPerSecond
        let first = open.lazy.compactMap { if case .update(let rate) = $0.kind { rate } else { nil } }.first
        expect(rate == first && bitRateInProgress == nil, "an update is carried out that is not in turn")
        expect(encoder?.id == id && encoder?.take(.update) == true, "an update goes to an encoder that is closed")
        bitRateInProgress = rate
    }

    mutating func drain(_ id: Int, _ encoder: inout ModelEncoder?) {
        noteWork(encoder)
        expect(encoder?.id == id && encoder?.take(.drain) == true, "a drain goes to an encoder that is closed")
    }

    mutating func close(_ id: Int, isHung: Bool, _ encoder: inout ModelEncoder?) {
        expect(encoder?.id == id, "encoder \(id) is closed, and was closed before")
        expect(isHung == (move == .deadline || move == .wait), "a closed encoder counts as hung, or does not")
        isClosed = true
        let isIdle = pending.isEmpty && encoder?.commands.isEmpty == true
        isClosedForNewOne = owed != nil && isIdle
        encoder = nil
    }

    mutating func emit(_ samples: [SampleBuffer], of encoder: ModelEncoder?) {
        expect(!isOver, "samples after their end")
        let leaving = pending.prefix(samples.count)
        for sample in samples {
            let time = sample.token as? Int64 ?? -1
            guard let index = leaving.firstIndex(where: { $0.time == time }) else {
                return violations.append("a frame leaves before one that is shown before it, or was not accepted")
            }
            expect(sample.presentationTime == Self.time(time), "a frame is shown at another time")
            expect(sample.duration == Self.time(1), "a frame lasts another time")
            check(sample, Int64(statistics.codedFrames + index), of: encoder)
            statistics.codedBytes += sample.data.count
        }
        expect(Set(samples.map { $0.token as? Int64 }).count == samples.count, "a frame leaves twice")
        pending.removeFirst(leaving.count)
        statistics.codedFrames += samples.count
        failedFrames = 0
        // If another one could go on, they are forgotten after more frames than any sequence has.
        if candidate == world.candidates - 1 { missedDeadlines = 0 }
    }

    private mutating func check(_ sample: SampleBuffer, _ number: Int64, of encoder: ModelEncoder?) {
        if sample.isDropped {
            expect(sample.data.count == 0, "frame \(number) was left out and has data")
        } else {
            let payload = CodedPayload(sample)
            expect(payload?.number == number, "frame \(number) has the data of frame \(payload?.number ?? -1)")
            expect(payload?.instance == encoder?.id, "frame \(number) is of an encoder that is closed")
            expect(hasBegun || sample.isKeyFrame, "frame \(number) is the first of its encoder and no key frame")
            hasBegun = true
        }
        expect(sample.decodeTime <= sample.presentationTime, "frame \(number) is decoded after it is shown")
        if let last = lastDecodeTime { expect(last < sample.decodeTime, "decode times do not rise at frame \(number)") }
        let isChange = lastFormat != sample.formatDescription
        expect(sample.formatDescriptionChanged == isChange, "formatDescriptionChanged is wrong at frame \(number)")
        expect(sample.formatDescription == world.format(of: candidate), "frame \(number) has another encoder's format")
        lastDecodeTime = sample.decodeTime
        lastFormat = sample.formatDescription
    }

    mutating func tell(_ outcome: CandidateOutcome, candidate: Int) {
        switch outcome {
        case .produced:
            expect(candidate == self.candidate && !hasProduced, "an encoder begins to produce twice")
            hasProduced = true
        case .failed(_, let isCreation):
            expect(candidate == self.candidate && isClosed, "the selection is told of a failure that is none")
            expect(isCreation == (lastCreatedInstance != instances - 1), "a failure in creation, or not in it")
        case .completed: expect(pending.isEmpty && !hasFailed, "an encoder completes that has not")
        case .left:
            expect(candidate == candidatesLeft, "candidate \(candidate) is left, and was not in use")
            candidatesLeft += 1
        }
    }

    mutating func report(_ event: SessionEvent) {
        switch event {
        case .encoderFailed(let identity, let error, let count):
            expect(identity == world.identity(of: candidate), "another encoder failed than the one that is in use")
            expect(count == pending.count, "\(count) frames are to be encoded again, others are not out")
            fail(error)
        case .encoderCreated(let description):
            expect(description.identity == world.identity(of: candidate), "another encoder was created")
            lastCreated = candidate
            lastCreatedInstance = instances - 1
            failedCreations = 0
            statistics.createdEncoders += 1
            statistics.repeatedFrames += pending.count
            repeatedFrames = pending.count
            for index in pending.indices { pending[index].isTaken = false }
        case .encoderSwitched(let told): take(told)
        case .frameDropped(let time, let token):
            let index = requests.firstIndex { Self.time($0.time) == time && $0.time == token as? Int64 }
            guard world.realTime != nil, let index else {
                return violations.append("a frame is dropped that does not wait")
            }
            requests.remove(at: index)
            statistics.droppedFrames += 1
        default: break
        }
    }

    private mutating func take(_ told: EncoderSwitch) {
        guard let change else { return violations.append("a switch of encoders that is none") }
        expect(told.from == world.identity(of: change.from), "a switch from an encoder that was not in use")
        expect(told.to == world.identity(of: candidate), "a switch to an encoder that is not in use")
        expect(told.refresh == change.refresh, "a switch on purpose, or not")
        expect(told.failures.count == change.failures, "a switch after other failures")
        expect(told.frame == statistics.codedFrames, "a switch at another frame")
        let first = (pending.first ?? requests.first)?.time
        expect(told.presentationTime == Self.time(first ?? -1), "a switch at another time")
        expect(told.repeatedFrames == repeatedFrames, "a switch with other frames that are repeated")
        statistics.encoderSwitches += 1
        if change.refresh != nil { statistics.refreshes += 1 }
        self.change = nil
    }

    private mutating func fail(_ error: MediaError) {
        let isCreation = lastCreatedInstance != instances - 1
        switch move {
        case .fail, .bad, .createTooDeep, .drainTooEarly, .deadline, .wait: break
        case .code, .skip: expect(isDisorderly, "an encoder that did nothing wrong fails")
        default: violations.append("an encoder that did nothing wrong fails")
        }
        hasFailed = true
        if let lastCreated { change = change ?? Change(from: lastCreated) }
        change?.failures += 1
        defer {
            let isFinal = world.isFailureFinal(lastCreated) && pending.contains(where: \.isTaken)
            hasGivenUp = candidate >= world.candidates || isFinal
        }
        statistics.failedEncoders += 1
        if isCreation { failedCreations += 1 } else { failedFrames += 1 }
        if error.code == .deadlineExceeded { missedDeadlines += 1 }
        let isHopeless: Bool =
            switch move {
            case .fail(let isPermanent): isPermanent
            case .createTooDeep: true
            case .deadline, .wait: !world.isInHelper
            default: false
            }
        expect(error.isPermanent == isHopeless, "the failure is one that cannot be mended, or is not")
        let limits = world.limits
        guard
            isHopeless || missedDeadlines >= limits.missedDeadlines || failedCreations >= limits.creationAttempts
                || failedFrames >= limits.consecutiveFailedFrames
        else { return }
        candidate += 1
        (failedCreations, failedFrames, missedDeadlines) = (0, 0, 0)
    }

    mutating func endSamples(_ samplesEnd: SamplesEnd) {
        expect(!isOver, "the samples end twice")
        switch samplesEnd {
        case .finished:
            end = .finished
            expect(isFinishCalled && pending.isEmpty && requests.isEmpty, "the session finishes too early")
        case .failed:
            end = .failed
            expect(hasGivenUp, "the session fails though an encoder is left")
        case .cancelled:
            end = .cancelled
            var isAsked = move == .cancel
            if case .cancelCall(let index) = move { isAsked = openBefore[index].kind == .start }
            expect(isAsked, "the session is cancelled and nobody asked for it")
        }
        pending = []
        owed = nil
    }

    mutating func resume(_ id: UInt64, _ result: Result<FrameDisposition, MediaError>) {
        guard let index = open.firstIndex(where: { $0.id == id }) else {
            return violations.append("call \(id) is answered, and was answered before")
        }
        let call = open.remove(at: index)
        switch result {
        case .success(let disposition): succeed(call, disposition)
        case .failure(let error): fail(call, error)
        }
    }

    private mutating func succeed(_ call: Call, _ disposition: FrameDisposition) {
        switch call.kind {
        case .start: expect(lastCreatedInstance == instances - 1, "the session starts without an encoder")
        case .encode(let time):
            let waits = requests.contains { $0.time == time }
            switch disposition {
            case .accepted: expect(pending.contains { $0.time == time }, "a call succeeds, its frame is not accepted")
            case .waiting: expect(world.realTime != nil && waits, "a frame does not wait")
            case .dropped: expect(world.realTime != nil && !waits, "a frame is not dropped")
            }
        case .flush(let until):
            let isOut = pending.allSatisfy { $0.time > until }
            let isAccepted = world.realTime == nil || requests.allSatisfy { $0.time > until }
            expect(isOut && isAccepted && end != .failed, "a flush completes too early")
        case .finish: expect(end == .finished, "finish completes, the session is not finished")
        case .update:
            let isDone = [.updateDone, .updateNeedsNewEncoder, .create].contains(move)
            expect(isDone && isUpdateEnding, "an update completes that no encoder carried out")
        }
    }

    private mutating func fail(_ call: Call, _ error: MediaError) {
        var isCancelled = false
        if case .cancelCall(let index) = move { isCancelled = openBefore[index] == call }
        if case .encode(let time) = call.kind, move != .encodeTooEarly { requests.removeAll { $0.time == time } }
        if isCancelled { return expect(error.code == .cancelled, "a cancelled call says: \(error)") }
        if isOver { return }
        switch call.kind {
        case .start, .flush, .finish: violations.append("a call fails though the session goes on")
        case .encode:
            let isRefused = move == .encodeTooEarly || isFinishCalled
            expect(isRefused, "a frame is refused though the session goes on")
        case .update(let rate):
            let isInvalid = rate == SessionWorld.invalidBitRate
            expect(isInvalid || (move == .updateRefused && isUpdateEnding), "an update fails that nobody refused")
        }
    }
}

// MARK: - Before and after an input

extension SessionPromise {
    /// Notes what is about to happen.
    mutating func begin(_ move: SessionMove, at now: Int, _ encoder: ModelEncoder?) {
        self.move = move
        self.now = now
        openBefore = open
        isClosed = false
        isDisorderly = encoder?.isDisorderly == true
        isUpdateEnding = false
        isClosedForNewOne = false
        hasFailed = false
    }

    /// Notes that a new encoder is asked for; the first reason counts.
    mutating func owe(_ reason: RefreshReason) { if !isOver { owed = owed ?? reason } }

    /// Notes that the encoder did something.
    mutating func noteProgress() { lastProgress = now }

    /// Notes that the encoder has taken a frame.
    mutating func take(_ number: Int64) {
        statistics.copiedPictures += 1
        let index = Int(number) - statistics.codedFrames
        if pending.indices.contains(index) { pending[index].isTaken = true }
    }

    /// Notes that an encoder has carried out the update that it was given, or has refused it.
    mutating func endUpdate(isDone: Bool) {
        guard let rate = bitRateInProgress else { return }
        isUpdateEnding = true
        bitRateInProgress = nil
        if isDone { bitRate = rate }
    }

    private mutating func noteWork(_ encoder: ModelEncoder?) {
        if encoder?.hasWork == false { lastProgress = now }
    }

    /// Checks what must be so after every input.
    mutating func finish(_ machine: SessionMachine, _ encoder: ModelEncoder?) {
        let (open, statistics, candidatesLeft) = (open, statistics, candidatesLeft)
        // An encoder that never had a frame, because the first one asked for another, was never in use.
        if encoder?.expected != nil, change == Change(from: change?.from ?? 0, refresh: .firstPicture) { change = nil }
        expect(encoder?.expected == nil || change == nil, "nobody was told of a switch of encoders")
        if move?.isFailure == true { expect(isClosed, "an encoder that failed is still used") }
        expect(machine.isOver == isOver, "the session is over, or is not, and the samples say otherwise")
        expect(isOver || !hasGivenUp, "the session goes on without an encoder")
        expect(!isClosed || hasFailed || isOver || isClosedForNewOne, "an encoder is closed that is in use")
        if case .cancelCall(let index) = move {
            expect(!open.contains(openBefore[index]), "a cancelled call stays open")
        }
        expect(!isFinishCalled || world.realTime != nil || requests.isEmpty, "frames wait though finish was called")
        expect(isOver == (encoder == nil), "there is no encoder, or one after the end")
        expect(!isOver || (open.isEmpty && requests.isEmpty), "calls are left open at the end: \(open)")
        let left = min(candidate + (isOver ? 1 : 0), world.candidates)
        expect(candidatesLeft == left, "\(candidatesLeft) candidates are left, \(left) were used")
        expect(hasProduced == machine.work.hasProduced || isOver, "nobody was told that samples have left")
        expect(machine.statistics == statistics, "\(machine.statistics) should be \(statistics)")
        let deadline = encoder?.hasWork == true ? lastProgress + SessionWorld.ticksToDeadline : nil
        expect(machine.deadline == deadline.map(world.instant), "the deadline is not at \(deadline as Any)")
        expect(deadline == nil || lastProgress <= now && now < lastProgress + SessionWorld.ticksToDeadline, "overdue")
        let isHeldByConsumer = isConsumerSlow && open.allSatisfy { if case .encode = $0.kind { true } else { false } }
        expect(open.isEmpty || isHeldByConsumer || deadline != nil, "calls wait for nothing: \(open)")
    }

    static func time(_ ticks: Int64) -> MediaTime { MediaTime(value: ticks, timescale: 30) }
}
