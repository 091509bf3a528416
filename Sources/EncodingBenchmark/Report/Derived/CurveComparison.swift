// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// How an encoder does against another that everybody knows, on one clip in one mode.
struct CurveComparison: Sendable {
    let series: SeriesKey
    /// ``BenchmarkReport/Encoder/id`` of the encoder that it is held against.
    let anchor: String
    /// By ``Metric/id`` of a quality: how much more rate the same quality takes, and how much more quality the same rate
    /// gives; or why that cannot be said.
    let curves: [(quality: Metric, rate: Measured<BjontegaardDelta>, gain: Measured<BjontegaardDelta>)]
    /// Frames per second divided by the anchor's, over the points and repeats that both have.
    let speed: Measured<MedianInterval>
}

extension BenchmarkReport.Encoder {
    /// Which place it has among those that an encoder of that codec is held against, 0 for the first; `nil` if it is none
    /// of them: x264 medium and veryfast for H.264, x265 medium and x264 medium for HEVC.
    func anchorRank(for codec: String) -> Int? {
        guard kind == .software, let preset else { return nil }
        let anchors =
            codec == "hevc"
            ? [["x265", "medium"], ["x264", "medium"]] : [["x264", "medium"], ["x264", "veryfast"]]
        return anchors.firstIndex { name.hasPrefix($0[0]) && preset == $0[1] }
    }

    /// Why figures of two encoders are not to be compared; `nil` if they may be.
    func refusal(against other: BenchmarkReport.Encoder) -> String? {
        switch (transfer, other.transfer) {
        case (.upload, .zeroCopy), (.zeroCopy, .upload):
            "\(id) is \(transfer.title) and \(other.id) is \(other.transfer.title)"
        default: nil
        }
    }
}

extension BenchmarkReport.Encoder.PictureTransfer {
    /// As people call it.
    var title: String {
        switch self {
        case .inPlace: "in place"
        case .upload: "hybrid"
        case .zeroCopy: "zero-copy"
        }
    }
}

extension BenchmarkReport {
    /// Every encoder against the anchors of its codec that were measured on the same clip in the same mode.
    func curveComparisons(of points: [PointFigures]) -> [CurveComparison] {
        let encoders = Dictionary(encoders.map { ($0.id, $0) }) { first, _ in first }
        let groups = Dictionary(grouping: points, by: \.series)
        var order: [SeriesKey] = []
        for point in points where !order.contains(point.series) { order.append(point.series) }
        return order.flatMap { series -> [CurveComparison] in
            guard let encoder = encoders[series.encoder], let own = groups[series] else { return [] }
            let anchors = self.encoders.compactMap { anchor in
                anchor.anchorRank(for: encoder.codec).map { (rank: $0, anchor: anchor) }
            }
            return anchors.filter { $0.anchor.id != encoder.id }.sorted { $0.rank < $1.rank }
                .compactMap { _, anchor in
                    let key = SeriesKey(clip: series.clip, encoder: anchor.id, mode: series.mode)
                    return groups[key].map { Self.compare(own, encoder, with: $0, anchor) }
                }
        }
    }

    private static func compare(
        _ points: [PointFigures],
        _ encoder: Encoder,
        with anchorPoints: [PointFigures],
        _ anchor: Encoder
    ) -> CurveComparison {
        let refusal = encoder.refusal(against: anchor)
        let curves = Metric.qualities.map { quality in
            let (own, others) = (points.curve(by: quality), anchorPoints.curve(by: quality))
            return (
                quality,
                measured(refusal) { () throws(MediaError) in try BjontegaardDelta.rate(of: own, against: others) },
                measured(refusal) { () throws(MediaError) in try BjontegaardDelta.quality(of: own, against: others) }
            )
        }
        let pairs = points.pairs(with: anchorPoints, of: .speed)
        return CurveComparison(
            series: points[0].series,
            anchor: anchor.id,
            curves: curves,
            speed: measured(refusal) { () throws(MediaError) in try PairedRatio(pairs).interval }
        )
    }

    private static func measured<Value>(
        _ refusal: String?,
        _ value: () throws(MediaError) -> Value
    ) -> Measured<Value> {
        if let refusal { return .absent(refusal) }
        do throws(MediaError) {
            return .value(try value())
        } catch {
            return .absent(error.given.map { "\(error.message): \($0)" } ?? error.message)
        }
    }
}

extension BjontegaardDelta {
    /// Whether the curves share enough for the number to say much.
    var isTelling: Bool { overlap >= Self.sufficientOverlap }
    /// How much of their range the curves share: `60 %`.
    var share: String { "\(Readable.number(overlap * 100, places: 0)) %" }
}

extension [PointFigures] {
    /// Quality over rate, by ascending rate.
    func curve(by quality: Metric) -> [RateQualityPoint] {
        compactMap { $0.position(by: quality) }.sorted { $0.rate < $1.rate }
    }

    /// Values of a metric for repeats that both have at the same point, as they were measured near each other.
    func pairs(with others: [PointFigures], of metric: Metric) -> [(first: Double, second: Double)] {
        flatMap { own -> [(first: Double, second: Double)] in
            guard let other = others.first(where: { $0.point == own.point }) else { return [] }
            let values = Dictionary(other.values(of: metric).map { ($0.repetition, $0.value) }) { first, _ in first }
            return own.values(of: metric).compactMap { repetition, value in
                values[repetition].flatMap { value > 0 && $0 > 0 ? (value, $0) : nil }
            }
        }
    }
}
