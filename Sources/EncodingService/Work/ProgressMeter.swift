// SPDX-License-Identifier: GPL-2.0-or-later

internal import ServiceAPI
internal import Synchronization

/// What a command tells of its progress.
struct CommandProgress: Sendable, Hashable {
    var phase: String?
    /// Seconds since its beginning.
    var elapsed: Double?
    /// Seconds on the timeline of the output.
    var time: Double?
    var expectedDuration: Double?
    var framesOut: Int?
    var bytes: Int?
    /// The render node of the encoder.
    var device: String?
}

/// Makes speeds of what a command tells, over the last few seconds.
final class ProgressMeter: Sendable {
    private struct Sample {
        var clock: Double
        var time: Double
        var frames: Int
        var bytes: Int
    }
    private struct State {
        var samples: [Sample] = []
        var last = Progress()
        var device: String?
    }
    private let state = Mutex(State())
    private static let window = 5.0

    /// Adds what was told.
    ///
    /// - Parameters:
    ///   - clock: Seconds of a clock that only advances.
    ///   - date: Seconds since 1970.
    func add(_ told: CommandProgress, at clock: Double, date: Double) -> Progress? {
        state.withLock { state in
            state.device = told.device
            var progress = Progress()
            progress.phase = told.phase.flatMap(Phase.init(rawValue:)) ?? .encoding
            progress.time = told.time
            progress.expectedDuration = told.expectedDuration
            progress.updatedAt = Timestamp(seconds: date)
            if let time = told.time, let whole = told.expectedDuration, whole > 0 {
                progress.fraction = min(max(time / whole, 0), 1)
            }
            let sample = Sample(clock: clock, time: told.time ?? 0, frames: told.framesOut ?? 0, bytes: told.bytes ?? 0)
            state.samples.append(sample)
            state.samples.removeAll { $0.clock < clock - Self.window && $0.clock != sample.clock }
            if let first = state.samples.first, sample.clock - first.clock > 0.2 {
                let seconds = sample.clock - first.clock
                progress.framesPerSecond = max(Double(sample.frames - first.frames) / seconds, 0)
                let media = sample.time - first.time
                if media > 0 {
                    let speed = media / seconds
                    progress.speed = speed
                    progress.bitRate = Int(limiting: max(Double(sample.bytes - first.bytes) * 8 / media, 0))
                    if let time = told.time, let whole = told.expectedDuration {
                        progress.remaining = max(whole - time, 0) / speed
                    }
                }
            }
            state.last = progress
            return progress
        }
    }

    /// The render node of the encoder, as it was told last.
    var device: String? { state.withLock(\.device) }

    /// The last phase.
    func publishing(date: Double) -> Progress {
        state.withLock { state in
            state.last.phase = .publishing
            state.last.updatedAt = Timestamp(seconds: date)
            state.last.remaining = nil
            return state.last
        }
    }
}

/// Makes progress of bytes that are copied, a few times per second at most.
final class ByteMeter: Sendable {
    private let phase: Phase
    private let lastTold = Mutex(-Double.infinity)
    private static let interval = 0.2

    init(phase: Phase) { self.phase = phase }

    /// Adds what was told; `nil` if that was too short ago.
    ///
    /// - Parameter fraction: The part of the bytes that are copied, if their number is known.
    func add(_ fraction: Double?, at clock: Double, date: Double) -> Progress? {
        let isDue = lastTold.withLock { last in
            guard clock - last >= Self.interval else { return false }
            last = clock
            return true
        }
        guard isDue else { return nil }
        return Progress {
            $0.phase = phase
            $0.fraction = fraction.map { min($0, 1) }
            $0.updatedAt = Timestamp(seconds: date)
        }
    }
}
