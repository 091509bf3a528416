// SPDX-License-Identifier: GPL-2.0-or-later

/// The search for the highest quality value (CRF, lower is better) whose score reaches a target. A pure value: it is
/// told measurements, and asks for the next one or ends.
///
/// The qualities form a grid. Whatever the curve of scores, the answer has reached the target, and the next value of
/// the grid was measured and has not, unless the answer is the last one. Scores need not fall monotonically: the search
/// keeps one value that reaches the target and a higher one that does not, and only asks for values between them. It
/// interpolates, and bisects if that does not get on.
struct QualitySearch: Sendable {
    /// The score of the samples with a quality.
    struct Measurement: Sendable, Hashable {
        var quality: Double
        var score: Double
    }

    /// What to do next.
    enum Step: Sendable, Hashable {
        /// Measure this quality.
        case measure(Double)
        /// The search has ended: this is the highest quality that reaches the target.
        case found(Measurement)
        /// The search has ended: even the lowest value of the grid has this score, below the target.
        case unreachable(Measurement)
    }

    private struct Point {
        var index: Int
        var score: Double
    }

    private let target: QualityTarget
    private let qualities: ClosedRange<Double>
    private let step: Double
    private let last: Int
    private let first: Int
    /// The highest quality that is known to reach the target.
    private var reaching: Point?
    /// A higher one that does not, the lowest that is known.
    private var failing: Point?
    /// The neighbour of a single bracket's end, for the slope of the curve.
    private var earlier: Point?
    /// The number of values that are left between both, after each measurement.
    private var widths: [Int]

    /// Begins a search.
    ///
    /// - Parameters:
    ///   - qualities: The values of the grid, from the best to the worst.
    ///   - step: The distance of its values, above 0.
    ///   - first: The value with which the search begins.
    init(_ target: QualityTarget, qualities: ClosedRange<Double> = 1...51, step: Double, first: Double) {
        self.target = target
        self.qualities = qualities
        self.step = step
        last = Int(((qualities.upperBound - qualities.lowerBound) / step).rounded(.down))
        self.first = min(max(Int(((first - qualities.lowerBound) / step).rounded()), 0), last)
        widths = [last + 1]
    }

    /// The most measurements that a search takes, whatever the curve.
    var mostMeasurements: Int {
        // Of three measurements in a row, one at least halves what is left.
        var (rounds, width) = (1, last + 1)
        while width > 0 { (rounds, width) = (rounds + 1, width / 2) }
        return 3 * rounds
    }

    /// Adds the measurement that was asked for. Others, and scores that are not numbers, count as failing.
    mutating func add(_ measurement: Measurement) {
        let index = Int(((measurement.quality - qualities.lowerBound) / step).rounded())
        let point = Point(index: min(max(index, low + 1), max(high - 1, low + 1)), score: measurement.score)
        if point.score >= target.score {
            earlier = reaching ?? earlier
            reaching = point
        } else {
            earlier = failing ?? earlier
            failing = point
        }
        widths.append(high - low - 1)
    }

    /// What to do next.
    var next: Step {
        guard high - low > 1 else {
            if let reaching { return .found(measurement(reaching)) }
            return .unreachable(failing.map(measurement) ?? Measurement(quality: qualities.lowerBound, score: .nan))
        }
        let isSlow = widths.count > 2 && widths[widths.count - 1] * 2 > widths[widths.count - 3]
        return .measure(quality(isSlow ? (low + high) / 2 : min(max(guess, low + 1), high - 1)))
    }

    private var low: Int { reaching?.index ?? -1 }
    private var high: Int { failing?.index ?? last + 1 }

    private func quality(_ index: Int) -> Double { qualities.lowerBound + Double(index) * step }
    private func measurement(_ point: Point) -> Measurement {
        Measurement(quality: quality(point.index), score: point.score)
    }

    /// Where the curve meets the target, as far as the measurements tell; may be outside of what is left.
    private var guess: Int {
        switch (reaching, failing) {
        case (nil, nil): return first
        case (let below?, let above?):
            let excess = distance(of: below), lack = -distance(of: above)
            guard excess + lack > 0 else { return (below.index + above.index) / 2 }
            let share = excess / (excess + lack)
            return below.index + whole(share * Double(above.index - below.index), .down)
        case (let point?, nil), (nil, let point?):
            // One step further than where the curve seems to meet the target, so that the next guess lies between two.
            let steps = max(abs(distance(of: point)) / slope(at: point), 1)
            return point.index + (reaching == nil ? -1 : 1) * whole(steps, .up)
        }
    }

    /// By how much a point is above the target, on the scale on which curves are about straight.
    private func distance(of point: Point) -> Double {
        target.metric.linear(point.score) - target.metric.linear(target.score)
    }

    /// By how much the curve falls in a step of the grid.
    private func slope(at point: Point) -> Double {
        let usual = target.metric.usualSlope * step
        guard let earlier, earlier.index != point.index else { return usual }
        let own = (distance(of: earlier) - distance(of: point)) / Double(point.index - earlier.index)
        // A curve that is nearly level, or rises, says nothing.
        return own.isFinite ? max(own, usual / 4) : usual
    }

    private func whole(_ value: Double, _ rule: FloatingPointRoundingRule) -> Int {
        guard value.isFinite else { return 1 }
        return Int(min(max(value.rounded(rule), 0), Double(last + 1)))
    }
}
