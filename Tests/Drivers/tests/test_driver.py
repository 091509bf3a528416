#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The reference driver by itself: what it lists, surfaces and images, encodes of a small client and of ffmpeg for each
persona, rates, what it finds in clients that err, faults, and all of it once more with sanitizers."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

DRIVERS = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(DRIVERS))

from runner import media  # noqa: E402
from runner.journal import read_journal  # noqa: E402
from runner.launch import run  # noqa: E402
from runner.places import build, client_environment  # noqa: E402

PERSONAS = ("intel", "amd", "amd-25", "low-power")

# What each scenario of driver_misuse makes the driver find, and the calls that it refuses.
MISUSES = {
    "nothing-wrong": ([], []),
    "begin-inside-picture": (["begin-inside-picture"], ["vaBeginPicture 0x1"]),
    "render-outside-picture": (["render-outside-picture"], ["vaRenderPicture 0x1"]),
    "end-without-begin": (["end-without-begin"], ["vaEndPicture 0x1"]),
    "begin-invalid-surface": (["surface-id-invalid"], ["vaBeginPicture 0x6"]),
    "map-without-sync": (["map-without-sync"], []),
    "map-unused-coded-buffer": (["coded-buffer-unused"], []),
    "map-twice": (["buffer-mapped-twice"], ["vaMapBuffer 0x1"]),
    "unmap-not-mapped": (["buffer-not-mapped"], ["vaUnmapBuffer 0x1"]),
    "destroy-mapped-buffer": (["buffer-destroyed-while-mapped"], []),
    "destroy-twice": (["buffer-used-after-destruction"], ["vaDestroyBuffer 0x7"]),
    "wrong-kind-of-id": (["buffer-id-invalid", "surface-id-invalid"], ["vaDestroyBuffer 0x7", "vaSyncSurface 0x6"]),
    "destroy-coded-buffer-in-use": (["coded-buffer-destroyed-in-use"], []),
    "destroy-surface-in-use": (["surface-destroyed-in-use"], []),
    "write-surface-in-use": (["surface-written-while-encoding"], []),
    "reuse-pending-coded-buffer": (["coded-buffer-pending"], ["vaEndPicture 0x1"]),
    "coded-buffer-too-small": (["coded-buffer-small", "coded-buffer-too-small"], ["frame 0 size 40 status 0x200"]),
    "leave-everything": (["leaked-buffer"] * 3 + ["leaked-config", "leaked-context", "leaked-image"] +
                         ["leaked-surface"] * 6, []),
    "context-inside-picture": (["context-destroyed-inside-picture"], []),
    "unadvertised-attributes": (["attribute-not-advertised"] + ["attribute-value-not-advertised"] * 4,
                                ["vaCreateConfig " + status for status in
                                 ("0x19", "0x19", "0xa", "0xe", "0x19", "0xc", "0xd")]),
    "unadvertised-sizes": (["context-size", "context-size", "surface-format", "surface-size"],
                           ["vaCreateContext 0x13", "vaCreateContext 0x13", "vaCreateSurfaces 0x13",
                            "vaCreateSurfaces 0xe"]),
    "wrong-buffers": (["buffer-size", "buffer-type", "context-id-invalid"],
                      ["vaCreateBuffer 0xf", "vaCreateBuffer 0x12", "vaCreateBuffer 0x5"]),
    "destroy-target-before-context": (["surface-destroyed-before-context"] * 2, []),
    "map-after-timeout": (["map-without-sync"], ["vaSyncBuffer 0x26", "vaSyncSurface2 0x26"]),
    "render-mapped-buffer": (["buffer-rendered-while-mapped", "context-destroyed-inside-picture"], []),
    "broken-imports": (["export-flags", "import-descriptor", "import-format", "import-layers", "import-layers",
                        "import-modifier", "import-pitch"] + ["import-size"] * 3,
                       ["vaCreateSurfaces 0x12"] * 9 + ["vaExportSurfaceHandle 0x6"]),
}
# Findings of these come from the checks too, or are too many to count.
LOOSE_MISUSES = {
    "destroy-reference": ({"picture-not-codable"}, "vaEndPicture 0x6"),
    "other-formats": ({"input-format", "image-format-of-surface"}, "vaEndPicture 0x6"),
    "one-context-in-two-threads": ({"context-used-concurrently"}, ""),
}

# A fault, the call that must fail with which status (or the coded frame that must differ), and how the client ends.
FAULTS = {
    "vaInitialize:1=status:0x2": ("vaInitialize 0x2", 1),
    "vaCreateConfig:1=status:0xd": ("vaCreateConfig 0xd", 1),
    "vaCreateSurfaces:1=status:0x2": ("vaCreateSurfaces 0x2", 1),
    "vaCreateSurfaces2:2=status:0x2": ("vaCreateSurfaces 0x2", 1),
    "vaCreateContext:1=status:0x2": ("vaCreateContext 0x2", 1),
    "vaCreateBuffer:5=status:0x2": ("vaCreateBuffer 0x2", 1),
    "vaBeginPicture:2=status:0x6": ("vaBeginPicture 0x6", 1),
    "vaRenderPicture:5=status:0x1": ("vaRenderPicture 0x1", 1),
    "vaEndPicture:3=status:0x18": ("vaEndPicture 0x18", 1),
    "vaSyncBuffer:2=status:0x1": ("vaSyncBuffer 0x1", 1),
    "vaMapBuffer:3=status:0x25": ("vaMapBuffer 0x25", 1),
    "vaPutImage:2+=status:0x1": ("vaPutImage 0x1", 1),
    "vaDestroyContext:*=status:0x1": ("vaDestroyContext 0x1", 1),
    "vaTerminate:1=status:0x1": ("vaTerminate 0x1", 1),
    "vaEndPicture:3=device-lost": ("vaEndPicture 0x18", 1),
    "coded:3=size:0": ("frame 2 size 0 status 0x0", 0),
    "coded:3=overflow": ("frame 2 size 5 status 0x200", 0),
    "coded:3=status:0xdeadbeef": ("frame 2 size 11 status 0xbe00", 0),
    "coded:3=device-lost": ("", 1),
    "vaEndPicture:2=segv": ("", -11),
    "vaEndPicture:2=abort": ("", -6),
}
HANGS = ("vaSyncBuffer:2=hang", "coded:2=hang")
MALFORMED = ("nonsense", "vaNothing:1=hang", "vaEndPicture:0=hang", "vaEndPicture:1=size:0", "coded:1=delay:5",
             "coded:1=status", "vaEndPicture:1=hang:3", "vaEndPicture:x=hang")


def kinds(journal, kind):
    lines = [json.loads(line) for line in journal.read_text().splitlines()] if journal.exists() else []
    return [line for line in lines if line["kind"] == kind]


class DriverTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.built = build()

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.journal = self.folder / "journal"

    def client(self, program, *arguments, timeout=60, **settings):
        """Runs a program of tests/ with a journal of its own."""
        if self.journal.exists():
            self.journal.unlink()
        environment = client_environment(self.built, journal=self.journal, **settings)
        return run([str(self.built / "tests" / program), *arguments], environment, timeout)

    def findings(self):
        return sorted(finding["name"] for finding in kinds(self.journal, "finding"))

    def assert_exact(self, stream):
        """What ffmpeg decodes is the reconstruction, in the order of the pictures (no B pictures)."""
        decoded = media.decode_with_ffmpeg(stream)
        self.assertEqual(decoded.complaints, [])
        self.assertEqual(decoded.frames, [picture["reconstruction_md5"] for picture in kinds(self.journal, "picture")])


class ListingTest(DriverTest):
    @unittest.skipUnless(shutil.which("vainfo"), "vainfo is not installed")
    def test_vainfo_lists_what_the_persona_has(self):
        full, low_power = "VAEntrypointEncSlice\n", "VAEntrypointEncSliceLP\n"
        expected = {"intel": (5, 5), "amd": (5, 0), "amd-25": (5, 0), "low-power": (0, 5)}  # profiles of H.264 and HEVC
        for persona in PERSONAS:
            with self.subTest(persona):
                environment = client_environment(self.built, persona=persona)
                ended = run(["vainfo", "--display", "drm", "--device", "/dev/dri/renderD128"], environment, 20)
                self.assertEqual(ended.status, 0, ended.output)
                self.assertIn(f"VAToolbox reference driver ({persona})", ended.output)
                self.assertEqual((ended.output.count(full), ended.output.count(low_power)), expected[persona])

    def test_settings_that_are_not_understood_are_refused_with_a_message(self):
        for name, value in (("PERSONA", "nvidia"), ("LIMITS", "slices=0"), ("LIMITS", "colour=red"),
                            ("LIMITS", "formats=p010"), ("LIMITS", "formats=nv12,i420"),
                            ("LIMITS", "export=odd"), ("LIMITS", "hevc=yes"), ("LIMITS", "ctb=8,64"), ("LIMITS", "ctb=64,32"), ("LIMITS", "size=12"), ("LIMITS", "size=65535x65535"),
                            ("EFFORT", "much"), ("SEGMENTS", "many"), ("JUDGE", "0ff"), ("JOURNAL", "/nowhere/journal")):
            with self.subTest(f"{name}={value}"):
                ended = self.client("driver_client", extra={f"REFERENCE_DRIVER_{name}": value})
                self.assertRegex(ended.output, f"reference driver: REFERENCE_DRIVER_{name}.*{re.escape(value)}")
                self.assertIn("vaInitialize 0x12", ended.output)

    def test_limits_are_kept(self):
        ended = self.client("driver_client", "-s", "128x64", limits="size=64x64")
        self.assertIn("vaCreateSurfaces 0x13", ended.output)
        ended = self.client("driver_surfaces", "64x64", limits="formats=nv12,bgra")
        self.assertIn("vaCreateSurfaces 0xe\n", ended.output)  # P010: no render target format
        self.assertIn("vaCreateSurfaces 0x16\n", ended.output)  # BGRX: not with this render target format
        ended = self.client("driver_client", "-b", "100000", limits="rate-controls=cqp,vbr")
        self.assertIn("vaCreateConfig 0x19", ended.output)


class SurfaceTest(DriverTest):
    def test_samples_survive_images_exports_and_imports(self):
        for persona in ("intel", "amd"):
            for size in ("64x64", "100x62", "642x358"):
                with self.subTest(f"{persona} {size}"):
                    ended = self.client("driver_surfaces", size, persona=persona)
                    self.assertEqual((ended.status, ended.output), (0, ""))
                    self.assertEqual(self.findings(), [])

    def test_exports_are_as_the_limits_say(self):
        wrong = "exported memory holds other samples than the surface"
        for exports, message in (("linear", ""), ("two-objects", ""), ("tiled", "the modifier is not linear"),
                                 ("tiled-as-linear", wrong), ("wrong-offset", wrong), ("wrong-pitch", wrong),
                                 ("implicit", "the modifier is not linear")):
            with self.subTest(exports):
                ended = self.client("driver_surfaces", "642x358", limits=f"export={exports}")
                self.assertIn(message, ended.output)
                self.assertEqual(ended.output == "", message == "")


class EncodingTest(DriverTest):
    def test_a_correct_client_is_exact_and_without_findings(self):
        for persona in PERSONAS:
            for size in ("64x64", "176x144", "642x358"):
                with self.subTest(f"{persona} {size}"):
                    stream = self.folder / "stream.h264"
                    ended = self.client("driver_client", "-s", size, "-o", str(stream), persona=persona)
                    self.assertEqual(ended.status, 0, ended.output)
                    self.assertEqual(self.findings(), [])
                    self.assert_exact(stream)

    def test_imported_inputs_are_read_no_further_than_they_go(self):
        for size, found in (("64x64", []), ("100x62", ["input-smaller-than-context"] * 8)):
            with self.subTest(size):
                stream = self.folder / "stream.h264"
                ended = self.client("driver_client", "-i", "-s", size, "-o", str(stream))
                self.assertEqual(ended.status, 0, ended.output)
                self.assertEqual(self.findings(), found)
                self.assert_exact(stream)

    def test_skip_effort_is_decodable(self):
        stream = self.folder / "stream.h264"
        ended = self.client("driver_client", "-n", "10", "-o", str(stream), effort="skip")
        self.assertEqual(ended.status, 0, ended.output)
        decoded = media.decode_with_ffmpeg(stream)
        self.assertEqual(decoded.complaints, [])
        self.assertEqual(len(decoded.frames), 10)
        self.assertEqual(len(set(decoded.frames)), 1, "skipped pictures repeat the first")
        self.assertNotIn("source_md5", kinds(self.journal, "picture")[0])

    def test_threads_share_a_display(self):
        ended = self.client("driver_client", "-t", "4", "-n", "20", "-s", "176x144")
        self.assertEqual(ended.status, 0, ended.output)
        self.assertEqual(self.findings(), [])
        contexts = [picture["context"] for picture in kinds(self.journal, "picture")]
        self.assertEqual([contexts.count(context) for context in set(contexts)], [20] * 4)

    def test_dumped_frames_are_the_hashed_ones(self):
        import hashlib

        self.client("driver_client", "-n", "2", "-s", "100x62", extra={"REFERENCE_DRIVER_DUMP": str(self.folder)})
        for picture in kinds(self.journal, "picture"):
            for what in ("source", "reconstruction"):
                path = self.folder / f"{picture['context']:08x}-{picture['picture']:06d}-{what}-100x62.nv12"
                self.assertEqual(hashlib.md5(path.read_bytes()).hexdigest(), picture[f"{what}_md5"])


class RateTest(DriverTest):
    def rate_of(self, frames):
        return sum(int(re.search(r"size (\d+)", frame)[1]) for frame in frames) * 8 * 25 / len(frames)

    def test_constant_rate_is_met_and_its_change_followed(self):
        for first, second in ((200_000, 600_000), (600_000, 150_000)):
            with self.subTest(f"{first} to {second}"):
                stream = self.folder / "stream.h264"
                ended = self.client("driver_client", "-n", "100", "-s", "320x240", "-b", f"{first},{second}", "-o",
                                    str(stream))
                frames = [line for line in ended.output.splitlines() if line.startswith("frame")]
                self.assertAlmostEqual(self.rate_of(frames[:50]), first, delta=first * 0.1)
                self.assertAlmostEqual(self.rate_of(frames[50:]), second, delta=second * 0.1)
                self.assert_exact(stream)


    def test_filler_data_can_be_refused(self):
        ended = self.client("driver_client", "-n", "30", "-b", "2000000", "-f")
        self.assertEqual(ended.status, 0, ended.output)
        self.assertEqual(sum(picture["filler"] for picture in kinds(self.journal, "picture")), 0)
        self.assertEqual(self.findings(), [])


class MisuseTest(DriverTest):
    def misuse(self, scenario):
        # Coding takes a while, so that what happens before its end is certain.
        return self.client("driver_misuse", scenario, faults="coded:*=delay:30ms")

    def test_every_scenario_is_expected_here(self):
        listed = self.client("driver_misuse", "list").output.split()
        self.assertEqual(sorted(listed), sorted([*MISUSES, *LOOSE_MISUSES]))

    def test_each_misuse_is_found_and_nothing_else(self):
        for scenario, (names, lines) in MISUSES.items():
            with self.subTest(scenario):
                ended = self.misuse(scenario)
                self.assertEqual(ended.status, 0, ended.output)
                self.assertEqual(self.findings(), sorted(names))
                said = [line for line in ended.output.splitlines() if "status 0x0" not in line]
                self.assertEqual(said, lines)

    def test_misuse_with_company(self):
        for scenario, (names, line) in LOOSE_MISUSES.items():
            with self.subTest(scenario):
                ended = self.misuse(scenario)
                self.assertEqual(ended.status, 0, ended.output)
                self.assertLessEqual(names, set(self.findings()))
                self.assertIn(line, ended.output)


class FaultTest(DriverTest):
    def assert_fired(self, fault):
        target, action = re.match(r"(\w+):[^=]*=([\w-]+)", fault).groups()
        fired = kinds(self.journal, "fault")
        self.assertTrue(fired, "the fault has not fired")
        target = {"vaCreateSurfaces": "vaCreateSurfaces2"}.get(target, target)
        self.assertEqual({(each["target"], each["action"]) for each in fired}, {(target, action)})

    def test_each_fault_is_seen_where_it_was_asked_for(self):
        for fault, (line, status) in FAULTS.items():
            with self.subTest(fault):
                ended = self.client("driver_client", "-n", "5", faults=fault)
                self.assertEqual(ended.status, status, ended.output)
                self.assertIn(line, ended.output)
                self.assert_fired(fault)

    def test_hangs_end_with_a_kill_only(self):
        for fault in HANGS:
            with self.subTest(fault):
                ended = self.client("driver_client", "-n", "5", faults=fault, timeout=1.5)
                self.assertTrue(ended.timed_out)
                self.assert_fired(fault)

    def test_delays_add_up(self):
        ended = self.client("driver_client", "-n", "5", faults="vaEndPicture:*=delay:100ms")
        self.assertEqual(ended.status, 0)
        self.assertGreater(ended.seconds, 0.5)

    def test_faults_that_are_not_understood_are_refused_with_a_message(self):
        for fault in MALFORMED:
            with self.subTest(fault):
                ended = self.client("driver_client", faults=fault)
                self.assertIn(f'reference driver: REFERENCE_DRIVER_FAULTS: "{fault}"', ended.output)
                self.assertIn("vaInitialize 0x12", ended.output)


class ResubmissionTest(DriverTest):
    """Frames that did not fit are submitted again, with the one that was in flight behind them."""

    def encode(self, option, fault, *, rate="", persona="intel"):
        stream = self.folder / "stream.h264"
        ended = self.client("driver_client", "-n", "8", "-o", str(stream), *option, *(["-b", rate] if rate else []),
                            faults=fault, persona=persona)
        self.assertEqual(ended.status, 0, ended.output)
        return stream.read_bytes()

    @unittest.skipUnless(shutil.which("ffmpeg"), "ffmpeg is not installed")
    def test_the_stream_is_as_if_nothing_had_been_cut_short(self):
        for persona, rate in (("intel", ""), ("amd", ""), ("intel", "200000"), ("intel", "200000,90000")):
            undisturbed = self.encode([], "", rate=rate, persona=persona)
            for numbers in ((1,), (4,), (4, 5), (8,), (2, 3, 7, 8)):
                fault = ";".join(f"coded:{number}=overflow" for number in numbers)
                with self.subTest(f"{persona} {rate} {fault}"):
                    self.assertEqual(self.encode(["-w"], fault, rate=rate, persona=persona), undisturbed)
                    self.assertEqual(self.findings(), [])
                    kept = read_journal(self.journal)
                    self.assertEqual(len(kept.pictures), 8)
                    self.assertGreaterEqual(kept.resubmissions, 1)
                    self.assertLessEqual(kept.discarded, 2 * kept.resubmissions)
                    self.assertEqual([picture.reconstruction for picture in kept.pictures],
                                     media.decode_with_ffmpeg(self.folder / "stream.h264").frames)

    def test_a_reference_that_was_overwritten_meanwhile_is_found(self):
        self.encode(["-W"], "")
        self.assertEqual(self.findings(), [])
        self.encode(["-W"], "coded:3=overflow")
        self.assertEqual(self.findings(), ["reference-overwritten"])

    def test_only_what_was_cut_short_may_come_again(self):
        for fault in ("coded:3=size:0", "coded:3=status:0x8000"):
            with self.subTest(fault):
                self.encode(["-w"], fault)
                self.assertEqual(kinds(self.journal, "resubmission"), [])
        self.assertEqual(read_journal(self.journal).discarded, 0)


@unittest.skipUnless(shutil.which("ffmpeg"), "ffmpeg is not installed")
class FfmpegTest(DriverTest):
    def encode(self, persona, size, *options, effort="", frames=6, codec="h264", source="testsrc=size={}:rate=25",
               pixels="nv12", limits="", extra=None):
        stream = self.folder / f"stream.{codec}"
        command = ["ffmpeg", "-nostdin", "-v", "error", "-y", "-init_hw_device", "vaapi=gpu:/dev/dri/renderD128", "-f",
                   "lavfi", "-i", source.format(size), "-frames:v", str(frames), "-vf",
                   f"format={pixels},hwupload", "-c:v", f"{codec}_vaapi", *options, str(stream)]
        if self.journal.exists():
            self.journal.unlink()
        ended = run(command, client_environment(self.built, persona=persona, journal=self.journal,
                                                effort=effort, limits=limits, extra=extra), 60)
        self.assertEqual(ended.status, 0, ended.output)
        return stream

    def test_streams_equal_the_reconstruction_for_each_persona(self):
        for persona in PERSONAS:
            for size in ("64x64", "178x100"):
                with self.subTest(f"{persona} {size}"):
                    low_power = ["-low_power", "1"] if persona == "low-power" else []
                    stream = self.encode(persona, size, "-bf", "0", *low_power)
                    self.assertEqual(len(kinds(self.journal, "picture")), 6)
                    self.assert_exact(stream)

    def test_range_extensions_of_hevc_equal_the_reconstruction(self):
        """4:2:2, 4:4:4 and 12 bits, as far as the installed ffmpeg uploads their formats: 5.1 has 4:2:2 of 8 bits only."""
        formats = {"yuyv422": "yuv422p", "y210le": "yuv422p10le", "vuyx": "yuv444p", "xv30le": "yuv444p10le"}
        known = run(["ffmpeg", "-v", "error", "-pix_fmts"], media.tool_environment()).output
        able = ["yuyv422"] if "xv36le" not in known else list(formats)
        for pixels in able:
            with self.subTest(pixels):
                stream = self.encode("intel", "322x178", "-bf", "0", "-profile:v", "rext", codec="hevc", pixels=pixels,
                                     limits="hevc=all")
                shown = run(["ffprobe", "-v", "error", "-show_entries", "stream=pix_fmt", "-of", "csv=p=0", str(stream)],
                            media.tool_environment()).output.split()
                self.assertEqual(shown[0], formats[pixels])
                self.assertEqual(len(kinds(self.journal, "picture")), 6)
                self.assert_exact(stream)

    def test_segments_are_pieces_of_one_stream(self):
        """ffmpeg puts all segments behind each other, as va.h has it."""
        for codec in ("h264", "hevc"):
            whole = self.encode("intel", "178x100", "-bf", "0", codec=codec).read_bytes()
            for mode in ("units", "random"):
                with self.subTest(f"{codec} {mode}"):
                    stream = self.encode("intel", "178x100", "-bf", "0", codec=codec,
                                         extra={"REFERENCE_DRIVER_SEGMENTS": mode})
                    self.assertGreater(max(entry["count"] for entry in kinds(self.journal, "segments")), 1)
                    self.assertEqual(stream.read_bytes(), whole)

    def test_the_source_arrives_as_it_was_sent(self):
        self.encode("intel", "178x100", "-bf", "0")
        sent = run(["ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", "testsrc=size=178x100:rate=25",
                    "-frames:v", "6", "-vf", "format=nv12", "-f", "framemd5", "-"], media.tool_environment())
        self.assertEqual([picture["source_md5"] for picture in kinds(self.journal, "picture")],
                         media.frame_md5s(sent.output))


    def test_the_largest_frame_size_is_kept_or_the_overflow_reported(self):
        self.encode("intel", "320x240", "-rc_mode", "VBR", "-b:v", "500k", "-maxrate", "800k", "-max_frame_size",
                    "1500", frames=20)
        pictures = kinds(self.journal, "picture")
        self.assertTrue(any(picture["passes"] > 1 for picture in pictures))
        for picture in pictures:
            overflow = picture["status"] & 0x1000 != 0
            self.assertEqual(picture["size"] > 1500, overflow, picture)
            self.assertTrue(picture["qp"] == 51 or not overflow, picture)

    def test_a_small_decoder_buffer_neither_runs_empty_nor_over(self):
        rate, size = 300_000, 40_000
        stream = self.encode("intel", "320x240", "-rc_mode", "CBR", "-b:v", str(rate), "-bufsize", str(size), "-bf",
                             "0", "-g", "15", frames=45)
        fullness = size * 3 / 4  # what ffmpeg asks for
        for picture in kinds(self.journal, "picture"):
            fullness -= picture["size"] * 8
            self.assertGreaterEqual(fullness, 0, picture)
            fullness += rate / 25
            # The last, incomplete filler data NAL unit may be missing.
            self.assertLessEqual(fullness, size + 8 * 6, picture)
        self.assert_exact(stream)

    def test_filler_data_stays_within_the_buffers(self):
        """A minute's worth of bits fits into neither; ffmpeg's coded buffers are twice a picture and 64 KiB more."""
        for options, largest in (((), 64 * 64 * 3 + 65536), (("-bufsize", "100000"), 100_000 // 8)):
            with self.subTest(options):
                self.encode("intel", "64x64", "-r", "1/60", "-rc_mode", "CBR", "-b:v", "8M", *options, frames=3)
                sizes = [picture["size"] for picture in kinds(self.journal, "picture") if picture["filler"] > 0]
                self.assertEqual(len(sizes), 3)
                self.assertLessEqual(max(sizes), largest)
                self.assertNotIn("coded-buffer-too-small", self.findings())

    def test_pictures_beyond_the_compression_of_the_level_are_found(self):
        noise = "nullsrc=size={}:rate=25,geq=random(1)*255:128:128"
        for codec, level, qp, count in (("hevc", "30", "1", 3), ("hevc", "30", "40", 0), ("hevc", "93", "1", 0),
                                        ("h264", "10", "1", 3), ("h264", "10", "40", 0), ("h264", "30", "1", 0)):
            with self.subTest(f"{codec} {level} {qp}"):
                self.encode("intel", "128x128", "-bf", "0", "-qp", qp, "-level", level, frames=3, codec=codec,
                            source=noise)
                self.assertEqual(self.findings().count("level-access-unit-size"), count)

    def test_slices_beyond_the_rate_of_the_level_are_found(self):
        """Level 3.1 has a slice for 60 of 108,000 macroblocks in a second; the first picture has those of its own."""
        for rate, count in (("60", 1), ("120", 3)):
            with self.subTest(rate):
                self.encode("intel", "256x320", "-bf", "0", "-level", "31", "-slices", "20", frames=3,
                            source="testsrc=size={}:rate=" + rate)
                self.assertEqual(self.findings().count("level-slice-rate"), count)

    def test_skip_effort_is_decodable_in_every_kind_of_slice(self):
        for options in (["-coder", "cabac"], ["-coder", "cavlc", "-slices", "3"],
                        ["-rc_mode", "CBR", "-b:v", "300k", "-slices", "2"]):
            with self.subTest(" ".join(options)):
                decoded = media.decode_with_ffmpeg(self.encode("intel", "178x100", "-bf", "2", *options, effort="skip"))
                self.assertEqual(decoded.complaints, [])
                self.assertEqual(len(decoded.frames), 6)
                self.assertEqual(len(set(decoded.frames)), 1, "skipped pictures repeat the first")


class SanitizedTest(DriverTest):
    """The same programs, driver and all, with AddressSanitizer, LeakSanitizer and UndefinedBehaviorSanitizer."""

    @classmethod
    def setUpClass(cls):
        cls.plain = build()
        folder = cls.plain.parent / (cls.plain.name + "-sanitize")
        outcome = subprocess.run([DRIVERS / "build", "--sanitize", "--output", folder], stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True)
        if outcome.returncode != 0 and "libclang_rt" in outcome.stdout:
            raise unittest.SkipTest("the compiler has no sanitizers")
        assert outcome.returncode == 0, outcome.stdout
        cls.built = folder

    def sanitized(self, program, *arguments, **settings):
        # The shim stays the plain one: it is loaded before the sanitizers are.
        shim = {"LD_PRELOAD": str(self.plain / "librender_node.so")}
        ended = self.client(program, *arguments, extra=shim, **settings)
        self.assertNotRegex(ended.output, "Sanitizer|runtime error")
        return ended

    def test_clients(self):
        for persona in PERSONAS:
            with self.subTest(persona):
                self.assertEqual(self.sanitized("driver_client", "-s", "100x62", persona=persona).status, 0)
                self.assertEqual(self.sanitized("driver_surfaces", "100x62", persona=persona).status, 0)
        self.assertEqual(self.sanitized("driver_client", "-t", "3", "-n", "5").status, 0)
        self.assertEqual(self.sanitized("driver_client", "-i", "-s", "100x62").status, 0)
        self.assertEqual(self.sanitized("driver_client", "-n", "20", effort="skip").status, 0)
        self.assertEqual(self.sanitized("driver_client", "-n", "30", "-b", "100000,20000").status, 0)
        self.assertEqual(self.sanitized("driver_client", "-n", "12", "-R", "c1,-3", "-Q", "8,8,9,9,5").status, 0)

    def test_misuses(self):
        for scenario in [*MISUSES, *LOOSE_MISUSES]:
            with self.subTest(scenario):
                self.assertEqual(self.sanitized("driver_misuse", scenario, faults="coded:*=delay:5ms").status, 0)

    def test_faults(self):
        for fault, (_, status) in FAULTS.items():
            # Crashes are the sanitizer's to report, and libva keeps what a refused vaTerminate has left.
            if status >= 0 and not fault.startswith("vaTerminate"):
                with self.subTest(fault):
                    self.sanitized("driver_client", "-n", "5", faults=fault)


if __name__ == "__main__":
    os.chdir(DRIVERS)
    unittest.main()
