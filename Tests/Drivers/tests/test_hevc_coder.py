#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The HEVC coder: decoders must give, bit for bit, what it reconstructs.

    tests/test_hevc_coder.py [--full] [--seeds FIRST COUNT] [unittest arguments]

Streams are random but follow from a seed (see hevc_exercise.c). --full tries a thousand of them, some under
AddressSanitizer and UndefinedBehaviorSanitizer; --seeds chooses which."""

import json
import shutil
import sys
import unittest
from pathlib import Path

DRIVERS = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(DRIVERS))

from exercising import ExerciseCase, decode_with_ffmpeg, frame_size, run  # noqa: E402

FULL = "--full" in sys.argv
FIRST, COUNT = 1, 400 if FULL else 16
DEPTHS = (8, 10)
# Range extensions: chroma format and bit depth.
EXTENDED = ("420-12", "422-8", "422-10", "422-12", "444-8", "444-10", "444-12")
LIBDE265 = shutil.which("libde265-dec265")


def decode(stream, info):
    chroma, depth = ("420", "422", "444")[info["chroma"] - 1], info["depth"]
    # libavcodec's SIMD code deblocks 12 bits with sums of 16 bits, which overflow at the strongest edges.
    options = ["-cpuflags", "0"] if depth == 12 else []
    return decode_with_ffmpeg(stream, f"yuv{chroma}p" + ("" if depth == 8 else f"{depth}le"), *options)


def decode_with_libde265(stream, info):
    """The program's exit status is 1 where all went well; what it warns of is on standard output."""
    raw = Path(stream).with_suffix(".libde265")
    outcome = run(LIBDE265, "-q", "-o", raw, stream)
    data = raw.read_bytes() if raw.exists() else b""
    raw.unlink(missing_ok=True)
    return data, outcome.stdout.decode(errors="replace").strip()


def decode_with_both(stream, info):
    frames, complaint = decode(stream, info)
    others, other_complaint = decode_with_libde265(stream, info)
    if not complaint and not other_complaint and frames != others:
        complaint = "libde265 and ffmpeg differ"
    return frames, complaint or other_complaint


def count_frames(stream, info):
    """Decodes only for complaints: the frames of such streams mean nothing."""
    frames, complaint = decode(stream, info)
    size = frame_size(info)
    if not complaint and len(frames) != info["frames"] * size:
        complaint = f"{len(frames) / size:g} frames instead of {info['frames']}"
    return None, complaint


class HEVCCoderTest(ExerciseCase):
    name, suffix = "hevc_exercise", "265"
    PICTURES = 10

    @unittest.skipUnless(LIBDE265 and shutil.which("ffmpeg"), "ffmpeg or libde265 is not installed")
    def test_both_decoders_give_the_reconstruction(self):
        cases = [("plain", seed, depth) for seed in range(FIRST, FIRST + COUNT) for depth in DEPTHS]
        summaries = self.exercise_all(cases, decode_with_both)
        self.check_variety(summaries)

    @unittest.skipUnless(LIBDE265, "libde265 is not installed")
    def test_libde265_gives_the_reconstruction(self):
        # All that the coder does; libavcodec 5.1 errs with slices that are deblocked differently, with constrained
        # intra prediction, and with chroma that is deblocked at a QP above 57.
        cases = [("stream", seed, depth) for seed in range(FIRST, FIRST + COUNT) for depth in DEPTHS]
        summaries = self.exercise_all(cases, decode_with_libde265)
        self.check_variety(summaries)

    @unittest.skipUnless(LIBDE265, "libde265 is not installed")
    def test_libde265_gives_the_reconstruction_of_range_extensions(self):
        # libde265 1.0.11 errs with chroma QP offsets of 4:2:2 and 4:4:4, and with deep transform trees of 4:4:4.
        cases = [("neutral", seed, variant) for seed in range(FIRST, FIRST + COUNT // 2) for variant in EXTENDED]
        self.check_variety(self.exercise_all(cases, decode_with_libde265))

    @unittest.skipUnless(shutil.which("ffmpeg"), "ffmpeg is not installed")
    def test_ffmpeg_gives_the_reconstruction_of_range_extensions(self):
        cases = [("plain", seed, variant) for seed in range(FIRST, FIRST + COUNT // 2) for variant in EXTENDED]
        self.check_variety(self.exercise_all(cases, decode))

    def check_variety(self, summaries):
        def total(key):
            return sum(summary[key] for summary in summaries)

        for key in ("i_slices", "p_slices", "b_slices"):
            self.assertGreater(total(key), 10, key)
        self.assertGreater(total("intra"), total("samples") // 20)
        self.assertGreater(total("skipped"), total("samples") // 20)
        self.assertGreater(total("samples") - total("intra") - total("skipped"), total("samples") // 20)
        self.assertEqual({summary["ctb"] for summary in summaries}, {16, 32, 64})
        self.assertTrue(any(summary["width"] % 8 and summary["height"] % 8 for summary in summaries))

    @unittest.skipUnless(shutil.which("ffmpeg"), "ffmpeg is not installed")
    def test_streams_of_least_effort_decode(self):
        cases = [("skip", seed, variant) for seed in range(FIRST, FIRST + COUNT // 2)
                 for variant in (0, EXTENDED[seed % len(EXTENDED)])]
        for summary in self.exercise_all(cases, count_frames):
            self.assertEqual(summary["samples"] == 0, summary["p_slices"] + summary["b_slices"] == 0)

    def test_headers_are_read_as_they_were_written(self):
        # Slices, dependent slice segments and predicted reference picture sets, which x265's streams do not have.
        seen = set()
        for seed in range(1, 9):
            stream = self.folder / f"headers-{seed}.265"
            outcome = run(self.program, "stream", seed, 0, 4, stream, self.folder / "frames")
            self.assertEqual(outcome.returncode, 0, outcome.stderr)
            program = self.program.parent / "syntax_round_trip"
            self.assertEqual(run(program, "check", stream).returncode, 0, seed)
            for line in run(program, "trace", stream).stdout.decode().splitlines():
                name, *numbers = line.split()
                seen.add((name.split(".")[-1], numbers[-1]))
        for element in ("dependent_slice_segment_flag", "inter_ref_pic_set_prediction_flag",
                        "sps_temporal_mvp_enabled_flag", "ref_pic_list_modification_flag_l0",
                        "collocated_from_l0_flag", "mvd_l1_zero_flag"):
            self.assertIn((element, "1"), seen)
            self.assertIn((element, "0"), seen)

    @unittest.skipUnless(FULL and LIBDE265, "only with --full")
    def test_sanitizers_find_nothing(self):
        self.check_with_sanitizers([("stream", seed, 0) for seed in range(10000, 10100)] +
                                   [("stream", seed, variant) for seed in range(10100, 10110) for variant in EXTENDED],
                                   decode_with_libde265)

    def test_same_seed_gives_the_same_stream(self):
        self.check_same_seed(8)

    def test_hostile_requests_only_fail(self):
        self.check_hostile(FIRST, 8000)

    def test_failing_allocations_only_fail(self):
        self.check_failing_allocations()

    def test_quantisation_decides_on_bits_and_error(self):
        rates = self.rates("textured")
        for finer, coarser in zip(rates, rates[3:]):
            self.assertLess(coarser["bytes"], finer["bytes"])
            self.assertGreater(coarser["squared_error"], finer["squared_error"])

    def test_wishes_decide_on_qp_and_intra(self):
        wishes = json.loads(run(self.program, "wishes").stdout)
        self.assertEqual(wishes, {"same": 30, "clipped": 1, "least_qp": 21, "most_qp": 30, "last_qp": 25,
                                  "skipped_samples": 12288, "intra_ctbs": 1, "intra_samples": 1024})

    def test_flat_blocks_are_reproduced(self):
        samples = 128 * 96 * 3 // 2
        for rate in self.rates("flat"):
            step = 2 ** ((rate["qp"] - 4) / 6)
            self.assertLessEqual(rate["squared_error"], samples * max(step * step / 3, 0.1), rate)


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if word != "--full"]
    if words[:1] == ["--seeds"]:
        FIRST, COUNT = int(words[1]), int(words[2])
        words = words[3:]
    unittest.main(argv=[sys.argv[0], *words], verbosity=2)
