// SPDX-License-Identifier: GPL-2.0-or-later

public import MediaTypes

/// How the quality of an output was found; see ``QualityTarget``.
public struct QualityReport: Sendable, Hashable {
    /// A quality that was tried on the samples.
    public struct Attempt: Sendable, Hashable {
        /// The quality of `RateControl.constantQuality`.
        public var quality: Double
        /// The score of all pictures of the samples together.
        public var score: Double
        /// The number of pictures that were measured.
        public var pictureCount: Int
        /// The predicted bytes of the coded video of the whole output, without other tracks and container.
        public var byteCount: Int
        /// The predicted seconds that decoding and encoding the whole takes, without verification.
        public var time: Double
    }

    /// A part of the input, in seconds from the start of the part that is encoded.
    public struct Sample: Sendable, Hashable {
        /// Its start.
        public var start: Double
        /// Its duration.
        public var duration: Double
    }

    /// What the output has become, next to what was predicted.
    public struct Outcome: Sendable, Hashable {
        /// The score of the pictures that the verification has measured; `nil` if it has measured none.
        public var score: Double?
        /// The number of these pictures.
        public var pictureCount: Int
        /// The bytes of coded video.
        public var byteCount: Int
        /// The seconds that decoding and encoding took.
        public var time: Double
    }

    /// The target.
    public var target: QualityTarget
    /// The samples.
    public var samples: [Sample]
    /// What was tried, in this order.
    public var attempts: [Attempt]
    /// The attempt whose quality the output has.
    public var chosen: Attempt
    /// The encoder of the samples.
    public var encoder: EncoderIdentity
    /// The output; `nil` if there is only a prediction.
    public var outcome: Outcome?

    /// Whether the samples reach the target.
    public var isReached: Bool { chosen.score >= target.score }
}

/// The prediction for an output that is not written.
public struct QualityPrediction: Sendable {
    /// The path of the output, as requested.
    public var path: String
    /// How the quality was found.
    public var report: QualityReport
}

extension QualityReport {
    /// What differs from the request if the target is not reached.
    var shortfall: Adjustment? {
        guard !isReached else { return nil }
        return Adjustment(
            property: "quality target",
            requested: target.text,
            used: target.metric.text(chosen.score),
            reason: "no quality reaches the target"
        )
    }

    /// What differs from the request if another encoder than that of the samples has encoded the output.
    func replacement(_ used: EncoderIdentity) -> Adjustment? {
        guard used != encoder else { return nil }
        return Adjustment(
            property: "encoder of the quality target",
            requested: "\(encoder)",
            used: "\(used)",
            reason: "another encoder took over, whose quality was not measured"
        )
    }

    /// Returns the report with what the output has become.
    func reporting(_ score: OutputVerification.Score?, byteCount: Int, time: Double) -> QualityReport {
        var report = self
        report.outcome = Outcome(
            score: score?.value,
            pictureCount: score?.pictureCount ?? 0,
            byteCount: byteCount,
            time: time
        )
        return report
    }
}

extension OutputRequest {
    /// The metric of the target, if this package measures it.
    var measuredMetric: QualityMetric? { target.flatMap { $0.metric == .vmaf ? nil : $0.metric } }
}
