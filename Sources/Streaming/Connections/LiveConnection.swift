// SPDX-License-Identifier: GPL-2.0-or-later

package import HostSystem
package import MediaTypes

/// A connection to the receiver of a live stream, or an attempt to make one.
///
/// One thread opens, uses and releases it, because calls wait for the network. Each implementation opens with a
/// `StopSignal`, with which another thread ends every wait, and with the limits of ``ConnectionLimits``. A connection is
/// never repaired: after an error it is released, and another one is opened.
package protocol LiveConnection: AnyObject {
    /// Sends a unit. Times are those of this connection: they begin near zero, and no time is negative.
    ///
    /// It returns when the network has taken the unit, or keeps it in a buffer of at most half a second.
    ///
    /// - Throws: `cancelled` after the stop signal; `deadlineExceeded` if the receiver takes nothing for
    ///   ``ConnectionLimits/silence``; `inputOutput` if the connection is lost; `unsupported` for a unit that the
    ///   protocol cannot carry, which is permanent.
    func send(_ unit: LiveUnit) throws(MediaError)

    /// Tells the receiver that the stream ends, waits until it has what was sent, at most for
    /// ``ConnectionLimits/silence``, and closes the connection.
    func finish() throws(MediaError)

    /// What the network tells at present. It never waits.
    var measurements: LinkMeasurements { get }
}

/// How long a connection waits, and where it may lead.
package struct ConnectionLimits: Sendable, Hashable {
    /// The longest time until a connection is made and its receiver accepts the stream, in milliseconds.
    package var connecting: Int32 = 10_000
    /// The longest time without any progress of the connection while data waits, in milliseconds.
    package var silence: Int32 = 10_000
    /// Which addresses it may use, whatever name the receiver has; `nil` for all.
    package var addresses: AddressPolicy?

    /// Makes the default limits.
    package init() {}
}

/// What a connection knows about the network.
public struct LinkMeasurements: Sendable, Hashable {
    /// The round-trip time in seconds; `nil` if the protocol cannot measure it.
    public var roundTrip: Double?
    /// The number of bytes that were passed to the connection and that the receiver has not acknowledged, or that have
    /// not left this machine if the protocol has no acknowledgements.
    public var unsentBytes = 0
    /// The number of bytes that the network has taken since the connection was made, with protocol overhead.
    public var sentBytes: Int64 = 0
    /// The number of packets that were sent again.
    public var retransmitted: Int64 = 0
    /// The number of packets that were dropped because they were too late.
    public var droppedPackets: Int64 = 0
    /// How many seconds what was passed to the connection has waited longer than it may, if the connection has a queue of
    /// its own.
    public var lateBy = 0.0
    /// The rate at which the network could take data, in bit/s, as the protocol estimates it; `nil` if it does not.
    public var estimatedRate: Double?

    /// Makes measurements of a connection that has just begun.
    public init() {}
}
