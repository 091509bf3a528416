// SPDX-License-Identifier: GPL-2.0-or-later

package import MediaTypes

/// The times of a live stream on a connection to a receiver.
///
/// Time zero is the decode time of the first unit: that of the key frame with which the connection begins. Protocols such as
/// RTMP expect this of every connection; in others, the times of a later connection continue those before.
package struct ConnectionTimeline: Sendable, Hashable {
    private let restarts: Bool
    private var origin: MediaTime?

    /// Makes a timeline.
    ///
    /// - Parameter restarts: Whether the times of each connection begin near zero; if not, only those of the first.
    package init(restarts: Bool) { self.restarts = restarts }

    /// Begins another connection.
    package mutating func begin() {
        if restarts { origin = nil }
    }

    /// Returns what is added to the times of a unit.
    ///
    /// - Parameter decodeTime: Its decode time on the timeline of the stream.
    /// - Returns: `nil` for a unit before the first one, such as earlier sound, which the receiver cannot place.
    package mutating func place(_ decodeTime: MediaTime) -> MediaTime? {
        let origin = origin ?? decodeTime
        self.origin = origin
        return decodeTime < origin ? nil : .zero - origin
    }
}
