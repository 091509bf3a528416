# SPDX-License-Identifier: GPL-2.0-or-later
"""Screens of a real X server and sound of a real sound server, recorded in step."""

import os
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
        # What the player was late with is not the recorder's fault.
        late = [float(line.split()[1]) for line in (self.folder / "flashes").read_text().splitlines()]
        tolerated = 0.02 + max(late[2:], default=0)
        path = self.folder / "out.mkv"
        self.assertEqual(rig.decode_errors(path), "")
        offsets = rig.offsets(path)
        print(f"screen: {len(offsets)} flashes, offsets {min(offsets) * 1000:.1f} to {max(offsets) * 1000:.1f} ms, "
              f"the window was at most {max(late[2:], default=0) * 1000:.1f} ms late; {document['lost']}")
        self.assertGreaterEqual(len(offsets), SECONDS - 4)
        self.assertLess(max(abs(offset + 1 / 120) for offset in offsets), tolerated, offsets)
        _, times = rig.flashes(path)
        lost = sum(document["lost"].values())
        self.assertLessEqual(abs(SECONDS * 60 - len(times) - lost), 2, (len(times), document["lost"]))

    def test_a_region_has_its_size(self):
        document = self.record("--video", f"x11:{self.screen.name},region=101x99+20+30,cursor=off", "--duration", "2").result()
        self.assertGreater(document["frames"], 10)
        video = rig.stream(rig.probe(self.folder / "out.mkv"), "video")
        # 4:2:0 needs even sizes.
        self.assertEqual((video["width"], video["height"]), (100, 98))

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
