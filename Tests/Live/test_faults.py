# SPDX-License-Identifier: GPL-2.0-or-later
"""Encoders, clocks, servers and devices that fail while the built commands record and stream."""

import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest

import rig

sys.path.insert(0, str(rig.ROOT / "Tests" / "Drivers"))
from runner.places import build, client_environment, compiler  # noqa: E402

CHART = "test,size=320x240,rate=30"
LIVE = ["--preset", "ultrafast", "--bitrate", "500k"]
GPU = "/dev/dri/renderD128"
#: How long the commands are stopped, as by a suspend, in seconds.
SUSPEND = int(os.environ.get("VATOOLBOX_SUSPEND_SECONDS", "20"))
#: How many of the faults of drivers are tried, and by which seed they are chosen.
FAULTS = int(os.environ.get("VATOOLBOX_DRIVER_FAULTS", "3"))
SEED = int(os.environ.get("VATOOLBOX_SEED", "28"))

#: What the driver does at its Nth call.
ENTRY_POINTS = ["vaEndPicture", "vaRenderPicture", "vaCreateBuffer", "vaBeginPicture", "vaMapBuffer", "coded"]
ACTIONS = ["status:0x1", "segv", "abort", "hang", "device-lost"]


def steps(path):
    """The distances of successive pictures, in seconds."""
    times = [float(packet["dts_time"]) for packet in rig.packets(path)]
    return [after - before for before, after in zip(times, times[1:])]


def hashes(path):
    """The pictures as they decode."""
    command = ["ffmpeg", "-v", "quiet", "-xerror", "-i", str(path), "-map", "0:v", "-fps_mode", "passthrough", "-f", "framehash",
               "-hash", "md5", "-"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return [line.split(",")[-1].strip() for line in done.stdout.splitlines() if not line.startswith("#")]


class Faults(unittest.TestCase):
    def setUp(self):
        self.folder = rig.Folder(self)

    def record(self, *arguments, name="out.mp4", **more):
        return rig.Run(self, "record", "--preset", "ultrafast", "-o", self.folder / name, *arguments, **more)

    def stream(self, *arguments, **more):
        return rig.Run(self, "stream", *LIVE, *arguments, **more)

    def receive(self, url, name):
        """Starts ffmpeg as a receiver that copies into a file."""
        path = self.folder / name
        return path, rig.Program(self, "ffmpeg", "-v", "error", "-y", "-i", url, "-c", "copy", path)


class Drivers(Faults):
    """A GPU's driver fails in the middle: x264 continues, and no picture is lost that was accepted."""

    def choice(self, kind):
        """Some faults, the same for the same seed: each entry point and each action at least once, if there are enough."""
        chosen = random.Random(f"{SEED} {kind}")
        names, actions = ENTRY_POINTS[:], ACTIONS[:]
        chosen.shuffle(names)
        chosen.shuffle(actions)
        return [(names[number % len(names)], actions[number % len(actions)], chosen.randrange(20, 60))
                for number in range(FAULTS)]

    def environment(self, name, action, occurrence):
        """The driver fails at a call, and soon does not start again: the first display has only the test of the encoder."""
        faults = f"{name}@128:{occurrence}={action};" + ";".join(
            f"vaInitialize@128#{display}:*=status:0x1" for display in range(3, 12))
        displays = self.folder / f"displays-{name}-{action.partition(':')[0]}-{occurrence}"
        more = {"REFERENCE_DRIVER_DISPLAYS": str(displays), "VATOOLBOX_SANDBOX_WRITABLE": str(self.folder.path)}
        return client_environment(build(), faults=faults, extra=more).items()

    def arguments(self):
        return ["--video", CHART, "--audio", "test", "--codec", "h264"]

    def follow(self, run):
        """Waits until x264 has encoded for a while."""
        run.wait_for(lambda now: now["encoder"] and now["encoder"]["device"] == GPU, "the GPU")
        run.wait_for(lambda now: now["encoder"]["name"] == "x264", "the switch")
        frames = run.latest()["frames"]
        run.wait_for(lambda now: now["frames"] > frames + 45, "pictures of x264")

    def check(self, run, document):
        self.assertEqual(document["encoder"]["name"], "x264")
        self.assertIsNone(document["encoder"]["device"])
        self.assertEqual(document["switches"][-1]["to"]["name"], "x264")
        self.assertEqual(document["switches"][0]["from"]["device"], GPU)
        self.assertIn("x264 takes over from", run.errors)

    def test_while_recording(self):
        for number, (name, action, occurrence) in enumerate(self.choice("record")):
            with self.subTest(name=name, action=action, occurrence=occurrence):
                file = f"out-{number}.{['mp4', 'mkv', 'ts'][number % 3]}"
                run = self.record(*self.arguments(), name=file, env=self.environment(name, action, occurrence))
                self.follow(run)
                document = run.end()
                self.check(run, document)
                path = self.folder / file
                self.assertEqual(rig.decode_errors(path), "")
                self.assertEqual(int(rig.stream(rig.probe(path), "video")["nb_read_frames"]), document["frames"])
                # Each picture of the device was encoded, or is counted as lost.
                lost = document["lost"]
                self.assertLessEqual(abs(document["inputs"][0]["pictures"] - document["frames"] - lost["encoder"]), 2)

    def test_while_streaming(self):
        for number, (name, action, occurrence) in enumerate(self.choice("stream")):
            with self.subTest(name=name, action=action, occurrence=occurrence):
                folder = rig.Folder(self)
                server, port = rig.Nginx(self, folder), rig.free_port()
                path, receiver = self.receive(f"srt://127.0.0.1:{port}?mode=listener&latency=3000000", f"srt-{number}.ts")
                run = self.stream(*self.arguments(), "--max-queue", "20", "--to", server.url(),
                                  "--to", f"srt://127.0.0.1:{port}?latency=3000",
                                  env=self.environment(name, action, occurrence))
                self.follow(run)
                document = run.end()
                receiver.process.wait(rig.PATIENCE)
                self.check(run, document)
                for output in document["outputs"]:
                    self.assertEqual(output["sentFrames"], document["encodedFrames"])
                    self.assertEqual(output["reconnects"], 0)
                (recording,) = server.recordings()
                self.assertEqual(rig.decode_errors(path), "")
                # FFmpeg's parser knows only the first header of an FLV file, and complains; its decoder knows all of them.
                of_rtmp, of_srt = hashes(recording), hashes(path)
                self.assertEqual(len(of_rtmp), document["encodedFrames"])
                # A receiver of SRT on a busy machine may drop the last pictures as too late.
                self.assertLessEqual(abs(len(of_rtmp) - len(of_srt)), 2)
                self.assertEqual(of_rtmp[:len(of_srt)], of_srt)

    def test_a_replay_has_both_encoders(self):
        run = self.record(*self.arguments(), "--replay", "60", "--key-interval", "1", name="replay.mp4",
                          env=self.environment("vaEndPicture", "segv", 30))
        self.follow(run)
        run.send(signal.SIGUSR1)
        path = self.folder / "replay.mp4"
        rig.wait_until(path.exists, "the replay")
        run.end()
        self.assertEqual(rig.decode_errors(path), "")
        self.assertGreater(int(rig.stream(rig.probe(path), "video")["nb_read_frames"]), 60)


class Clocks(Faults):
    """All times are of a clock that nobody sets."""

    def test_the_time_of_day_is_set(self):
        clock = self.folder / "clock"
        clock.write_text("0")
        server = rig.Nginx(self, self.folder)
        environment = {"LD_PRELOAD": str(build() / "libsleeping_clock.so"), "JUMPING_CLOCK": str(clock)}.items()
        runs = [self.record("--video", CHART, "--audio", "test", env=environment),
                self.stream("--video", CHART, "--audio", "test", "--to", server.url(), env=environment)]
        for seconds in (7200, -86400, 30):
            frames = [run.latest().get("frames", 0) for run in runs]
            for run, before in zip(runs, frames):
                run.wait_for(lambda now: now["frames"] > before + 60, "two seconds")
            replacement = self.folder / "next"
            replacement.write_text(str(seconds))
            os.rename(replacement, clock)
        frames = [run.latest()["frames"] for run in runs]
        for run, before in zip(runs, frames):
            run.wait_for(lambda now: now["frames"] > before + 60, "two more seconds")
        recorded, streamed = (run.end() for run in runs)
        self.assertEqual((streamed["outputs"][0]["reconnects"], streamed["repeated"]), (0, 0))
        (recording,) = server.recordings()
        for path, frames in ((self.folder / "out.mp4", recorded["frames"]), (recording, streamed["encodedFrames"])):
            self.assertEqual(rig.decode_errors(path), "")
            self.assertEqual(int(rig.stream(rig.probe(path), "video")["nb_read_frames"]), frames)
            self.assertTrue(0 < min(steps(path)) and max(steps(path)) < 2, steps(path))
            offsets = rig.offsets(path)
            self.assertLess(max(abs(offset + 0.0167) for offset in offsets), 0.06, offsets)

    def test_a_suspend(self):
        """A program that is stopped finds that its clock has gone on, and its connections may be dead."""
        server = rig.Nginx(self, self.folder)
        runs = [self.record("--video", CHART, "--audio", "test"),
                self.stream("--video", CHART, "--audio", "test", "--to", server.url())]
        for run in runs:
            run.wait_for(lambda now: now["frames"] > 90, "three seconds")
        for run in runs:
            run.send(signal.SIGSTOP)
        time.sleep(SUSPEND)
        for run in runs:
            run.send(signal.SIGCONT)
        frames = [run.latest()["frames"] for run in runs]
        for run, before in zip(runs, frames):
            run.wait_for(lambda now: now["frames"] > before + 120, "pictures after it")
        runs[1].wait_for(lambda now: now["outputs"][0]["state"] == "live", "the server")
        recorded, streamed = (run.end() for run in runs)
        path = self.folder / "out.mp4"
        self.assertEqual(rig.decode_errors(path), "")
        self.assertEqual(int(rig.stream(rig.probe(path), "video")["nb_read_frames"]), recorded["frames"])
        self.assertGreater(max(steps(path)), SUSPEND - 2)
        for path in (path, server.recordings()[-1]):
            self.assertEqual(rig.decode_errors(path), "")
            # The beep of a flash before it and after it; the stop itself has neither.
            offsets = [offset for offset in rig.offsets(path) if abs(offset) < 0.5]
            self.assertGreaterEqual(len(offsets), 3)
            self.assertLess(max(abs(offset + 0.0167) for offset in offsets), 0.06, offsets)
        self.assertEqual(streamed["status"], "done")


class Inputs(Faults):
    """Sound without pictures, and pictures without sound."""

    def seconds(self, path):
        return {kind: float(rig.stream(rig.probe(path), kind)["duration"]) for kind in ("video", "audio")}

    def test_pictures_without_sound(self):
        server = rig.SoundServer(self, self.folder)
        run = self.record("--video", CHART, "--audio", "pulse:monitor", env=server.environment.items())
        run.wait_for(lambda now: now["frames"] > 60, "two seconds")
        server.program.kill()
        run.wait_for(lambda now: now["inputs"][1]["error"], "the loss")
        frames = run.latest()["frames"]
        run.wait_for(lambda now: now["frames"] > frames + 150, "five seconds without sound")
        server.program.start()
        run.wait_for(lambda now: not now["inputs"][1]["error"], "the sound server")
        frames = run.latest()["frames"]
        run.wait_for(lambda now: now["frames"] > frames + 90, "three seconds with it")
        document = run.end()
        self.assertEqual(document["inputs"][1]["losses"], 1)
        self.assertEqual(rig.decode_errors(self.folder / "out.mp4"), "")
        seconds = self.seconds(self.folder / "out.mp4")
        self.assertAlmostEqual(seconds["video"], seconds["audio"], delta=1)
        self.assertLess(max(steps(self.folder / "out.mp4")), 2)

    def test_a_device_of_a_mix_that_is_gone_is_told(self):
        server = rig.SoundServer(self, self.folder)
        run = self.record("--video", CHART, "--audio", "pulse:monitor", "--audio", "test", env=server.environment.items())
        run.wait_for(lambda now: now["frames"] > 60, "two seconds")
        server.program.kill()
        run.wait_for(lambda now: now["inputs"][1]["error"], "the loss")
        self.assertIn("pulse:monitor", run.latest()["inputs"][1]["error"])
        rig.wait_until(lambda: "pulse:monitor is gone, and waited for" in run.errors, "the warning")
        self.assertNotIn("test is gone", run.errors)
        server.program.start()
        run.wait_for(lambda now: not now["inputs"][1]["error"], "the sound server")
        frames = run.latest()["frames"]
        run.wait_for(lambda now: now["frames"] > frames + 60, "two seconds with it")
        document = run.end()
        self.assertEqual(document["inputs"][1]["losses"], 1)
        # The other device has gone on.
        offsets = rig.offsets(self.folder / "out.mp4")
        self.assertLess(max(abs(offset + 0.0167) for offset in offsets), 0.06, offsets)

    def test_sound_without_pictures(self):
        screen = rig.Screen(self)
        server, port = rig.Nginx(self, self.folder), rig.free_port()
        recording = self.record("--video", f"x11:{screen.name}", "--audio", "test")
        run = self.stream("--video", f"x11:{screen.name}", "--audio", "test", "--to", server.url(),
                          "--to", f"udp://127.0.0.1:{port}")
        for one in (recording, run):
            one.wait_for(lambda now: now["frames"] > 60, "two seconds")
        screen.kill()
        for one in (recording, run):
            one.wait_for(lambda now: now["inputs"][0]["error"], "the loss")
        sent = run.latest()["outputs"][0]["sentAudio"]
        run.wait_for(lambda now: now["outputs"][0]["sentAudio"] > sent + 300, "six seconds of sound")
        document, recorded = run.end(), recording.end()
        self.assertGreater(document["repeated"], 5)
        for output in document["outputs"]:
            self.assertEqual((output["reconnects"], sum(output["droppedFrames"].values())), (0, 0), output)
        (received,) = server.recordings()
        path = self.folder / "out.mp4"
        for one in (received, path):
            self.assertEqual(rig.decode_errors(one), "")
            beeps = rig.beeps(one)
            self.assertTrue(all(abs(after - before - 1) < 0.05 for before, after in zip(beeps, beeps[1:])), beeps)
        self.assertGreater(self.seconds(path)["audio"], 7)
        self.assertEqual(recorded["inputs"][0]["losses"], 1)


class Fickle:
    """A server of RTMP that is slow, or closes each connection after another part of the handshake."""

    #: Versions and times of both sides, and the copy (RTMP specification 5.2).
    C0C1, C2 = 1 + 1536, 1536

    def __init__(self, test, stages=(), pause=0.0, target=None):
        """stages: how many bytes are read of a connection before it is closed, the last number for all later ones;
        pause: how long it takes to pass on each piece to the target."""
        self.stages, self.pause, self.target = list(stages), pause, target
        self.count = 0
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()
        test.addCleanup(self.socket.close)

    def _accept(self):
        while True:
            try:
                client, _ = self.socket.accept()
            except OSError:
                return
            work = self._pass if self.target else self._close
            threading.Thread(target=work, args=(client, self.count), daemon=True).start()
            self.count += 1

    def _close(self, client, number):
        wanted = self.stages[min(number, len(self.stages) - 1)]
        with client:
            try:
                read = self._read(client, min(wanted, self.C0C1))
                if wanted >= self.C0C1:
                    # S0, S1 and S2.
                    client.sendall(b"\x03" + bytes(1536) + read[1:])
                    self._read(client, wanted - self.C0C1)
            except OSError:
                pass

    @staticmethod
    def _read(client, count):
        data = b""
        while len(data) < count:
            piece = client.recv(count - len(data))
            if not piece:
                raise OSError("closed")
            data += piece
        return data

    def _pass(self, client, _):
        server = socket.create_connection(("127.0.0.1", self.target))

        def copy(source, target, pause):
            try:
                while True:
                    piece = source.recv(65536)
                    time.sleep(pause if len(piece) < 8192 else 0)
                    if not piece:
                        return target.shutdown(socket.SHUT_WR)
                    target.sendall(piece)
            except OSError:
                return None
        threading.Thread(target=copy, args=(client, server, 0), daemon=True).start()
        threading.Thread(target=copy, args=(server, client, self.pause), daemon=True).start()


class Servers(Faults):
    """Servers that close or answer slowly, and name servers that do not answer, hold nobody up."""

    def good(self, document):
        """The other output lost nothing."""
        output = document["outputs"][0]
        self.assertEqual(output["sentFrames"], document["encodedFrames"])
        self.assertEqual((output["reconnects"], sum(output["droppedFrames"].values())), (0, 0), output)

    def test_a_server_that_closes_at_each_stage(self):
        stages = [0, 1, 1000, Fickle.C0C1, Fickle.C0C1 + 1, Fickle.C0C1 + Fickle.C2, Fickle.C0C1 + Fickle.C2 + 1,
                  Fickle.C0C1 + Fickle.C2 + 100]
        server, fickle = rig.Nginx(self, self.folder), Fickle(self, stages)
        run = self.stream("--video", CHART, "--to", server.url(), "--to", f"rtmp://127.0.0.1:{fickle.port}/live/key")
        run.wait_for(lambda now: now["outputs"][1]["state"] == "failed", "the end of patience")
        self.assertGreaterEqual(fickle.count, len(stages))
        self.assertTrue(run.latest()["outputs"][1]["error"])
        frames = run.latest()["frames"]
        run.wait_for(lambda now: now["frames"] > frames + 30, "pictures after that")
        document = run.end()
        self.good(document)
        self.assertEqual(document["outputs"][1]["sentFrames"], 0)
        self.assertIn("has given up", run.errors)

    def test_a_server_that_answers_slowly(self):
        server = rig.Nginx(self, self.folder)
        slow = Fickle(self, pause=1.0, target=server.port)
        run = self.stream("--video", CHART, "--to", f"rtmp://127.0.0.1:{slow.port}/live/key")
        run.wait_for(lambda now: now["outputs"][0]["sentFrames"] >= 90, "pictures")
        self.assertEqual(run.end()["outputs"][0]["reconnects"], 0)
        (path,) = server.recordings()
        self.assertEqual(rig.decode_errors(path), "")

    def resolver(self):
        """A name server that tests control, and the file with its answer for names that end with .told."""
        answer = self.folder / "answer"
        library = rig.preloaded(self, "resolver", compiler())
        return answer, {"LD_PRELOAD": str(library), "REFERENCE_RESOLVER": str(answer)}.items()

    @staticmethod
    def tell(answer, address, what):
        """Changes an answer, and waits until it was given twice."""
        before = rig.lines(f"{answer}.asked")
        answer.write_text(address)
        rig.wait_until(lambda: rig.lines(f"{answer}.asked")[len(before):].count(address) >= 2, what)

    def test_a_name_server_that_tells_something_wrong_for_a_while(self):
        answer, environment = self.resolver()
        server = rig.Nginx(self, self.folder)
        answer.write_text("127.0.0.1")
        run = self.stream("--video", CHART, "--public-addresses", "--allow-address", "127.0.0.0/8",
                          "--to", f"rtmp://server.told:{server.port}/live/key", env=environment)
        # A connection counts as kept after two seconds.
        run.wait_for(lambda now: now["outputs"][0]["sentFrames"] >= 90, "pictures")
        answer.write_text("10.9.9.9")
        server.program.kill()
        run.wait_for(lambda now: "not public" in (now["outputs"][0]["error"] or ""), "the wrong answer")
        server.restart()
        self.tell(answer, "10.9.9.9", "further attempts")
        self.tell(answer, "", "attempts without any answer")
        answer.write_text("127.0.0.1")
        run.wait_for(lambda now: now["outputs"][0]["state"] == "live", "the right answer")
        self.assertEqual(run.end()["status"], "done")

    def test_a_name_server_that_tells_something_wrong_of_an_input(self):
        answer, environment = self.resolver()
        port = rig.free_port()

        def send():
            return rig.Program(self, "ffmpeg", "-v", "error", "-re", "-f", "lavfi", "-i",
                               "testsrc2=size=160x120:rate=25", "-c:v", "libx264", "-preset", "ultrafast", "-g", "10",
                               "-f", "mpegts", f"srt://127.0.0.1:{port}?mode=listener")

        answer.write_text("127.0.0.1")
        sender = send()
        run = self.stream("--video", f"url:srt://sender.told:{port}", "--public-addresses", "--allow-address",
                          "127.0.0.0/8", "--to", f"hls:{self.folder / 'show'}", env=environment)
        run.wait_for(lambda now: now["inputs"][0]["pictures"] > 10, "pictures")
        answer.write_text("10.9.9.9")
        sender.kill()
        run.wait_for(lambda now: now["inputs"][0]["error"], "the loss")
        send()
        self.tell(answer, "10.9.9.9", "further attempts")
        self.tell(answer, "", "attempts without any answer")
        pictures = run.latest()["inputs"][0]["pictures"]
        answer.write_text("127.0.0.1")
        run.wait_for(lambda now: now["inputs"][0]["pictures"] > pictures + 10, "pictures after the right answer")
        self.assertEqual(run.end()["status"], "done")

    def test_a_name_server_that_tells_something_wrong_at_the_start(self):
        answer, environment = self.resolver()
        answer.write_text("10.9.9.9")
        for arguments in (["--video", "test", "--to", "rtmp://server.told/live/key"],
                          ["--video", "url:srt://sender.told:9000", "--to", f"hls:{self.folder / 'show'}"]):
            _, errors = rig.refused("stream", *arguments, "--public-addresses", env=environment)
            self.assertIn("is not public", errors)

    def test_a_name_server_that_never_answers(self):
        _, environment = self.resolver()
        server = rig.Nginx(self, self.folder)
        run = self.stream("--video", CHART, "--to", server.url(), "--to", "rtmp://server.hangs/live/key",
                          "--to", "srt://server.hangs:9000", "--to", "udp://server.hangs:9000", env=environment)
        run.wait_for(lambda now: all(output["error"] and "not resolved" in output["error"] for output in now["outputs"][1:]),
                     "the deadline of the look-ups")
        document = run.end()
        self.good(document)
        for output in document["outputs"][1:]:
            self.assertEqual(output["sentFrames"], 0)
        status, errors = rig.refused("stream", *LIVE, "--video", CHART, "--to", "rtmp://server.hangs/live/key",
                                     env=environment)
        self.assertEqual(status, 1)
        self.assertIn("not resolved", errors)


class Keys(Faults):
    def test_one_interrupt_after_the_key_q_discards(self):
        # An encoder that is still busy when the interrupt comes.
        terminal = rig.Terminal(self, "record", "--video", "test,size=3840x2160,rate=30", "--codec", "hevc", "--preset",
                                "placebo", "--b-frames", "auto", "-o", self.folder / "out.mp4")
        terminal.wait_for("recording")
        rig.wait_until(lambda: os.listdir(self.folder.path), "the file")
        terminal.press("q")
        terminal.wait_for("interrupt again to exit at once")
        terminal.press("\x03")
        status, shown = terminal.result()
        self.assertEqual(status, 130, shown)
        self.assertEqual(os.listdir(self.folder.path), [])


if __name__ == "__main__":
    unittest.main()
