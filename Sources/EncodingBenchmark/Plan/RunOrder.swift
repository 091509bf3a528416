// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

extension BenchmarkPlan {
    /// Returns the runs in the order of their execution.
    ///
    /// All combinations run once before any is repeated, and the first one rotates over the rounds, so that gradual
    /// changes, such as of the processor's temperature, affect all of them equally.
    public func runs() -> [BenchmarkRun] {
        let combinations = combinations()
        let rounds = warmups + repeats
        return (0..<rounds).flatMap { round in
            combinations.rotated(inRound: round, of: rounds).map { combination in
                var run = combination
                run.repetition = round - warmups + 1
                return run
            }
        }
    }

    /// Returns every combination once. Encoders vary fastest, so that those to compare run one after another.
    private func combinations() -> [BenchmarkRun] {
        var all: [BenchmarkRun] = []
        for clip in clips {
            for size in sizes {
                for mode in modes {
                    for point in points(for: size) {
                        for encoder in encoders {
                            all.append(
                                BenchmarkRun(
                                    clip: clip,
                                    size: size,
                                    encoder: encoder,
                                    point: point,
                                    mode: mode,
                                    repetition: 1
                                )
                            )
                        }
                    }
                }
            }
        }
        return all
    }

    /// Returns the points at a size: those of the plan, or four bitrates one octave apart around the usual bitrate for
    /// that size.
    ///
    /// The usual bitrate grows with the number of pixels to the power of 0.75, because larger pictures need fewer bits
    /// per pixel: 1, 2, 4 and 8 Mbit/s for 1280x720 at 30 frames per second.
    public func points(for size: BenchmarkSize) -> [BenchmarkPoint] {
        guard points.isEmpty else { return points }
        let rate = Double(size.width * size.height) * frameRate.value.doubleValue
        let scale = (rate / (1280 * 720 * 30)).squareRoot().squareRoot()
        return [1.0, 2, 4, 8].map { factor in
            let bits = factor * 1e6 * scale * scale * scale
            // Two leading digits suffice.
            var step = 1000.0
            while bits / step >= 100 { step *= 10 }
            return .bitRate(max(8000, Int((bits / step).rounded() * step)))
        }
    }
}

extension Array {
    /// Returns the elements in the order of one of several rounds, round robin with rotation: round `r` of `n` elements
    /// starts with the one at `r * n / rounds`.
    ///
    /// - Parameters:
    ///   - round: The round, from 0.
    ///   - rounds: The number of rounds.
    func rotated(inRound round: Int, of rounds: Int) -> [Element] {
        let first = round * count / Swift.max(rounds, 1)
        return Array(self[first...] + self[..<first])
    }
}
