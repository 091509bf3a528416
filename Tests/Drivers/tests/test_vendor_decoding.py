#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The distribution's own VA drivers (Intel's iHD, AMD's radeonsi) as decoders on fake render nodes: what they list, and
whether they accept all that ffmpeg submits for whole streams of H.264 and HEVC. Pictures are not looked at: the
simulated devices decode nothing.

    tests/test_vendor_decoding.py [--update] [TEST...]

--update writes the table of the installed release anew, which the lists are compared with: node/vendor-decoding.txt for
Debian 12, node/vendor-decoding-debian-13.txt for Debian 13."""

import collections
import re
import sys
import unittest
from dataclasses import dataclass

sys.dont_write_bytecode = True

from test_vendor_drivers import (  # noqa: E402
    AMD, DRIVERS, DRIVER_FILES, INTEL, LOW_POWER, NODE, VendorDriverTest, is_installed, missing_package, read_tables,
    table_of, version_of)

from field_streams import Remix  # noqa: E402
from runner import media  # noqa: E402
from runner.launch import run  # noqa: E402

# By the first numbers of the drivers' versions. A table that does not exist is written by --update on that release.
TABLES = {("23", "22"): DRIVERS / "node" / "vendor-decoding.txt",
          ("25",): DRIVERS / "node" / "vendor-decoding-debian-13.txt"}
CHIPS = (*INTEL, *AMD, "navi24")
SKIPPED = 77


def decoders(test, chip):
    """What a chip's driver lists: its first line, and a line for each profile."""
    return test.list_capabilities(chip, "--decoding")


class Lists(VendorDriverTest):
    def check(self, chip):
        self.require_known(chip)
        first, *lines = decoders(self, chip)
        self.assertTrue(lines, "the driver lists no decoder")
        version = version_of(first)
        tables = read_tables(path for path in TABLES.values() if path.exists())
        if (chip, version) not in tables:
            known = ", ".join(known for name, known in tables if name == chip) or "no version"
            self.skipTest(f"{chip}: the tables of decoders are of {known}, installed is {version}; "
                          f"only looked whether something is listed ({len(lines)} lines)")
        self.assertEqual(lines, tables[chip, version],
                         f"{table_of(version, TABLES).name} differs; --update writes it anew")

    def test_vainfo_lists_the_same(self):
        self.require_program("vainfo", "vainfo")
        for chip in ("adlp", "renoir", *self.known("lnl", "navi48")):
            with self.subTest(chip=chip):
                outcome = self.run_program(chip, ("vainfo", "--display", "drm", "--device", NODE))
                self.assertEqual(outcome.status, 0, outcome)
                found = re.findall(r"VAProfile(\w+)\s*:\s*VAEntrypointVLD", outcome.output)
                self.assertEqual(sorted(found), sorted(line.split()[0] for line in decoders(self, chip)[1:]))


@dataclass(frozen=True)
class Stream:
    """What a stream is made with, and what libva's trace of its pictures must have, so that it is what it is for."""

    profile: str  # without VAProfile
    source: object  # options of ffmpeg, or the name of a file in streams/
    pattern: str
    least: int  # how many pictures must have it
    frames: int = 24
    pictures: int = 24  # that are submitted: fields count

    @property
    def is_file(self):
        return isinstance(self.source, str)


def x264(parameters, *options):
    return ("-pix_fmt", "yuv420p", "-c:v", "libx264", "-x264-params", f"keyint=12:threads=1:b-adapt=0:{parameters}",
            *options)


def x265(parameters, *options, pixels="yuv420p"):
    return ("-pix_fmt", pixels, "-c:v", "libx265", "-x265-params",
            f"pools=1:frame-threads=1:b-adapt=0:log-level=none:{parameters}", *options)


FADE = ("-vf", "fade=in:0:20")
CROPPED = ("-s", "190x102")
STREAMS = {
    "pyramid.264": Stream("H264High", x264("bframes=4:b-pyramid=normal:ref=4"),
                          r"reference_pic_flag = 1\n.*\tslice_type = 1\n", 4),
    "slices.264": Stream("H264High", x264("bframes=2:slices=3"), r"(--VASliceParameterBufferH264.*){3}", 24),
    "mbaff.264": Stream("H264High", x264("interlaced=1:tff=1:bframes=3:ref=4"),
                        r"mb_adaptive_frame_field_flag = 1\n", 24),
    "weights.264": Stream("H264High", x264("weightp=2:bframes=2:weightb=1:ref=4", *FADE),
                          r"luma_weight_l0_flag = 1\n", 4),
    "matrices.264": Stream("H264High", x264("cqm=jvt:8x8dct=1:bframes=1"),
                           r"ScalingList4x4\[6\]\[16\]=\n\t6\t13\t", 24),
    "cropped.264": Stream("H264High", x264("bframes=2", *CROPPED),
                          r"width_in_mbs_minus1 = 11\n\tpicture_height_in_mbs_minus1 = 6\n", 24),
    "fields.264": Stream("H264High", "", r"\tfield_pic_flag = 1\n", 16, 12, 20),
    "plain.265": Stream("HEVCMain", x265("bframes=3:keyint=12"), r"\tbit_depth_luma_minus8 = 0\n", 24),
    "plain-10.265": Stream("HEVCMain10", x265("bframes=3:keyint=12", pixels="yuv420p10le"),
                           r"\tbit_depth_luma_minus8 = 2\n", 24),
    "tiles.265": Stream("HEVCMain", "tiles.265", r"num_tile_columns_minus1 = 2\n", 8, 8, 8),
    "tiles-in-slices.265": Stream("HEVCMain", "tiles-in-slices.265",
                                  r"tiles_enabled_flag = 1\n.*([ -]VASliceParameterBufferHEVC.*){4}", 8, 8, 8),
    "wavefronts.265": Stream("HEVCMain", "wavefronts-in-slices.265",
                             r"entropy_coding_sync_enabled_flag = 1\n.*dependent_slice_segment_flag = 1\n", 8, 8, 8),
    "lists.265": Stream("HEVCMain", x265("scaling-list=default:bframes=2:keyint=12"),
                        r"scaling_list_enabled_flag = 1\n.*VAIQMatrixBufferHEVC", 24),
    "open.265": Stream("HEVCMain", x265("open-gop=1:keyint=8:min-keyint=8:bframes=4:ref=4:scenecut=0"),
                       r"RapPicFlag = 1\n\tIdrPicFlag = 0\n", 2),
    "cropped.265": Stream("HEVCMain", x265("bframes=3:keyint=12", *CROPPED), r"", 24),
}


@dataclass(frozen=True)
class Decoding:
    """How a run of ffmpeg ended."""

    outcome: object
    trace: str  # libva's
    submissions: int  # that the node has seen

    @property
    def errors(self):
        """What ffmpeg and the driver say, without Mesa's remark that it may not compare descriptors (kcmp) here."""
        return re.sub(r"^amdgpu: os_same_file_description .*\n.*bad things may happen!\n", "", self.outcome.errors)

    @property
    def frames(self):
        return int((re.findall(r"^frame=(\d+)$", self.outcome.output, re.M) or ["0"])[-1])

    @property
    def statuses(self):
        """How often each function of libva returned each status."""
        return collections.Counter(re.findall(r"=(va\w+) ret = (\w+)", self.trace))

    def failures(self, chip):
        """The calls that failed, except those by which ffmpeg asks: for images of surfaces, which radeonsi derives of
        linear ones only, and whether there is vaSyncBuffer, with a buffer that does not exist."""
        harmless = ("vaSyncBuffer",) if chip in INTEL else ("vaSyncBuffer", "vaDeriveImage")
        return {call: count for call, count in self.statuses.items()
                if call[1] != "VA_STATUS_SUCCESS" and call[0] not in harmless}

    @property
    def pictures(self):
        """Of each picture, what is traced from its beginning to its end."""
        text = re.sub(r"^\[[^]]*\]\[ctx[^]]*\]", "", self.trace, flags=re.M)
        return re.findall(r"va_TraceBeginPicture\n(.*?)va_TraceEndPicture\n", text, re.S)


class StreamTest(VendorDriverTest):
    """ffmpeg's hwaccel, with the status of each call from libva's trace, and submissions from that of the node."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.streams = cls.folder / "streams"
        cls.streams.mkdir()

    def environment(self, nodes, settings):
        return super().environment(nodes, settings) | {"LIBVA_TRACE": str(self.folder / "calls")}

    def stream(self, name):
        wanted = STREAMS[name]
        if wanted.is_file and wanted.source:
            return DRIVERS / "tests" / "streams" / wanted.source
        path = self.streams / name
        if path.exists():
            return path
        if wanted.is_file:
            path.write_bytes(Remix((96, 64), 2, False, frames=wanted.frames, bipred=2).stream)
            return path
        size = () if "-s" in wanted.source else ("-s", "192x128")
        ended = run(["ffmpeg", "-nostdin", "-v", "error", "-y", "-f", "lavfi", "-i",
                     "testsrc2=rate=25,noise=alls=12:allf=t:all_seed=3", "-frames:v", str(wanted.frames), *size,
                     *wanted.source, str(path)], media.tool_environment(), 120)
        self.assertEqual(ended.status, 0, ended.output)
        return path

    def decode(self, chip, name, output=("-f", "null", "-"), **settings):
        self.require_program("ffmpeg", "ffmpeg")
        node_trace = self.folder / "trace"
        command = ("ffmpeg", "-nostdin", "-hide_banner", "-loglevel", "warning", "-threads", "1", "-hwaccel", "vaapi",
                   "-hwaccel_device", NODE, "-hwaccel_output_format", "vaapi", "-i", self.stream(name), "-fps_mode",
                   "passthrough", "-progress", "pipe:1", *output)
        outcome = self.run_program(chip, command, trace=node_trace, **settings)
        trace = ""
        for path in sorted(self.folder.glob("calls.*")):
            trace += path.read_text(errors="replace")
            path.unlink()
        submissions = len(re.findall(r" submission \d+$", node_trace.read_text(), re.M))
        node_trace.unlink()
        return Decoding(outcome, trace, submissions)


class Streams(StreamTest):
    def check(self, chip):
        self.require_known(chip)
        profiles = {line.split()[0] for line in decoders(self, chip)[1:]}
        for name, stream in STREAMS.items():
            with self.subTest(chip=chip, stream=name):
                decoding = self.decode(chip, name)
                if stream.profile in profiles:
                    self.assert_accepted(chip, decoding, stream)
                else:
                    self.assert_decoded_in_software(decoding, stream)

    def assert_accepted(self, chip, decoding, stream):
        self.assertEqual((decoding.outcome.status, decoding.errors), (0, ""), decoding.outcome)
        self.assertEqual(decoding.frames, stream.frames)
        self.assertEqual(decoding.failures(chip), {})
        for function in ("vaBeginPicture", "vaEndPicture"):
            self.assertEqual(decoding.statuses[function, "VA_STATUS_SUCCESS"], stream.pictures, function)
        # One for each picture; radeonsi also opens and closes a session with one.
        self.assertGreaterEqual(decoding.submissions, stream.pictures)
        # The stream has what it is for.
        having = [picture for picture in decoding.pictures if re.search(stream.pattern, picture, re.S)]
        self.assertGreaterEqual(len(having), stream.least, decoding.pictures[-1])

    def assert_decoded_in_software(self, decoding, stream):
        """What ffmpeg does on a chip without the codec: it says so, and ends as if nothing had happened."""
        self.assertEqual(decoding.outcome.status, 0, decoding.outcome)
        self.assertIn("Failed setup for format vaapi: hwaccel initialisation returned error.", decoding.errors)
        self.assertEqual(decoding.frames, stream.frames)
        self.assertEqual((decoding.pictures, decoding.submissions), ([], 0))


def downloading(pixels="nv12"):
    return "-vf", f"hwdownload,format={pixels}", "-f", "null", "-"


class Surfaces(StreamTest):
    """What is done with decoded surfaces, without a look at their samples."""

    def chips(self):
        return ("kbl", "tgl", "raven", "navi21", *self.known("lnl", "navi31", "navi48"))

    def test_downloads(self):
        for chip in self.chips():
            for name, pixels in (("pyramid.264", "nv12"), ("plain-10.265", "p010le")):
                with self.subTest(chip=chip, stream=name):
                    decoding = self.decode(chip, name, downloading(pixels))
                    self.assertEqual((decoding.outcome.status, decoding.frames), (0, 24), decoding.outcome)
                    self.assertEqual(decoding.failures(chip), {})
                    self.assertEqual(decoding.statuses["vaSyncSurface", "VA_STATUS_SUCCESS"], 24)

    def test_transcodes(self):
        for chip in self.chips():
            with self.subTest(chip=chip):
                low_power = ("-low_power", "1") if chip in LOW_POWER else ()
                encoder = ("-c:v", "h264_vaapi", *low_power, "-qp", "26", "-f", "null", "-")
                decoding = self.decode(chip, "pyramid.264", encoder, coded_size=1000)
                self.assertEqual((decoding.outcome.status, decoding.frames), (0, 24), decoding.outcome)
                self.assertEqual(decoding.failures(chip), {})
                self.assertEqual(decoding.statuses["vaEndPicture", "VA_STATUS_SUCCESS"], 48)


class Failures(StreamTest):
    """What a node that refuses or loses submissions looks like to a client that decodes."""

    def test_intel_submission_refused(self):
        for chip in ("kbl", *self.known("lnl")):
            with self.subTest(chip=chip):
                decoding = self.decode(chip, "pyramid.264", refuse="EIO@4")
                self.assertEqual(decoding.failures(chip), {("vaEndPicture", "VA_STATUS_ERROR_DECODING_ERROR"): 21})
                # The exit status of FFmpeg 7 does not tell.
                self.assertIn("Failed to end picture decode issue: 23", decoding.errors)

    def test_amd_submission_refused_ends_the_process(self):
        decoding = self.decode("renoir", "pyramid.264", refuse="EIO@4")
        self.assertNotEqual(decoding.outcome.status, 0, decoding.outcome)
        self.assertIn("The CS has been rejected", decoding.errors)
        self.assertLess(len(decoding.pictures), 24)

    def test_intel_reset_is_seen_by_those_who_wait(self):
        for chip in ("kbl", *self.known("lnl")):
            with self.subTest(chip=chip):
                decoding = self.decode(chip, "pyramid.264", reset=3)
                self.assertEqual((decoding.outcome.status, decoding.frames, decoding.failures(chip)), (0, 24, {}))
                decoding = self.decode(chip, "pyramid.264", downloading(), reset=3)
                if chip == "lnl":
                    # On nodes of xe, the driver does not ask.
                    self.assertEqual((decoding.outcome.status, decoding.frames, decoding.failures(chip)), (0, 24, {}))
                    continue
                self.assertEqual(decoding.failures(chip), {("vaSyncSurface", "VA_STATUS_ERROR_HW_BUSY"): 1})
                self.assertIn("Failed to sync surface", decoding.errors)

    def test_amd_reset_is_not_seen(self):
        decoding = self.decode("renoir", "pyramid.264", downloading(), reset=3)
        self.assertEqual((decoding.outcome.status, decoding.frames, decoding.failures("renoir")), (0, 24, {}))


def add_tests():
    """One test per chip, so that a failure names it."""
    for chip in CHIPS:
        setattr(Lists, f"test_{chip}", lambda self, chip=chip: self.check(chip))
        setattr(Streams, f"test_{chip}", lambda self, chip=chip: self.check(chip))


def update():
    """Writes the table from the installed drivers."""
    lists = Lists()
    Lists.setUpClass()
    text = ["# SPDX-License-Identifier: GPL-2.0-or-later",
            "# What the distribution's VA drivers list for decoding on the fake render nodes; written by",
            "# tests/test_vendor_decoding.py --update. After a chip's name the driver and its version; then profile,",
            "# formats of render targets (chroma format and depth), modes of slices, the largest picture, the smallest",
            "# and the largest surface, and the formats of surfaces; \"-\" is what the driver does not state."]
    for chip in CHIPS:
        if lists.known(chip):
            first, *lines = decoders(lists, chip)
            text += ["", f"[{chip}] {version_of(first)}", *lines]
    path = table_of(version_of(decoders(lists, "kbl")[0]), TABLES)
    if path is None:
        sys.exit("no table is kept for the installed versions; add their numbers to TABLES")
    path.write_text("\n".join(text) + "\n")
    Lists.doClassCleanups()


add_tests()
if __name__ == "__main__":
    if not any(map(is_installed, DRIVER_FILES)):
        print("skipped: no VA driver is installed (packages "
              + ", ".join(map(missing_package, DRIVER_FILES)) + ")")
        sys.exit(SKIPPED)
    if "--update" in sys.argv:
        update()
    else:
        unittest.main(verbosity=2)
