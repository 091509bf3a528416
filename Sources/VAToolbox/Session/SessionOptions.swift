// SPDX-License-Identifier: GPL-2.0-or-later

public import EncoderIPC
import MediaTypes

/// How a session behaves, apart from what it encodes. Values are checked when a session is created.
public struct SessionOptions: Sendable {
    /// Which encoders may be used.
    public var policy = EncoderPolicy.preferHardware
    /// How a GPU is chosen among several, and what has to be known of it.
    public var devices = DeviceOptions()
    /// In which process they work. It is about the encoders that the session selects itself; factories that are given to
    /// it are used as they are.
    public var isolation = EncoderIsolation.automatic
    /// The helper processes in which encoders work, if they do not work in this one. Sessions may share a pool, which
    /// can keep a spare helper ready, or several encoders in one helper.
    public var helpers = HelperPool.standard
    /// What happens to frames that come faster than they can be encoded; `nil` lets `encode` wait instead.
    public var realTime: RealTimeMode?
    /// When a session gives an encoder up.
    public var limits = SessionLimits()
    /// How much coded data may wait for the consumer.
    public var waterMarks = WaterMarks()
    /// Whether an encoder on a GPU is replaced by a new one after the system was suspended, as by
    /// ``CompressionSession/refresh()``: not every driver's contexts live through that. logind tells at once that the
    /// system has resumed; where there is none, the first frame that comes afterwards finds out. No frame is lost either
    /// way. The switch has the reason ``RefreshReason/resume``.
    public var refreshesOnResume = true

    /// Tells of suspends.
    var systemSleep = SystemSleep.shared

    /// Makes the defaults.
    public init() {}

    /// - Throws: `invalidArgument` with the value given and the values allowed.
    func validate() throws(MediaError) {
        func check<Value: Comparable>(
            _ value: Value,
            in allowed: ClosedRange<Value>,
            _ name: String
        ) throws(MediaError) {
            if allowed.contains(value) { return }
            throw MediaError(
                .invalidArgument,
                "\(name) is out of range",
                given: "\(value)",
                allowed: "\(allowed.lowerBound)...\(allowed.upperBound)"
            )
        }
        let durations = Duration.milliseconds(1)...Duration.seconds(86400)
        try check(limits.creationAttempts, in: 1...1000, "number of attempts to create an encoder")
        try check(limits.consecutiveFailedFrames, in: 1...1_000_000, "number of failed frames")
        try check(limits.missedDeadlines, in: 1...1000, "number of missed deadlines")
        try check(limits.creationDeadline, in: durations, "deadline for the creation of an encoder")
        try check(limits.creationPause, in: .zero ... .seconds(3600), "pause before another creation of an encoder")
        try check(limits.frameDeadline, in: durations, "deadline for frames")
        try check(limits.framesAhead, in: 0...1000, "number of frames ahead")
        try check(waterMarks.high, in: 1...Int.max, "high water mark")
        try check(waterMarks.low, in: 1...waterMarks.high, "low water mark")
        try check(devices.proofDeadline, in: durations, "deadline for test encodes")
        if let breaker = devices.breaker {
            try check(breaker.failures, in: 1...1000, "number of failures until a device is left alone")
            try check(breaker.window, in: BreakerTimes.allowedTimes, "time in which failures of a device count")
            try check(breaker.pause, in: BreakerTimes.allowedTimes, "pause of a device")
            try check(breaker.longestPause, in: BreakerTimes.allowedTimes, "longest pause of a device")
        }
        if let limit = devices.sessionsPerDevice { try check(limit, in: 1...1000, "number of sessions of a device") }
        if let realTime { try check(realTime.maximumWaiting, in: 1...1000, "number of waiting frames") }
    }
}

/// Which encoders a session may use.
public enum EncoderPolicy: Sendable, Hashable {
    /// A GPU that can do it, else the CPU.
    case preferHardware
    /// A GPU or nothing: creation fails with the reason, and nothing is downgraded later.
    case requireHardware
    /// The CPU.
    case requireSoftware
    /// These render nodes in this order, by their paths or as `RenderNodeSurvey.node(named:)` takes them, for example
    /// `/dev/dri/renderD129` or `0000:03:00.0`; then the CPU if `software` is set.
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
    /// How many frames may wait for the encoder, 1...1000.
    public var maximumWaiting: Int

    /// Makes a mode; by default the oldest of at most three waiting frames goes.
    public init(drop: DropPolicy = .oldest, maximumWaiting: Int = 3) {
        self.drop = drop
        self.maximumWaiting = maximumWaiting
    }
}

/// When a session gives an encoder up and goes to the next candidate, or ends.
public struct SessionLimits: Sendable, Hashable {
    /// How often creating one encoder is tried, 1...1000.
    public var creationAttempts = 5
    /// How many frames in a row may fail on one encoder, 1...1000000.
    public var consecutiveFailedFrames = 20
    /// How often one encoder may miss a deadline, in creation or at work, 1...1000: each time costs the whole deadline, which
    /// five or twenty times is more than anybody waits for. 250 frames that come out after it make good for it; of the last
    /// candidate any frame does, for slow is better than over.
    public var missedDeadlines = 2
    /// How long the creation of an encoder may take, 1 ms to 1 day. The first one on a device that has to prove what it does
    /// (``DeviceOptions/proof``) may take four times ``DeviceOptions/proofDeadline`` longer.
    public var creationDeadline = Duration.seconds(30)
    /// How long is waited, after an encoder that has worked could not be made anew, until that is tried again, 0 to 1 hour;
    /// twice as long each further time. A GPU that is reset is gone for seconds: with the defaults it has nearly four.
    /// In real-time mode nothing is waited for.
    public var creationPause = Duration.milliseconds(250)
    /// How long an encoder that has work may stay without any progress, 1 ms to 1 day.
    public var frameDeadline = Duration.seconds(60)
    /// How many frames may be handed to an encoder ahead of the one it works on, 0...1000. When no more may, `encode` waits
    /// until half of them are worked off. Pictures that stay in their files take no memory while they wait: at least 15 of
    /// them may. Neither holds where frames must be quick: in real-time mode and with
    /// ``MediaTypes/EncoderConfiguration/isLowLatency``.
    public var framesAhead = 2

    /// Makes the defaults: 5 attempts, 20 frames, 2 missed deadlines of 30 and 60 seconds, a quarter of a second, 2 frames
    /// ahead.
    public init() {}
}

/// Bounds on the coded data that wait for the consumer of ``CompressionSession/samples``.
public struct WaterMarks: Sendable, Hashable {
    /// `encode` waits when more bytes than this are queued; at least 1.
    public var high = 16 << 20
    /// It goes on when fewer bytes than this are queued; 1...``high``.
    public var low = 8 << 20

    /// Makes the defaults: 16 and 8 MiB.
    public init() {}

    /// Makes water marks in bytes.
    public init(low: Int, high: Int) {
        self.high = high
        self.low = low
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
