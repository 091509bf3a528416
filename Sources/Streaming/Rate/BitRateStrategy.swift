// SPDX-License-Identifier: GPL-2.0-or-later

/// What an output knows about its link when a ``BitRateStrategy`` decides.
public struct LinkReport: Sendable, Hashable {
    /// The time of the report, in seconds of a clock that only rises.
    public var time: Double
    /// Whether there is a connection.
    public var isConnected: Bool
    /// How long the oldest unit has been waiting to be sent, in seconds.
    public var queueAge: Double
    /// The rate at which the network has taken data during the last second, in bit/s.
    public var deliveredRate: Double
    /// The round-trip time in seconds, if the protocol measures it.
    public var roundTrip: Double?
    /// The share of the packets of the last second that were sent again, 0 to 1, if the protocol tells. A receiver that does
    /// not wait for late packets hides a link that is too slow from the queue; this shows it.
    public var repeatedShare: Double?
    /// The rate of everything but the video, in bit/s: audio and protocol.
    public var otherRate: Double
    /// The largest bitrate of the video that is allowed now, in bit/s.
    public var ceiling: Int

    /// Makes a report.
    public init(
        time: Double,
        isConnected: Bool,
        queueAge: Double,
        deliveredRate: Double,
        roundTrip: Double? = nil,
        repeatedShare: Double? = nil,
        otherRate: Double = 0,
        ceiling: Int
    ) {
        (self.time, self.isConnected, self.queueAge) = (time, isConnected, queueAge)
        (self.deliveredRate, self.roundTrip, self.repeatedShare) = (deliveredRate, roundTrip, repeatedShare)
        self.otherRate = otherRate
        self.ceiling = ceiling
    }
}

/// Decides the bitrate of the video from what an output knows about its link. A strategy is a value: it has no clock and no
/// thread, so that a simulation runs the same code.
public protocol BitRateStrategy: Sendable {
    /// Returns the bitrate of the video in bit/s; the caller limits it to ``LinkReport/ceiling``. Called several times per
    /// second.
    mutating func videoBitRate(for report: LinkReport) -> Int
}

/// Keeps the bitrate; pictures are dropped while the link is too slow.
public struct FixedBitRate: BitRateStrategy {
    /// Makes the strategy.
    public init() {}

    /// Returns the ceiling.
    public mutating func videoBitRate(for report: LinkReport) -> Int { report.ceiling }
}
