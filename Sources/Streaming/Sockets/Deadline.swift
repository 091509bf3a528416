// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// The end of a wait.
struct Deadline: Sendable {
    /// The time from the beginning to the end, in milliseconds.
    let limit: Int32
    private let end: ContinuousClock.Instant

    init(milliseconds: Int32) {
        limit = milliseconds
        end = .now + .milliseconds(milliseconds)
    }

    /// The milliseconds that are left, rounded up; 0 from the end on.
    var remaining: Int32 { (end - .now).millisecondsLeft }

    /// Whether it has passed.
    var isOver: Bool { remaining == 0 }

    /// The time from the beginning to the end, for people.
    var text: String { Readable.seconds(.milliseconds(limit)) }
}

extension Duration {
    /// The milliseconds, rounded up; 0 for what is not positive.
    var millisecondsLeft: Int32 {
        let count = (self / .milliseconds(1)).rounded(.up)
        return count > 0 ? Int32(min(count, Double(Int32.max))) : 0
    }
}
