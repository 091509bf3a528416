// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

/// The comparison of an encoder with a well-known one, on one clip in one mode.
struct CurveComparison: Sendable {
    let series: SeriesKey
    /// ``BenchmarkReport/Encoder/id`` of the anchor.
    let anchor: String
    /// By ``Metric/id`` of a quality: the rate difference for the same quality and the quality difference for the same
    /// rate, or the reason why they are unknown.
    let curves: [(quality: Metric, rate: Measured<BjontegaardDelta>, gain: Measured<BjontegaardDelta>)]
    /// The speed relative to the anchor, over the points and repetitions that both have.
    let speed: Measured<MedianInterval>
}

extension BenchmarkReport.Encoder {
    /// Returns its rank among the anchors for a codec, 0 for the first; `nil` if it is not an anchor. The anchors are
    /// x264 medium and veryfast for H.264, x265 medium and x264 medium for HEVC.
    func anchorRank(for codec: String) -> Int? {
        guard kind == .software, let preset else { return nil }
        let anchors =
            codec == "hevc"
            ? [["x265", "medium"], ["x264", "medium"]] : [["x264", "medium"], ["x264", "veryfast"]]
        return anchors.firstIndex { name.hasPrefix($0[0]) && preset == $0[1] }
    }

    /// Returns the reason why the figures of two encoders cannot be compared; `nil` if they can.
    func refusal(against other: BenchmarkReport.Encoder) -> String? {
        switch (transfer, other.transfer) {
        case (.upload, .zeroCopy), (.zeroCopy, .upload):
            "\(id) is \(transfer.title) and \(other.id) is \(other.transfer.title)"
        default: nil
        }
    }
}

extension BenchmarkReport.Encoder.PictureTransfer {
    /// The name for people.
    var title: String {
        switch self {
        case .inPlace: "in place"
        case .upload: "hybrid"
        case .zeroCopy: "zero-copy"
        }
    }
}

extension BenchmarkReport {
    /// Compares every encoder with the anchors of its codec that were measured on the same clip in the same mode.
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
    /// Whether the curves share enough of their range for a meaningful number.
    var isTelling: Bool { overlap >= Self.sufficientOverlap }
    /// The shared part of the curves' range, such as `60 %`.
    var share: String { "\(Readable.number(overlap * 100, places: 0)) %" }
}

extension [PointFigures] {
    /// Returns the points of quality over rate, by ascending rate.
    func curve(by quality: Metric) -> [RateQualityPoint] {
        compactMap { $0.position(by: quality) }.sorted { $0.rate < $1.rate }
    }

    /// Returns the values of a metric for the repetitions that both have at the same point, which were measured close
    /// in time.
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
