// SPDX-License-Identifier: GPL-2.0-or-later

/// A time of a store's clock, in milliseconds since 1970-01-01 00:00 UTC. The clock never goes back, and does not follow
/// jumps of the system's clock while the store is open.
package struct StoreTime: Sendable, Hashable, Comparable {
    /// Milliseconds since 1970-01-01 00:00 UTC.
    package var milliseconds: Int64

    /// Makes a time.
    package init(milliseconds: Int64) { self.milliseconds = milliseconds }

    package static func < (first: StoreTime, second: StoreTime) -> Bool { first.milliseconds < second.milliseconds }

    /// Adds a duration. The result is limited to the range of the type.
    package static func + (time: StoreTime, duration: Duration) -> StoreTime {
        let (sum, overflow) = time.milliseconds.addingReportingOverflow(duration.wholeMilliseconds)
        return StoreTime(milliseconds: overflow ? (duration < .zero ? .min : .max) : sum)
    }

    /// Returns the time from the second to the first.
    package static func - (first: StoreTime, second: StoreTime) -> Duration {
        .milliseconds(first.milliseconds) - .milliseconds(second.milliseconds)
    }
}

extension Duration {
    /// The duration in milliseconds, rounded toward zero and limited to the range of the type.
    var wholeMilliseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1000)
        let rest = attoseconds / 1_000_000_000_000_000
        guard !overflow else { return seconds < 0 ? .min : .max }
        let (sum, isTooMuch) = product.addingReportingOverflow(rest)
        return isTooMuch ? (seconds < 0 ? .min : .max) : sum
    }
}
