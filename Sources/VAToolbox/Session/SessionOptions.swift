// SPDX-License-Identifier: GPL-2.0-or-later

public import HelperIPC
public import Logging
import MediaTypes

/// How a session behaves, independently of what it encodes. Values are checked when a session is created.
public struct SessionOptions: Sendable {
    /// Which encoders may be used.
    public var policy = DevicePolicy.preferHardware
    /// How a GPU is selected among several, and which tests it must pass.
    public var devices = DeviceOptions()
    /// The process in which encoders run. This applies to encoders that the session selects; factories that are passed
    /// to the session are used as they are.
    public var isolation = EncoderIsolation.automatic
    /// The helper processes for encoders that do not run in this process. Sessions can share a pool. A pool can keep a
    /// spare helper ready, or run several encoders in one helper.
    public var helpers = HelperPool.standard
    /// How to handle frames that arrive faster than they can be encoded; `nil`: `encode` waits.
    public var realTime: RealTimeMode?
    /// When a session gives up an encoder.
    public var limits = SessionLimits()
    /// Limits of the coded data that waits for the consumer.
    public var waterMarks = WaterMarks()
    /// Whether a GPU encoder is replaced after a system suspend, as by ``CompressionSession/refresh()``: the contexts
    /// of some drivers do not survive it. logind reports the resume immediately; without logind, the session detects it
    /// with the next frame. No frame is lost either way. The switch has the reason ``RefreshReason/resume``.
    public var refreshesOnResume = true
    /// Receives the logs of this session's encoders: x264, GPU drivers, helper processes. `nil` uses swift-log loggers
    /// with the labels `vatoolbox.x264` and `vatoolbox.vaapi`, and ``HelperIPC/HelperPool/Options/log`` for helper
    /// processes. x265 logs to standard error only, so its log is off. A helper that several sessions share logs to its
    /// pool. Like ``isolation``, this applies to encoders that the session selects.
    public var logger: Logger?

    /// The source of system suspend reports.
    var systemSleep = SystemSleep.shared

    /// Creates the defaults.
    public init() {}

    /// - Throws: `invalidArgument` with the value given and the values allowed.
    func validate() throws(MediaError) {
        let durations = Duration.milliseconds(1)...Duration.seconds(86400)
        try MediaError.check(limits.creationAttempts, in: 1...1000, "number of attempts to create an encoder")
        try MediaError.check(limits.consecutiveFailedFrames, in: 1...1_000_000, "number of failed frames")
        try MediaError.check(limits.missedDeadlines, in: 1...1000, "number of missed deadlines")
        try MediaError.check(limits.creationDeadline, in: durations, "deadline for the creation of an encoder")
        try MediaError.check(
            limits.creationPause,
            in: .zero ... .seconds(3600),
            "pause before another creation of an encoder"
        )
        try MediaError.check(limits.frameDeadline, in: durations, "deadline for frames")
        try MediaError.check(limits.framesAhead, in: 0...1000, "number of frames ahead")
        try MediaError.check(waterMarks.high, in: 1...Int.max, "high water mark")
        try MediaError.check(waterMarks.low, in: 1...waterMarks.high, "low water mark")
        try devices.validate()
        if let realTime { try MediaError.check(realTime.maximumWaiting, in: 1...1000, "number of waiting frames") }
    }
}

/// Real-time mode: `encode` never waits, and frames are dropped when the queue is full.
public struct RealTimeMode: Sendable, Hashable {
    /// The frame that is dropped when the queue is full.
    public enum DropPolicy: String, Sendable, Hashable {
        /// The frame that has waited longest.
        case oldest
        /// The newest frame.
        case newest
    }

    /// The frame that is dropped when the queue is full.
    public var drop: DropPolicy
    /// The maximum number of frames that wait for the encoder, 1...1000.
    public var maximumWaiting: Int

    /// Creates a mode; by default the oldest of at most three waiting frames is dropped.
    public init(drop: DropPolicy = .oldest, maximumWaiting: Int = 3) {
        self.drop = drop
        self.maximumWaiting = maximumWaiting
    }
}

/// When a session gives up an encoder and continues with the next candidate, or ends.
public struct SessionLimits: Sendable, Hashable {
    /// Attempts to create an encoder, 1...1000.
    public var creationAttempts = 5
    /// Consecutive failed frames after which an encoder is given up, 1...1000000.
    public var consecutiveFailedFrames = 20
    /// Missed deadlines after which an encoder is given up, in creation or at work, 1...1000. The default is low
    /// because each one costs the whole deadline. After 250 coded frames, a missed deadline no longer counts; for the
    /// last candidate, after one frame, because a slow encoder is better than none.
    public var missedDeadlines = 2
    /// Deadline for the creation of an encoder, 1 ms to 1 day. The first creation on a device that needs a test encode
    /// (``DeviceOptions/proof``) gets four times ``DeviceOptions/proofDeadline`` in addition.
    public var creationDeadline = Duration.seconds(30)
    /// Pause before another attempt to create an encoder that has worked before, 0 to 1 hour; it doubles each time. A
    /// GPU that is being reset disappears for seconds: the defaults allow almost four. There is no pause in real-time
    /// mode.
    public var creationPause = Duration.milliseconds(250)
    /// Deadline for any progress of an encoder that has frames, 1 ms to 1 day.
    public var frameDeadline = Duration.seconds(60)
    /// Frames that an encoder may have in its queue besides the one that it works on, 0...1000. When the queue is full,
    /// `encode` waits until half of it is done. Pictures that are still in their files take no memory, so at least 15
    /// of them may wait. Neither rule applies in real-time mode or with
    /// ``MediaTypes/EncoderConfiguration/isLowLatency``.
    public var framesAhead = 2

    /// Creates the defaults: 5 attempts, 20 frames, 2 missed deadlines of 30 and 60 seconds, a pause of 250 ms, 2
    /// frames ahead.
    public init() {}
}

/// Limits of the coded data that waits for the consumer of ``CompressionSession/samples``.
public struct WaterMarks: Sendable, Hashable {
    /// `encode` waits when more bytes than this are queued; at least 1.
    public var high = 16 << 20
    /// It continues when fewer bytes than this are queued; 1...``high``.
    public var low = 8 << 20

    /// Creates the defaults: 16 and 8 MiB.
    public init() {}

    /// Creates water marks in bytes.
    public init(low: Int, high: Int) {
        self.high = high
        self.low = low
    }
}

/// The result of passing a frame to `encode`.
public enum FrameDisposition: Sendable, Hashable {
    /// An encoder has accepted the frame; it produces exactly one sample.
    case accepted
    /// Real-time mode: the frame waits. It is either accepted later or dropped, which an event reports.
    case waiting
    /// Real-time mode: the frame was dropped.
    case dropped
}
