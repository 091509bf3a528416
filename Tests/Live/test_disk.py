# SPDX-License-Identifier: GPL-2.0-or-later
"""vatoolbox record on a disk that is full: what was recorded until then is kept."""

import os
import signal
import subprocess
import unittest

import rig

CAMERA = rig.ROOT / ".build/drivers/libfake_camera.so"
#: What a disk holds: about 8 seconds of the camera, at this bitrate.
SIZE, BITRATE = 4 << 20, "4M"


class Kept(unittest.TestCase):
    """Nothing that is whole is lost, and nothing else has a name."""

    def setUp(self):
        if not CAMERA.exists():
            subprocess.run([rig.ROOT / "Tests/Drivers/build"], check=True, stdout=subprocess.DEVNULL)
        self.folder = rig.Folder(self)
        # A camera that shows noise, which takes all of the bitrate.
        pictures, cameras = self.folder / "pictures", self.folder / "cameras"
        for folder in (pictures, cameras):
            folder.mkdir()
        subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i",
                        "nullsrc=size=160x120,geq=random(1)*255:128:128", "-vf", "scale=320x240:flags=neighbor", "-frames:v",
                        "8", "-start_number", "0", "-pix_fmt", "yuvj420p", "-f", "image2", "-c:v", "mjpeg",
                        str(pictures / "%d")], check=True)
        (cameras / "video0").write_text(f"format MJPG 320x240@25\npace 40000\npayload {pictures}\n")
        self.environment = {"LD_PRELOAD": str(CAMERA), "FAKE_CAMERAS": str(cameras)}.items()

    def record(self, folder, name, *arguments, **more):
        return rig.Run(self, "record", "--preset", "ultrafast", "--bitrate", BITRATE, "--key-interval", "1", "-o",
                       folder / name, "--video", "v4l2", "--audio", "test", *arguments, env=self.environment, **more)

    def check(self, document, folder, *texts):
        """Every file of the document decodes, has the pictures that it tells of, and is alone in its folder."""
        self.assertEqual(document["status"], "failed")
        for text in texts:
            self.assertIn(text, document["failure"])
        paths = [file["path"] for file in document["files"]]
        self.assertEqual(sorted(os.listdir(folder.path)), sorted(os.path.basename(path) for path in paths))
        for file in document["files"]:
            self.assertEqual(rig.decode_errors(file["path"]), "", file["path"])
            found = rig.probe(file["path"])
            self.assertEqual(int(rig.stream(found, "video")["nb_read_frames"]), file["frames"])
            self.assertEqual(os.path.getsize(file["path"]), file["bytes"])
        self.assertEqual(sum(file["frames"] for file in document["files"]), document["frames"])

    @unittest.skipUnless(rig.can_mount(), "needs a disk of its own")
    def test_one_file(self):
        # What is lost: a fragment of a second, or a cluster of at most five; and what is on its way to it.
        for kind, lost in [("mp4", 1 + 2), ("mov", 1 + 2), ("mkv", 5 + 2), ("ts", 2)]:
            with self.subTest(kind=kind):
                disk = rig.Disk(self, SIZE)
                run = self.record(disk, f"out.{kind}")
                document = run.result(status=1)
                self.check(document, disk, "No space left on device", f"out.{kind}")
                self.assertIn("No space left", run.errors)
                (file,) = document["files"]
                written = max(now["time"] for now in run.progress)
                self.assertGreater(file["duration"], written - lost, (file, written))
                self.assertGreater(file["duration"], 4)
                self.assertAlmostEqual(rig.beeps(file["path"])[-1], file["duration"], delta=1.5)

    @unittest.skipUnless(rig.can_mount(), "needs a disk of its own")
    def test_several_files(self):
        for kind in ("mp4", "ts"):
            with self.subTest(kind=kind):
                disk = rig.Disk(self, SIZE)
                run = self.record(disk, f"part-{{number}}.{kind}", "--split-time", "2")
                document = run.result(status=1)
                self.check(document, disk, "No space left on device")
                self.assertGreaterEqual(len(document["files"]), 2)
                for number, file in enumerate(document["files"], 1):
                    self.assertEqual(file["path"], str(disk / f"part-{number:03}.{kind}"))
                # The disk may be full in one file, and have a little room for the next one when that is cut.
                for file in document["files"][:-2]:
                    self.assertAlmostEqual(file["duration"], 2, delta=0.5)

    @unittest.skipUnless(rig.can_mount(), "needs a disk of its own")
    def test_the_recording_of_a_stream(self):
        disk = rig.Disk(self, SIZE)
        run = rig.Run(self, "stream", "--preset", "ultrafast", "--bitrate", BITRATE, "--video", "v4l2", "--audio", "test",
                      "--to", f"hls:{self.folder / 'show'}", "--record", disk / "show.mp4", env=self.environment)
        run.wait_for(lambda now: now["recording"]["state"] == "failed", "the full disk")
        frames = run.latest()["frames"]
        run.wait_for(lambda now: now["frames"] > frames + 25, "the stream goes on")
        run.send(signal.SIGINT)
        recording = run.result(status=1)["recording"]
        self.assertIn("No space left on device", recording["error"])
        self.assertIn("the file has what came until then", run.errors)
        self.assertEqual(os.listdir(disk.path), ["show.mp4"])
        self.assertEqual(recording["bytes"], os.path.getsize(disk / "show.mp4"))
        self.assertEqual(rig.decode_errors(disk / "show.mp4"), "")
        self.assertGreater(int(rig.stream(rig.probe(disk / "show.mp4"), "video")["nb_read_frames"]), 50)

    @unittest.skipUnless(rig.can_mount(), "needs a disk of its own")
    def test_without_any_room(self):
        disk = rig.Disk(self, SIZE)
        disk.fill()
        run = self.record(disk, "out.mp4")
        document = run.result(status=1)
        self.assertIn("No space left", document["error"]["message"])
        self.assertEqual(os.listdir(disk.path), ["filler"])

    @unittest.skipUnless(rig.can_mount(), "needs a disk of its own")
    def test_a_replay_that_cannot_be_saved(self):
        disk = rig.Disk(self, SIZE)
        disk.fill()
        run = self.record(disk, "replay-{number}.mp4", "--replay", "3")
        run.wait_for(lambda now: now["time"] > 3, "three seconds")
        run.send(signal.SIGUSR1)
        rig.wait_until(lambda: "the replay is not saved" in run.errors, "the warning")
        self.assertIn("No space left", run.errors)
        self.assertEqual(os.listdir(disk.path), ["filler"])
        os.remove(disk / "filler")
        run.send(signal.SIGUSR1)
        rig.wait_until((disk / "replay-002.mp4").exists, "the second replay")
        document = run.end()
        self.assertEqual([saved["path"] for saved in document["saved"]], [str(disk / "replay-002.mp4")])
        self.assertEqual(os.listdir(disk.path), ["replay-002.mp4"])
        self.assertEqual(rig.decode_errors(disk / "replay-002.mp4"), "")

    def test_a_limit_on_the_size_of_files(self):
        for kind in ("mp4", "mkv", "ts"):
            with self.subTest(kind=kind):
                folder = rig.Folder(self)
                run = self.record(folder, f"out.{kind}", launcher=["prlimit", f"--fsize={SIZE}:{SIZE}"])
                self.check(run.result(status=1), folder, "File too large", f"out.{kind}")


class Unfinished(unittest.TestCase):
    """What cannot get its name stays under the hidden one, and is named in the error."""

    KINDS = ("mp4", "mkv", "ts")

    def setUp(self):
        self.folder = rig.Folder(self)

    def record(self, path, *arguments, **more):
        return rig.Run(self, "record", "--preset", "ultrafast", "-o", path, "--video", "test,size=160x120", "--audio",
                       "test", *arguments, **more)

    def stream(self, path, **more):
        return rig.Run(self, "stream", "--preset", "ultrafast", "--video", "test,size=160x120", "--audio", "test",
                       "--to", f"hls:{path.parent / 'show'}", "--record", path, **more)

    def kept(self, folder, error):
        (name,) = [name for name in os.listdir(folder.path) if name.endswith(".part")]
        self.assertIn(f"what was written is kept as {os.path.realpath(folder / name)}", error)
        self.assertEqual(rig.decode_errors(folder / name), "")
        self.assertGreater(int(rig.stream(rig.probe(folder / name), "video")["nb_read_frames"]), 40)

    def test_a_name_that_is_taken_meanwhile(self):
        for kind in self.KINDS:
            with self.subTest(kind=kind):
                folder = rig.Folder(self)
                run = self.record(folder / f"out.{kind}")
                run.wait_for(lambda now: now["frames"] > 45, "pictures")
                (folder / f"out.{kind}").write_text("precious")
                run.send(signal.SIGINT)
                document = run.result(status=2)
                self.kept(folder, document["error"]["message"])
                self.assertIn("another process created", run.errors)
                self.assertEqual((folder / f"out.{kind}").read_text(), "precious")

    def test_a_name_that_is_taken_while_a_stream_is_recorded(self):
        run = self.stream(self.folder / "show.mp4")
        run.wait_for(lambda now: now["recording"]["frames"] > 45, "pictures")
        (self.folder / "show.mp4").write_text("precious")
        run.send(signal.SIGINT)
        recording = run.result(status=1)["recording"]
        self.assertEqual((recording["state"], recording["bytes"]), ("failed", None))
        self.kept(self.folder, recording["error"])
        self.assertIn("the file has not got its name", run.errors)
        self.assertEqual((self.folder / "show.mp4").read_text(), "precious")

    @unittest.skipUnless(rig.can_mount(), "needs a disk of its own")
    def test_a_full_disk_on_which_the_name_is_taken(self):
        disk = rig.Disk(self, SIZE)
        run = self.record(disk / "out.ts")
        # Much of what is encoded waits in buffers.
        rig.wait_until(lambda: sum(entry.stat().st_size for entry in os.scandir(disk.path)) > 150_000, "pictures")
        (disk / "out.ts").write_text("precious")
        disk.fill()
        document = run.result(status=1)
        self.assertIn("No space left", document["error"]["message"])
        self.kept(disk, document["error"]["message"])
        self.assertEqual((disk / "out.ts").read_text(), "precious")

    def test_a_disk_that_fails_at_the_end(self):
        environment = {"LD_PRELOAD": str(rig.preloaded(self, "failing_sync"))}.items()
        for kind in self.KINDS:
            with self.subTest(kind=kind):
                folder = rig.Folder(self)
                run = self.record(folder / f"out.{kind}", env=environment)
                run.wait_for(lambda now: now["frames"] > 45, "pictures")
                run.send(signal.SIGINT)
                document = run.result(status=1)
                self.kept(folder, document["error"]["message"])
                self.assertIn("Input/output error", document["error"]["message"])
                self.assertFalse((folder / f"out.{kind}").exists())


if __name__ == "__main__":
    unittest.main()
