# SPDX-License-Identifier: GPL-2.0-or-later
"""Functions that the measuring areas share: statistics of alternating pairs, and builds."""

import math
import os
import statistics
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def interval(values):
    """The median and its 95 % confidence interval, from the binomial distribution of order statistics."""
    values = sorted(values)
    count = len(values)
    low = 0
    below = 0.5**count
    while low < count // 2 - 1 and below + math.comb(count, low + 1) * 0.5**count <= 0.025:
        low += 1
        below += math.comb(count, low) * 0.5**count
    return statistics.median(values), values[low], values[count - 1 - low]


def build(product, configuration="release", options=()):
    """Builds a product, by default in the release configuration. Returns its path."""
    command = ["swift", "build", "-c", configuration, *options, "--product", product]
    subprocess.run(command, cwd=ROOT, check=True)
    folder = subprocess.run(command + ["--show-bin-path"], cwd=ROOT, check=True, capture_output=True, text=True)
    return f"{folder.stdout.strip()}/{product}"
