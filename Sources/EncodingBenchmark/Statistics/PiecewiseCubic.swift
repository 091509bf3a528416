// SPDX-License-Identifier: GPL-2.0-or-later

/// A function that is a cubic polynomial between adjacent points, with a continuous derivative.
struct PiecewiseCubic {
    /// The positions of the points, strictly ascending; at least two.
    private let places: [Double]
    private let values: [Double]
    private let slopes: [Double]

    /// Creates a function through points with given slopes.
    private init(_ places: [Double], _ values: [Double], slopes: [Double]) {
        self.places = places
        self.values = values
        self.slopes = slopes
    }

    /// Creates H. Akima's interpolation (J. ACM 17, 1970): the slope at a point is a weighted mean of the adjacent
    /// slopes. A side has more weight if the slope changes less on it.
    static func akima(_ places: [Double], _ values: [Double]) -> PiecewiseCubic {
        let inner = secants(places, values)
        guard inner.count > 1 else { return PiecewiseCubic(places, values, slopes: [inner[0], inner[0]]) }
        // Two additional secants on each side, by continuing the differences.
        let last = inner.count - 1
        let before = 2 * inner[0] - inner[1]
        let after = 2 * inner[last] - inner[last - 1]
        let all = [2 * before - inner[0], before] + inner + [after, 2 * after - inner[last]]
        let changes = zip(all, all.dropFirst()).map { abs($1 - $0) }
        let sums = places.indices.map { changes[$0] + changes[$0 + 2] }
        let threshold = (sums.max() ?? 0) * 1e-9
        let slopes = places.indices.map { point in
            // If the slope changes on neither side, both sides have the same weight.
            guard sums[point] > threshold else { return (all[point] + all[point + 3]) / 2 }
            let weight = changes[point] / sums[point]
            return all[point + 1] + weight * (all[point + 2] - all[point + 1])
        }
        return PiecewiseCubic(places, values, slopes: slopes)
    }

    /// Creates the monotone interpolation of Fritsch and Butland (SIAM J. Sci. Stat. Comput. 5, 1984), known as PCHIP:
    /// the slope at a point is the weighted harmonic mean of the adjacent slopes, and zero if these have different
    /// signs.
    static func monotone(_ places: [Double], _ values: [Double]) -> PiecewiseCubic {
        let secants = secants(places, values)
        let widths = zip(places, places.dropFirst()).map { $1 - $0 }
        let last = secants.count - 1
        guard last > 0 else { return PiecewiseCubic(places, values, slopes: [secants[0], secants[0]]) }
        var slopes = [endSlope(widths[0], widths[1], secants[0], secants[1])]
        for point in 1...last {
            let (left, right) = (secants[point - 1], secants[point])
            guard left * right > 0 else {
                slopes.append(0)
                continue
            }
            let leftWeight = 2 * widths[point] + widths[point - 1]
            let rightWeight = widths[point] + 2 * widths[point - 1]
            slopes.append((leftWeight + rightWeight) / (leftWeight / left + rightWeight / right))
        }
        slopes.append(endSlope(widths[last], widths[last - 1], secants[last], secants[last - 1]))
        return PiecewiseCubic(places, values, slopes: slopes)
    }

    /// Returns the slope at an end from the three points there, limited so that it preserves the monotonicity.
    private static func endSlope(_ width: Double, _ next: Double, _ secant: Double, _ nextSecant: Double) -> Double {
        let slope = ((2 * width + next) * secant - width * nextSecant) / (width + next)
        if slope * secant <= 0 { return 0 }
        return secant * nextSecant <= 0 && abs(slope) > 3 * abs(secant) ? 3 * secant : slope
    }

    private static func secants(_ places: [Double], _ values: [Double]) -> [Double] {
        (1..<places.count)
            .map { end -> Double in
                let rise = values[end] - values[end - 1]
                return rise / (places[end] - places[end - 1])
            }
    }

    /// Returns the integral between two positions within the range of the points.
    func integral(from low: Double, to high: Double) -> Double {
        (1..<places.count)
            .reduce(0) { sum, end in
                let (from, to) = (max(low, places[end - 1]), min(high, places[end]))
                return from < to ? sum + primitive(end - 1, at: to) - primitive(end - 1, at: from) : sum
            }
    }

    /// Returns the antiderivative of one piece, zero at its beginning, from the Hermite form of the polynomial.
    private func primitive(_ piece: Int, at place: Double) -> Double {
        let width = places[piece + 1] - places[piece]
        let secant = (values[piece + 1] - values[piece]) / width
        let (first, second) = (slopes[piece], slopes[piece + 1])
        let quadratic = (3 * secant - 2 * first - second) / width
        let cubic = (first + second - 2 * secant) / (width * width)
        let offset = place - places[piece]
        return offset * (values[piece] + offset * (first / 2 + offset * (quadratic / 3 + offset * cubic / 4)))
    }
}
