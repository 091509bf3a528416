# SPDX-License-Identifier: GPL-2.0-or-later
"""Cameras that a preloaded library pretends (Tests/Drivers/camera), recorded by the built command."""

import json
import os
import re
import signal
import subprocess
import sys
import unittest

import rig

sys.path.insert(0, str(rig.ROOT / "Tests/Drivers"))
from runner.journal import read_journal  # noqa: E402
from runner.places import build, client_environment  # noqa: E402

LIBRARY = rig.ROOT / ".build/drivers/libfake_camera.so"
#: The grey of the pictures that a camera with JPEG shows, one after the other.
LEVELS = [20 + 30 * number for number in range(8)]


class Cameras(unittest.TestCase):
    def setUp(self):
        if not LIBRARY.exists():
            subprocess.run([rig.ROOT / "Tests/Drivers/build"], check=True, stdout=subprocess.DEVNULL)
        self.folder = rig.Folder(self)
        self.cameras = self.folder / "cameras"
        self.cameras.mkdir()
        self.environment = {"LD_PRELOAD": str(LIBRARY), "FAKE_CAMERAS": str(self.cameras)}.items()

    def plug(self, *lines, node="video0"):
        # Complete from its first moment on.
        path = self.folder / "description"
        path.write_text("".join(f"{line}\n" for line in lines))
        os.rename(path, self.cameras / node)

    def jpeg_camera(self):
        pictures = self.folder / "pictures"
        if not pictures.exists():
            pictures.mkdir()
            for number, level in enumerate(LEVELS):
                subprocess.run(["ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i",
                                f"color=c=0x{level:02x}{level:02x}{level:02x}:size=160x120", "-frames:v", "1", "-pix_fmt",
                                "yuvj420p", "-f", "mjpeg", str(pictures / str(number))], check=True)
        self.plug("name Test Camera", "format MJPG 160x120@25", "pace 40000", f"payload {pictures}")

    def record(self, device, *arguments):
        return rig.Run(self, "record", "--preset", "ultrafast", "--overwrite", "-o", self.folder / "out.mkv", "--video", device,
                       *arguments, env=self.environment)

    def levels(self):
        """The level of grey of each picture of the file, as the number of its JPEG."""
        command = ["ffmpeg", "-v", "error", "-i", str(self.folder / "out.mkv"), "-vf", "scale=1:1,format=rgb24", "-f",
                   "rawvideo", "-fps_mode", "passthrough", "-"]
        data = subprocess.run(command, check=True, capture_output=True, stdin=subprocess.DEVNULL).stdout
        return [min(range(8), key=lambda number: abs(LEVELS[number] - data[place])) for place in range(0, len(data), 3)]

    def test_every_picture_of_a_camera_is_in_the_file(self):
        self.jpeg_camera()
        document = self.record("v4l2", "--duration", "4").result()
        numbers = self.levels()
        self.assertEqual(len(numbers), document["frames"])
        lost = sum(document["lost"].values())
        gaps = sum((after - before - 1) % 8 for before, after in zip(numbers, numbers[1:]))
        self.assertLessEqual(gaps, lost)
        self.assertGreaterEqual(len(numbers) + lost, 95)
        self.assertEqual(document["inputs"][0]["format"], "MJPG")

    def test_a_camera_that_is_unplugged_and_back(self):
        self.jpeg_camera()
        run = self.record("v4l2:/dev/video0")
        run.wait_for(lambda now: now["frames"] > 20, "pictures")
        os.remove(self.cameras / "video0")
        run.wait_for(lambda now: now["inputs"][0]["error"], "the loss")
        before = run.latest()["frames"]
        self.jpeg_camera()
        run.wait_for(lambda now: now["frames"] > before + 20, "pictures again")
        document = run.end()
        self.assertEqual(document["inputs"][0]["losses"], 1)
        self.assertIn("is gone", run.errors)
        self.assertEqual(rig.decode_errors(self.folder / "out.mkv"), "")
        self.assertEqual(len(self.levels()), document["frames"])

    def test_uncompressed_pictures_and_controls(self):
        self.plug("format YUYV 320x240@30", "format NV12 640x480@15,30", "pace 33333",
                  "control 0x00980900 1 0 255 1 128 0 Brightness")
        for device, size in [("v4l2,size=640x480,set-brightness=200", 640), ("v4l2,format=yuyv", 320)]:
            with self.subTest(device=device):
                self.record(device, "--duration", "1.5").result()
                self.assertEqual(rig.stream(rig.probe(self.folder / "out.mkv"), "video")["width"], size)

    def test_a_gpu_encodes_the_memory_of_the_camera(self):
        # 1080 rows are no whole macroblocks, so that the GPU copies NV12; it converts YUYV.
        for device, form in [("v4l2,format=nv12,size=640x480", "nv12"), ("v4l2,format=nv12,size=1920x1080", "nv12"),
                             ("v4l2,format=yuyv,size=1920x1080", "yuy2")]:
            with self.subTest(device=device):
                self.plug("format NV12 640x480@10 1920x1080@10", "format YUYV 1920x1080@10", "pace 100000")
                journal = self.folder / "journal"
                journal.unlink(missing_ok=True)
                environment = client_environment(build(), journal=journal, effort="skip")
                environment["LD_PRELOAD"] = f"{LIBRARY} {environment['LD_PRELOAD']}"
                document = rig.Run(self, "record", "--require-hardware", "--codec", "h264", "--overwrite", "-o", self.folder / "out.mkv",
                                   "--video", f"{device},rate=10", "--duration", "2",
                                   env=(environment | dict(self.environment, LD_PRELOAD=environment["LD_PRELOAD"])).items()
                                   ).result()
                self.assertEqual(document["copied"], {"device": 0, "encoder": 0})
                self.assertEqual(document["inputs"][0]["memory"], "dma-buf")
                self.assertEqual(document["converted"]["cpu"], 0)
                self.assertGreater(document["frames"], 5)
                entries = read_journal(journal).entries
                self.assertEqual([entry for entry in entries if entry["kind"] == "finding"], [])
                self.assertEqual([entry for entry in entries if entry["kind"] == "access" and entry["imported"]], [])
                imported = [entry for entry in entries if entry["kind"] == "conversion" and entry["imported"]]
                self.assertEqual(len(imported), 0 if "640x480" in device else document["frames"])
                self.assertLessEqual({entry["source_format"] for entry in imported}, {form})
                self.assertEqual(rig.decode_errors(self.folder / "out.mkv"), "")

    def coded_camera(self, *lines):
        """A camera that codes its pictures: 40 access units of x264, again and again, key frames at 0 and 20."""
        pictures = self.folder / "coded"
        if not pictures.exists():
            pictures.mkdir()
            stream = self.folder / "coded.h264"
            subprocess.run(["ffmpeg", "-v", "error", "-y", "-f", "rawvideo", "-pixel_format", "gray", "-video_size", "160x120",
                            "-framerate", "25", "-i", "-", "-pix_fmt", "yuv420p", "-c:v", "libx264", "-bf", "0", "-g", "20",
                            "-x264-params", "scenecut=0:aud=1:repeat-headers=1", str(stream)], check=True,
                           input=b"".join(bytes([LEVELS[number % 8]]) * 160 * 120 for number in range(40)))
            # Each access unit begins with its delimiter.
            units = stream.read_bytes().split(b"\0\0\0\1\x09")[1:]
            self.assertEqual(len(units), 40)
            for number, unit in enumerate(units):
                (pictures / str(number)).write_bytes(b"\0\0\0\1\x09" + unit)
        self.plug("name Coding Camera", "format H264 160x120@25", "pace 40000", f"payload {pictures}", *lines)

    def test_h264_of_a_camera_is_kept(self):
        self.coded_camera()
        document = rig.Run(self, "record", "-o", self.folder / "out.mkv", "--video", "v4l2,format=h264", "--audio", "test",
                           "--duration", "4", env=self.environment).result()
        self.assertEqual((document["passedThrough"], document["encoder"], document["inputs"][0]["format"]),
                         (True, None, "H264"))
        self.assertEqual(rig.decode_errors(self.folder / "out.mkv"), "")
        numbers = self.levels()
        self.assertEqual(len(numbers), document["frames"])
        lost = sum(document["lost"].values())
        gaps = sum((after - before - 1) % 8 for before, after in zip(numbers, numbers[1:]))
        self.assertLessEqual(gaps, lost)
        self.assertGreaterEqual(len(numbers) + lost, 90)
        # The coded pictures are those of the camera, to the byte.
        extracted = self.folder / "out.h264"
        subprocess.run(["ffmpeg", "-v", "error", "-i", str(self.folder / "out.mkv"), "-map", "0:v", "-c", "copy",
                        str(extracted)], check=True, stdin=subprocess.DEVNULL)
        def slices(data):
            return [unit.rstrip(b"\0") for unit in re.split(b"\0\0\1", data) if unit and unit[0] & 31 in (1, 5)]
        known = {one for path in (self.folder / "coded").iterdir() for one in slices(path.read_bytes())}
        found = slices(extracted.read_bytes())
        self.assertEqual(len(found), document["frames"])
        self.assertLessEqual(set(found), known)

    def test_after_a_gap_coded_pictures_begin_with_a_key_frame(self):
        self.coded_camera("lost 30")
        document = rig.Run(self, "record", "-o", self.folder / "out.mkv", "--video", "v4l2,format=h264", "--duration", "3",
                           env=self.environment).result()
        self.assertEqual(rig.decode_errors(self.folder / "out.mkv"), "")
        # The one that is lost, and those until picture 40.
        self.assertGreaterEqual(document["lost"]["device"], 10)
        numbers = self.levels()
        for before, after in zip(numbers, numbers[1:]):
            self.assertTrue(after == (before + 1) % 8 or after in (0, 4), numbers)

    def test_coded_pictures_are_split_and_replayed(self):
        self.coded_camera()
        document = rig.Run(self, "record", "-o", self.folder / "part-{number}.mp4", "--video", "v4l2,format=h264",
                           "--split-time", "2", "--duration", "5", env=self.environment).result()
        self.assertGreaterEqual(len(document["files"]), 2)
        for file in document["files"]:
            self.assertEqual(rig.decode_errors(file["path"]), "")
        run = rig.Run(self, "record", "-o", self.folder / "replay-{number}.mkv", "--video", "v4l2,format=h264", "--replay",
                      "2", env=self.environment)
        run.wait_for(lambda now: now["time"] > 4, "four seconds")
        run.send(signal.SIGUSR1)
        rig.wait_until((self.folder / "replay-001.mkv").exists, "the replay")
        (saved,) = run.end()["saved"]
        self.assertEqual(rig.decode_errors(saved["path"]), "")
        self.assertGreater(saved["duration"], 1.9)

    def test_what_coded_pictures_cannot_do_is_explained(self):
        self.coded_camera()
        output = self.folder / "out.mkv"
        for arguments, texts in [(["--size", "80x60"], ["--size", "format=h264"]), (["--bitrate", "1M"], ["--bitrate"]),
                                 (["--require-hardware"], ["--require-hardware"]), (["--codec", "hevc"], ["H.264", "hevc"]),
                                 (["--video", "test"], ["switched", "test"])]:
            with self.subTest(arguments=arguments):
                status, errors = rig.refused("record", "--video", "v4l2,format=h264", *arguments, "-o", output,
                                             env=self.environment)
                self.assertEqual(status, 2)
                for text in texts:
                    self.assertIn(text, errors)
        status, errors = rig.refused("stream", "--video", "v4l2,format=h264", "--to", "udp://127.0.0.1:9", env=self.environment)
        self.assertEqual(status, 2)
        self.assertIn("mjpeg", errors)
        self.plug("format NV12 640x480@30")
        status, errors = rig.refused("record", "--video", "v4l2,format=h264", "-o", output, env=self.environment)
        self.assertIn("NV12", errors)
        self.assertFalse(output.exists())

    def test_devices_lists_it(self):
        self.jpeg_camera()
        done = subprocess.run([str(rig.PROGRAMS / "vatoolbox"), "devices", "--json"], capture_output=True, text=True,
                              check=True, stdin=subprocess.DEVNULL, env={**os.environ, **dict(self.environment)})
        (camera,) = next(one for one in json.loads(done.stdout)["kinds"] if one["kind"] == "v4l2")["devices"]
        self.assertEqual(camera["argument"], "v4l2:/dev/video0")
        self.assertIn("Test Camera", camera["text"])

    def test_refusals_are_explained(self):
        self.plug("format NV12 640x480@30", "control 0x00980900 1 0 255 1 128 0 Brightness")
        for device, texts in [("v4l2:/dev/video7", ["/dev/video7"]), ("v4l2,format=mjpeg", ["mjpeg"]),
                              ("v4l2,set-brightness=999", ["999", "255"]), ("v4l2,set-zoom=1", ["zoom"])]:
            with self.subTest(device=device):
                status, errors = rig.refused("record", "--video", device, "-o", self.folder / "out.mkv",
                                             env=self.environment)
                self.assertIn(status, (1, 2))
                for text in texts:
                    self.assertIn(text, errors.lower() if text.islower() else errors)
        self.plug("format NV12 640x480@30", "busy open")
        status, errors = rig.refused("record", "--video", "v4l2:/dev/video0", "-o", self.folder / "out.mkv",
                                     env=self.environment)
        self.assertIn("another program", errors)
        self.plug("format NV12 640x480@30", "denied")
        status, errors = rig.refused("record", "--video", "v4l2:/dev/video0", "-o", self.folder / "out.mkv",
                                     env=self.environment)
        self.assertIn("video", errors)
        self.assertFalse((self.folder / "out.mkv").exists())


if __name__ == "__main__":
    unittest.main()
