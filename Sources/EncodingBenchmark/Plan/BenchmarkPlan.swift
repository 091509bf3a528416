// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// What a benchmark measures, complete: two machines with the same plan do the same work.
public struct BenchmarkPlan: Codable, Sendable, Hashable {
    /// What it is called: `quick`, `standard`, or the name of its file.
    public var name = "standard"
    /// What is encoded.
    public var clips: [BenchmarkClip] = [.generated(.mixed)]
    /// In which sizes; files are scaled before anything is timed.
    public var sizes: [BenchmarkSize] = [BenchmarkSize(width: 1280, height: 720)]
    /// At which rate clips are shown, whatever a file's own rate is: its frames are taken one after the other.
    public var frameRate = BenchmarkFrameRate(Rational(30))
    /// Frames of a run.
    public var frames = 300
    /// Bits of a sample, 8 or 10; sources of another depth are converted before anything is timed.
    public var bitDepth = 8
    /// The most bytes that the pictures of a clip may take in memory. A clip that has more frames is made of fewer pictures,
    /// shown forwards and backwards in turn.
    public var pictureMemory = 512 << 20
    /// By what.
    public var encoders: [BenchmarkEncoder] = []
    /// At which points; curves need four of one kind. None for rates that suit each size (``points(for:)``).
    public var points: [BenchmarkPoint] = []
    /// How pictures are handed over.
    public var modes: [BenchmarkMode] = [.throughput]
    /// How often each combination is measured.
    public var repeats = 3
    /// How often each combination runs before, unmeasured, so that caches and clocks are warm.
    public var warmups = 1
    /// What is asked about streams at the same time; `nil` for nothing.
    public var density: DensityPlan?
    /// What a machine costs per hour in any currency, for the cost of a stream; `nil` if nobody said.
    public var price: Double?

    /// Makes a plan without encoders.
    public init() {}
}

extension BenchmarkPlan {
    /// Reads a plan. What an older one does not say is the default, which was the only way then.
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

/// How many streams at the same time: what counts as keeping up.
public struct DensityPlan: Codable, Sendable, Hashable {
    /// How pictures are handed over: ``BenchmarkMode/realTime`` or ``BenchmarkMode/lowLatency``.
    public var mode = BenchmarkMode.realTime
    /// The part of the target rate that each stream has to keep, 0...1.
    public var rateShare = 0.98
    /// The most that 99 of 100 frames may take from being handed over to their sample, in seconds. The default leaves room for
    /// what software looks ahead.
    public var latencyBound = 3.0
    /// Seconds of each trial.
    public var seconds = 10.0
    /// The most streams that are tried.
    public var maximumStreams = 64
    /// How often a count of streams is tried: it holds if most of the trials do.
    public var confirmations = 3

    /// Makes the defaults.
    public init() {}
}

extension DensityPlan {
    /// Reads what is asked. What an older plan does not say is the default.
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
    /// What is encoded.
    public var clip: BenchmarkClip
    /// In which size.
    public var size: BenchmarkSize
    /// By what.
    public var encoder: BenchmarkEncoder
    /// At which point.
    public var point: BenchmarkPoint
    /// How pictures are handed over.
    public var mode: BenchmarkMode
    /// Which repetition, from 1; 0 and below for those that only warm up.
    public var repetition: Int

    /// Whether nothing of it counts.
    public var isWarmUp: Bool { repetition < 1 }
}
