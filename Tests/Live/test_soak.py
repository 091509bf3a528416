# SPDX-License-Identifier: GPL-2.0-or-later
"""A stream for long, to receivers that come and go: nothing grows."""

import os
import pathlib
import time
import unittest

import rig

SECONDS = int(os.environ.get("VATOOLBOX_SOAK_SECONDS", "60"))


def usage(process):
    """The resident memory in KiB, the descriptors, and the threads of a process."""
    folder = pathlib.Path(f"/proc/{process}")
    lines = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines() if ":" in line)
    return int(lines["VmRSS"].split()[0]), len(os.listdir(folder / "fd")), int(lines["Threads"])


class Soak(unittest.TestCase):
    def test_nothing_grows(self):
        folder = rig.Folder(self)
        server = rig.Nginx(self, folder)
        port, other = rig.free_port(), rig.free_port()
        receivers = [rig.Program(self, "srt-live-transmit", "-q", f"srt://:{port}?mode=listener", "file://con"),
                     rig.Program(self, "ffmpeg", "-v", "quiet", "-i", f"udp://127.0.0.1:{other}", "-f", "null", "-")]
        run = rig.Run(self, "stream", "--preset", "ultrafast", "--bitrate", "1M", "--video", "test,size=320x240,rate=30",
                      "--audio", "test", "--to", server.url(), "--to", f"srt://127.0.0.1:{port}", "--to",
                      f"udp://127.0.0.1:{other}")
        run.wait_for(lambda now: all(one["sentFrames"] > 60 for one in now["outputs"]), "three live outputs")
        begin = time.monotonic()
        samples = []
        kills = 0
        while time.monotonic() - begin < SECONDS:
            before = run.latest()["outputs"]
            victim = kills % 2
            if victim == 0:
                server.program.kill()
                server.restart()
            else:
                receivers[0].kill()
                receivers[0].start()
            kills += 1
            run.wait_for(lambda now: now["outputs"][victim]["reconnects"] > before[victim]["reconnects"]
                         and now["outputs"][victim]["sentFrames"] > before[victim]["sentFrames"] + 30, "the receiver is back")
            for path in server.recordings()[:-1]:
                path.unlink()
            samples.append(usage(run.process.pid))
        settled, last = samples[len(samples) // 4], samples[-1]
        arenas = rig.arenas(run.process.pid)
        document = run.end()
        course = " ".join(str(samples[len(samples) * eighth // 8][0]) for eighth in range(8))
        print(f"soak: {SECONDS} s, {kills} kills, {document['encodedFrames']} pictures; KiB, descriptors, threads: "
              f"{settled} after a quarter, {last} at the end; KiB at each eighth: {course}; "
              f"UDP dropped {document['outputs'][2]['droppedFrames']}")
        self.assertLess(last[0], settled[0] * 1.15 + 8192, samples)
        self.assertLessEqual(last[1], settled[1] + 3, samples)
        self.assertLessEqual(last[2], settled[2] + 3, samples)
        # Each arena would keep the most that a connection ever needed in it.
        self.assertLessEqual(arenas, 1)
        self.assertEqual(document["outputs"][2]["reconnects"], 0)


if __name__ == "__main__":
    unittest.main()
