// SPDX-License-Identifier: GPL-2.0-or-later

/// The figures that follow from a stream count.
struct DensityFigures: Sendable {
    let density: BenchmarkReport.Density
    /// The processor time per second at the highest sustained count; 1 is one logical processor.
    let processorShare: Double?
    /// The power in watts at that count, by all energy counters together; or the reason why it is unknown.
    let power: Measured<Double>
    /// The number of streams per watt at that count.
    let streamsPerWatt: Measured<Double>
    /// The cost of one stream per hour on a fully used machine, in the currency of the price.
    let costPerStreamHour: Measured<Double>

    init(_ density: BenchmarkReport.Density, price: Double?) {
        self.density = density
        let best = density.trials.last { $0.isKept && $0.streams == density.streams }
        processorShare = best.flatMap { $0.wallTime > 0 ? $0.processorTime.total / $0.wallTime : nil }
        let streams = Double(density.streams)
        switch best?.energy {
        case .value(let counters) where !counters.isEmpty && best.map({ $0.wallTime > 0 }) == true:
            let watts = counters.values.reduce(0, +) / (best?.wallTime ?? 1)
            power = .value(watts)
            streamsPerWatt = watts > 0 ? .value(streams / watts) : .absent("no energy was measured")
        case .absent(let reason):
            (power, streamsPerWatt) = (.absent(reason), .absent(reason))
        default:
            let reason = density.streams == 0 ? "not even one stream was sustained" : "no energy was measured"
            (power, streamsPerWatt) = (.absent(reason), .absent(reason))
        }
        costPerStreamHour =
            switch price {
            case let price? where density.streams > 0: .value(price / streams)
            case .some: .absent("not even one stream was sustained")
            case nil: .absent("no price was given")
            }
    }

    /// The count for people: `12`, or `at least 64`.
    var text: String { density.isLeastEstimate ? "at least \(density.streams)" : "\(density.streams)" }
}
