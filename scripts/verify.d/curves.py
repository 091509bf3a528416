# SPDX-License-Identifier: GPL-2.0-or-later
"""Rate-quality curves, and their distances according to PyPI's `bjontegaard`.

    curves.py SEED SETS    prints a JSON table for Tests/EncodingBenchmarkTests/Statistics; needs that package
"""

import json
import math
import random
import sys

import bjontegaard as reference

METHODS = ["akima", "pchip", "cubic"]
# Quality scales: the lowest and highest first value of a curve, and the gain per doubling of the rate.
SCALES = {"PSNR": (28, 34, 2.5), "VMAF": (35, 60, 9), "SSIM": (0.82, 0.9, 0.02)}


def curve(generator, scale, count, rate):
    """The points of a curve from a rate upward, with steps and gains as uneven as those of encoders."""
    low, high, gain = SCALES[scale]
    quality = generator.uniform(low, high)
    points = []
    for _ in range(count):
        points.append((round(rate, 3), round(quality, 6)))
        step = generator.uniform(0.5, 1.3)
        rate *= 2**step
        # Gains decrease with each point, because quality saturates.
        quality += gain * step * generator.uniform(0.6, 1.4) * 0.85 ** len(points)
    return points


def columns(points):
    return [point[0] for point in points], [point[1] for point in points]


def answers(anchor, test):
    """BD-rate in per cent and BD-quality, by each method."""
    given = [*columns(anchor), *columns(test)]
    wanted = {"require_matching_points": False, "min_overlap": 0}
    return {
        method: [
            float(reference.bd_rate(*given, method=method, **wanted)),
            float(reference.bd_psnr(*given, method=method, **wanted)),
        ]
        for method in METHODS
    }


def overlaps(anchor, test):
    """Whether the curves overlap on each axis."""
    return all(
        max(anchor[0][axis], test[0][axis]) < min(anchor[-1][axis], test[-1][axis]) for axis in (0, 1)
    )


def sets(seed, count):
    generator = random.Random(seed)
    while count > 0:
        scale = generator.choice(list(SCALES))
        rate = generator.uniform(200, 2000)
        anchor = curve(generator, scale, generator.randint(4, 8), rate)
        test = curve(generator, scale, generator.randint(4, 8), rate * generator.uniform(0.6, 1.6))
        if not overlaps(anchor, test):
            continue
        values = answers(anchor, test)
        if not all(math.isfinite(value) for pair in values.values() for value in pair):
            continue
        count -= 1
        yield {"scale": scale, "anchor": anchor, "test": test, "expected": values}


def text(row):
    """A JSON object with one line per member."""
    return "{\n" + ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in row.items()) + "\n}"


def main():
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    rows = ",\n".join(text(row) for row in sets(seed, count))
    print(f'{{"package": "bjontegaard {reference.__version__}", "seed": {seed}, "sets": [\n{rows}\n]}}')


if __name__ == "__main__":
    main()
