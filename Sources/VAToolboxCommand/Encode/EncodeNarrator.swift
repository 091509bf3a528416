// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import CommandLineSupport
import MediaIO
import MediaTypes
import Synchronization
import Transcoding
import VAToolbox

/// Reports the progress and the result of the work on the console.
final class EncodeNarrator: Sendable {
    private let console: Console
    /// The output that the messages are about; `nil` if there is only one.
    private let name: String?
    private let policy: DevicePolicy
    private let arguments: EncoderArguments
    private let state = Mutex(State())

    private struct State {
        var toldAdjustments: Set<Adjustment> = []
        /// The decoders of which a failure was reported.
        var toldDecoders: Set<DecoderIdentity> = []
        var drops = DropCount()
        var hasEncoder = false
        /// The failures that no switch has reported yet.
        var failures: [EncoderFailure] = []
        var switches: [EncoderSwitch] = []
    }

    /// - Parameters:
    ///   - name: The output that the messages are about; `nil` if there is only one.
    ///   - policy: The requested encoders.
    ///   - arguments: The encoder options, some of which apply only to GPU encoders or only to CPU encoders.
    init(console: Console, name: String? = nil, policy: DevicePolicy, arguments: EncoderArguments) {
        self.console = console
        self.name = name
        self.policy = policy
        self.arguments = arguments
    }

    /// Reports an event. Safe on any thread.
    func tell(_ notice: Transcoder.Notice) {
        switch notice {
        case .started(_, let encoder):
            tellUnusedDevices(encoder)
            tellUnusedOptions(encoder.identity)
        case .tried(let attempt, let target): console.summary(named(attempt.line(target.metric)) + "\n")
        case .omission(let text): warn("omitted: \(text)")
        case .session(let event): tell(event)
        case .decoding(let event): tell(event)
        }
    }

    private func tell(_ event: DecompressionEvent) {
        switch event {
        case .decoderFailed(let decoder, let error, let count):
            // The summary counts them.
            guard state.withLock({ $0.toldDecoders.insert(decoder).inserted }) else { return }
            let again = count > 0 ? "; \(Readable.count(count, "sample")) decoded again" : ""
            warn("decoding with \(decoder) failed: \(error.readable)\(again)")
        case .lost(let time):
            warn("the picture at \(Readable.number(time.seconds, places: 3)) s is lost with a decoder that failed")
        case .copiedFromDevice(let time, let reason):
            let start = Readable.number(time.seconds, places: 3)
            note("decoded pictures are copied from the GPU, beginning with the one at \(start) s: \(reason.readable)")
        // A job copies pictures in time, so that no decoder waits for them.
        case .decoderCreated, .damaged, .withoutFrame, .starvation: break
        }
    }

    private func tellUnusedDevices(_ encoder: EncoderDescription) {
        guard case .devices = policy, encoder.identity.device == nil else { return }
        for rejection in encoder.rejected { warn("\(rejection.name) is not used: \(rejection.reason)") }
    }

    private func tellUnusedOptions(_ encoder: EncoderIdentity) {
        let isOnGPU = encoder.device != nil
        let names = isOnGPU ? arguments.softwareOptions : arguments.hardwareOptions
        if names.isEmpty { return }
        let (own, other) = isOnGPU ? ("GPU", "software") : ("software", "GPU")
        note("\(names.joined(separator: ", ")): no effect on a \(own) encoder, only on \(other) encoders")
    }

    private func tell(_ event: SessionEvent) {
        switch event {
        case .encoderCreated:
            let isFirst = state.withLock { state in
                defer { state.hasEncoder = true }
                return !state.hasEncoder
            }
            if isFirst { tellFailures() }
        case .encoderFailed(let identity, let error, _):
            // A switch reports it together with its outcome.
            let failure = EncoderFailure(encoder: identity, error: error, isInCreation: false)
            state.withLock { $0.failures.append(failure) }
        case .encoderSwitched(let change):
            state.withLock { state in
                state.failures = []
                state.switches.append(change)
            }
            if change.failures.isEmpty { note(change.readable) } else { warn(change.readable) }
        case .frameDropped(let time, _):
            if let text = state.withLock({ $0.drops.add(time, now: .now) }) { warn(text) }
        case .frameLost(let time, _, let error):
            warn("the frame at \(Readable.number(time.seconds, places: 3)) s is lost: \(error.readable)")
        case .adjusted(let adjustment): tell(adjustment)
        }
    }

    private func tell(_ adjustment: Adjustment) {
        let isNew = state.withLock { $0.toldAdjustments.insert(adjustment).inserted }
        if isNew { note("\(adjustment)") }
    }

    private func warn(_ text: String) { console.warning(named(text)) }

    private func note(_ text: String) { console.note(named(text)) }

    private func named(_ text: String) -> String { name.map { "\($0): \(text)" } ?? text }

    /// The encoder switches so far.
    var switches: [EncoderSwitch] { state.withLock { $0.switches } }

    /// Reports failures that led to no switch: before the first encoder, and after the last one.
    func tellFailures() {
        let failures = state.withLock { state in
            defer { state.failures = [] }
            return state.failures
        }
        var (told, rest) = (Set<EncoderIdentity>(), failures)
        while let first = rest.first {
            if told.insert(first.encoder).inserted {
                let own = failures.filter { $0.encoder == first.encoder }
                // If the codec is open, a GPU without HEVC is not a problem.
                if first.encoder.codec == .hevc, own.allSatisfy({ $0.error.isLackOfEncoder }) {
                    note("\(first.encoder) is not used: \(own.readable)")
                    rest.removeFirst()
                    continue
                }
                let isTried = own.contains { ![.busy, .proofFailed, .suspended].contains($0.error.code) }
                warn("\(first.encoder) \(isTried ? "failed" : "is not used"): \(own.readable)")
            }
            rest.removeFirst()
        }
    }

    /// Reports the result of the work.
    func finish(_ outcome: EncodeOutcome) {
        let report = outcome.report
        tellFailures()
        report.adjustments.forEach(tell)
        if let text = state.withLock({ $0.drops.rest() }) { warn(text) }
        outcome.losses.forEach(warn)
        console.summary(outcome.summary(width: console.width))
    }
}

extension MediaError {
    /// Whether a driver does not list the codec.
    fileprivate var isLackOfEncoder: Bool { cause == .gpuWithoutEncoder || cause == .driverWithoutCodec }
}

/// Aggregates dropped frames, so that a slow machine reports them once a second and not individually.
struct DropCount {
    private var count = 0
    private var last = MediaTime.zero
    private var toldAt: ContinuousClock.Instant?

    /// Counts a frame. Returns the text to print now, if any.
    mutating func add(_ time: MediaTime, now: ContinuousClock.Instant) -> String? {
        count += 1
        last = time
        if let toldAt, now - toldAt < .seconds(1) { return nil }
        toldAt = now
        return rest()
    }

    /// Returns the text for frames that were not reported yet.
    mutating func rest() -> String? {
        guard count > 0 else { return nil }
        defer { count = 0 }
        let what = count == 1 ? "a frame was" : "\(count) frames were"
        return "\(what) dropped to keep up, the last at \(Readable.number(last.seconds, places: 3)) s"
    }
}
