// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaTypes

/// The state of a live output.
public enum OutputState: Sendable, Hashable {
    /// It waits for the first pictures or sound.
    case idle
    /// It connects, or waits for a receiver.
    case connecting
    /// It sends.
    case live
    /// It has lost its receiver, or could not reach it, and connects again soon.
    case waiting(MediaError)
    /// It has given up.
    case failed(MediaError)
    /// It has ended as asked.
    case finished

    /// A word for people and for JSON.
    public var name: String {
        switch self {
        case .idle: "idle"
        case .connecting: "connecting"
        case .live: "live"
        case .waiting: "waiting"
        case .failed: "failed"
        case .finished: "finished"
        }
    }

    /// The reason why it does not send, if there is one.
    public var error: MediaError? {
        switch self {
        case .waiting(let error), .failed(let error): error
        case .idle, .connecting, .live, .finished: nil
        }
    }
}

/// What is known about a live output at a moment.
public struct OutputStatus: Sendable, Hashable {
    /// The address without secrets.
    public var address: String
    /// The name of the rendition that it takes; `nil` if there is one.
    public var rendition: String?
    /// The state.
    public var state = OutputState.idle
    /// The number of times that it has connected again.
    public var reconnects = 0
    /// The number of seconds since it connected; `nil` without a connection.
    public var connectedFor: Double?
    /// The number of pictures that were sent.
    public var sentPictures = 0
    /// The number of packets of audio that were sent.
    public var sentAudio = 0
    /// What was not sent, and why.
    public var drops = DropCounts()
    /// How long the oldest unit has been waiting, in seconds, with the one that is being sent.
    public var queueAge = 0.0
    /// The number of coded bytes that wait.
    public var queuedBytes = 0
    /// The number of bytes that all connections have sent.
    public var sentBytes: Int64 = 0
    /// The rate at which the network has taken data during the last second, in bit/s.
    public var deliveredRate = 0.0
    /// What the present connection measures; `nil` without a connection.
    public var link: LinkMeasurements?
    /// The bitrate that the strategy of the output wants for the video, in bit/s.
    public var wantedBitRate: Int?

    /// Makes the status of an output that has not begun.
    public init(address: String) { self.address = address }
}
