// SPDX-License-Identifier: GPL-2.0-or-later

/// The rate at which a network has taken data, over the last second.
package struct DeliveredRate: Sendable, Hashable {
    private struct Mark: Hashable {
        var time: Double
        var bytes: Int64
    }

    /// The length of the window in seconds.
    private static let window = 1.0
    private var marks: [Mark] = []

    /// Makes a rate without a measurement.
    package init() {}

    /// Registers the number of bytes that were taken up to a time, in seconds.
    package mutating func add(_ bytes: Int64, at time: Double) {
        if let last = marks.last, time - last.time < 0.01 {
            marks[marks.count - 1].bytes = bytes
        } else {
            marks.append(Mark(time: time, bytes: bytes))
        }
        // One mark before the window is kept, from which the window is measured.
        while marks.count > 2, time - marks[1].time >= Self.window { marks.removeFirst() }
    }

    /// The rate in bit/s up to a time in seconds, also while nothing is taken; zero before there are two measurements.
    package func bitsPerSecond(at now: Double) -> Double {
        let recent = marks.drop { now - $0.time > 2 * Self.window }
        guard let first = recent.first, let last = recent.last, last.time > first.time else { return 0 }
        return max(Double(last.bytes - first.bytes), 0) * 8 / max(now - first.time, last.time - first.time)
    }
}
