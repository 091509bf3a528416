// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// Rounds the times of one track to the milliseconds of RTMP, which never go back.
struct MillisecondClock: Sendable {
    private var latest: Int64 = 0

    /// The last timestamp, modulo 2³²; 0 before the first one.
    var last: UInt32 { UInt32(truncatingIfNeeded: latest) }

    /// Returns a time, or the one before it if that was later, in milliseconds modulo 2³².
    ///
    /// - Parameter name: What has the time, for the message.
    /// - Throws: `invalidArgument` if it is invalid or negative.
    mutating func timestamp(_ time: MediaTime, _ name: String) throws(MediaError) -> UInt32 {
        latest = max(latest, try Self.milliseconds(time, name))
        return last
    }

    /// Returns a time in milliseconds.
    static func milliseconds(_ time: MediaTime, _ name: String) throws(MediaError) -> Int64 {
        let converted = time.converted(to: 1000)
        guard converted.isValid, converted.value >= 0 else {
            throw MediaError(.invalidArgument, "\(name) cannot be sent", given: "\(time)", allowed: "0 or later")
        }
        return converted.value
    }
}
