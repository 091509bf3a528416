// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// When the last frames are shown, to find those that a report about losses is about.
struct PresentationHistory {
    /// How many frames are remembered: a report that is later than that is of no use.
    static let capacity = 1024

    /// In presentation order.
    private var frames: [(number: Int64, time: MediaTime)] = []

    /// Takes note of a frame, which is shown after all before it.
    mutating func record(_ number: Int64, at time: MediaTime) {
        // Half of them go at a time, so that few are moved.
        if frames.count >= 2 * Self.capacity { frames.removeFirst(Self.capacity) }
        frames.append((number, time))
    }

    /// The number of the frame that is shown at a time.
    func number(at time: MediaTime) -> Int64? { frames.last { $0.time == time }?.number }

    /// The numbers of the first and the last frame that are shown in a range of times; `nil` if there is none.
    func numbers(in times: ClosedRange<MediaTime>) -> ClosedRange<Int64>? {
        guard let first = frames.first(where: { $0.time >= times.lowerBound })?.number,
            let last = frames.last(where: { $0.time <= times.upperBound })?.number, first <= last
        else { return nil }
        return first...last
    }
}

/// When a key frame is due by time; by the number of frames the plan knows itself.
struct KeyFrameClock {
    private let interval: MediaTime?
    private var last: MediaTime?

    /// - Parameter configuration: Only a variable frame rate needs a clock.
    init(_ configuration: EncoderConfiguration) {
        interval = configuration.isFrameRateVariable ? configuration.keyFrameInterval.duration : nil
    }

    /// Whether a key frame is due at a time of presentation.
    func isDue(at time: MediaTime) -> Bool {
        guard let interval, let last else { return false }
        return time - last >= interval
    }

    /// Takes note of a key frame.
    mutating func restart(at time: MediaTime) { last = time }
}
