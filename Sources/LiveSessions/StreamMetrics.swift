// SPDX-License-Identifier: GPL-2.0-or-later

internal import CoreMetrics
internal import Streaming

/// The metrics that a stream reports to the metrics system (swift-metrics) of the program. docs/metrics.md describes them.
///
/// A program without a metrics system has no value of this type.
struct StreamMetrics {
    private let factory: any MetricsFactory
    private var outputs: [OutputMetrics] = []
    private var recording: RecordingMetrics?

    /// - Parameter factory: The metrics system.
    /// - Returns: `nil` if there is none.
    init?(_ factory: any MetricsFactory = MetricsSystem.factory) {
        guard !(factory is NOOPMetricsHandler) else { return nil }
        self.factory = factory
    }

    /// Records the status of the outputs, in the same order each time, and of the recording.
    mutating func note(_ statuses: [OutputStatus], _ status: RecordingStatus? = nil) {
        if let status {
            recording = recording ?? RecordingMetrics(status.path, factory)
            recording?.note(status)
        }
        for (index, status) in statuses.enumerated() {
            if index == outputs.count { outputs.append(OutputMetrics(status.address, factory)) }
            outputs[index].note(status)
        }
    }
}

/// The metrics of an output.
private struct OutputMetrics {
    private let pictures: Counter
    private let bytes: Counter
    private let reconnects: Counter
    private let dropped: [DropReason: Counter]
    private let isLive: Gauge
    private let queueAge: Gauge
    private let rate: Gauge
    private let wanted: Gauge
    private let roundTrip: Gauge
    private var told: OutputStatus

    init(_ address: String, _ factory: any MetricsFactory) {
        let dimensions = [("output", address)]
        func counter(_ label: String, _ more: [(String, String)] = []) -> Counter {
            Counter(label: label, dimensions: dimensions + more, factory: factory)
        }
        func gauge(_ label: String) -> Gauge { Gauge(label: label, dimensions: dimensions, factory: factory) }
        pictures = counter("vatoolbox_live_frames_sent")
        bytes = counter("vatoolbox_live_bytes_sent")
        reconnects = counter("vatoolbox_live_reconnects")
        dropped = Dictionary(
            uniqueKeysWithValues: DropReason.allCases.map { reason in
                (reason, counter("vatoolbox_live_frames_dropped", [("reason", reason.rawValue)]))
            }
        )
        isLive = gauge("vatoolbox_live_output_up")
        queueAge = gauge("vatoolbox_live_queue_age_seconds")
        rate = gauge("vatoolbox_live_delivered_bits_per_second")
        wanted = gauge("vatoolbox_live_wanted_bits_per_second")
        roundTrip = gauge("vatoolbox_live_round_trip_seconds")
        told = OutputStatus(address: address)
    }

    mutating func note(_ status: OutputStatus) {
        pictures.increment(by: max(status.sentPictures - told.sentPictures, 0))
        bytes.increment(by: max(status.sentBytes - told.sentBytes, 0))
        reconnects.increment(by: max(status.reconnects - told.reconnects, 0))
        for (reason, counter) in dropped {
            counter.increment(by: max((status.drops.pictures[reason] ?? 0) - (told.drops.pictures[reason] ?? 0), 0))
        }
        isLive.record(status.state == .live ? 1 : 0)
        queueAge.record(status.queueAge)
        rate.record(status.deliveredRate)
        if let bitRate = status.wantedBitRate { wanted.record(bitRate) }
        if let trip = status.link?.roundTrip { roundTrip.record(trip) }
        told = status
    }
}

/// The metrics of a recording.
private struct RecordingMetrics {
    private let isWritten: Gauge
    private let pictures: Counter
    private let bytes: Counter
    private let queued: Gauge
    private var told: RecordingStatus

    init(_ path: String, _ factory: any MetricsFactory) {
        let dimensions = [("recording", path)]
        isWritten = Gauge(label: "vatoolbox_live_recording_up", dimensions: dimensions, factory: factory)
        pictures = Counter(label: "vatoolbox_live_recorded_frames", dimensions: dimensions, factory: factory)
        bytes = Counter(label: "vatoolbox_live_recorded_bytes", dimensions: dimensions, factory: factory)
        queued = Gauge(label: "vatoolbox_live_recording_queue_bytes", dimensions: dimensions, factory: factory)
        told = RecordingStatus(path: path)
    }

    mutating func note(_ status: RecordingStatus) {
        isWritten.record(status.state == .recording ? 1 : 0)
        pictures.increment(by: max(status.pictures - told.pictures, 0))
        bytes.increment(by: max(status.codedBytes - told.codedBytes, 0))
        queued.record(status.queuedBytes)
        told = status
    }
}
