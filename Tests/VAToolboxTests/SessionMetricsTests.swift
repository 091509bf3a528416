// SPDX-License-Identifier: GPL-2.0-or-later

import CoreMetrics
import MediaTypes
import MetricsTestKit
import TestSupport
import Testing

@testable import VAToolbox

/// What sessions tell a metrics system.
@Suite(.timeLimit(.minutes(60))) struct SessionMetricsTests {
    private static let shape = Shape(reorderDepth: 1, isVariable: false)

    private func dimensions(_ name: String, _ device: String, _ more: (String, String)...) -> [(String, String)] {
        [("encoder", name), ("device", device), ("codec", "h264")] + more
    }

    /// Encodes frames in a session that reports to a metrics system of the test.
    private func metrics(
        _ scripts: [@Sendable (Int) -> InstanceScript],
        frames: Int = 12,
        options: SessionOptions = .init(),
        device: String? = nil,
        then change: (SessionRig) async throws -> Void = { _ in }
    ) async throws -> (TestMetrics, SessionStatistics) {
        let metrics = TestMetrics()
        let rig = try await withMetricsFactory(metrics) {
            try await SessionRig(Self.shape, scripts, options: options, device: device)
        }
        let consumer = rig.consume()
        _ = try await rig.encode(0..<frames)
        try await change(rig)
        try await rig.session.finish()
        _ = await consumer.value
        return (metrics, await rig.session.statistics)
    }

    @Test func framesAreCounted() async throws {
        let (metrics, statistics) = try await metrics([{ _ in Self.shape.script }], device: "gpu")
        let names = dimensions("candidate 0", "gpu")
        func total(_ label: String) -> Int { Int(metrics.counterTotal(label: label, dimensions: names)) }
        #expect(total("vatoolbox_frames_accepted") == 12)
        #expect(total("vatoolbox_frames_coded") == 12)
        #expect(total("vatoolbox_coded_bytes") == statistics.codedBytes && statistics.codedBytes > 0)
        #expect(total("vatoolbox_frames_repeated") == 0)
        #expect(total("vatoolbox_encoders_created") == 1)
        #expect(metrics.counters(label: "vatoolbox_encoders_failed").isEmpty)
        #expect(metrics.counters(label: "vatoolbox_encoder_switches").isEmpty)
        // Each frame counts once, with a time that has passed.
        let latency = try metrics.expectTimer("vatoolbox_frame_latency", names)
        #expect(latency.values.count == 12 && latency.values.allSatisfy { $0 > 0 })
    }

    @Test func metersComeBackToNothing() async throws {
        let (metrics, _) = try await metrics([{ _ in Self.shape.script }])
        let meter = try metrics.expectMeter("vatoolbox_frames_in_flight")
        #expect(meter.values.max() ?? 0 >= 1)
        #expect(meter.values.last == 0)
    }

    @Test func switchesTellWhoAndWhy() async throws {
        let (metrics, statistics) = try await metrics([
            { attempt in Self.shape.with { $0.steps = attempt == 0 ? [3: .fail] : [3: .failPermanently] } },
            { _ in Self.shape.script },
        ])
        func total(_ label: String, _ dimensions: [(String, String)]) -> Int {
            Int(metrics.counterTotal(label: label, dimensions: dimensions))
        }
        #expect(total("vatoolbox_encoders_created", dimensions("candidate 0", "cpu")) == 2)
        #expect(total("vatoolbox_encoders_created", dimensions("candidate 1", "cpu")) == 1)
        #expect(metrics.counterTotal(label: "vatoolbox_encoders_failed") == 2)
        let failed = dimensions("candidate 0", "cpu", ("code", "frame-failed"))
        #expect(total("vatoolbox_encoders_failed", failed) >= 1)
        for candidate in ["candidate 0", "candidate 1"] {
            let names = dimensions(candidate, "cpu", ("reason", "failure"))
            #expect(total("vatoolbox_encoder_switches", names) == 1)
        }
        // What is encoded again counts for the encoder that does it; accepted is every frame once.
        #expect(metrics.counterTotal(label: "vatoolbox_frames_accepted") == 12)
        #expect(metrics.counterTotal(label: "vatoolbox_frames_coded") == 12)
        #expect(metrics.counterTotal(label: "vatoolbox_frames_repeated") == Int64(statistics.repeatedFrames))
        #expect(statistics.repeatedFrames > 0)
        #expect(metrics.timers(label: "vatoolbox_frame_latency").flatMap(\.values).count == 12)
    }

    @Test func refreshesAreSwitchesWithAReason() async throws {
        let (metrics, _) = try await metrics([{ _ in Self.shape.script }]) { rig in
            rig.session.refresh()
            try await rig.encode(12)
        }
        let names = dimensions("candidate 0", "cpu", ("reason", "requested"))
        #expect(metrics.counterTotal(label: "vatoolbox_encoder_switches", dimensions: names) == 1)
    }

    @Test func droppedFramesAreCounted() async throws {
        var options = SessionOptions()
        options.realTime = RealTimeMode(drop: .newest, maximumWaiting: 1)
        options.limits.framesAhead = 0
        let (metrics, statistics) = try await metrics([{ _ in Self.shape.script }], frames: 200, options: options)
        #expect(metrics.counterTotal(label: "vatoolbox_frames_dropped") == Int64(statistics.droppedFrames))
        #expect(metrics.counterTotal(label: "vatoolbox_frames_accepted") == Int64(statistics.acceptedFrames))
        #expect(statistics.acceptedFrames + statistics.droppedFrames == 200)
    }

    @Test func metricsAreMadeForEncodersAndNotForFrames() async throws {
        let (metrics, _) = try await metrics([{ _ in Self.shape.script }], frames: 100)
        // Six counters of frames, and that of encoders.
        #expect(metrics.counters.count == 7)
        #expect(metrics.meters.count == 1 && metrics.timers.count == 1 && metrics.recorders.isEmpty)
    }

    @Test func withoutAMetricsSystemThereIsNothingToDo() {
        #expect(SessionMetrics(NOOPMetricsHandler.instance) == nil)
    }
}
