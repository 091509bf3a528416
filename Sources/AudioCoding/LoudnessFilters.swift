// SPDX-License-Identifier: GPL-2.0-or-later

internal import Glibc

/// The K weighting of one channel: a shelf for the effect of the head, and a high-pass filter. ITU-R BS.1770-4, annex 1.
///
/// The recommendation has coefficients for 48 kHz only. Those of other rates come from the same analog filters by the
/// bilinear transform; the constants below reproduce the recommendation's coefficients at 48 kHz.
struct KWeighting: Sendable {
    private var shelf: SecondOrderFilter
    private var highPass: SecondOrderFilter

    init(sampleRate: Double) {
        // At lower rates, the shelf is above all frequencies.
        shelf =
            sampleRate > 4 * 1681.974450955533
            ? .highShelf(1681.974450955533, q: 0.7071752369554196, gain: 3.999843853973347, sampleRate)
            : SecondOrderFilter(b: (1, 0, 0), a: (0, 0))
        highPass = .highPass(38.13547087602444, q: 0.5003270373238773, sampleRate)
    }

    /// Filters samples, and returns the sum of the squares of the result.
    mutating func sumOfSquares(_ samples: UnsafeBufferPointer<Double>) -> Double {
        var (first, second) = (shelf, highPass)
        var sum = 0.0
        if let start = samples.baseAddress {
            for index in 0..<samples.count {
                let value = second.next(first.next(start[index]))
                sum += value * value
            }
        }
        (shelf, highPass) = (first.settled, second.settled)
        return sum
    }
}

/// A filter of second order in transposed direct form II.
private struct SecondOrderFilter: Sendable {
    private let b: (Double, Double, Double)
    private let a: (Double, Double)
    private var state = (0.0, 0.0)

    init(b: (Double, Double, Double), a: (Double, Double)) {
        self.b = b
        self.a = a
    }

    static func highShelf(_ frequency: Double, q: Double, gain: Double, _ rate: Double) -> Self {
        let k = tan(.pi * frequency / rate)
        let high = pow(10, gain / 20)
        let middle = pow(high, 0.4996667741545416)
        let a0 = 1 + k / q + k * k
        return Self(
            b: (
                (high + middle * k / q + k * k) / a0, 2 * (k * k - high) / a0, (high - middle * k / q + k * k) / a0
            ),
            a: (2 * (k * k - 1) / a0, (1 - k / q + k * k) / a0)
        )
    }

    /// The recommendation does not normalize the numerator.
    static func highPass(_ frequency: Double, q: Double, _ rate: Double) -> Self {
        let k = tan(.pi * frequency / rate)
        let a0 = 1 + k / q + k * k
        return Self(b: (1, -2, 1), a: (2 * (k * k - 1) / a0, (1 - k / q + k * k) / a0))
    }

    mutating func next(_ input: Double) -> Double {
        let output = b.0 * input + state.0
        state.0 = b.1 * input - a.0 * output + state.1
        state.1 = b.2 * input - a.1 * output
        return output
    }

    /// The filter without denormal numbers, which are slow.
    var settled: Self {
        var filter = self
        if abs(state.0) < 1e-30 { filter.state.0 = 0 }
        if abs(state.1) < 1e-30 { filter.state.1 = 0 }
        return filter
    }
}

/// Finds the peak between the samples of a channel, by interpolation to at least 192 kHz. ITU-R BS.1770-4, annex 2.
struct TruePeak: Sendable {
    /// The largest magnitude, 1 for full scale.
    private(set) var peak = 0.0
    /// The latest samples, which the next interpolations need.
    private var history = [Double](repeating: 0, count: Self.taps - 1)
    /// The weights for each position between two samples.
    private let phases: [[Double]]

    /// The number of samples around a position. The frequency response falls by 0.11 dB at 20 kHz of 48 kHz.
    private static let taps = 24
    /// The largest factor by which an interpolated value exceeds the samples: the sum of the magnitudes of the weights.
    private static let excess = 2.0
    /// The number of samples that are skipped together if they cannot contain the peak.
    private static let stride = 64

    init(sampleRate: Int) {
        let factor = sampleRate < 96000 ? 4 : sampleRate < 192_000 ? 2 : 1
        phases = (1..<factor).map { Self.weights(Double($0) / Double(factor)) }
    }

    /// Returns a sinc in a Hann window, with the sum 1, for a position after the middle of the samples.
    private static func weights(_ fraction: Double) -> [Double] {
        let half = Double(taps / 2)
        let weights = (0..<taps).map { index in
            let distance = Double(index) - half + 1 - fraction
            let window = cos(.pi * distance / (2 * half))
            return sin(.pi * distance) / (.pi * distance) * window * window
        }
        let sum = weights.reduce(0, +)
        return weights.map { $0 / sum }
    }

    /// Adds samples.
    mutating func add(_ samples: UnsafeBufferPointer<Double>) {
        history += samples
        let phases = phases
        var largest = peak
        history.withUnsafeBufferPointer { buffer in
            // Pointers without a count, because debug builds call functions for each sample of a buffer.
            guard let all = buffer.baseAddress else { return }
            let end = buffer.count - Self.taps + 1
            var start = 0
            while start < end {
                let next = min(start + Self.stride, end)
                var loudest = 0.0
                for index in start..<next + Self.taps - 1 where abs(all[index]) > loudest { loudest = abs(all[index]) }
                largest = max(largest, loudest)
                if loudest * Self.excess > largest {
                    for weights in phases {
                        largest = max(largest, Self.interpolatedPeak(all, start..<next, weights))
                    }
                }
                start = next
            }
        }
        peak = largest
        history.removeFirst(history.count - Self.taps + 1)
    }

    /// Returns the largest magnitude at a position after the middle of the samples from each start of a range.
    private static func interpolatedPeak(_ samples: UnsafePointer<Double>, _ range: Range<Int>, _ weights: [Double])
        -> Double
    {
        weights.withUnsafeBufferPointer { buffer in
            guard let weights = buffer.baseAddress else { return 0 }
            var largest = 0.0
            for start in range {
                var sum = 0.0
                for index in 0..<taps { sum += samples[start + index] * weights[index] }
                if abs(sum) > largest { largest = abs(sum) }
            }
            return largest
        }
    }

    /// The peak if only silence follows.
    var final: Double {
        var copy = self
        [Double](repeating: 0, count: Self.taps).withUnsafeBufferPointer { copy.add($0) }
        return copy.peak
    }
}
