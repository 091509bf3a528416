# SPDX-License-Identifier: GPL-2.0-or-later
"""What a case of an odd file is, and what cases share: a folder, an encoder, clips, and what is held against what."""

from dataclasses import dataclass, field
from pathlib import Path

from media import ffmpeg

ALIKE = 36.0  # decibels, at the quality that is asked for; another picture of the same clip has less than 25
X264 = ("-c:v", "libx264", "-preset", "ultrafast", "-qp", "6")


@dataclass
class Run:
    """What a case works with: a folder of its own, the encoder, and the problems that it found."""

    folder: Path
    encode: object
    problems: list = field(default_factory=list)

    def path(self, name):
        return self.folder / name

    def expect(self, holds, problem):
        if not holds:
            self.problems.append(problem)

    def done(self, result, status=0):
        """Notes an exit status that is not the expected one; returns whether it is."""
        self.expect(result.status == status, f"exit status {result.status}, not {status}: {result.said.strip()[-300:]}")
        return result.status == status

    def same_times(self, found, wanted, tolerance=0.0015):
        """Notes times that differ, both counted from their first."""
        if len(found) != len(wanted):
            return self.expect(False, f"{len(found)} pictures, not {len(wanted)}")
        pairs = [(a - found[0], b - wanted[0]) for a, b in zip(found, wanted)]
        worst = max(pairs, key=lambda pair: abs(pair[0] - pair[1]), default=(0, 0))
        self.expect(abs(worst[0] - worst[1]) <= tolerance, f"a picture is shown at {worst[0]}, not at {worst[1]}")

    def alike(self, decibels):
        self.expect(decibels >= ALIKE, f"{decibels} dB between input and output")


@dataclass(frozen=True)
class Case:
    name: str
    outcome: str
    check: object
    is_long: bool = False


CASES = []


def case(name, outcome, is_long=False):
    """Adds a case: the function below makes the input, has it encoded and looks at what came out."""

    def add(check):
        CASES.append(Case(name, outcome, check, is_long))
        return check

    return add


def moving(run, name, *options, size="160x90", rate="25", seconds=2, coding=X264, pixels="yuv420p", filters="null"):
    """A moving picture in a file of that name."""
    path = run.path(name)
    picture = f"testsrc2=size={size}:rate={rate}:duration={seconds}"
    ffmpeg("-f", "lavfi", "-i", picture, "-vf", filters, "-pix_fmt", pixels, *coding, *options, path)
    return path


def joined(run, name, *paths):
    """Files one behind the other, as `cat` does it."""
    run.path(name).write_bytes(b"".join(Path(path).read_bytes() for path in paths))
    return run.path(name)
