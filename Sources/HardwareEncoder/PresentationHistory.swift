// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// The presentation times of the last frames, to find the frames of a loss report.
struct PresentationHistory {
    /// The number of frames to remember: a later report is useless.
    static let capacity = 1024

    /// The frames in presentation order.
    private var frames: [(number: Int64, time: MediaTime)] = []

    /// Records a frame, which is shown after all previous ones.
    mutating func record(_ number: Int64, at time: MediaTime) {
        // Half of them are removed at a time, so that few are moved.
        if frames.count >= 2 * Self.capacity { frames.removeFirst(Self.capacity) }
        frames.append((number, time))
    }

    /// Returns the number of the frame that is shown at a time.
    func number(at time: MediaTime) -> Int64? { frames.last { $0.time == time }?.number }

    /// Returns the numbers of the first and last frame that are shown in a range of times; `nil` if there is none.
    func numbers(in times: ClosedRange<MediaTime>) -> ClosedRange<Int64>? {
        guard let first = frames.first(where: { $0.time >= times.lowerBound })?.number,
            let last = frames.last(where: { $0.time <= times.upperBound })?.number, first <= last
        else { return nil }
        return first...last
    }
}

/// Determines when a key frame is due by time. The plan itself counts frames.
struct KeyFrameClock {
    private let interval: MediaTime?
    private var last: MediaTime?

    /// - Parameter configuration: Only a variable frame rate requires a clock.
    init(_ configuration: EncoderConfiguration) {
        interval = configuration.isFrameRateVariable ? configuration.keyFrameInterval.duration : nil
    }

    /// Returns whether a key frame is due at a presentation time.
    func isDue(at time: MediaTime) -> Bool {
        guard let interval, let last else { return false }
        return time - last >= interval
    }

    /// Records a key frame.
    mutating func restart(at time: MediaTime) { last = time }
}
