# SPDX-License-Identifier: GPL-2.0-or-later
"""Outputs that are damaged, and workers that were taken over: nothing of them is published, and nothing is left."""

import ctypes
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import chaos
from rig import PROGRAMS, Service, clip, digest, file_output, until

HERE = pathlib.Path(__file__).resolve().parent
ESCAPED = pathlib.Path("/tmp/vatoolbox-impostor-escaped")

#: What may become of an output, with the code of the failure. None of these may be published.
FAULTS = {
    "truncated": "verification-failed", "empty": "verification-failed", "missing": "verification-failed",
    "extended": "verification-failed", "renamed": "verification-failed", "garbage": "verification-failed",
    "zeros": "verification-failed", "short": "verification-failed", "short-padded": "verification-failed",
    "late": "verification-failed", "silent": "verification-failed", "slow-rate": "verification-failed",
    "other-codec": "verification-failed", "forged": "verification-failed", "forged-missing": "verification-failed",
    "no-document": "verification-failed", "garbage-document": "verification-failed",
    "deep-document": "verification-failed", "huge-document": "verification-failed",
    "no-verification": "verification-failed", "status-1": "command-failed", "status-3": "damaged-input",
    "killed": "worker-killed", "aborted": "worker-killed", "hanging": "stalled", "memory": "out-of-memory",
}
#: What a program that was taken over leaves beside its output, or in its place.
TRAPS = [
    "forged-link", "forged-folder", "symlink", "hard-link", "fifo", "device", "marker", "marker-link", "marker-folder",
    "hidden", "page", "no-text", "deep", "no-rights", "children",
]


def has_landlock():
    """Whether the kernel can confine files."""
    return ctypes.CDLL(None, use_errno=True).syscall(444, None, 0, 1) > 0


class GoodOutputTests(unittest.TestCase):
    """The checks object to no good output."""

    @classmethod
    def setUpClass(cls):
        cls.service = Service("--workers-count", "2", "--disk-reserve", "0")

    @classmethod
    def tearDownClass(cls):
        cls.service.close()

    def test_outputs_of_all_kinds_are_published(self):
        hls = {"kind": "hls", "video": {"preset": "ultrafast", "codec": "h264"}}
        outputs = [
            file_output("a.mp4"), file_output("\u0303.mp4"), file_output("a.mov"), file_output("a.mkv"), file_output("a.ts"),
            file_output("a.h264"), file_output("a.h265", codec="hevc"), file_output("b.mp4") | {"fragmented": True},
            file_output("c.mp4", bFrames=3, keyFrameInterval=0.4), file_output("d.ts", bFrames=2, codec="hevc"),
            file_output("e.mp4", frameRate="30000/1001"), file_output("e.mkv", frameRate="10"),
            file_output("f.mp4", codec="hevc", bitDepth=10), file_output("g.mp4", codec="auto"),
            file_output("h.mp4") | {"audio": {"codec": "none"}}, file_output("i.mkv") | {"audio": {"codec": "opus"}},
            hls | {"name": "one.m3u8", "ladder": [{"height": 90}]},
            hls | {"name": "two.m3u8", "ladder": [{"height": 180}, {"height": 90}], "segmentFormat": "ts"},
        ]
        # Variable frame rate, pictures that are shown from elsewhere than the first one on, and a field order.
        clips = {
            "plain": clip(),
            "open": clip("open.mp4", more=["-bf", "3", "-g", "12", "-preset", "fast"]),
            "stream": clip("stream.ts", more=["-bf", "2", "-preset", "fast", "-f", "mpegts"]),
            "variable": clip("variable.mkv", more=["-vf", "select='mod(n,7)+mod(n,3)'", "-fps_mode", "vfr"]),
            "interlaced": clip("interlaced.ts", more=["-flags", "+ildct+ilme", "-x264opts", "tff=1"]),
        }
        cases = [(name, {}, outputs if name == "plain" else outputs[:4]) for name in clips]
        cases += [("open", {"start": 0.7}, outputs[:4]), ("stream", {"start": 0.3, "duration": 1.0}, outputs[:4])]
        uploads = {name: self.service.upload(path)["id"] for name, path in clips.items()}
        jobs = [(name, part, output["name"], self.service.submit({"upload": uploads[name], **part}, output, attempts=1))
                for name, part, wanted in cases for output in wanted]
        for name, part, output, job in jobs:
            with self.subTest(name, output=output, **part):
                ended = self.service.wait(job)
                self.assertEqual(ended["state"], "succeeded", (ended.get("failure"), ended["attempts"]))


class OutputTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="impostor-"))
        program = cls.folder / "vatoolbox"
        source = HERE / "impostor.c"
        subprocess.run(["cc", "-Wall", "-Wextra", "-Werror", "-O1", "-o", program, source], check=True)
        shutil.copy(PROGRAMS / "vatoolbox", cls.folder / "vatoolbox-helper")
        flags = ["--program", str(program), "--workers-stall-timeout", "10", "--workers-memory", "700M"]
        cls.service = Service(*flags, "--workers-count", "2", "--disk-reserve", "0")
        cls.upload = cls.service.upload(clip())["id"]

    @classmethod
    def tearDownClass(cls):
        cls.service.close()
        shutil.rmtree(cls.folder, ignore_errors=True)

    def submit(self, how, **more):
        return self.service.submit(self.upload, file_output(f"{how}.mkv"), attempts=1, device="software", **more)

    def assertNothingIsPublished(self, job, how):
        service = self.service
        self.assertEqual(service.get(f"/v1/jobs/{job}/files/{how}.mkv").status, 404)
        self.assertFalse((service.data / "results" / job).exists(), "nothing is published")

    def assertNothingIsLeft(self):
        until(lambda: not chaos.processes(self.service.data).keys() - {self.service.process.pid}, "no process is left")
        self.assertEqual(chaos.leftovers(self.service), [])
        self.assertEqual(digest(self.service.data / "uploads" / self.upload / "data"), digest(clip()))

    def test_program_that_does_its_work_is_believed(self):
        job = self.service.wait(self.submit("good"))
        self.assertEqual(job["state"], "succeeded", job)

    def test_faults_are_not_published(self):
        jobs = {how: self.submit(how) for how in FAULTS}
        for how, code in FAULTS.items():
            with self.subTest(how):
                job = self.service.wait(jobs[how])
                self.assertEqual((job["state"], job.get("failure", {}).get("code")), ("failed", code), job)
                self.assertNothingIsPublished(jobs[how], how)
        self.assertNothingIsLeft()

    def test_traps_are_neither_published_nor_followed(self):
        jobs = {how: self.submit(how) for how in TRAPS}
        for how in TRAPS:
            with self.subTest(how):
                job = self.service.wait(jobs[how])
                if job["state"] == "succeeded":
                    # The kernel has not let it.
                    self.assertIn(how, ["symlink", "hard-link", "fifo", "device", "marker-link"])
                    there = {path.name for path in (self.service.data / "results" / jobs[how] / "0").iterdir()}
                    self.assertEqual(there, {f"{how}.mkv", ".published"})
                else:
                    self.assertNothingIsPublished(jobs[how], how)
        self.assertNothingIsLeft()
        self.assertFalse((self.service.data / "keys.json").exists())
        # Nor does anything of it keep the service from its next start.
        self.service.kill()
        self.service.start()
        self.assertNothingIsLeft()

    def test_service_starts_whatever_is_left_of_an_attempt(self):
        self.service.kill()
        work = self.service.data / "work" / "node" / "1"
        work.mkdir(parents=True)
        (pathlib.Path(os.fsdecode(bytes(work) + b"/\xff\xfe"))).write_text("x")
        (work / "link").symlink_to(self.folder)
        place = os.open(work, os.O_RDONLY)
        for _ in range(3000):
            os.mkdir("abcdefghij", dir_fd=place)
            inner = os.open("abcdefghij", os.O_RDONLY, dir_fd=place)
            os.close(place)
            place = inner
        os.close(place)
        self.service.start()
        self.assertEqual(self.service.work(), [])
        self.assertTrue((self.folder / "vatoolbox").exists(), "links are not followed")

    @unittest.skipUnless(has_landlock(), "the kernel has no Landlock, which confines files")
    def test_worker_cannot_write_elsewhere(self):
        self.service.wait(self.submit("other-attempt"))
        self.assertFalse(ESCAPED.exists())
        self.assertFalse((self.service.data / "keys.json").exists())
        self.assertFalse((self.service.data / "uploads/escaped").exists())


if __name__ == "__main__":
    unittest.main()
