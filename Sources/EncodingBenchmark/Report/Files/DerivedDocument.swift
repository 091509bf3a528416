// SPDX-License-Identifier: GPL-2.0-or-later

/// ``DerivedFigures`` in the form of a JSON document.
struct DerivedDocument: Encodable {
    var points: [Point]
    var comparisons: [Comparison]
    var density: [DensityEntry]
    var warnings: [BenchmarkReport.Warning]

    struct Point: Encodable {
        var clip: String
        var encoder: String
        var mode: BenchmarkMode
        var point: BenchmarkPoint
        /// The figures by ``Metric/id``, in base units.
        var figures: [String: Interval]
        var failures: [String]
    }

    struct Interval: Encodable, Hashable {
        var median: Double
        var low: Double
        var high: Double
        var confidence: Double
        var count: Int
    }

    struct Comparison: Encodable {
        var clip: String
        var encoder: String
        var mode: BenchmarkMode
        var anchor: String
        /// The rate difference for the same quality in per cent, by ``Metric/id`` of the quality.
        var rate: [String: Measured<Delta>]
        /// The quality difference for the same rate, by ``Metric/id`` of the quality.
        var gain: [String: Measured<Delta>]
        /// The speed relative to the anchor.
        var speed: Measured<Interval>
    }

    struct Delta: Encodable, Hashable {
        var value: Double
        var overlap: Double
        var method: String
    }

    struct DensityEntry: Encodable {
        var clip: String
        var encoder: String
        var streams: Int
        var processorShare: Double?
        var power: Measured<Double>
        var streamsPerWatt: Measured<Double>
        var costPerStreamHour: Measured<Double>
    }
}

extension DerivedDocument {
    init(_ figures: DerivedFigures) {
        points = figures.points.map { point in
            Point(
                clip: point.series.clip,
                encoder: point.series.encoder,
                mode: point.series.mode,
                point: point.point,
                figures: Dictionary(
                    uniqueKeysWithValues: Metric.all.compactMap { metric in
                        point[metric].map { (metric.id, Interval($0)) }
                    }
                ),
                failures: point.failures
            )
        }
        comparisons = figures.comparisons.map { comparison in
            Comparison(
                clip: comparison.series.clip,
                encoder: comparison.series.encoder,
                mode: comparison.series.mode,
                anchor: comparison.anchor,
                rate: Dictionary(
                    uniqueKeysWithValues: comparison.curves.map { ($0.quality.id, $0.rate.map(Delta.init)) }
                ),
                gain: Dictionary(
                    uniqueKeysWithValues: comparison.curves.map { ($0.quality.id, $0.gain.map(Delta.init)) }
                ),
                speed: comparison.speed.map(Interval.init)
            )
        }
        density = figures.density.map { figures in
            DensityEntry(
                clip: figures.density.clip,
                encoder: figures.density.encoder,
                streams: figures.density.streams,
                processorShare: figures.processorShare,
                power: figures.power,
                streamsPerWatt: figures.streamsPerWatt,
                costPerStreamHour: figures.costPerStreamHour
            )
        }
        warnings = figures.warnings
    }
}

extension DerivedDocument.Interval {
    init(_ interval: MedianInterval) {
        self.init(
            median: interval.median,
            low: interval.low,
            high: interval.high,
            confidence: interval.confidence,
            count: interval.count
        )
    }
}

extension DerivedDocument.Delta {
    init(_ delta: BjontegaardDelta) {
        self.init(value: delta.value, overlap: delta.overlap, method: delta.method.rawValue)
    }
}
