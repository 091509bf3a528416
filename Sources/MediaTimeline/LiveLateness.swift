// SPDX-License-Identifier: GPL-2.0-or-later

package import MediaTypes

/// Decides when the timeline of a live input has to move, because the input stays late.
///
/// After a stall, many inputs deliver what has waited faster than real time, and are soon on time again. Others continue
/// where they were: everything that follows is late by the length of the stall. For those, the timeline jumps forward once.
package struct LiveLateness: Sendable {
    /// The lateness that is tolerated for ever.
    package static let tolerance = MediaTime(value: 1, timescale: 1)
    /// How long everything must be later than that.
    package static let patience = MediaTime(value: 2, timescale: 1)

    /// Since when everything has been too late, and the least lateness since then.
    private var late: (since: MediaTime, least: MediaTime)?

    /// Begins with an input that is on time.
    package init() {}

    /// Notes an item that has arrived.
    ///
    /// - Parameters:
    ///   - time: Its time on the clock of `now`; an invalid one is ignored.
    ///   - now: The present time.
    /// - Returns: How far the timeline has to move forward, so that what arrives earliest is on time; `nil` if it stays.
    package mutating func shift(for time: MediaTime, at now: MediaTime) -> MediaTime? {
        guard time.isValid, now.isValid else { return nil }
        let lateness = now - time
        guard lateness > Self.tolerance else {
            late = nil
            return nil
        }
        let (since, least) = late.map { ($0.since, min($0.least, lateness)) } ?? (now, lateness)
        guard now - since >= Self.patience else {
            late = (since, least)
            return nil
        }
        late = nil
        return least
    }
}
