# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests of both coders share: random streams, decoded and compared with the coder's reconstruction."""

import json
import subprocess
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from runner.places import DRIVERS, TOP, build


def run(*command, timeout=120):
    return subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=timeout)


def frame_size(info):
    """Bytes of a planar frame; of 4:2:0 unless `chroma` (chroma_format_idc) says otherwise."""
    luma = info["width"] * info["height"] * (2 if info.get("depth", 8) > 8 else 1)
    return luma * (3, 4, 6)[info.get("chroma", 1) - 1] // 2


def first_difference(wanted, decoded, info):
    """Where two sequences of planar frames begin to differ, for people; None where they do not."""
    width, height, sample = info["width"], info["height"], 2 if info.get("depth", 8) > 8 else 1
    size = frame_size(info)
    if len(wanted) != len(decoded):
        return f"{len(decoded) / size:g} frames instead of {len(wanted) / size:g}"
    if wanted == decoded:
        return None
    at = next(index for index, (one, other) in enumerate(zip(wanted, decoded)) if one != other)
    row, column = divmod(at % size // sample, width)
    return (f"frame {at // size}: row {row}, column {column} is {decoded[at]} instead of {wanted[at]} "
            f"({width}x{height}, luma first)")


def decode_with_ffmpeg(stream, pixel_format, *options):
    """The frames of a stream, and what ffmpeg complains about."""
    outcome = run("ffmpeg", "-nostdin", "-v", "error", "-threads", 1, "-err_detect", "explode", "-xerror", *options,
                  "-i", stream, "-fps_mode", "passthrough", "-f", "rawvideo", "-pix_fmt", pixel_format, "-")
    complaint = outcome.stderr.decode(errors="replace").strip()
    return outcome.stdout, complaint or (f"exit status {outcome.returncode}" if outcome.returncode else "")


class ExerciseCase(unittest.TestCase):
    """Tests of a coder whose exercise is the program `name`; PICTURES has a stream, ended by `suffix`."""

    name = suffix = None
    PICTURES = 20

    @classmethod
    def setUpClass(cls):
        cls.program = build() / "tests" / cls.name
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = Path(cls.temporary.name)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def exercise(self, mode, seed, variant, decode, program=None):
        """One stream, coded and decoded. Returns its summary and what is wrong with it, or None. `decode` returns the
        frames (None: not to be compared) and a complaint."""
        stream, frames = (self.folder / f"{mode}-{variant}-{seed}.{kind}" for kind in (self.suffix, "frames"))
        command = (program or self.program, mode, seed, variant, self.PICTURES, stream, frames)
        outcome = run(*command)
        name = " ".join(map(str, (self.name, *command[1:5])))
        if outcome.returncode:
            return {}, f"{name}: {outcome.stderr.decode(errors='replace')[-2000:]}"
        info = json.loads(outcome.stdout)
        decoded, complaint = decode(stream, info)
        if not complaint and decoded is not None:
            complaint = first_difference(frames.read_bytes(), decoded, info)
        stream.unlink()
        frames.unlink()
        return info, f"{name}: {complaint}" if complaint else None

    def exercise_all(self, cases, decode, program=None):
        """Exercises each (mode, seed, variant), two at a time. Returns the summaries."""
        with ThreadPoolExecutor(2) as pool:
            results = list(pool.map(lambda case: self.exercise(*case, decode, program), cases))
        wrong = [problem for _, problem in results if problem]
        self.assertEqual(wrong, [], f"{len(wrong)} of {len(results)} streams")
        return [info for info, _ in results]

    def check_with_sanitizers(self, cases, decode):
        outcome = run(DRIVERS / "build", "--sanitize", timeout=900)
        self.assertEqual(outcome.returncode, 0, outcome.stderr)
        program = TOP / ".build" / "drivers-sanitize" / "tests" / self.name
        self.exercise_all(cases, decode, program)
        outcome = run(program, "hostile", 1, 100000, timeout=1200)
        self.assertEqual(outcome.returncode, 0, outcome.stderr[-2000:])

    def check_same_seed(self, variant):
        streams = []
        for _ in range(2):
            run(self.program, "stream", 3, variant, 8, self.folder / "same", self.folder / "frames")
            streams.append((self.folder / "same").read_bytes())
        self.assertGreater(len(streams[0]), 100)
        self.assertEqual(*streams)

    def check_hostile(self, seed, count):
        outcome = run(self.program, "hostile", seed, count)
        self.assertEqual(outcome.returncode, 0, outcome.stderr)
        summary = json.loads(outcome.stdout)
        self.assertGreater(summary["taken"], 0)
        self.assertLess(summary["taken"], summary["requests"] * 0.9)

    def check_failing_allocations(self):
        outcome = run(self.program, "memory")
        self.assertEqual(outcome.returncode, 0, outcome.stderr)
        self.assertGreater(json.loads(outcome.stdout)["failures"], 5)

    def rates(self, content):
        rates = [json.loads(line) for line in run(self.program, "rate", content).stdout.splitlines()]
        self.assertEqual(len(rates), 52)
        return rates
