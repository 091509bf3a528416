# SPDX-License-Identifier: GPL-2.0-or-later
"""vatoolbox stream, to the servers and receivers of others."""

import json
import os
import pathlib
import signal
import socket
import subprocess
import threading
import time
import unittest

import rig

CHART = "test,size=320x240,rate=30"
#: How often a server is killed.
KILLS = int(os.environ.get("VATOOLBOX_KILLS", "3"))
#: How long an output is wedged, in seconds.
WEDGED = int(os.environ.get("VATOOLBOX_WEDGED_SECONDS", "10"))
LIVE = ["--preset", "ultrafast", "--bitrate", "500k"]


class Stream(unittest.TestCase):
    #: What every command has.
    ARGUMENTS = LIVE

    def setUp(self):
        self.folder = rig.Folder(self)

    def stream(self, *arguments, **more):
        return rig.Run(self, "stream", *self.ARGUMENTS, *arguments, **more)

    def live(self, run, count=30, index=0):
        """Waits until an output has sent some pictures."""
        return run.wait_for(lambda now: len(now["outputs"]) > index and now["outputs"][index]["sentFrames"] >= count,
                            f"{count} sent pictures")

    def frames(self, path):
        """The number of pictures that decode."""
        return int(rig.stream(rig.probe(path), "video")["nb_read_frames"])


class ToRTMP(Stream):
    def test_nginx_records_every_picture(self):
        server = rig.Nginx(self, self.folder)
        run = self.stream("--video", CHART, "--audio", "test", "--to", server.url())
        self.live(run, 120)
        document = run.end()
        (path,) = server.recordings()
        self.assertEqual(rig.decode_errors(path), "")
        self.assertEqual(int(rig.stream(rig.probe(path), "video")["nb_read_frames"]),
                         document["outputs"][0]["sentFrames"])
        offsets = rig.offsets(path)
        self.assertLess(max(abs(offset + 0.0167) for offset in offsets), 0.04, offsets)

    def test_a_server_that_is_killed(self):
        server = rig.Nginx(self, self.folder)
        run = self.stream("--video", CHART, "--audio", "test", "--to", server.url())
        # A connection counts as kept after two seconds; until then, a server that closes it has refused the stream.
        self.live(run, 90)
        waits = []
        for count in range(1, KILLS + 1):
            server.program.kill()
            run.wait_for(lambda now: now["outputs"][0]["state"] != "live", "the loss")
            server.restart()
            begin = time.monotonic()
            run.wait_for(lambda now: now["outputs"][0]["reconnects"] >= count
                         and now["outputs"][0]["state"] == "live", "the next connection")
            waits.append(time.monotonic() - begin)
            sent = run.latest()["outputs"][0]["sentFrames"]
            self.live(run, sent + 20)
        document = run.end()
        # Attempts are at most 1.5 s apart, and the progress is half a second old.
        self.assertLess(sorted(waits)[len(waits) // 2], 2.5, waits)
        self.assertEqual(document["lost"]["reader"] + document["lost"]["device"] + document["lost"]["encoder"],
                         document["lost"]["encoder"])
        paths = server.recordings()
        self.assertGreaterEqual(len(paths), KILLS)
        for path in paths:
            self.check_recording(path)

    def test_ffmpeg_as_a_server_that_is_killed(self):
        port = rig.free_port()
        path = self.folder / "received.flv"
        server = rig.Program(self, "ffmpeg", "-v", "error", "-y", "-listen", "1", "-i", f"rtmp://127.0.0.1:{port}/live/key",
                             "-c", "copy", "-flush_packets", "1", path)
        run = self.stream("--video", CHART, "--audio", "test", "--to", f"rtmp://127.0.0.1:{port}/live/key")
        self.live(run, 90)
        for count in range(1, KILLS + 1):
            server.kill()
            self.check_recording(path)
            before = run.latest()["outputs"][0]
            server.start()
            run.wait_for(lambda now: now["outputs"][0]["reconnects"] > before["reconnects"]
                         and now["outputs"][0]["sentFrames"] > before["sentFrames"] + 45, "the next connection")
        self.assertEqual(run.end()["lost"]["reader"], 0)

    def check_recording(self, path):
        """The first picture is a key frame, and times rise from zero."""
        packets = rig.packets(path)
        self.assertIn("K", packets[0]["flags"])
        times = [float(packet["dts_time"]) for packet in packets]
        self.assertLess(times[0], 0.1)
        self.assertTrue(all(after > before for before, after in zip(times, times[1:])), times)

    def test_a_refusal_is_told_in_the_server_s_words(self):
        server = rig.Nginx(self, self.folder)
        status, errors = rig.refused("stream", *LIVE, "--video", CHART, "--to", server.url("closed", "secretkey"))
        self.assertEqual(status, 1)
        self.assertNotIn("secretkey", errors)
        self.assertIn("closed/***", errors)

    def test_hevc_needs_a_server_that_takes_it(self):
        run = self.stream("--video", CHART, "--to", "rtmp://127.0.0.1:1/live/key", "--duration", "1")
        run.wait_for(lambda now: now["encoder"], "the encoder")
        self.assertEqual(run.latest()["encoder"]["codec"], "h264")
        run.kill()

    def test_secrets_are_nowhere(self):
        server = rig.Nginx(self, self.folder)
        run = self.stream("--video", CHART, "--to", f"rtmp://127.0.0.1:{server.port}/live", "--quiet",
                          env={"VATOOLBOX_STREAM_KEY": "topsecret"}.items())
        self.live(run)
        command = pathlib.Path(f"/proc/{run.process.pid}/cmdline").read_text()
        document = run.end()
        for text in (command, json.dumps(document), run.errors, json.dumps(run.progress)):
            self.assertNotIn("topsecret", text)
        self.assertTrue(server.recordings()[0].name.startswith("topsecret"))


class ToTransportStreams(Stream):
    def receive(self, url, name, *more):
        """Starts ffmpeg as a receiver that copies into a file."""
        path = self.folder / name
        return path, rig.Program(self, "ffmpeg", "-v", "error", "-y", *more, "-i", url, "-c", "copy", path)

    def test_udp(self):
        port = rig.free_port()
        path, receiver = self.receive(f"udp://127.0.0.1:{port}?timeout=5000000&fifo_size=1000000", "udp.ts")
        run = self.stream("--video", CHART, "--audio", "test", "--to", f"udp://127.0.0.1:{port}")
        self.live(run, 150)
        run.end()
        receiver.process.wait(rig.PATIENCE)
        self.check(path)

    def test_rtp(self):
        port = rig.free_port()
        path, receiver = self.receive(f"rtp://127.0.0.1:{port}?timeout=5000000", "rtp.ts")
        run = self.stream("--video", CHART, "--audio", "test", "--to", f"rtp://127.0.0.1:{port}")
        self.live(run, 150)
        run.end()
        rig.wait_until(lambda: path.exists() and path.stat().st_size > 50_000, "what was received")
        receiver.kill(signal.SIGINT)
        self.check(path)

    def check(self, path):
        lights, times = rig.flashes(path)
        self.assertGreater(len(times), 60)
        offsets = rig.offsets(path)
        self.assertLess(max(abs(offset + 0.0167) for offset in offsets), 0.04, offsets)

    def test_srt_to_a_listener(self):
        port = rig.free_port()
        path, receiver = self.receive(f"srt://127.0.0.1:{port}?mode=listener&passphrase=0123456789&latency=3000000", "srt.ts")
        run = self.stream("--video", CHART, "--audio", "test",
                          "--max-queue", "20", "--to", f"srt://127.0.0.1:{port}?latency=3000&streamid=cam1",
                          env={"VATOOLBOX_PASSPHRASE": "0123456789"}.items())
        self.live(run, 150)
        self.assertGreaterEqual(run.latest()["outputs"][0]["roundTrip"], 0)
        document = run.end()
        receiver.process.wait(rig.PATIENCE)
        self.assertEqual(rig.decode_errors(path), "")
        # A receiver of SRT on a busy machine may drop the last pictures as too late.
        received = int(rig.stream(rig.probe(path), "video")["nb_read_frames"])
        self.assertLessEqual(abs(document["outputs"][0]["sentFrames"] - received), 2)
        self.check(path)

    def test_srt_as_a_listener(self):
        port = rig.free_port()
        run = self.stream("--video", CHART, "--audio", "test", "--to", f"srt://127.0.0.1:{port}?mode=listener")
        run.wait_for(lambda now: now["frames"] > 60, "pictures without a receiver")
        self.assertEqual(run.latest()["outputs"][0]["state"], "connecting")
        path, receiver = self.receive(f"srt://127.0.0.1:{port}", "srt.ts")
        self.live(run, 90)
        run.end()
        receiver.process.wait(rig.PATIENCE)
        self.assertEqual(rig.decode_errors(path), "")

    def test_an_srt_receiver_that_is_killed(self):
        port = rig.free_port()
        paths = [self.folder / f"{count}.ts" for count in range(KILLS + 1)]

        def receive(path):
            with path.open("wb") as file:
                return subprocess.Popen(["srt-live-transmit", "-q", f"srt://127.0.0.1:{port}?mode=listener", "file://con"],
                                        stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.DEVNULL)

        receiver = receive(paths[0])
        self.addCleanup(lambda: (receiver.kill(), receiver.wait()))
        run = self.stream("--video", CHART, "--audio", "test", "--silence", "2", "--to",
                          f"srt://127.0.0.1:{port}?latency=500")
        self.live(run, 90)
        for path in paths[1:]:
            receiver.kill()
            receiver.wait()
            run.wait_for(lambda now: now["outputs"][0]["state"] != "live", "the loss")
            before = run.latest()["outputs"][0]
            receiver = receive(path)
            run.wait_for(lambda now: now["outputs"][0]["state"] == "live"
                         and now["outputs"][0]["sentFrames"] > before["sentFrames"] + 60, "the next connection")
        # Threads of libsrt that come and go with connections leave no memory in arenas of their own.
        self.assertLessEqual(rig.arenas(run.process.pid), 1)
        self.assertEqual(run.end()["lost"]["reader"], 0)
        # It would wait for another sender.
        receiver.terminate()
        receiver.wait(rig.PATIENCE)
        latest = 0
        for path in paths:
            packets = rig.packets(path)
            self.assertIn("K", packets[0]["flags"])
            times = [float(packet["dts_time"]) for packet in packets]
            # The times of a later connection continue those before.
            self.assertGreater(times[0], latest)
            self.assertTrue(all(after > before for before, after in zip(times, times[1:])), times)
            latest = times[-1]

    def test_a_wrong_passphrase(self):
        port = rig.free_port()
        self.receive(f"srt://127.0.0.1:{port}?mode=listener&passphrase=0123456789", "srt.ts")
        status, errors = rig.refused("stream", *LIVE, "--video", CHART, "--to",
                                     f"srt://127.0.0.1:{port}?passphrase=abcdefghijkl")
        self.assertEqual(status, 1)
        self.assertIn("passphrase", errors)
        self.assertNotIn("abcdefghijkl", errors)


class Wedge:
    """A server that accepts connections and never reads."""

    def __init__(self, test):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.taken = []
        threading.Thread(target=self._accept, daemon=True).start()
        test.addCleanup(self.socket.close)

    def _accept(self):
        while True:
            try:
                self.taken.append(self.socket.accept()[0])
            except OSError:
                return


class Several(Stream):
    def test_a_wedged_output_does_not_hold_up_the_others(self):
        server = rig.Nginx(self, self.folder)
        wedge = Wedge(self)
        port = rig.free_port()
        path = self.folder / "srt.ts"
        receiver = rig.Program(self, "ffmpeg", "-v", "error", "-y", "-i",
                               f"srt://127.0.0.1:{port}?mode=listener&latency=3000000", "-c", "copy", path)
        run = self.stream("--video", CHART, "--audio", "test", "--silence", "3", "--max-queue", "20", "--to", server.url(),
                          "--to", f"rtmp://127.0.0.1:{wedge.port}/live/key", "--to",
                          f"srt://127.0.0.1:{port}?latency=3000")
        run.wait_for(lambda now: now["outputs"][0]["sentFrames"] >= WEDGED * 30, "pictures", WEDGED + rig.PATIENCE)
        document = run.end()
        receiver.process.wait(rig.PATIENCE)
        good, stuck, other = document["outputs"]
        for output in (good, other):
            self.assertEqual(sum(output["droppedFrames"].values()), 0, output)
            # Sound before the first picture has no place.
            self.assertEqual(output["droppedAudio"]["age"] + output["droppedAudio"]["disconnected"], 0, output)
        self.assertEqual(good["sentFrames"], document["encodedFrames"])
        self.assertEqual(other["sentFrames"], document["encodedFrames"])
        self.assertEqual(stuck["sentFrames"], 0)
        self.assertEqual(int(rig.stream(rig.probe(server.recordings()[0]), "video")["nb_read_frames"]),
                         document["encodedFrames"])
        # A receiver of SRT on a busy machine may drop the last pictures as too late.
        received = int(rig.stream(rig.probe(path), "video")["nb_read_frames"])
        self.assertLessEqual(abs(document["encodedFrames"] - received), 2)


class Files(Stream):
    def clip(self, name="clip.mp4", seconds=3):
        path = self.folder / name
        subprocess.run(["ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", f"testsrc2=size=320x180:rate=25:duration={seconds}",
                        "-f", "lavfi", "-i", f"sine=frequency=440:duration={seconds}", "-c:a", "aac", "-c:v", "libx264",
                        "-preset", "ultrafast", str(path)], check=True)
        return path

    def test_a_file_is_sent_whole_at_its_own_speed(self):
        server = rig.Nginx(self, self.folder)
        begin = time.monotonic()
        document = self.stream(self.clip(), "--to", server.url()).result()
        self.assertGreater(time.monotonic() - begin, 2.5)
        self.assertEqual(document["encodedFrames"], 75)
        self.assertEqual(document["outputs"][0]["sentFrames"], 75)
        (path,) = server.recordings()
        self.assertEqual(int(rig.stream(rig.probe(path), "video")["nb_read_frames"]), 75)
        self.assertEqual(rig.decode_errors(path), "")

    def test_a_playlist_that_is_looped(self):
        server = rig.Nginx(self, self.folder)
        run = self.stream(self.clip("one.mp4", 1), self.clip("two.mp4", 1), "--loop", "--to", server.url())
        self.live(run, 130)
        run.end()
        (path,) = server.recordings()
        self.assertEqual(rig.decode_errors(path), "")
        _, times = rig.flashes(path)
        steps = [after - before for before, after in zip(times, times[1:])]
        self.assertLess(max(steps), 0.08, steps)


class Recordings(Stream):
    """A file that gets what the receivers get."""

    def test_the_file_has_what_the_receiver_gets(self):
        for name in ("show.mp4", "show.mov", "show.mkv", "show.ts"):
            with self.subTest(name=name):
                server = rig.Nginx(self, rig.Folder(self))
                path = self.folder / name
                run = self.stream("--video", CHART, "--audio", "test", "--to", server.url(), "--record", path)
                self.live(run, 100)
                # A fragment is written at least once a second, under a hidden name.
                self.assertEqual(run.latest()["recording"]["state"], "recording")
                self.assertFalse(path.exists())
                document = run.end()
                self.assertEqual(document["recording"]["state"], "finished")
                self.assertEqual(document["recording"]["bytes"], path.stat().st_size)
                self.assertEqual(document["recording"]["frames"], document["encodedFrames"])
                self.assertEqual(self.frames(path), document["encodedFrames"])
                self.assertEqual(self.frames(server.recordings()[0]), document["encodedFrames"])
                self.assertEqual(rig.decode_errors(path), "")
                offsets = rig.offsets(path)
                self.assertLess(max(abs(offset + 0.0167) for offset in offsets), 0.04, offsets)

    def test_a_server_that_is_killed_leaves_no_gap_in_the_file(self):
        server = rig.Nginx(self, self.folder)
        path = self.folder / "show.mp4"
        run = self.stream("--video", CHART, "--audio", "test", "--to", server.url(), "--record", path)
        self.live(run, 90)
        server.program.kill()
        run.wait_for(lambda now: now["outputs"][0]["state"] != "live", "the loss")
        server.restart()
        run.wait_for(lambda now: now["outputs"][0]["reconnects"] >= 1
                     and now["outputs"][0]["state"] == "live", "the next connection")
        self.live(run, run.latest()["outputs"][0]["sentFrames"] + 30)
        document = run.end()
        self.assertEqual(self.frames(path), document["encodedFrames"])
        self.assertEqual(rig.decode_errors(path), "")
        self.assertGreater(document["encodedFrames"], document["outputs"][0]["sentFrames"])

    def test_a_full_disk_ends_the_recording_and_not_the_stream(self):
        server = rig.Nginx(self, self.folder)
        path = self.folder / "show.h264"
        # A byte stream has no parts that would be whole.
        run = self.stream("--video", CHART, "--to", server.url(), "--record", path,
                          launcher=["prlimit", "--fsize=100000:100000"])
        run.wait_for(lambda now: now["recording"]["state"] == "failed", "the full disk")
        sent = run.latest()["outputs"][0]["sentFrames"]
        self.live(run, sent + 60)
        run.send(signal.SIGINT)
        document = run.result(status=1)
        self.assertIn("File too large", document["recording"]["error"])
        self.assertIsNone(document["recording"]["bytes"])
        self.assertEqual(document["outputs"][0]["state"], "finished")
        self.assertEqual(document["outputs"][0]["sentFrames"], document["encodedFrames"])
        self.assertEqual(self.frames(server.recordings()[0]), document["encodedFrames"])
        self.assertIn("there is no file", run.errors)

    def test_receivers_that_all_give_up_leave_a_complete_file(self):
        path = self.folder / "show.mp4"
        server = rig.Nginx(self, self.folder)
        run = self.stream("--video", CHART, "--audio", "test", "--to", server.url(), "--record", path,
                          "--give-up-after", "1")
        self.live(run, 90)
        server.program.kill()
        run.result(status=1)
        self.assertGreaterEqual(self.frames(path), 90)
        self.assertEqual(rig.decode_errors(path), "")
        self.assertEqual([name for name in os.listdir(self.folder.path) if name.endswith(".part")], [])

    def test_a_kill_loses_at_most_a_fragment(self):
        server = rig.Nginx(self, self.folder)
        run = self.stream("--video", CHART, "--audio", "test", "--to", server.url(), "--record", self.folder / "show.mp4")
        now = run.wait_for(lambda now: now["recording"]["duration"] > 3, "three seconds")
        run.process.kill()
        run.process.wait()
        (left,) = [name for name in os.listdir(self.folder.path) if name.endswith(".part")]
        os.rename(self.folder / left, self.folder / "rescued.mp4")
        _, times = rig.flashes(self.folder / "rescued.mp4")
        # A fragment, and what was on its way through the encoder.
        self.assertGreater(times[-1], now["recording"]["duration"] - 1 - 0.5)

    def test_a_file_is_recorded_whole(self):
        clip = Files.clip(self)
        server = rig.Nginx(self, self.folder)
        path = self.folder / "show.mkv"
        document = self.stream(clip, "--to", server.url(), "--record", path).result()
        self.assertEqual(document["recording"]["frames"], 75)
        self.assertEqual(self.frames(path), 75)

    def test_what_is_refused(self):
        there = self.folder / "there.mp4"
        there.write_text("precious")
        pipe, device = self.folder / "pipe.ts", self.folder / "device.mkv"
        os.mkfifo(pipe)
        device.symlink_to("/dev/null")
        clip = Files.clip(self)
        for inputs, arguments, texts in [
            (["--video", "test"], ["--record", there], ["there.mp4", "overwrite"]),
            (["--video", "test"], ["--record", self.folder / "out.avi"], ["avi"]),
            (["--video", "test"], ["--record", self.folder / "missing" / "out.mp4"], ["missing"]),
            (["--video", "test"], ["--record", pipe], ["not a regular file", "pipe.ts", "a new file"]),
            (["--video", "test"], ["--record", device, "--overwrite"], ["not a regular file", "device.mkv"]),
            (["--video", "test"], ["--overwrite"], ["--record"]),
            ([clip], ["--record", clip, "--overwrite"], [str(clip)]),
            (["--video", "test", "--video", f"file:{clip},loop=on"], ["--record", clip, "--overwrite"], [str(clip)]),
        ]:
            with self.subTest(arguments=arguments):
                status, errors = rig.refused("stream", *inputs, "--to", "rtmp://127.0.0.1:1/live/key", *arguments)
                self.assertIn(status, (1, 2), errors)
                for text in texts:
                    self.assertIn(text, errors)
        self.assertEqual(there.read_text(), "precious")


class Refusals(unittest.TestCase):
    def test_values(self):
        for arguments, texts in [
            (["--to", "rtmp://127.0.0.1/live/key"], ["nothing to stream"]),
            (["--video", "test"], ["--to"]),
            (["--video", "test", "--to", "http://127.0.0.1/x"], ["http", "rtmp://"]),
            (["--video", "test", "--to", "127.0.0.1:9000"], ["without a protocol"]),
            (["--video", "test", "--to", "rtmp://127.0.0.1"], ["application", "stream key"]),
            (["--video", "test", "--to", "srt://127.0.0.1:9000?latencyms=3"], ["latencyms", "latency"]),
            (["--video", "test", "--loop", "--to", "rtmp://127.0.0.1/live/key"], ["--loop"]),
            (["--video", "test", "--silence", "0", "--to", "rtmp://127.0.0.1/live/key"], ["0", "300"]),
            (["--video", "test", "--key-interval", "0", "--to", "rtmp://127.0.0.1/live/key"], ["--key-interval"]),
        ]:
            with self.subTest(arguments=arguments):
                status, errors = rig.refused("stream", *arguments)
                self.assertEqual(status, 2, errors)
                for text in texts:
                    self.assertIn(text, errors)

    def test_a_file_that_does_not_exist(self):
        status, errors = rig.refused("stream", "/nonexistent.mp4", "--to", "rtmp://127.0.0.1/live/key")
        self.assertEqual(status, 1)
        self.assertIn("/nonexistent.mp4", errors)


if __name__ == "__main__":
    unittest.main()
