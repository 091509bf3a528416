// SPDX-License-Identifier: GPL-2.0-or-later

import CPulse
import MediaTypes
import Testing

@testable import Capture

/// Plays a click every half second to a server's sink, and knows when each is heard.
final class PulsePlayer {
    private let connection: PulseConnection
    private let stream: OpaquePointer
    private var written = 0
    /// When frame zero is heard, in seconds, by the present estimate of the server.
    private(set) var zero: Double?

    static let interval = 24000

    init(server: String, stop: StopSignal) throws {
        connection = try PulseConnection(server: server, stop: stop)
        var format = pa_sample_spec(format: PA_SAMPLE_S16LE, rate: 48000, channels: 2)
        stream = try #require(pa_stream_new(connection.context, "clicks", &format, nil))
        var buffer = pa_buffer_attr(
            maxlength: .max,
            tlength: UInt32(pa_usec_to_bytes(200_000, &format)),
            prebuf: .max,
            minreq: .max,
            fragsize: .max
        )
        let flags = PA_STREAM_ADJUST_LATENCY.rawValue
        pa_stream_connect_playback(stream, "out", &buffer, pa_stream_flags_t(flags), nil, nil)
        while pa_stream_get_state(stream) == PA_STREAM_CREATING { try connection.wait() }
        try #require(pa_stream_get_state(stream) == PA_STREAM_READY)
    }

    deinit {
        pa_stream_disconnect(stream)
        pa_stream_unref(stream)
    }

    /// Writes what the server has room for, and asks when it is heard.
    func work() throws {
        let room = pa_stream_writable_size(stream) / 4
        if room > 0 {
            var samples = [Int16](repeating: 0, count: room * 2)
            for frame in 0..<room where (written + frame) % Self.interval == Self.interval / 2 {
                (samples[frame * 2], samples[frame * 2 + 1]) = (20000, 20000)
            }
            try #require(pa_stream_write(stream, samples, samples.count * 2, nil, 0, PA_SEEK_RELATIVE) >= 0)
            written += room
        }
        let operation = pa_stream_update_timing_info(stream, nil, nil)
        try connection.finish(operation, "for the time")
        guard let timing = pa_stream_get_timing_info(stream)?.pointee, timing.playing != 0, timing.read_index > 0 else {
            return
        }
        // The frame at the read index is heard when the sink has played what it has.
        var timestamp = timing.timestamp
        let age = Double(pa_timeval_age(&timestamp)) / 1e6
        let heard = MonotonicClock.now.seconds - age + Double(timing.sink_usec) / 1e6
        zero = heard - Double(timing.read_index) / 4 / 48000
    }
}
