// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaTypes

/// A timeline without the times at which it was paused, as that of a recording that is paused and continued.
public struct PausedTimeline: Sendable, Hashable {
    private struct Pause: Hashable {
        var start: MediaTime
        /// `nil` as long as it lasts.
        var end: MediaTime?
    }

    private var pauses: [Pause] = []

    /// Makes a timeline that is not paused.
    public init() {}

    /// Whether it is paused.
    public var isPaused: Bool { pauses.last.map { $0.end == nil } ?? false }

    /// Pauses the timeline at a time of the sources; no effect while it is paused.
    public mutating func pause(at time: MediaTime) {
        if !isPaused { pauses.append(Pause(start: time)) }
    }

    /// Continues the timeline at a time of the sources; no effect while it is not paused.
    public mutating func resume(at time: MediaTime) {
        guard isPaused, let pause = pauses.last else { return }
        pauses[pauses.count - 1].end = max(time, pause.start)
    }

    /// Returns a time of the sources without the pauses before it; `nil` within a pause.
    public func place(_ time: MediaTime) -> MediaTime? {
        var shift = MediaTime.zero
        for pause in pauses where time >= pause.start {
            guard let end = pause.end, time >= end else { return nil }
            shift = shift + (end - pause.start)
        }
        return time - shift
    }
}
