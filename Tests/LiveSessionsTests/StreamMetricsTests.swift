// SPDX-License-Identifier: GPL-2.0-or-later

import CoreMetrics
import MediaTypes
import MetricsTestKit
import Streaming
import Testing

@testable import LiveSessions

/// What a stream tells the metrics system of its program.
@Suite struct StreamMetricsTests {
    @Test func outputsAreCounted() throws {
        let system = TestMetrics()
        var metrics = try #require(StreamMetrics(system))
        var status = OutputStatus(address: "rtmp://host/app/***")
        metrics.note([status])
        (status.state, status.sentPictures, status.sentBytes, status.reconnects) = (.live, 10, 5000, 1)
        (status.queueAge, status.wantedBitRate) = (0.25, 700_000)
        metrics.note([status])
        status.sentPictures = 25
        metrics.note([status])
        let output = [("output", "rtmp://host/app/***")]
        #expect(try system.expectCounter("vatoolbox_live_frames_sent", output).totalValue == 25)
        #expect(try system.expectCounter("vatoolbox_live_bytes_sent", output).totalValue == 5000)
        #expect(try system.expectCounter("vatoolbox_live_reconnects", output).totalValue == 1)
        #expect(try system.expectGauge("vatoolbox_live_output_up", output).lastValue == 1)
        #expect(try system.expectGauge("vatoolbox_live_queue_age_seconds", output).lastValue == 0.25)
        #expect(try system.expectGauge("vatoolbox_live_wanted_bits_per_second", output).lastValue == 700_000)
    }

    @Test func aRecordingIsCounted() throws {
        let system = TestMetrics()
        var metrics = try #require(StreamMetrics(system))
        var status = RecordingStatus(path: "show.mp4")
        metrics.note([], status)
        (status.state, status.pictures, status.codedBytes, status.queuedBytes) = (.recording, 10, 5000, 300)
        metrics.note([], status)
        let recording = [("recording", "show.mp4")]
        #expect(try system.expectCounter("vatoolbox_live_recorded_frames", recording).totalValue == 10)
        #expect(try system.expectCounter("vatoolbox_live_recorded_bytes", recording).totalValue == 5000)
        #expect(try system.expectGauge("vatoolbox_live_recording_up", recording).lastValue == 1)
        #expect(try system.expectGauge("vatoolbox_live_recording_queue_bytes", recording).lastValue == 300)
    }

    @Test func withoutASystemNothingIsCounted() {
        #expect(StreamMetrics(NOOPMetricsHandler.instance) == nil)
    }
}
