# SPDX-License-Identifier: GPL-2.0-or-later
"""The syntax of H.264 and HEVC against streams of x264 and x265: what is read is written again bit for bit, damage is
survived; and HEVC's decoded picture buffer puts pictures out in order."""

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
SOURCES = ["tests/syntax_round_trip.c", "tests/syntax_round_trip/h264.c", "tests/syntax_round_trip/hevc.c",
           "common/bits.c", "common/visitor.c", "common/vui.c", "h264/syntax.c", "h264/slice_header.c",
           "hevc/parameter_sets.c", "hevc/vui.c", "hevc/rps.c", "hevc/slice_header.c"]

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


# Likewise of x265.
HEVC_STREAMS = {
    "main": (["--bframes", "4", "--b-pyramid", "--ref", "4", "--keyint", "6", "--no-open-gop"],
             ["sps_max_num_reorder_pics[0] 2", "num_positive_pics 1", "slice_type 0"]),
    "main10": (["--output-depth", "10", "--rd", "2"], ["bit_depth_luma_minus8 2", "general_profile_idc 2"]),
    "open-gop": (["--open-gop", "--keyint", "4", "--bframes", "2"], ["nal_unit_type 21"]),
    "weights": (["--weightp", "--weightb", "--bframes", "2"], ["weighted_pred_flag 1", "weighted_bipred_flag 1",
                                                               "luma_log2_weight_denom"]),
    "wavefront": (["--wpp"], ["entropy_coding_sync_enabled_flag 1", "num_entry_point_offsets",
                              "entry_point_offset_minus1[0]"]),
    "scaling": (["--scaling-list", "default"], ["scaling_list_enabled_flag 1"]),
    "hrd": (["--hrd", "--bitrate", "300", "--vbv-maxrate", "300", "--vbv-bufsize", "300"],
            ["nal_hrd_parameters_present_flag 1", "cpb_size_value_minus1[0]"]),
    "vui": (["--sar", "13:11", "--colorprim", "bt2020", "--transfer", "smpte2084", "--colormatrix", "bt2020nc",
             "--chromaloc", "2", "--range", "full"],
            ["sar_width 13", "transfer_characteristics 16", "chroma_sample_loc_type_top_field 2"]),
    "filters": (["--deblock", "-3:2", "--no-sao", "--cbqpoffs", "-5", "--constrained-intra"],
                ["pps_tc_offset_div2 -3", "sample_adaptive_offset_enabled_flag 0", "pps_cb_qp_offset -5",
                 "constrained_intra_pred_flag 1"]),
    "tools": (["--no-signhide", "--max-merge", "1", "--no-temporal-mvp", "--amp", "--rect", "--ctu", "16",
               "--min-cu-size", "16"],
              ["sign_data_hiding_enabled_flag 0", "five_minus_max_num_merge_cand 4",
               "sps_temporal_mvp_enabled_flag 0", "log2_min_luma_coding_block_size_minus3 1"]),
}


@unittest.skipUnless(shutil.which("x264") and shutil.which("x265"), "x264 or x265 is not installed")
class SyntaxTest(unittest.TestCase):
    @classmethod
    def build(cls, name, sources):
        """A program of the tests, with sanitizers."""
        program = os.path.join(cls.folder.name, name)
        built = subprocess.run([compiler(), "-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", *SANITIZERS,
                                "-o", program, *sources], cwd=DRIVERS, capture_output=True, text=True)
        if built.returncode:
            raise RuntimeError(built.stderr)
        return program

    @classmethod
    def setUpClass(cls):
        reason = reason_without_sanitizers(*SANITIZERS)
        if reason:
            raise unittest.SkipTest(reason)
        cls.folder = tempfile.TemporaryDirectory()
        cls.program = cls.build("syntax_round_trip", SOURCES)
        # x265 3.5 writes beyond its memory where pictures are as small as x264's.
        cls.video, cls.larger_video = cls.draw("source.yuv", 48, 48), cls.draw("larger.yuv", 96, 64)

    @classmethod
    def draw(cls, name, width, height):
        """Twelve frames that move and fade, so that references, weights and modes are all used."""
        path = os.path.join(cls.folder.name, name)
        with open(path, "wb") as video:
            for frame in range(12):
                luma = bytes((x * 5 + y * 3 + frame * 7 + (x * y) % 31) * (16 - frame) // 16 & 255
                             for y in range(height) for x in range(width))
                chroma = width * height // 4
                video.write(luma + bytes([128 - frame] * chroma) + bytes([120 + frame] * chroma))
        return path

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def encode(self, name, options):
        stream = os.path.join(self.folder.name, name + ".264")
        subprocess.run(["x264", "--quiet", "--threads", "1", "--input-res", "48x48", "--fps", "25", *options,
                        "-o", stream, self.video], check=True, timeout=60, capture_output=True)
        return stream

    def encode_hevc(self, name, options):
        stream = os.path.join(self.folder.name, name + ".265")
        subprocess.run(["x265", "--log-level", "none", "--preset", "ultrafast", "--pools", "1", "--frame-threads", "1",
                        "--ctu", "16", "--input-res", "96x64", "--fps", "25", *options, "-o", stream,
                        self.larger_video], check=True, timeout=120, capture_output=True)
        return stream

    def run_program(self, *arguments):
        result = subprocess.run([self.program, *arguments], capture_output=True, text=True, timeout=120)
        self.assertEqual(result.returncode, 0, result.stderr[-2000:])
        return result.stdout

    def check_stream(self, name, stream, least_units, expected):
        read, damaged, accepted = map(int, self.run_program("check", stream).split())
        self.assertGreaterEqual(read, least_units)
        self.assertGreater(damaged, 1000)
        self.assertLess(accepted, damaged)
        lines = [" ".join(line.split()[::3]) if len(line.split()) == 4 else line
                 for line in self.run_program("trace", stream).splitlines()]
        # Elements go by their own names, without what encloses them.
        lines += [line.partition(".")[2] for line in lines if "." in line]
        for element in expected:
            self.assertTrue(any(line == element or line.startswith(element + " ") for line in lines),
                            f"{name}: {element} is not in the trace")

    def test_streams_are_written_as_they_were_read(self):
        for name, (options, expected) in STREAMS.items():
            with self.subTest(name):
                self.check_stream(name, self.encode(name, options), 14, expected)

    def test_hevc_streams_are_written_as_they_were_read(self):
        for name, (options, expected) in HEVC_STREAMS.items():
            with self.subTest(name):
                self.check_stream(name, self.encode_hevc(name, options), 15, expected)

    def test_hevc_pictures_leave_the_buffer_in_order(self):
        program = self.build("hevc_dpb_stream", ["tests/hevc_dpb_stream.c", "common/bits.c", "common/visitor.c",
                                                 "common/vui.c",
                                                 *(source for source in SOURCES if source.startswith("hevc/")),
                                                 "hevc/dpb.c", "hevc/dpb_lists.c"])
        for name in ("main", "open-gop", "weights", "hrd"):
            with self.subTest(name):
                stream = self.encode_hevc(name, HEVC_STREAMS[name][0])
                result = subprocess.run([program, stream], capture_output=True, text=True, timeout=120)
                self.assertEqual(result.returncode, 0, result.stderr[-2000:])
                self.assertNotIn("wrong", result.stdout)
                pictures = [tuple(map(int, line.split())) for line in result.stdout.splitlines()]
                self.assertEqual(len(pictures), 12)
                self.assertEqual(pictures, sorted(set(pictures)))

    def test_framing_equals_a_naive_one(self):
        for seed in range(3):
            self.run_program("framing", str(seed))


if __name__ == "__main__":
    unittest.main(verbosity=2)
