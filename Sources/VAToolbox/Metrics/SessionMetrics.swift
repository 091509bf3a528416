// SPDX-License-Identifier: GPL-2.0-or-later

import BitstreamSyntax
import CoreMetrics
import MediaTypes

/// The metrics that a session reports to the metrics system (swift-metrics) of the program. docs/metrics.md describes
/// them.
///
/// Metrics are created once per encoder, not per frame. A program without a metrics system has no value of this type.
struct SessionMetrics {
    typealias Dimensions = [(String, String)]
    typealias Instant = SessionMachine.Instant

    private let factory: any MetricsFactory
    private let framesInFlight: Meter
    /// The metrics of the encoder in use; `nil` before the first encoder.
    private var frames: FrameMetrics?

    private var told = SessionStatistics()
    private var toldInFlight = 0
    /// The acceptance times of the frames in flight, in presentation order.
    private var arrivals: [Instant] = []
    /// The number of the first frame that has not been accepted.
    private var nextNumber: Int64 = 0

    /// - Parameter factory: The metrics system.
    /// - Returns: `nil` if there is none.
    init?(_ factory: any MetricsFactory = MetricsSystem.factory) {
        guard !(factory is NOOPMetricsHandler) else { return nil }
        self.factory = factory
        framesInFlight = Meter(label: "vatoolbox_frames_in_flight", factory: factory)
    }

    /// Records the decisions of a machine.
    ///
    /// - Parameters:
    ///   - inFlight: The number of accepted frames that have not left the machine.
    ///   - time: The time of the decisions.
    mutating func note(
        _ actions: [SessionMachine.Action],
        _ statistics: SessionStatistics,
        inFlight: Int,
        at time: Instant
    ) {
        // Events come first, so that the frames count for the encoder that was just created for them.
        for case .report(let event) in actions { note(event) }
        for action in actions {
            switch action {
            case .submit(_, let frame) where frame.number >= nextNumber:
                arrivals.append(time)
                nextNumber = frame.number + 1
            case .emit(let samples):
                // A group contains all frames up to its last one.
                for arrival in arrivals.prefix(samples.count) { frames?.latency.record(time - arrival) }
                arrivals.removeFirst(min(samples.count, arrivals.count))
            default: break
            }
        }
        if statistics != told {
            frames?.add(statistics, since: told)
            told = statistics
        }
        if inFlight != toldInFlight {
            let change = Double(inFlight - toldInFlight)
            if change > 0 { framesInFlight.increment(by: change) } else { framesInFlight.decrement(by: -change) }
            toldInFlight = inFlight
        }
    }

    private mutating func note(_ event: SessionEvent) {
        switch event {
        case .encoderCreated(let description):
            let dimensions = Self.dimensions(of: description.identity)
            frames = FrameMetrics(dimensions, factory)
            count("vatoolbox_encoders_created", dimensions)
        case .encoderFailed(let identity, let error, _):
            count("vatoolbox_encoders_failed", Self.dimensions(of: identity) + [("code", error.code.rawValue)])
        case .encoderSwitched(let change):
            let reason = ("reason", change.refresh?.rawValue ?? "failure")
            count("vatoolbox_encoder_switches", Self.dimensions(of: change.to) + [reason])
        case .frameDropped, .frameLost, .adjusted: break
        }
    }

    private func count(_ label: String, _ dimensions: Dimensions) {
        Counter(label: label, dimensions: dimensions, factory: factory).increment()
    }

    private static func dimensions(of identity: EncoderIdentity) -> Dimensions {
        [
            ("encoder", identity.name), ("device", identity.device ?? "cpu"), ("codec", identity.codec.rawValue),
        ]
    }
}

/// The metrics that change with every frame.
private struct FrameMetrics {
    let accepted: Counter
    let coded: Counter
    let bytes: Counter
    let dropped: Counter
    let repeated: Counter
    let copied: Counter
    let latency: Timer

    init(_ dimensions: SessionMetrics.Dimensions, _ factory: any MetricsFactory) {
        func counter(_ label: String) -> Counter { Counter(label: label, dimensions: dimensions, factory: factory) }
        accepted = counter("vatoolbox_frames_accepted")
        coded = counter("vatoolbox_frames_coded")
        bytes = counter("vatoolbox_coded_bytes")
        dropped = counter("vatoolbox_frames_dropped")
        repeated = counter("vatoolbox_frames_repeated")
        copied = counter("vatoolbox_pictures_copied")
        latency = Timer(label: "vatoolbox_frame_latency", dimensions: dimensions, factory: factory)
    }

    func add(_ now: SessionStatistics, since before: SessionStatistics) {
        func add(_ change: Int, to counter: Counter) {
            if change > 0 { counter.increment(by: change) }
        }
        add(now.acceptedFrames - before.acceptedFrames, to: accepted)
        add(now.codedFrames - before.codedFrames, to: coded)
        add(now.codedBytes - before.codedBytes, to: bytes)
        add(now.droppedFrames - before.droppedFrames, to: dropped)
        add(now.repeatedFrames - before.repeatedFrames, to: repeated)
        add(now.copiedPictures - before.copiedPictures, to: copied)
    }
}

extension Timer {
    fileprivate func record(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        recordNanoseconds(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }
}
