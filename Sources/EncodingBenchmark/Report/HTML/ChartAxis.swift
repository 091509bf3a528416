// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc
internal import MediaTypes

/// An axis of a chart, which maps values to positions, with ticks at round numbers.
struct ChartAxis: Sendable, Hashable {
    /// The scale of an axis.
    enum Scale: Sendable, Hashable {
        case linear
        /// For values above 0 only.
        case logarithmic
    }

    let title: String
    let scale: Scale
    /// The values at both ends, in ascending order.
    let range: ClosedRange<Double>
    /// The values with a grid line and a number.
    let ticks: [Double]

    /// Creates an axis with room for all values.
    ///
    /// - Parameters:
    ///   - values: The values to show; on a logarithmic axis, only those above 0 count.
    ///   - includes: A value that the axis must include in any case, such as 0 for amounts.
    init(_ title: String, _ values: [Double], scale: Scale = .linear, includes: Double? = nil) {
        self.title = title
        self.scale = scale
        let usable = (values + [includes].compactMap(\.self)).filter { $0.isFinite && (scale == .linear || $0 > 0) }
        let (low, high) = (usable.min() ?? 1, usable.max() ?? 2)
        switch scale {
        case .linear:
            // If all values are (nearly) equal, the axis shows their surroundings.
            let step = Self.step(over: max(high - low, max(abs(high), abs(low)) * 1e-3, 1e-4))
            // A value at the end of the axis would lie on the frame.
            let margin = 0.04 * max(high - low, step)
            let first = includes == low ? (low / step).rounded(.down) : ((low - margin) / step).rounded(.down)
            let last = includes == high ? (high / step).rounded(.up) : ((high + margin) / step).rounded(.up)
            let count = Int(min(max(last - first, 1), 20))
            range = first * step...(first + Double(count)) * step
            ticks = (0...count).map { (first + Double($0)) * step }
        case .logarithmic:
            let (bottom, top) = (low / 1.15, max(high * 1.15, low * 1.5))
            range = bottom...top
            ticks = Self.logarithmicTicks(bottom, top)
        }
    }

    /// Creates an axis from 0 to 100 per cent.
    static func percent(_ title: String) -> ChartAxis {
        ChartAxis(title: title, scale: .linear, range: 0...100, ticks: [0, 20, 40, 60, 80, 100])
    }

    private init(title: String, scale: Scale, range: ClosedRange<Double>, ticks: [Double]) {
        (self.title, self.scale, self.range, self.ticks) = (title, scale, range, ticks)
    }

    /// Returns the position of a value, from 0 at the lower end to 1 at the upper end.
    func place(of value: Double) -> Double {
        let (low, high) = (range.lowerBound, range.upperBound)
        let place: Double =
            switch scale {
            case .linear: (value - low) / (high - low)
            case .logarithmic: value > 0 ? log(value / low) / log(high / low) : 0
            }
        return min(max(place, 0), 1)
    }

    /// Returns the number of a tick.
    func label(of tick: Double) -> String {
        switch abs(tick) {
        case 1e9...: return Readable.number(tick / 1e9, places: 1) + "G"
        case 1e6...: return Readable.number(tick / 1e6, places: 1) + "M"
        case 1e4...: return Readable.number(tick / 1e3, places: 0) + "k"
        default:
            // The fewest decimal places that are exact.
            let places = (0..<6).first { places in
                let scaled = tick * pow(10, Double(places))
                return abs(scaled - scaled.rounded()) < 1e-6 * max(abs(scaled), 1)
            }
            return Readable.number(tick, places: places ?? 6)
        }
    }

    /// Returns 1, 2 or 5 times a power of ten, so that about five steps fit.
    private static func step(over length: Double) -> Double {
        let power = pow(10, log10(length / 5).rounded(.down))
        return [1, 2, 5, 10].map { $0 * power }.first { length / $0 <= 6 } ?? 10 * power
    }

    private static func logarithmicTicks(_ low: Double, _ high: Double) -> [Double] {
        func multiples(_ factors: [Double]) -> [Double] {
            let powers = Int(log10(low).rounded(.down))...Int(log10(high).rounded(.up))
            return powers.flatMap { power in factors.map { $0 * pow(10, Double(power)) } }
                .filter { (low...high).contains($0) }
        }
        let candidates = [[1], [1, 3], [1, 2, 5], [1, 1.5, 2, 3, 5, 7], [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9]]
        let all = candidates.map(multiples)
        return all.last { $0.count <= 7 && $0.count >= 2 } ?? all.last { $0.count <= 7 } ?? []
    }
}
