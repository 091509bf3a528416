# SPDX-License-Identifier: GPL-2.0-or-later
"""The bitrate follows a link that becomes slow and fast again."""

import os
import subprocess
import time
import unittest

import links
import rig

#: Whether the times of the specification are required, on a machine with nothing else to do.
STRICT = os.environ.get("VATOOLBOX_STRICT") == "1"
CEILING = 1_600_000


class Links(unittest.TestCase):
    def setUp(self):
        self.folder = rig.Folder(self)

    def noise(self):
        """A clip that needs every bit that it gets."""
        path = self.folder / "noise.mp4"
        subprocess.run(["ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i",
                        "testsrc2=size=640x360:rate=30:duration=8,noise=alls=60:allf=t", "-f", "lavfi", "-i",
                        "sine=frequency=440:duration=8", "-c:v", "libx264", "-preset", "ultrafast", "-b:v", "6M", "-c:a",
                        "aac", str(path)], check=True)
        return path

    def test_a_link_that_halves_and_recovers(self):
        server = rig.Nginx(self, self.folder)
        full = CEILING * 1.5
        link = links.Link(self, server.port, full)
        run = rig.Run(self, "stream", "--preset", "ultrafast", "--bitrate", CEILING, "--size", "640x360", self.noise(), "--loop",
                      "--to", f"rtmp://127.0.0.1:{link.port}/live/key")
        run.wait_for(lambda now: now["outputs"][0]["state"] == "live" and now["outputs"][0]["sentFrames"] > 240, "some seconds")
        link.rate = full / 2
        begin = time.monotonic()
        run.wait_for(lambda now: now["bitrate"] + 128_000 < link.rate, "a rate below that of the link")
        reaction = time.monotonic() - begin
        mark = len(run.progress)
        rig.wait_until(lambda: time.monotonic() - begin > 25, "25 s on a slow link")
        slow = run.progress[mark:]
        link.rate = full
        begin = time.monotonic()
        run.wait_for(lambda now: now["bitrate"] >= 0.95 * CEILING, "the ceiling", 150)
        recovery = time.monotonic() - begin
        document = run.end()
        ages = [one["outputs"][0]["queueAge"] for one in slow]
        print(f"link: below the halved rate after {reaction:.1f} s, queue at most {max(ages):.2f} s old afterwards, "
              f"95 % of the ceiling {recovery:.0f} s after; dropped {document['outputs'][0]['droppedFrames']}")
        self.assertTrue(all(one["bitrate"] <= CEILING for one in run.progress if one["bitrate"]))
        self.assertEqual(document["outputs"][0]["reconnects"], 0)
        self.assertEqual(rig.decode_errors(server.recordings()[0]), "")
        if STRICT:
            self.assertLess(reaction, 3.6)
            self.assertLess(max(ages), 1.0)
            self.assertLess(recovery, 60.5)


if __name__ == "__main__":
    unittest.main()
