// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// The complete description of a benchmark: two machines with the same plan do the same work.
public struct BenchmarkPlan: Codable, Sendable, Hashable {
    /// The name: `quick`, `standard`, or the name of the plan's file.
    public var name = "standard"
    /// The clips to encode.
    public var clips: [BenchmarkClip] = [.generated(.mixed)]
    /// The sizes to encode; files are scaled before the measurement.
    public var sizes: [BenchmarkSize] = [BenchmarkSize(width: 1280, height: 720)]
    /// The frame rate of the clips. The frame rate of a file is ignored: its frames are used one after another.
    public var frameRate = BenchmarkFrameRate(Rational(30))
    /// The number of frames per run.
    public var frames = 300
    /// The bit depth, 8 or 10; sources with another bit depth are converted before the measurement.
    public var bitDepth = 8
    /// The maximum memory for the pictures of a clip, in bytes. A clip with more frames consists of fewer pictures that
    /// are shown alternately forwards and backwards.
    public var pictureMemory = 512 << 20
    /// The encoders to measure.
    public var encoders: [BenchmarkEncoder] = []
    /// The rates or qualities to encode with; curves require four of one kind. If empty, bitrates that suit each size
    /// are used (``points(for:)``).
    public var points: [BenchmarkPoint] = []
    /// The modes of submitting pictures.
    public var modes: [BenchmarkMode] = [.throughput]
    /// The number of measured runs per combination.
    public var repeats = 3
    /// The number of unmeasured runs per combination before the others, which warm up caches and clocks.
    public var warmups = 1
    /// The search for the number of simultaneous streams; `nil` for none.
    public var density: DensityPlan?
    /// The price of the machine per hour in any currency, for the cost of a stream; `nil` if unknown.
    public var price: Double?

    /// Creates a plan without encoders.
    public init() {}
}

extension BenchmarkPlan {
    /// Decodes a plan. Keys that an older plan lacks get their defaults, which were the only behaviour then.
    public init(from decoder: any Decoder) throws {
        self.init()
        let values = try decoder.container(keyedBy: CodingKeys.self)
        try values.take(.name, into: \.name, of: &self)
        try values.take(.clips, into: \.clips, of: &self)
        try values.take(.sizes, into: \.sizes, of: &self)
        try values.take(.frameRate, into: \.frameRate, of: &self)
        try values.take(.frames, into: \.frames, of: &self)
        try values.take(.bitDepth, into: \.bitDepth, of: &self)
        try values.take(.pictureMemory, into: \.pictureMemory, of: &self)
        try values.take(.encoders, into: \.encoders, of: &self)
        try values.take(.points, into: \.points, of: &self)
        try values.take(.modes, into: \.modes, of: &self)
        try values.take(.repeats, into: \.repeats, of: &self)
        try values.take(.warmups, into: \.warmups, of: &self)
        density = try values.decodeIfPresent(DensityPlan.self, forKey: .density)
        price = try values.decodeIfPresent(Double.self, forKey: .price)
    }
}

/// The number of simultaneous streams: the conditions under which they are sustained.
public struct DensityPlan: Codable, Sendable, Hashable {
    /// The mode of submitting pictures: ``BenchmarkMode/realTime`` or ``BenchmarkMode/lowLatency``.
    public var mode = BenchmarkMode.realTime
    /// The share of the target rate that each stream must reach, 0...1.
    public var rateShare = 0.98
    /// The maximum latency of 99 of 100 frames, from submission to their sample, in seconds. The default allows for the
    /// lookahead of software encoders.
    public var latencyBound = 3.0
    /// The duration of each trial in seconds.
    public var seconds = 10.0
    /// The maximum number of streams to try.
    public var maximumStreams = 64
    /// The number of trials per number of streams: it is sustained if it is in most trials.
    public var confirmations = 3

    /// Creates the defaults.
    public init() {}
}

extension DensityPlan {
    /// Decodes the settings. Keys that an older plan lacks get their defaults.
    public init(from decoder: any Decoder) throws {
        self.init()
        let values = try decoder.container(keyedBy: CodingKeys.self)
        try values.take(.mode, into: \.mode, of: &self)
        try values.take(.rateShare, into: \.rateShare, of: &self)
        try values.take(.latencyBound, into: \.latencyBound, of: &self)
        try values.take(.seconds, into: \.seconds, of: &self)
        try values.take(.maximumStreams, into: \.maximumStreams, of: &self)
        try values.take(.confirmations, into: \.confirmations, of: &self)
    }
}

/// One encode of a plan.
public struct BenchmarkRun: Codable, Sendable, Hashable {
    /// The clip.
    public var clip: BenchmarkClip
    /// The size.
    public var size: BenchmarkSize
    /// The encoder.
    public var encoder: BenchmarkEncoder
    /// The point.
    public var point: BenchmarkPoint
    /// The mode of submitting pictures.
    public var mode: BenchmarkMode
    /// The repetition, from 1; 0 and below for warm-ups.
    public var repetition: Int

    /// Whether it is a warm-up that does not count.
    public var isWarmUp: Bool { repetition < 1 }
}
