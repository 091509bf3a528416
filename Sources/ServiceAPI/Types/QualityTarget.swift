// SPDX-License-Identifier: GPL-2.0-or-later

/// What is measured to reach a quality.
public enum QualityMetric: String, APIEnum {
    /// Mean structural similarity of luma, as FFmpeg's filter `ssim` states it for Y.
    case ssim
    /// Peak signal-to-noise ratio of luma in dB, as FFmpeg's filter `psnr` states it for y.
    case psnr
    /// VMAF; needs an ffmpeg with libvmaf beside the service.
    case vmaf

    /// The scores that can be asked for.
    public var scores: ClosedRange<Double> {
        switch self {
        case .ssim: 0.5...0.9999
        case .psnr: 10...80
        case .vmaf: 10...100
        }
    }
}

/// What happens if no quality reaches a target.
public enum TargetShortfall: String, APIEnum {
    /// The job fails with target-unreachable.
    case fail
    /// The output has the best quality.
    case best
}

/// A quality to reach with as few bytes as possible.
public struct QualityTarget: APIObject {
    /// What is measured.
    public var metric = QualityMetric.ssim
    /// Lowest score of the samples: ssim 0.5 to 0.9999, psnr 10 to 80 dB, vmaf 10 to 100.
    public var score = 0.0
    /// What happens if no quality reaches it.
    public var shortfall = TargetShortfall.fail

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    package static let typeName = "Target"
    package static let summary = "A quality to reach with as few bytes as possible"
    package static let fields: Fields<Self> = [
        .required("metric", \.metric, "What is measured"),
        .required(
            "score",
            \.score,
            in: .range(0.5...100),
            "Lowest score of the samples: ssim 0.5 to 0.9999, psnr 10 to 80 dB, vmaf 10 to 100"
        ),
        .defaulted("shortfall", \.shortfall, "What happens if no quality reaches it"),
    ]

    package static let example: Self? = Self {
        $0.metric = .ssim
        $0.score = 0.98
    }

    package func validate() throws(APIError) {
        guard !metric.scores.contains(score) else { return }
        throw Self.rejection(
            "score",
            "The score is out of the range of \(metric.rawValue)",
            value: score.json,
            allowed: "\(metric.scores.lowerBound) to \(metric.scores.upperBound)"
        )
    }
}

/// How the quality of an output was found, and what it became.
public struct TargetResult: APIObject {
    /// What was measured.
    public var metric = QualityMetric.ssim
    /// The score that was asked for.
    public var wanted = 0.0
    /// Whether samples reach it.
    public var reached = false
    /// The quality (CRF) that the output has.
    public var quality = 0.0
    /// The score of the samples with it.
    public var score = 0.0
    /// Number of samples.
    public var samples = 0
    /// Number of qualities that were tried.
    public var tries = 0
    /// What was predicted.
    public var predicted = Figures()
    /// What the output became.
    public var measured: Figures?

    /// Makes a value with the defaults. Set the fields that have none.
    public init() {}

    /// Size, time and score of an output.
    public struct Figures: APIObject {
        /// Bytes of coded video, without sound and container.
        public var size = 0
        /// Seconds that encoding takes, without the search and the verification.
        public var duration = 0.0
        /// Score of the frames that were measured.
        public var score: Double?
        /// Number of these frames.
        public var frames: Int?

        /// Makes a value with the defaults. Set the fields that have none.
        public init() {}

        package static let typeName = "TargetFigures"
        package static let summary = "Size, time and score of an output"
        package static let fields: Fields<Self> = [
            .required("size", \.size, in: .count, "Bytes of coded video, without sound and container"),
            .required(
                "duration",
                \.duration,
                "Seconds that encoding takes, without the search and the verification"
            ),
            .optional("score", \.score, "Score of the frames that were measured"),
            .optional("frames", \.frames, in: .count, "Number of these frames"),
        ]
    }

    package static let summary = "How the quality of an output was found, and what it became"
    package static let fields: Fields<Self> = [
        .required("metric", \.metric, "What was measured"),
        .required("wanted", \.wanted, "The score that was asked for"),
        .required("reached", \.reached, "Whether samples reach it"),
        .required("quality", \.quality, "The quality (CRF) that the output has"),
        .required("score", \.score, "The score of the samples with it"),
        .required("samples", \.samples, in: .count, "Number of samples"),
        .required("tries", \.tries, in: .count, "Number of qualities that were tried"),
        .required("predicted", \.predicted, "What was predicted"),
        .optional("measured", \.measured, "What the output became"),
    ]
}
