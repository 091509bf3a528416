#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The macroblock coder: decoders must give, bit for bit, what it reconstructs.

    tests/test_coder.py [--full] [--seeds FIRST COUNT] [unittest arguments]

Streams are random but follow from a seed (see coder_exercise.c). --full tries two thousand of them, some under
AddressSanitizer and UndefinedBehaviorSanitizer; --seeds chooses which."""

import os
import shutil
import sys
import unittest
from pathlib import Path

DRIVERS = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(DRIVERS))

from exercising import ExerciseCase, decode_with_ffmpeg, run  # noqa: E402

FULL = "--full" in sys.argv
FIRST, COUNT = 1, 400 if FULL else 24
PROFILES = (0, 66, 77, 100)
# What the summaries of a run must add up to more than 0 for.
KINDS = [f"{slice_type}_{kind}" for slice_type in "pb" for kind in ("skip", "inter", "intra", "pcm")]
KINDS += ["i_intra", "i_pcm"]


def decode(stream, info):
    return decode_with_ffmpeg(stream, "nv12")


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


class CoderTest(ExerciseCase):
    name, suffix = "coder_exercise", "264"

    @unittest.skipUnless(shutil.which("ffmpeg"), "ffmpeg is not installed")
    def test_ffmpeg_gives_the_reconstruction(self):
        cases = [("stream", seed, profile) for seed in range(FIRST, FIRST + COUNT) for profile in PROFILES]
        summaries = self.exercise_all(cases, decode)
        for kind in KINDS:
            self.assertGreater(sum(summary[kind] for summary in summaries), 10, kind)
        self.assertTrue(any(summary["width"] % 16 and summary["height"] % 16 for summary in summaries))

    @unittest.skipUnless(shutil.which("gst-inspect-1.0") and not run("gst-inspect-1.0", "openh264dec").returncode,
                         "GStreamer's openh264dec is not installed")
    def test_openh264_gives_the_reconstruction(self):
        # Streams without B pictures: openh264 puts pictures out before their turn, and lacks parts of B slices.
        cases = [("plain", seed, profile) for seed in range(FIRST, FIRST + COUNT // 3 + 1) for profile in (66, 77, 100)]
        summaries = self.exercise_all(cases, lambda stream, info: (
            decode if info["b_pictures"] else decode_with_openh264)(stream, info))
        self.assertGreater(sum(not summary["b_pictures"] for summary in summaries), len(cases) // 3)

    @unittest.skipUnless(FULL and shutil.which("ffmpeg"), "only with --full")
    def test_sanitizers_find_nothing(self):
        self.check_with_sanitizers([("stream", seed, 0) for seed in range(10000, 10100)], decode)

    def test_same_seed_gives_the_same_stream(self):
        self.check_same_seed(100)

    def test_hostile_requests_only_fail(self):
        self.check_hostile(FIRST, 20000)

    def test_failing_allocations_only_fail(self):
        self.check_failing_allocations()

    def test_quantisation_decides_on_bits_and_error(self):
        rates = self.rates("textured")
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
