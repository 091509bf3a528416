#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Every kind of fault of the reference driver as ffmpeg meets it: 8 frames of 64x64, CQP, no B-frames, so that the Nth
vaBeginPicture, vaEndPicture and coded picture are frame N. Each row says which call fails, with what, at which frame,
and how that shows: how ffmpeg ends, what it says, which frames come out and which is the first wrong one.

What ffmpeg 5.1 overlooks is stated as it is (exit status 0): it is what a careful client must do better."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from runner import session, table  # noqa: E402
from runner.allow import ffmpeg_version  # noqa: E402
from runner.commands import DEVICE, command_for, make_source  # noqa: E402
from runner.launch import run  # noqa: E402
from runner.places import build, client_environment  # noqa: E402

FRAMES = 8
KILLED = "killed"  # at the deadline
FAILED = 1  # from ffmpeg 6 on any status above 0: it ends with the number of the error
HANGS_AFTER = 2  # seconds; an undisturbed run takes a few tenths
UPLOAD = "derive-image=no"  # makes ffmpeg upload by vaCreateImage and vaPutImage


@dataclass(frozen=True)
class Row:
    fault: str  # REFERENCE_DRIVER_FAULTS
    call: str  # the journal's: which entry point, which call of it, what was done, with which value
    occurrence: int
    action: str
    value: int
    ended: object  # exit status, minus a signal, or KILLED
    says: str  # regular expression in ffmpeg's output; "" when it says nothing
    frames: int  # that ffmpeg decodes from the output
    first_wrong: object = None  # index of the first frame that is missing or not as reconstructed; None: all are right
    coded: object = None  # pictures that the driver coded; None: depends on the timing
    limits: str = ""
    least_seconds: float = 0
    before: int = 99  # for versions of ffmpeg below this: later ones make these calls at other times, or not at all


def status(call, occurrence, value, ended, says, frames, first_wrong=0, coded=None, **more):
    return Row(f"{call}:{occurrence}=status:0x{value:x}", call, occurrence, "status", value, ended, says, frames,
               first_wrong, coded, **more)


ROWS = [
    # Before the first picture: nothing is coded.
    status("vaInitialize", 1, 0x1, 1, r"Failed to initialise VAAPI connection: 1 ", 0, coded=0),
    status("vaInitialize", 1, 0xd, 1, r"Failed to initialise VAAPI connection: 13 ", 0, coded=0),
    status("vaQueryConfigProfiles", 1, 0x12, 1, r"Failed to query profiles: 18 ", 0, coded=0),
    status("vaQueryConfigEntrypoints", 1, 0xd, 1, r"Failed to query entrypoints for profile \S+ \(7\): 13 ", 0,
           coded=0),
    status("vaGetConfigAttributes", 1, 0x12, 1, r"Failed to query RT format config attribute: 18 ", 0, coded=0),
    status("vaQuerySurfaceAttributes", 1, 0x1, 1, r"Failed to query surface attributes: 1 ", 0, coded=0),
    status("vaCreateConfig", 1, 0xc, 1, r"Failed to create encode pipeline configuration: 12 ", 0, coded=0),
    status("vaCreateContext", 1, 0x2, 1, r"Failed to create encode pipeline context: 2 ", 0, coded=0),
    status("vaCreateSurfaces2", 1, 0x2, 1, r"Failed to create surface: 2 ", 0, coded=0),
    status("vaCreateSurfaces2", 2, 0x2, 1, r"Failed to initialise reconstructed frame context", 0, coded=0),
    # Uploads.
    status("vaDeriveImage", 1, 0x1, 0, "", FRAMES, None, FRAMES),
    status("vaDeriveImage", 4, 0x1, 1, r"Failed to derive image from surface \S+: 1 ", 0, before=6),
    status("vaCreateImage", 1, 0x2, 1, r"Failed to create image for surface \S+: 2 ", 0, coded=0, limits=UPLOAD),
    status("vaPutImage", 3, 0x1, 0, r"Failed to write image to surface \S+: 1 ", FRAMES, None, FRAMES, limits=UPLOAD),
    status("vaMapBuffer", 1, 0x1, 1, r"Failed to map image from surface \S+: 1 ", 0, coded=0, limits=UPLOAD),
    # Pictures. ffmpeg stops at the failed one, and loses those that were under way.
    status("vaCreateBuffer", 1, 0x2, 1, r"Failed to create bitstream output buffer: 2 ", 0, coded=0),
    status("vaCreateBuffer", 10, 0x2, 1, r"Failed to create data buffer for packed header \(type 3\): 2 ", 0),
    status("vaBeginPicture", 2, 0x5, 1, r"Failed to begin picture encode issue: 5 ", 0, 0, 1),
    status("vaRenderPicture", 3, 0x12, 1, r"Failed to upload encode parameters: 18 ", 1, 1, 2),
    status("vaEndPicture", 1, 0x18, 1, r"Failed to end picture encode issue: 24 ", 0, 0, 0),
    status("vaEndPicture", 5, 0x18, 1, r"Failed to end picture encode issue: 24 ", 3, 3, 4),
    status("vaSyncBuffer", 3, 0x1, 1, r"Failed to sync to output buffer completion: 1 ", 1, 1),
    status("vaSyncBuffer", 1, 0x14, 0, "", FRAMES, None, FRAMES),  # the probe: ffmpeg turns to vaSyncSurface
    status("vaSyncSurface", 4, 0x1, 1, r"Failed to sync to picture completion: 1 ", 1, 1, limits="sync-buffer=no", before=6),
    status("vaMapBuffer", 3, 0x7, 1, r"Failed to map output buffers: 7 ", 0, before=6),
    status("vaUnmapBuffer", 3, 0x7, 1, r"Failed to unmap output buffers: 7 ", 0, before=6),
    # Clean-up: said at most.
    status("vaDestroyBuffer", 4, 0x7, 0, r"Failed to destroy param buffer \S+: 7 ", FRAMES, None, FRAMES),
    status("vaDestroySurfaces", 1, 0x6, 0, r"Failed to destroy surface \S+: 6 ", FRAMES, None, FRAMES),
    status("vaDestroyContext", 1, 0x5, 0, "", FRAMES, None, FRAMES),
    status("vaDestroyConfig", 1, 0x4, 0, "", FRAMES, None, FRAMES),
    status("vaTerminate", 1, 0x1, 0, "", FRAMES, None, FRAMES, before=6),
    # A driver that does not come back.
    Row("vaInitialize:1=hang", "vaInitialize", 1, "hang", 0, KILLED, "", 0, 0, 0),
    Row("vaEndPicture:4=hang", "vaEndPicture", 4, "hang", 0, KILLED, "", 0, 0, 3),
    Row("vaSyncBuffer:3=hang", "vaSyncBuffer", 3, "hang", 0, KILLED, "", 0, 0),
    Row("vaSyncSurface:2=hang", "vaSyncSurface", 2, "hang", 0, KILLED, "", 0, 0, limits="sync-buffer=no"),
    Row("coded:3=hang", "coded", 3, "hang", 0, KILLED, "", 0, 0, 2),
    # A driver that takes the process along.
    Row("vaInitialize:1=segv", "vaInitialize", 1, "segv", 0, -signal.SIGSEGV, "", 0, 0, 0),
    Row("vaCreateContext:1=segv", "vaCreateContext", 1, "segv", 0, -signal.SIGSEGV, "", 0, 0, 0),
    Row("vaEndPicture:3=segv", "vaEndPicture", 3, "segv", 0, -signal.SIGSEGV, "", 0, 0),
    Row("vaRenderPicture:3=abort", "vaRenderPicture", 3, "abort", 0, -signal.SIGABRT, "", 0, 0),
    Row("vaMapBuffer:12=abort", "vaMapBuffer", 12, "abort", 0, -signal.SIGABRT, "", 0, 0),
    Row("coded:2=segv", "coded", 2, "segv", 0, -signal.SIGSEGV, "", 0, 0, 1),
    # Coded data that are wrong: ffmpeg does not notice.
    Row("coded:4=size:0", "coded", 4, "size", 0, 0, "", FRAMES - 1, 3, FRAMES),
    Row("coded:4=size:100", "coded", 4, "size", 100, 0, "", FRAMES - 1, 3, FRAMES),
    Row("coded:4=overflow", "coded", 4, "overflow", 0, 0, "", FRAMES - 1, 3, FRAMES),
    Row("coded:4=status:0x8000", "coded", 4, "status", 0x8000, 0, "", FRAMES, None, FRAMES),
    Row("coded:4=status:0xdeadbeef", "coded", 4, "status", 0xdeadbeef, 0, "", FRAMES, None, FRAMES),
    # A device that goes away.
    Row("vaEndPicture:4=device-lost", "vaEndPicture", 4, "device-lost", 0, 1,
        r"Failed to end picture encode issue: 24 ", 2, 2),
    Row("vaSyncBuffer:4=device-lost", "vaSyncBuffer", 4, "device-lost", 0, 1,
        r"Failed to sync to output buffer completion: 1 ", 2, 2),
    Row("vaCreateContext:1=device-lost", "vaCreateContext", 1, "device-lost", 0, 1,
        r"Failed to create encode pipeline context: 2 ", 0, 0, 0),
    # A slow one.
    Row("coded:*=delay:60ms", "coded", 1, "delay", 60000, 0, "", FRAMES, None, FRAMES, "", FRAMES * 0.06),
    Row("vaEndPicture:*=delay:60ms", "vaEndPicture", 1, "delay", 60000, 0, "", FRAMES, None, FRAMES, "",
        FRAMES * 0.06),
]


def first_wrong(verdict):
    """Index of the first frame that is not as the driver reconstructed it, or was sent and is missing."""
    frames = verdict.decoded.frames if verdict.decoded else []
    pictures = verdict.journal.in_presentation_order()
    for index in range(FRAMES):
        if index >= len(frames) or index >= len(pictures) or frames[index] != pictures[index].reconstruction:
            return index
    return None


@unittest.skipUnless(shutil.which("ffmpeg"), "ffmpeg is not installed")
class FaultTest(unittest.TestCase):
    rows = [row for row in ROWS if ffmpeg_version() < row.before]
    encode = table.Row("ffmpeg", "intel", "cqp", "0", "cabac", 1, (64, 64), "high")

    @classmethod
    def setUpClass(cls):
        build()
        cls.scratch = tempfile.TemporaryDirectory()
        folder = Path(cls.scratch.name)
        encode = cls.encode
        source = make_source(folder, encode.size, FRAMES)

        def run(item):
            number, row = item
            output = folder / f"{number}.{encode.codec}"
            return session.judge(session.Request(command_for(encode, source, output), output=output, source=source,
                                                 limits=row.limits, faults=row.fault,
                                                 timeout=HANGS_AFTER if row.ended == KILLED else 60))

        with ThreadPoolExecutor(min(2, os.cpu_count() or 1)) as pool:
            cls.verdicts = list(pool.map(run, enumerate(cls.rows)))

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def test_rows(self):
        for row, verdict in zip(self.rows, self.verdicts):
            with self.subTest(row.fault):
                self.check(row, verdict)

    def check(self, row, verdict):
        faults = verdict.journal.faults
        self.assertTrue(faults, "the driver did nothing")
        seen = faults[0]
        self.assertEqual((seen["target"], seen["occurrence"], seen["action"], seen["value"]),
                         (row.call, row.occurrence, row.action, row.value))
        ended = KILLED if verdict.ended.timed_out else verdict.ended.status
        if row.ended == FAILED and ffmpeg_version() >= 6 and ended != KILLED and ended > 0:
            ended = FAILED
        self.assertEqual(ended, row.ended, verdict.ended.output)
        if row.says:
            self.assertRegex(verdict.ended.output, row.says)
        else:
            self.assertEqual(verdict.ended.output.strip(), "")
        self.assertEqual(len(verdict.decoded.frames) if verdict.decoded else 0, row.frames)
        self.assertEqual(first_wrong(verdict), row.first_wrong)
        if row.coded is not None:
            self.assertEqual(len(verdict.journal.pictures), row.coded)
        self.assertGreaterEqual(verdict.ended.seconds, row.least_seconds)
        if row.ended == 0:
            self.assertEqual(verdict.leaks, [])

    def test_every_action_has_a_row(self):
        actions = {row.action for row in ROWS}
        self.assertEqual(actions, {"status", "hang", "segv", "abort", "size", "overflow", "device-lost", "delay"})

    @unittest.skipUnless(shutil.which("vainfo"), "vainfo is not installed")
    def test_unreadable_faults_are_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            for text in ("vaNothing:1=abort", "vaEndPicture=abort", "vaEndPicture:0=abort", "vaEndPicture:1=size:0",
                         "vaEndPicture@0:1=abort", "vaEndPicture#0:1=abort", "vaEndPicture:1~0=abort",
                         "vaEndPicture:1+~5=abort", "vaEndPicture:~5=abort"):
                verdict = session.judge(session.Request(
                    ["vainfo", "--display", "drm", "--device", "/dev/dri/renderD128"],
                    output=Path(folder) / "none.h264", faults=text))
                self.assertNotEqual(verdict.ended.status, 0, text)
                self.assertIn("REFERENCE_DRIVER_FAULTS", verdict.ended.output)

    def start(self, folder, faults, seed=0):
        """The status of a program that opens a display and asks what there is."""
        environment = client_environment(build(), faults=faults,
                                         extra={"REFERENCE_DRIVER_DISPLAYS": str(Path(folder) / "displays"),
                                                "REFERENCE_DRIVER_SEED": str(seed)})
        return run([build() / "tests" / "list_capabilities", DEVICE], environment, 60).status

    def test_faults_of_a_node(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(self.start(folder, "vaInitialize@129:*=status:0x1"), 0)
            self.assertNotEqual(self.start(folder, "vaInitialize@128:*=status:0x1"), 0)
            self.assertNotEqual(self.start(folder, "vaQueryConfigProfiles@128:1=device-lost"), 0)

    def test_faults_of_a_display(self):
        with tempfile.TemporaryDirectory() as folder:
            failed = [self.start(folder, "vaQueryConfigProfiles@128#2:1=status:0x1") != 0 for _ in range(3)]
            self.assertEqual(failed, [False, True, False])

    def test_faults_by_chance(self):
        def failed(fault, seed):
            with tempfile.TemporaryDirectory() as folder:
                return [self.start(folder, fault, seed) != 0 for _ in range(20)]

        for action in ("status:0x1", "device-lost"):
            first, second = (failed(f"vaQueryConfigProfiles:1~3={action}", seed) for seed in (1, 2))
            self.assertEqual(first, failed(f"vaQueryConfigProfiles:1~3={action}", 1))
            self.assertNotEqual(first, second)
            self.assertIn(sum(first + second), range(5, 36))
        self.assertEqual(failed("vaQueryConfigProfiles:1~1=status:0x1", 1), [True] * 20)
        self.assertEqual(failed("vaQueryConfigProfiles:1000~1=status:0x1", 1), [False] * 20)


class HEVCFaultTest(FaultTest):
    """What is coded is another codec's; calls are the same. ffmpeg puts a picture out whose slice is cut short."""

    rows = [replace(row, frames=FRAMES) if row.fault in ("coded:4=size:100", "coded:4=overflow") else row
            for row in ROWS if row.fault.startswith("coded")]
    encode = table.Row("ffmpeg", "intel", "cqp", "0", "cabac", 1, (128, 128), "main", codec="hevc")


if __name__ == "__main__":
    unittest.main(verbosity=2)
