# SPDX-License-Identifier: GPL-2.0-or-later
"""Screens of a real X server and sound of a real sound server, recorded in step."""

import json
import os
import statistics
import subprocess
import unittest

import rig

#: How long the screen is recorded, in seconds.
SECONDS = int(os.environ.get("VATOOLBOX_SCREEN_SECONDS", "12"))
FLASHER = rig.ROOT / "Tests/Live/flasher.py"


class Screens(unittest.TestCase):
    def setUp(self):
        self.folder = rig.Folder(self)
        self.screen = rig.Screen(self)

    def record(self, *arguments, **more):
        return rig.Run(self, "record", "--preset", "ultrafast", "-o", self.folder / "out.mkv", *arguments, **more)

    def test_flashes_and_beeps_are_in_step(self):
        server = rig.SoundServer(self, self.folder)
        told = open(self.folder / "flashes", "w", encoding="ascii")
        self.addCleanup(told.close)
        rig.Program(self, "python3", FLASHER, self.screen.name, server.address, server.SINK, stdout=told)
        rig.wait_until(lambda: (self.folder / "flashes").stat().st_size > 0, "the first flash")
        run = self.record("--video", f"x11:{self.screen.name},rate=60", "--audio", "pulse:monitor",
                          "--duration", SECONDS, env=server.environment)
        document = run.result(limit=SECONDS + rig.PATIENCE)
        # What the player was late with is not the recorder's fault, nor is a single picture on a machine whose processors
        # are taken. What is out of step is so in most of them.
        late = [float(line.split()[1]) for line in (self.folder / "flashes").read_text().splitlines()]
        tolerated = 0.02 + max(late[2:], default=0)
        path = self.folder / "out.mkv"
        self.assertEqual(rig.decode_errors(path), "")
        offsets = rig.offsets(path)
        print(f"screen: {len(offsets)} flashes, offsets {min(offsets) * 1000:.1f} to {max(offsets) * 1000:.1f} ms, "
              f"the window was at most {max(late[2:], default=0) * 1000:.1f} ms late; {document['lost']}")
        self.assertGreaterEqual(len(offsets), SECONDS - 4)
        distances = [abs(offset + 1 / 120) for offset in offsets]
        judged = max(distances) if os.environ.get("VATOOLBOX_STRICT") else statistics.median(distances)
        self.assertLess(judged, tolerated, offsets)
        _, times = rig.flashes(path)
        lost = sum(document["lost"].values())
        self.assertLessEqual(abs(SECONDS * 60 - len(times) - lost), 2, (len(times), document["lost"]))

    def test_a_region_has_its_size(self):
        document = self.record("--video", f"x11:{self.screen.name},region=101x99+20+30,cursor=off", "--duration", "2").result()
        self.assertGreater(document["frames"], 10)
        video = rig.stream(rig.probe(self.folder / "out.mkv"), "video")
        # 4:2:0 needs even sizes.
        self.assertEqual((video["width"], video["height"]), (100, 98))

    def test_a_preview_shows_what_is_recorded_and_can_be_closed(self):
        run = self.record("--video", "test,size=320x180", "--preview", env={"DISPLAY": self.screen.name})

        def color(x, y):
            pixels = subprocess.run(["ffmpeg", "-v", "error", "-f", "x11grab", "-draw_mouse", "0", "-i", self.screen.name,
                                     "-frames:v", "1", "-f", "rawvideo", "-pix_fmt", "rgb24", "-"],
                                    capture_output=True, check=True).stdout
            return tuple(pixels[(y * 640 + x) * 3:][:3])

        # The green and the magenta bar of the chart, and nothing beside the window.
        near = lambda one, other: max(abs(a - b) for a, b in zip(one, other)) < 24  # noqa: E731
        rig.wait_until(lambda: near(color(160, 90), (0, 191, 0)) and near(color(205, 90), (191, 0, 191)), "the chart")
        self.assertEqual(color(500, 300), (0, 0, 0))
        subprocess.run(["xdotool", "search", "--class", "vatoolbox", "windowclose"], check=True,
                       env={**os.environ, "DISPLAY": self.screen.name})
        rig.wait_until(lambda: color(160, 90) == (0, 0, 0), "the end of the window")
        before = run.latest()["frames"]
        run.wait_for(lambda now: now["frames"] > before + 10, "more pictures")
        document = run.end()
        self.assertEqual(document["status"], "done")
        self.assertEqual(rig.decode_errors(self.folder / "out.mkv"), "")

    def test_a_preview_without_a_display_is_an_error(self):
        run = self.record("--video", "test", "--preview", env={"DISPLAY": ":4711"})
        document = run.result(status=1)
        self.assertIn(":4711", json.dumps(document))
        self.assertEqual(sorted(self.folder.path.iterdir()), [])

    def test_a_server_that_ends_while_recording(self):
        run = self.record("--video", f"x11:{self.screen.name}")
        run.wait_for(lambda now: now["frames"] > 10, "pictures")
        self.screen.kill()
        run.wait_for(lambda now: now["inputs"][0]["error"], "the loss")
        document = run.end()
        self.assertEqual(document["inputs"][0]["losses"], 1)
        self.assertEqual(rig.decode_errors(self.folder / "out.mkv"), "")

    def test_refusals_are_explained(self):
        for device, texts in [
            (f"x11:{self.screen.name},region=9999x10+0+0", ["9999", "640x480"]),
            (f"x11:{self.screen.name},monitor=HDMI-7", ["HDMI-7"]),
            (f"x11:{self.screen.name},window=no such window", ["no such window"]),
            ("x11::4711", [":4711"]),
        ]:
            with self.subTest(device=device):
                status, errors = rig.refused("record", "--video", device, "-o", self.folder / "out.mkv")
                self.assertIn(status, (1, 2))
                for text in texts:
                    self.assertIn(text, errors)
                self.assertFalse((self.folder / "out.mkv").exists())
        status, errors = rig.refused("record", "--audio", "pulse:default", "-o", self.folder / "out.mkv",
                                     env={"PULSE_SERVER": "unix:/nonexistent"}.items())
        self.assertEqual(status, 1)
        self.assertIn("sound server", errors)


if __name__ == "__main__":
    unittest.main()
