# SPDX-License-Identifier: GPL-2.0-or-later
"""The model of the DPB against streams of x264 and ffmpeg's order of display, and the judge's checks: right
submissions give no finding, each single change gives exactly its findings, garbage gives no crash."""

import glob
import json
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

SOURCES = ["common/bits.c", "common/visitor.c", "common/vui.c", "h264/syntax.c", "h264/slice_header.c", "h264/dpb.c",
           "h264/dpb_lists.c", "hevc/parameter_sets.c", "hevc/vui.c", "hevc/rps.c", "hevc/slice_header.c", "hevc/dpb.c",
           "hevc/dpb_lists.c", "common/journal.c", "checks/*.c"]
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
FLAGS = ["-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread", *SANITIZERS]

# Options of x264 that use the DPB in different ways.
STREAMS = {
    "one-reference": ["--ref", "1", "--bframes", "0"],
    "many-references": ["--ref", "8", "--bframes", "0", "--weightp", "2"],
    "b-pictures": ["--ref", "3", "--bframes", "3", "--b-adapt", "0"],
    "b-pyramid": ["--ref", "4", "--bframes", "5", "--b-adapt", "0", "--b-pyramid", "normal"],
    "strict-pyramid": ["--ref", "4", "--bframes", "5", "--b-adapt", "0", "--b-pyramid", "strict"],
    "open-gop": ["--ref", "4", "--bframes", "3", "--open-gop", "--keyint", "10", "--min-keyint", "1"],
    "many-idr": ["--keyint", "4", "--min-keyint", "1", "--bframes", "2"],
    "slices": ["--slices", "3", "--bframes", "2", "--ref", "5"],
    "order-type-2": ["--bframes", "0", "--profile", "baseline", "--ref", "3"],
}


def run_compiler(*arguments):
    built = subprocess.run([compiler(), *FLAGS, *arguments], cwd=DRIVERS, capture_output=True, text=True)
    if built.returncode:
        raise RuntimeError(built.stderr)


def setUpModule():
    """Compiles what is tested, with sanitizers, once."""
    global scratch, objects
    reason = reason_without_sanitizers(*SANITIZERS)
    if reason:
        raise unittest.SkipTest(reason)
    scratch = tempfile.TemporaryDirectory()
    objects = []
    for pattern in SOURCES:
        for source in sorted(glob.glob(pattern, root_dir=DRIVERS)):
            objects.append(os.path.join(scratch.name, source.replace("/", "-") + ".o"))
            run_compiler("-c", "-o", objects[-1], source)


def tearDownModule():
    scratch.cleanup()


def build(folder, name):
    """Compiles tests/NAME.c and links it; the path of the program."""
    program = os.path.join(folder, name)
    run_compiler("-o", program, f"tests/{name}.c", *objects)
    return program


class ProgramTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def run_program(self, program, *arguments, **settings):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("REFERENCE_DRIVER_")}
        environment.update(settings)
        result = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=120, env=environment)
        self.assertEqual(result.returncode, 0, (result.stdout + result.stderr)[-4000:])
        return result.stdout


class CheckerTest(ProgramTest):
    def test_right_submissions_have_no_finding(self):
        self.assertRegex(self.run_program(build(self.folder.name, "checker_scenes")), r"^[1-9]\d+ scenes, 0 findings")

    def test_each_change_of_parameters_is_found(self):
        self.run_program(build(self.folder.name, "changed_parameters"))

    def test_each_change_of_headers_is_found(self):
        self.run_program(build(self.folder.name, "changed_headers"))

    def test_each_change_of_buffers_is_found(self):
        self.run_program(build(self.folder.name, "changed_buffers"))

    def test_rarer_kinds_of_pictures_are_understood_and_their_changes_found(self):
        self.run_program(build(self.folder.name, "changed_variants"))

    def test_each_change_of_hevc_is_found(self):
        for name in ("hevc_changed_parameters", "hevc_changed_headers"):
            with self.subTest(name):
                self.run_program(build(self.folder.name, name))

    def test_hevc_pictures_that_were_cut_short_may_come_again(self):
        self.assertRegex(self.run_program(build(self.folder.name, "hevc_resubmitted")), r"^[1-9]\d* scenes")

    def test_pictures_that_were_cut_short_may_come_again(self):
        self.assertRegex(self.run_program(build(self.folder.name, "resubmitted_scenes")), r"^[1-9]\d+ scenes")

    def test_waves_of_intra_refresh_are_followed(self):
        self.run_program(build(self.folder.name, "refresh_scenes"))

    def test_garbage_does_no_harm(self):
        for name in ("checker_garbage", "hevc_garbage"):
            program = build(self.folder.name, name)
            for seed in range(3):
                self.run_program(program, "800", str(seed))

    def test_without_judging_pictures_are_understood_all_the_same(self):
        program = build(self.folder.name, "checker_garbage")
        judged = self.run_program(program, "300", "7")
        unjudged = self.run_program(program, "300", "7", REFERENCE_DRIVER_JUDGE="off")
        self.assertEqual(unjudged.split(" codable")[0], judged.split(" codable")[0])
        self.assertRegex(unjudged, " 0 findings")


@unittest.skipUnless(shutil.which("x264") and shutil.which("ffprobe"), "x264 or ffprobe is not installed")
class DecodedPictureBufferTest(ProgramTest):
    def encode(self, name, options):
        video, stream = (os.path.join(self.folder.name, name + ending) for ending in (".yuv", ".264"))
        with open(video, "wb") as file:
            for frame in range(40):
                # Moves for a while, then comes back: far references are worth their bits.
                shift = (frame % 6) * 3
                file.write(bytes(((x + shift) * 7 + y * 11 + (x * y) % 23) & 255 for y in range(48) for x in range(48)))
                file.write(bytes([128 - frame % 5] * 1152))
        subprocess.run(["x264", "--quiet", "--threads", "1", "--input-res", "48x48", "--fps", "25", *options,
                        "-o", stream, video], check=True, timeout=60, capture_output=True)
        return stream

    def coded_numbers_in_display_order(self, stream):
        """By the places of the pictures in the file: ffprobe 7 does not number them any more."""
        result = subprocess.run(["ffprobe", "-v", "error", "-show_entries", "frame=pkt_pos", "-of", "json", stream],
                                check=True, capture_output=True, text=True, timeout=60)
        places = [int(frame["pkt_pos"]) for frame in json.loads(result.stdout)["frames"]]
        return [sorted(places).index(place) for place in places]

    def test_streams_of_x264_keep_the_rules_and_display_in_order(self):
        program = build(self.folder.name, "dpb_stream")
        for name, options in STREAMS.items():
            with self.subTest(name):
                stream = self.encode(name, options)
                lines = self.run_program(program, stream).splitlines()
                self.assertEqual([line for line in lines if line.startswith("wrong")], [])
                orders = [tuple(map(int, line.split()[:2])) for line in lines]
                self.assertEqual(len(set(orders)), 40)
                self.assertEqual(sorted(range(40), key=lambda picture: orders[picture]),
                                 self.coded_numbers_in_display_order(stream))


if __name__ == "__main__":
    unittest.main(verbosity=2)
