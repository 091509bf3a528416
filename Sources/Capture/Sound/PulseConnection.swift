// SPDX-License-Identifier: GPL-2.0-or-later

internal import CPulse
internal import Glibc
internal import MediaTypes

/// A connection to a PulseAudio server, or to PipeWire in its place. It is driven by the thread that uses it.
final class PulseConnection {
    let context: OpaquePointer
    private let mainloop: OpaquePointer
    private let stop: StopSignal

    /// The time after which a server that does not answer counts as unavailable, in nanoseconds.
    private static let patience: Int64 = 10_000_000_000

    /// Connects. No server is started.
    ///
    /// - Parameters:
    ///   - server: The address, as in `$PULSE_SERVER`; `nil` for the default.
    ///   - stop: Ends every wait.
    /// - Throws: `unavailable` if there is no server or it refuses; `cancelled`; `outOfMemory`.
    init(server: String?, stop: StopSignal) throws(MediaError) {
        guard let mainloop = pa_mainloop_new() else {
            throw MediaError(.outOfMemory, "no memory for the sound server's events", call: "pa_mainloop_new")
        }
        guard let context = pa_context_new(pa_mainloop_get_api(mainloop), "VAToolbox") else {
            pa_mainloop_free(mainloop)
            throw MediaError(.outOfMemory, "no memory for a connection", call: "pa_context_new")
        }
        (self.mainloop, self.context, self.stop) = (mainloop, context, stop)
        endWaitsWhenStopped()
        guard pa_context_connect(context, server, PA_CONTEXT_NOAUTOSPAWN, nil) >= 0 else {
            throw refusal(server)
        }
        let end = MonotonicClock.now.value + Self.patience
        while pa_context_get_state(context) != PA_CONTEXT_READY {
            guard isAlive else { throw refusal(server) }
            try wait(until: end, "to connect")
        }
    }

    deinit {
        pa_context_disconnect(context)
        pa_context_unref(context)
        pa_mainloop_free(mainloop)
    }

    /// Whether the server may still answer.
    var isAlive: Bool {
        let state = pa_context_get_state(context)
        return state != PA_CONTEXT_FAILED && state != PA_CONTEXT_TERMINATED
    }

    /// The latest error of the server, in its words.
    var reason: String { pa_strerror(pa_context_errno(context)).map { String(cString: $0) } ?? "unknown error" }

    /// Waits for an event and handles it.
    ///
    /// - Parameter end: The end of the wait in nanoseconds of `CLOCK_MONOTONIC`; `nil` for none.
    func wait(until end: Int64? = nil) throws(MediaError) {
        let left = end.map { max(($0 - MonotonicClock.now.value) / 1000, 0) }
        let prepared = pa_mainloop_prepare(mainloop, left.map { Int32(clamping: $0) } ?? -1)
        guard prepared >= 0, pa_mainloop_poll(mainloop) >= 0, pa_mainloop_dispatch(mainloop) >= 0 else {
            throw MediaError(.inputOutput, "waiting for the sound server failed", call: "pa_mainloop_poll")
        }
        if stop.isStopped { throw StopSignal.stopped }
    }

    /// Waits until the server has answered.
    ///
    /// - Parameter purpose: What was asked of the server, such as `to connect`.
    func finish(_ operation: OpaquePointer?, _ purpose: String) throws(MediaError) {
        guard let operation else { throw gone }
        defer {
            pa_operation_cancel(operation)
            pa_operation_unref(operation)
        }
        let end = MonotonicClock.now.value + Self.patience
        while pa_operation_get_state(operation) == PA_OPERATION_RUNNING { try wait(until: end, purpose) }
        guard isAlive else { throw gone }
    }

    /// Waits for an event, and fails after a time.
    func wait(until end: Int64, _ purpose: String) throws(MediaError) {
        try wait(until: end)
        guard MonotonicClock.now.value < end else {
            throw MediaError(
                .unavailable,
                "the sound server does not answer the request \(purpose)",
                isPermanent: false
            )
        }
    }

    /// The end of the time in which the server has to answer a request that is made now.
    static var deadline: Int64 { MonotonicClock.now.value + patience }

    /// The error of a server that has ended.
    var gone: MediaError {
        MediaError(
            .unavailable,
            "the connection to the sound server has ended: \(reason)",
            call: "pa_context_get_state",
            status: Int(pa_context_errno(context)),
            isPermanent: false
        )
    }

    private func refusal(_ server: String?) -> MediaError {
        let variable = getenv("PULSE_SERVER").map { "PULSE_SERVER=\(String(cString: $0))" }
        let status = pa_context_errno(context)
        let hasRefused = [PA_ERR_AUTHKEY, PA_ERR_ACCESS].contains { Int32($0.rawValue) == status }
        return MediaError(
            .unavailable,
            hasRefused ? "the sound server refuses this user: \(reason)" : "no sound server answers: \(reason)",
            given: server ?? variable ?? "the default server",
            allowed: "the address of a running PulseAudio or PipeWire server of this user",
            call: "pa_context_connect",
            status: Int(status),
            remedies: hasRefused
                ? [
                    "run the command as the user of the server",
                    "name the server's cookie: PULSE_COOKIE=/home/NAME/.config/pulse/cookie",
                ]
                : [
                    "start the server: systemctl --user start pipewire-pulse",
                    "name its socket: PULSE_SERVER=unix:/run/user/1000/pulse/native",
                ]
        )
    }

    /// Makes the signal an event of the main loop, which frees it at its end.
    private func endWaitsWhenStopped() {
        guard let interface = pa_mainloop_get_api(mainloop) else { return }
        _ = interface.pointee.io_new(interface, stop.descriptor, PA_IO_EVENT_INPUT, { _, _, _, _, _ in }, nil)
    }
}
