// SPDX-License-Identifier: GPL-2.0-or-later

/// Tells when frames of a stream were captured, from reports of the server.
///
/// A report says when the newest frame in the server's queue was captured, by the server's clock. It has neither the
/// delay of the reader nor the jitter of the transport, which the arrival of buffers has. Reports are late by the time
/// since the server's latest block, never early, so the least delayed one of some seconds counts.
///
/// Measured with null sinks: reports after each buffer vary by 0.04 ms (PulseAudio 16.1) and 0.4 ms (PipeWire 0.3.65).
/// `pa_stream_get_latency` with interpolation varies by 0.3 ms and 36 ms, and is wrong for half a second after the
/// start; the arrival of buffers varies by 5 ms and 10 ms and lacks the latency of the device.
struct PulseTiming: Sendable, Hashable {
    private struct Report: Hashable {
        var position: Int64
        /// The time of capture less the position, in nanoseconds.
        var offset: Int64
    }

    private let sampleRate: Int64
    private var reports: [Report] = []
    /// Reports about frames that are not read yet.
    private var later: [Report] = []
    /// The offset that was in force before an interruption.
    private var offsetBefore: Int64?
    /// The offset that counts.
    private var offset: Int64?
    private var suspicious = 0

    /// The number of reports that count: three seconds.
    private static let window = 30
    /// The smallest loss that counts as one: 60 ms in nanoseconds.
    private static let leastLoss: Int64 = 60_000_000
    /// The number of reports in succession that show a loss.
    private static let confirmation = 4
    /// The highest number of reports about frames that are not read yet, two minutes.
    private static let mostLater = 1200

    init(sampleRate: Int) { self.sampleRate = Int64(max(sampleRate, 1)) }

    /// Whether the time of frames is known.
    var isKnown: Bool { offset != nil }

    /// Registers a report.
    ///
    /// - Parameters:
    ///   - position: The number of frames before the end of the newest frame.
    ///   - time: When that frame was captured, in nanoseconds of `CLOCK_MONOTONIC`.
    mutating func note(position: Int64, captured time: Int64) {
        guard later.count < Self.mostLater else { return }
        later.append(Report(position: position, offset: time &- duration(position)))
    }

    /// Forgets the time of frames after an interruption, whose length the next report shows.
    mutating func interrupt() {
        offsetBefore = offset ?? offsetBefore
        (offset, reports, later, suspicious) = (nil, [], [], 0)
    }

    /// Applies the reports about frames up to one.
    ///
    /// - Returns: The number of frames that are lost before it.
    mutating func advance(to position: Int64) -> Int64 {
        var lost: Int64 = 0
        while let report = later.first, offset == nil || report.position <= position {
            later.removeFirst()
            lost += apply(report)
        }
        return lost
    }

    /// The time of capture of the end of a frame, in nanoseconds of `CLOCK_MONOTONIC`; `nil` if it is not known.
    func time(of position: Int64) -> Int64? { offset.map { $0 &+ duration(position) } }

    /// Returns the number of frames that are lost.
    private mutating func apply(_ report: Report) -> Int64 {
        reports.append(report)
        if reports.count > Self.window { reports.removeFirst() }
        if let offset, report.offset - offset > Self.leastLoss {
            suspicious += 1
            guard suspicious >= Self.confirmation else { return 0 }
            offsetBefore = offset
            reports.removeFirst(max(reports.count - suspicious, 0))
        } else if offset != nil {
            suspicious = 0
        }
        let least = reports.map(\.offset).min()
        defer { (offset, offsetBefore) = (least, nil) }
        guard let before = offsetBefore, let least, least - before > 0 else { return 0 }
        suspicious = 0
        return (least - before) / 1_000 * sampleRate / 1_000_000
    }

    /// The duration of frames in nanoseconds.
    private func duration(_ frames: Int64) -> Int64 {
        let (seconds, rest) = frames.quotientAndRemainder(dividingBy: sampleRate)
        return seconds &* 1_000_000_000 &+ rest * 1_000_000_000 / sampleRate
    }
}
