// SPDX-License-Identifier: GPL-2.0-or-later

/// How a session behaves, apart from what it encodes.
public struct SessionOptions: Sendable {
    /// Which encoders may be used.
    public var policy = EncoderPolicy.preferHardware
    /// What happens to frames that come faster than they can be encoded; `nil` lets `encode` wait instead.
    public var realTime: RealTimeMode?
    /// When a session gives an encoder up.
    public var limits = SessionLimits()
    /// How much coded data may wait for the consumer.
    public var waterMarks = WaterMarks()

    /// Makes the defaults.
    public init() {}
}

/// Which encoders a session may use.
public enum EncoderPolicy: Sendable, Hashable {
    /// A GPU that can do it, else the CPU.
    case preferHardware
    /// A GPU or nothing: creation fails with the reason, and nothing is downgraded later.
    case requireHardware
    /// The CPU.
    case requireSoftware
    /// These render nodes in this order, for example `/dev/dri/renderD129`; then the CPU if `software` is set.
    case devices([String], software: Bool)
}

/// Real-time mode: `encode` never waits; a frame that finds no room makes another one go.
public struct RealTimeMode: Sendable, Hashable {
    /// Which frame goes.
    public enum DropPolicy: String, Sendable, Hashable {
        /// The one that has waited longest.
        case oldest
        /// The one that just came.
        case newest
    }

    /// Which frame goes.
    public var drop: DropPolicy
    /// How many frames may wait for the encoder, at least 1.
    public var maximumWaiting: Int

    /// Makes a mode; by default the oldest of at most three waiting frames goes.
    public init(drop: DropPolicy = .oldest, maximumWaiting: Int = 3) {
        self.drop = drop
        self.maximumWaiting = max(maximumWaiting, 1)
    }
}

/// When a session gives an encoder up and goes to the next candidate, or ends.
public struct SessionLimits: Sendable, Hashable {
    /// How often creating one encoder is tried.
    public var creationAttempts = 5
    /// How many frames in a row may fail on one encoder.
    public var consecutiveFailedFrames = 20
    /// How long the creation of an encoder may take.
    public var creationDeadline = Duration.seconds(30)
    /// How long an encoder that has work may stay without any progress.
    public var frameDeadline = Duration.seconds(60)
    /// How many frames may be handed to an encoder ahead of the one it works on.
    public var framesAhead = 3

    /// Makes the defaults: 5 attempts, 20 frames, 30 and 60 seconds, 3 frames ahead.
    public init() {}
}

/// Bounds on the coded data that wait for the consumer of ``CompressionSession/samples``.
public struct WaterMarks: Sendable, Hashable {
    /// `encode` waits when more bytes than this are queued.
    public var high = 16 << 20
    /// It goes on when fewer bytes than this are queued.
    public var low = 8 << 20

    /// Makes the defaults: 16 and 8 MiB.
    public init() {}

    /// Makes water marks in bytes. `low` is lowered to `high` if it is above.
    public init(low: Int, high: Int) {
        self.high = max(high, 1)
        self.low = min(max(low, 1), self.high)
    }
}

/// What became of a frame that was given to `encode`.
public enum FrameDisposition: Sendable, Hashable {
    /// An encoder has it; exactly one sample comes of it.
    case accepted
    /// Real-time mode: it waits, and is either accepted later or dropped, which an event reports.
    case waiting
    /// Real-time mode: it was dropped.
    case dropped
}
