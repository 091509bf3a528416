# SPDX-License-Identifier: GPL-2.0-or-later
"""vatoolbox stream under the control of a program: arguments and commands by standard input, and public addresses."""

import pathlib
import subprocess
import unittest

import rig


class Control(unittest.TestCase):
    def setUp(self):
        self.folder = rig.Folder(self)

    def start(self, *lines):
        run = rig.Run(self, "stream", "--control", stdin=subprocess.PIPE)
        self.addCleanup(run.process.stdin.close)
        self.tell(run, *lines, "")
        return run

    def tell(self, run, *lines):
        run.process.stdin.write("".join(f"{line}\n" for line in lines))
        run.process.stdin.flush()

    def inputs(self):
        return ["--video", "test,size=320x240", "--video", "test,size=64x48", "--to", f"hls:{self.folder / 'show'}",
                "--bitrate", "300k"]

    def test_arguments_and_commands(self):
        run = self.start(*self.inputs())
        run.wait_for(lambda now: now["frames"] > 10, "it runs")
        line = pathlib.Path(f"/proc/{run.process.pid}/cmdline").read_bytes()
        self.assertNotIn(b"hls:", line)
        self.tell(run, "use 2", "bitrate 150k", "nonsense", "use 0", "bitrate x", "use 9")
        run.wait_for(lambda now: now["inputs"][1]["active"] and now["ceiling"] == 150_000, "it obeys")
        self.tell(run, "stop")
        document = run.result()
        self.assertEqual(document["status"], "done")
        for command in ("nonsense", "use 0", "bitrate x"):
            self.assertIn(f"given {command}, allowed", run.errors)
        self.assertEqual(rig.decode_errors(self.folder / "show/index.m3u8"), "")

    def test_the_end_of_the_input_ends_the_stream(self):
        run = self.start(*self.inputs())
        run.wait_for(lambda now: now["frames"] > 10, "it runs")
        run.process.stdin.close()
        self.assertEqual(run.result()["status"], "done")

    def test_arguments_are_checked(self):
        for lines in (["--to", "hls:x"], ["--no-such-option"], [],
                      ["--video", "file:/none,loop=perhaps", "--to", "udp://127.0.0.1:1"],
                      ["--video", "test", "--to", "udp://127.0.0.1:1", "--allow-address", "10.0.0.0/8"],
                      ["--video", "test", "--to", "udp://127.0.0.1:1", "--public-addresses", "--allow-address", "x"]):
            run = self.start(*lines)
            run.process.wait(rig.PATIENCE)
            self.assertEqual(run.process.returncode, 2, (lines, run.errors))

    def test_public_addresses(self):
        port = rig.free_port()
        for receiver in (f"udp://127.0.0.1:{port}", f"udp://localhost:{port}", f"rtmp://127.0.0.1:{port}/live/key",
                         f"srt://127.0.0.1:{port}", f"srt://:{port}?mode=listener"):
            status, errors = rig.refused("stream", "--video", "test", "--to", receiver, "--public-addresses")
            self.assertIn("is not public", errors, receiver)
        for receiver in (f"hls:put:http://127.0.0.1:{port}/live/", f"hls:http://127.0.0.1:{port}/"):
            status, errors = rig.refused("stream", "--video", "test", "--to", receiver, "--public-addresses")
            self.assertIn("HLS by a network is not possible with public addresses only", errors, receiver)
        for name in (f"url:srt://127.0.0.1:{port}", "url:http://127.0.0.1/x.m3u8", "url:http://127.0.0.1/film.mp4",
                     "file:http://127.0.0.1/film.mp4"):
            status, errors = rig.refused("stream", "--video", name, "--to", f"udp://127.0.0.1:{port}",
                                         "--public-addresses", "--allow-address", "10.0.0.0/8")
            self.assertRegex(errors, "is not public|not allowed here", name)
        run = rig.Run(self, "stream", "--video", "test,size=64x48", "--to", f"udp://127.0.0.1:{port}",
                      "--public-addresses", "--allow-address", "127.0.0.1")
        run.wait_for(lambda now: now["outputs"][0]["sentFrames"] > 5, "it sends")
        run.end()


class Inputs(unittest.TestCase):
    def test_an_input_that_is_away_or_broken_does_no_harm_while_another_is_used(self):
        folder = rig.Folder(self)
        (folder / "broken.mp4").write_bytes(b"no film")
        port = rig.free_port()
        run = rig.Run(self, "stream", "--video", "test,size=320x240", "--video", f"file:{folder / 'broken.mp4'}",
                      "--video", f"url:srt://127.0.0.1:{port}", "--to", f"hls:{folder / 'show'}")
        run.wait_for(lambda now: now["frames"] > 30 and all(one["error"] for one in now["inputs"][1:]), "it runs")
        sender = rig.Program(self, "ffmpeg", "-v", "error", "-re", "-f", "lavfi", "-i", "testsrc2=size=160x120:rate=25",
                             "-c:v", "libx264", "-preset", "ultrafast", "-g", "10", "-f", "mpegts",
                             f"srt://127.0.0.1:{port}?mode=listener")
        run.wait_for(lambda now: now["inputs"][2]["pictures"] > 10 and not now["inputs"][2]["error"], "it is there")
        sender.kill()
        self.assertEqual(run.end()["status"], "done")

    def test_a_stream_waits_for_its_first_input_and_says_so(self):
        folder = rig.Folder(self)
        port = rig.free_port()
        run = rig.Run(self, "stream", "--video", f"url:srt://127.0.0.1:{port}", "--to", f"hls:{folder / 'show'}")
        first = run.wait_for(lambda now: now["waited"] > 0.2, "it waits")
        self.assertEqual((first["phase"], first["frames"]), ("starting", 0))
        run.wait_for(lambda now: now["waited"] > first["waited"], "it still waits")
        rig.Program(self, "ffmpeg", "-v", "error", "-re", "-f", "lavfi", "-i", "testsrc2=size=160x120:rate=25",
                    "-c:v", "libx264", "-preset", "ultrafast", "-g", "10", "-f", "mpegts",
                    f"srt://127.0.0.1:{port}?mode=listener")
        run.wait_for(lambda now: now["frames"] > 10, "pictures")
        self.assertEqual(run.end()["status"], "done")


if __name__ == "__main__":
    unittest.main()
