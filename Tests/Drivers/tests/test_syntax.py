# SPDX-License-Identifier: GPL-2.0-or-later
"""The H.264 syntax against streams of x264: what is read is written again bit for bit, damage is survived."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

DRIVERS = pathlib.Path(__file__).resolve().parent.parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(DRIVERS))

from runner.places import compiler, reason_without_sanitizers  # noqa: E402

SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
SOURCES = ["tests/syntax_round_trip.c", "common/bits.c", "common/visitor.c", "h264/syntax.c", "h264/slice_header.c"]

# Options of x264 that change headers, each with what the trace must then contain.
STREAMS = {
    "baseline": (["--profile", "baseline", "--slices", "3"], ["entropy_coding_mode_flag 0", "first_mb_in_slice 6"]),
    "main": (["--profile", "main", "--bframes", "2", "--ref", "3"], ["direct_spatial_mv_pred_flag 1"]),
    "high": (["--profile", "high", "--b-pyramid", "strict", "--bframes", "3", "--ref", "4"],
             ["transform_8x8_mode_flag 1", "marking[0].memory_management_control_operation 1"]),
    "weights": (["--weightp", "2", "--ref", "4", "--bframes", "0"], ["weighted_pred_flag 1"]),
    "temporal": (["--direct", "temporal", "--bframes", "2"], ["direct_spatial_mv_pred_flag 0"]),
    "scaling": (["--cqm", "jvt"], ["pic_scaling_matrix_present_flag 1"]),
    "interlaced": (["--tff", "--bframes", "2"], ["frame_mbs_only_flag 0", "delta_pic_order_cnt_bottom"]),
    "hrd": (["--nal-hrd", "cbr", "--bitrate", "300", "--vbv-maxrate", "300", "--vbv-bufsize", "300"],
            ["nal_hrd.cbr_flag[0] 1", "low_delay_hrd_flag 0"]),
    "vui": (["--sar", "13:11", "--videoformat", "pal", "--colorprim", "bt709", "--transfer", "bt709",
             "--colormatrix", "bt709", "--chromaloc", "2", "--overscan", "show", "--range", "pc"],
            ["sar_width 13", "video_full_range_flag 1", "chroma_sample_loc_type_top_field 2"]),
    "cropping": (["--crop-rect", "2,4,6,8"], ["frame_crop_left_offset 1", "frame_crop_bottom_offset 4"]),
    "deblocking": (["--deblock", "-3:2", "--sps-id", "7", "--constrained-intra"],
                   ["slice_alpha_c0_offset_div2 -3", "seq_parameter_set_id 7", "constrained_intra_pred_flag 1"]),
    "no-deblocking": (["--no-deblock", "--chroma-qp-offset", "-5"], ["disable_deblocking_filter_idc 1"]),
    "open-gop": (["--open-gop", "--bframes", "2", "--keyint", "5"], ["idr_pic_id 0"]),
    "lossless": (["--qp", "0", "--profile", "high444"], ["qpprime_y_zero_transform_bypass_flag 1"]),
}


@unittest.skipUnless(shutil.which("x264"), "x264 is not installed")
class SyntaxTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        reason = reason_without_sanitizers(*SANITIZERS)
        if reason:
            raise unittest.SkipTest(reason)
        cls.folder = tempfile.TemporaryDirectory()
        cls.program = os.path.join(cls.folder.name, "syntax_round_trip")
        built = subprocess.run([compiler(), "-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", *SANITIZERS,
                                "-o", cls.program, *SOURCES], cwd=DRIVERS, capture_output=True, text=True)
        if built.returncode:
            raise RuntimeError(built.stderr)
        # Twelve frames of 48x48 that move and fade, so that references, weights and modes are all used.
        cls.video = os.path.join(cls.folder.name, "source.yuv")
        with open(cls.video, "wb") as video:
            for frame in range(12):
                luma = bytes((x * 5 + y * 3 + frame * 7 + (x * y) % 31) * (16 - frame) // 16 & 255
                             for y in range(48) for x in range(48))
                video.write(luma + bytes([128 - frame] * 576) + bytes([120 + frame] * 576))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def encode(self, name, options):
        stream = os.path.join(self.folder.name, name + ".264")
        subprocess.run(["x264", "--quiet", "--threads", "1", "--input-res", "48x48", "--fps", "25", *options,
                        "-o", stream, self.video], check=True, timeout=60, capture_output=True)
        return stream

    def run_program(self, *arguments):
        result = subprocess.run([self.program, *arguments], capture_output=True, text=True, timeout=120)
        self.assertEqual(result.returncode, 0, result.stderr[-2000:])
        return result.stdout

    def test_streams_are_written_as_they_were_read(self):
        for name, (options, expected) in STREAMS.items():
            with self.subTest(name):
                stream = self.encode(name, options)
                read, damaged, accepted = map(int, self.run_program("check", stream).split())
                self.assertGreaterEqual(read, 14)
                self.assertGreater(damaged, 1000)
                self.assertLess(accepted, damaged)
                lines = [" ".join(line.split()[::3]) if len(line.split()) == 4 else line
                         for line in self.run_program("trace", stream).splitlines()]
                for element in expected:
                    self.assertTrue(any(line == element or line.startswith(element + " ") for line in lines),
                                    f"{name}: {element} is not in the trace")

    def test_framing_equals_a_naive_one(self):
        for seed in range(3):
            self.run_program("framing", str(seed))


if __name__ == "__main__":
    unittest.main(verbosity=2)
