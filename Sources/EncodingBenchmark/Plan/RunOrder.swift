// SPDX-License-Identifier: GPL-2.0-or-later

internal import MediaTypes

extension BenchmarkPlan {
    /// The runs in the order in which they are made.
    ///
    /// Everything is run once before anything is run again, and each round begins with another one, so that whatever
    /// changes in time, as a processor's temperature does, hits all of them alike. Round robin with rotation: round `r`
    /// of `n` combinations begins with the one at `r * n / rounds`.
    public func runs() -> [BenchmarkRun] {
        let combinations = combinations()
        let rounds = warmups + repeats
        return (0..<rounds).flatMap { round in
            let first = round * combinations.count / max(rounds, 1)
            return (combinations[first...] + combinations[..<first]).map { combination in
                var run = combination
                run.repetition = round - warmups + 1
                return run
            }
        }
    }

    /// Every combination once. Encoders vary fastest, so that those that are compared run one after the other.
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

    /// The points at a size: the plan's own, or four rates an octave apart around what streams of that size usually have.
    ///
    /// Those grow with the number of pixels to the power of 0.75, since larger pictures take fewer bits per pixel:
    /// 1, 2, 4 and 8 Mbit/s for 1280x720 at 30 frames per second.
    public func points(for size: BenchmarkSize) -> [BenchmarkPoint] {
        guard points.isEmpty else { return points }
        let rate = Double(size.width * size.height) * frameRate.value.doubleValue
        let scale = (rate / (1280 * 720 * 30)).squareRoot().squareRoot()
        return [1.0, 2, 4, 8].map { factor in
            let bits = factor * 1e6 * scale * scale * scale
            // Two leading digits are enough.
            var step = 1000.0
            while bits / step >= 100 { step *= 10 }
            return .bitRate(max(8000, Int((bits / step).rounded() * step)))
        }
    }

}
