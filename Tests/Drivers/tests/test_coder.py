#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The macroblock coder: decoders must give, bit for bit, what it reconstructs.

    tests/test_coder.py [--full] [--seeds FIRST COUNT] [unittest arguments]

Streams are random but follow from a seed (see coder_exercise.c). --full tries two thousand of them, some under
AddressSanitizer and UndefinedBehaviorSanitizer; --seeds chooses which."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

DRIVERS = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(DRIVERS))

from runner.places import TOP, build  # noqa: E402

FULL = "--full" in sys.argv
FIRST, COUNT = 1, 400 if FULL else 24
PICTURES = 20
PROFILES = (0, 66, 77, 100)
# What the summaries of a run must add up to more than 0 for.
KINDS = [f"{slice_type}_{kind}" for slice_type in "pb" for kind in ("skip", "inter", "intra", "pcm")]
KINDS += ["i_intra", "i_pcm"]


def run(*command, timeout=120):
    return subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=timeout)


def first_difference(wanted, decoded, width, height):
    """Where two sequences of NV12 frames begin to differ, for people; None where they do not."""
    size = width * height * 3 // 2
    if len(wanted) != len(decoded):
        return f"{len(decoded) / size:g} frames instead of {len(wanted) / size:g}"
    if wanted == decoded:
        return None
    at = next(index for index, (one, other) in enumerate(zip(wanted, decoded)) if one != other)
    row, column = divmod(at % size, width)
    return (f"frame {at // size}: row {row}, column {column} is {decoded[at]} instead of {wanted[at]} "
            f"({width}x{height}, NV12)")


def decode_with_ffmpeg(stream, info):
    """The frames of a stream, and what ffmpeg complains about."""
    outcome = run("ffmpeg", "-nostdin", "-v", "error", "-threads", 1, "-err_detect", "explode", "-xerror", "-i", stream,
                  "-fps_mode", "passthrough", "-f", "rawvideo", "-pix_fmt", "nv12", "-")
    complaint = outcome.stderr.decode(errors="replace").strip()
    return outcome.stdout, complaint or (f"exit status {outcome.returncode}" if outcome.returncode else "")


def decode_with_openh264(stream, info):
    """Likewise with openh264; GStreamer pads rows to four bytes."""
    raw = Path(stream).with_suffix(".openh264")
    outcome = run("gst-launch-1.0", "-q", "filesrc", f"location={stream}", "!", "h264parse", "!", "openh264dec", "!",
                  "videoconvert", "!", "video/x-raw,format=NV12", "!", "filesink", f"location={raw}")
    data = raw.read_bytes() if raw.exists() else b""
    raw.unlink(missing_ok=True)
    width, rows = info["width"], info["height"] * 3 // 2
    pitch = (width + 3) // 4 * 4
    if pitch != width:
        data = b"".join(data[start:start + width] for start in range(0, len(data), pitch))
    return data[:len(data) // (width * rows) * width * rows], outcome.stderr.decode(errors="replace").strip()


class CoderTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.program = build() / "tests" / "coder_exercise"
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = Path(cls.temporary.name)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def exercise(self, mode, seed, profile, decode, program=None):
        """One stream, coded and decoded. Returns its summary and what is wrong with it, or None."""
        stream, frames = (self.folder / f"{mode}-{profile}-{seed}.{kind}" for kind in ("264", "nv12"))
        command = (program or self.program, mode, seed, profile, PICTURES, stream, frames)
        outcome = run(*command)
        name = " ".join(map(str, command[1:5]))
        if outcome.returncode:
            return {}, f"coder_exercise {name}: {outcome.stderr.decode(errors='replace')[-2000:]}"
        info = json.loads(outcome.stdout)
        decoded, complaint = decode(stream, info)
        wrong = complaint or first_difference(frames.read_bytes(), decoded, info["width"], info["height"])
        stream.unlink()
        frames.unlink()
        return info, f"coder_exercise {name}: {wrong}" if wrong else None

    def exercise_all(self, cases, decode, program=None):
        """Exercises each (mode, seed, profile), two at a time. Returns the summaries."""
        with ThreadPoolExecutor(2) as pool:
            results = list(pool.map(lambda case: self.exercise(*case, decode, program), cases))
        wrong = [problem for _, problem in results if problem]
        self.assertEqual(wrong, [], f"{len(wrong)} of {len(results)} streams")
        return [info for info, _ in results]

    @unittest.skipUnless(shutil.which("ffmpeg"), "ffmpeg is not installed")
    def test_ffmpeg_gives_the_reconstruction(self):
        cases = [("stream", seed, profile) for seed in range(FIRST, FIRST + COUNT) for profile in PROFILES]
        summaries = self.exercise_all(cases, decode_with_ffmpeg)
        for kind in KINDS:
            self.assertGreater(sum(summary[kind] for summary in summaries), 10, kind)
        self.assertTrue(any(summary["width"] % 16 and summary["height"] % 16 for summary in summaries))

    @unittest.skipUnless(shutil.which("gst-inspect-1.0") and not run("gst-inspect-1.0", "openh264dec").returncode,
                         "GStreamer's openh264dec is not installed")
    def test_openh264_gives_the_reconstruction(self):
        # Streams without B pictures: openh264 puts pictures out before their turn, and lacks parts of B slices.
        cases = [("plain", seed, profile) for seed in range(FIRST, FIRST + COUNT // 3 + 1) for profile in (66, 77, 100)]
        summaries = self.exercise_all(cases, lambda stream, info: (
            decode_with_ffmpeg if info["b_pictures"] else decode_with_openh264)(stream, info))
        self.assertGreater(sum(not summary["b_pictures"] for summary in summaries), len(cases) // 3)

    @unittest.skipUnless(FULL and shutil.which("ffmpeg"), "only with --full")
    def test_sanitizers_find_nothing(self):
        outcome = run(DRIVERS / "build", "--sanitize", timeout=900)
        self.assertEqual(outcome.returncode, 0, outcome.stderr)
        program = TOP / ".build" / "drivers-sanitize" / "tests" / "coder_exercise"
        self.exercise_all([("stream", seed, 0) for seed in range(10000, 10100)], decode_with_ffmpeg, program)
        outcome = run(program, "hostile", 1, 100000)
        self.assertEqual(outcome.returncode, 0, outcome.stderr[-2000:])

    def test_same_seed_gives_the_same_stream(self):
        streams = []
        for _ in range(2):
            run(self.program, "stream", 3, 100, 8, self.folder / "same.264", self.folder / "same.nv12")
            streams.append((self.folder / "same.264").read_bytes())
        self.assertGreater(len(streams[0]), 100)
        self.assertEqual(*streams)

    def test_hostile_requests_only_fail(self):
        outcome = run(self.program, "hostile", FIRST, 20000)
        self.assertEqual(outcome.returncode, 0, outcome.stderr)
        summary = json.loads(outcome.stdout)
        self.assertGreater(summary["taken"], 0)
        self.assertLess(summary["taken"], summary["requests"] * 0.9)

    def test_failing_allocations_only_fail(self):
        outcome = run(self.program, "memory")
        self.assertEqual(outcome.returncode, 0, outcome.stderr)
        self.assertGreater(json.loads(outcome.stdout)["failures"], 5)

    def rates(self, content):
        return [json.loads(line) for line in run(self.program, "rate", content).stdout.splitlines()]

    def test_quantisation_decides_on_bits_and_error(self):
        rates = self.rates("textured")
        self.assertEqual(len(rates), 52)
        for finer, coarser in zip(rates, rates[3:]):
            self.assertLess(coarser["bytes"], finer["bytes"])
            self.assertGreater(coarser["squared_error"], finer["squared_error"])
        self.assertEqual(rates[0]["squared_error"], 0)

    def test_flat_macroblocks_are_reproduced(self):
        samples = 128 * 96 * 3 // 2
        for rate in self.rates("flat"):
            step = 0.625 * 2 ** (rate["qp"] / 6)
            self.assertLessEqual(rate["squared_error"], samples * step * step / 12, rate)


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if word != "--full"]
    if words[:1] == ["--seeds"]:
        FIRST, COUNT = int(words[1]), int(words[2])
        words = words[3:]
    os.environ["GST_REGISTRY_FORK"] = "no"
    unittest.main(argv=[sys.argv[0], *words], verbosity=2)
