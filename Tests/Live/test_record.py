# SPDX-License-Identifier: GPL-2.0-or-later
"""vatoolbox record, with the test chart and the test tone."""

import os
import pty
import signal
import termios
import unittest

import rig

CHART = "test,size=320x240,rate=30"


class Record(unittest.TestCase):
    def setUp(self):
        self.folder = rig.Folder(self)

    def record(self, *arguments, name="out.mp4", **more):
        return rig.Run(self, "record", "--preset", "ultrafast", "-o", self.folder / name, *arguments, **more)

    def test_pictures_and_sound_are_in_step(self):
        run = self.record("--video", CHART, "--audio", "test", "--duration", "6")
        document = run.result()
        path = self.folder / "out.mp4"
        self.assertEqual(rig.decode_errors(path), "")
        found = rig.probe(path)
        self.assertEqual((rig.stream(found, "video")["width"], rig.stream(found, "video")["height"]), (320, 240))
        self.assertEqual(int(rig.stream(found, "video")["nb_read_frames"]), document["frames"])
        self.assertAlmostEqual(float(found["format"]["duration"]), 6, delta=0.1)
        offsets = rig.offsets(path)
        self.assertGreaterEqual(len(offsets), 3)
        # A flash is seen with the first picture after it, up to 33 ms later.
        self.assertLess(max(abs(offset + 0.0167) for offset in offsets), 0.037, offsets)

    def test_every_picture_is_kept_with_its_time(self):
        document = self.record("--video", "test,size=160x120,rate=50", "--duration", "4", name="out.mkv").result()
        lost = document["lost"]
        _, times = rig.flashes(self.folder / "out.mkv")
        self.assertEqual(len(times), document["frames"])
        # Those that the machine was too slow for are missing, and nothing else.
        missing = 200 - len(times) - sum(lost.values())
        self.assertLessEqual(abs(missing), 1, (len(times), lost))
        steps = [after - before for before, after in zip(times, times[1:])]
        self.assertTrue(all(abs(step * 50 - round(step * 50)) < 0.06 for step in steps), steps)

    def test_a_signal_ends_it_well(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number=number):
                run = self.record("--video", CHART, "--audio", "test", "--overwrite")
                run.wait_for(lambda now: now["frames"] > 20, "some pictures")
                document = run.end(number)
                self.assertEqual(document["status"], "done")
                found = rig.probe(self.folder / "out.mp4")
                self.assertEqual(int(rig.stream(found, "video")["nb_read_frames"]), document["frames"])
                self.assertEqual(os.listdir(self.folder.path), ["out.mp4"])

    def test_keys(self):
        path = self.folder / "out.mp4"
        terminal = rig.Terminal(self, "record", "--video", CHART, "--video", "test,size=640x480,rate=30", "--audio", "test",
                                "--preset", "ultrafast", "-o", path)
        terminal.wait_for("recording")
        terminal.press("p")
        terminal.wait_for("paused")
        terminal.press("p")
        terminal.wait_for("recording")
        terminal.press("2")
        terminal.wait_for("640x480")
        terminal.press("q")
        status, shown = terminal.result()
        self.assertEqual(status, 0, shown)
        self.assertIn("output", shown)
        self.assertEqual(rig.decode_errors(path), "")
        # Another input keeps the size of the file.
        self.assertEqual(rig.stream(rig.probe(path), "video")["width"], 320)

    def test_a_pause_is_left_out(self):
        run = self.record("--video", CHART, "--audio", "test")
        run.wait_for(lambda now: now["time"] > 1, "a second")
        run.send(signal.SIGUSR2)
        paused = run.wait_for(lambda now: now["phase"] == "paused", "the pause")
        rig.wait_until(lambda: run.latest()["elapsed"] > paused["elapsed"] + 3, "three seconds")
        run.send(signal.SIGUSR2)
        run.wait_for(lambda now: now["phase"] == "running" and now["time"] > paused["time"] + 2, "two more seconds")
        elapsed = run.latest()["elapsed"]
        run.end()
        path = self.folder / "out.mp4"
        self.assertEqual(rig.decode_errors(path), "")
        lights, times = rig.flashes(path)
        self.assertLess(times[-1], elapsed - 2)
        self.assertLess(max(after - before for before, after in zip(times, times[1:])), 1.5)
        offsets = rig.offsets(path)
        self.assertLess(max(abs(offset + 0.0167) for offset in offsets), 0.06, offsets)

    def test_splitting(self):
        run = self.record("--video", CHART, "--audio", "test", "--split-time", "1.5", "--duration", "5",
                          name="part-{number}.mp4")
        document = run.result()
        self.assertGreaterEqual(len(document["files"]), 3)
        total = 0
        for number, file in enumerate(document["files"], 1):
            self.assertEqual(file["path"], str(self.folder / f"part-{number:03}.mp4"))
            self.assertEqual(rig.decode_errors(file["path"]), "")
            total += int(rig.stream(rig.probe(file["path"]), "video")["nb_read_frames"])
        self.assertEqual(total, document["frames"])

    def test_a_replay_has_the_last_seconds(self):
        run = self.record("--video", CHART, "--audio", "test", "--replay", "4", "--key-interval", "0.5",
                          name="replay-{number}.mp4")
        run.wait_for(lambda now: now["time"] > 6, "six seconds")
        for number in (1, 2):
            run.send(signal.SIGUSR1)
            rig.wait_until(lambda: (self.folder / f"replay-{number:03}.mp4").exists(), "the saved replay")
        run.wait_for(lambda now: now["time"] > 7, "another second")
        document = run.end()
        self.assertEqual([saved["path"] for saved in document["saved"]],
                         [str(self.folder / f"replay-{number:03}.mp4") for number in (1, 2)])
        for saved in document["saved"]:
            self.assertEqual(rig.decode_errors(saved["path"]), "")
            found = rig.probe(saved["path"])
            self.assertTrue(4 <= float(found["format"]["duration"]) < 5.2, found["format"])
            offsets = rig.offsets(saved["path"])
            self.assertLess(max(abs(offset + 0.0167) for offset in offsets), 0.06, offsets)
        self.assertEqual(len(os.listdir(self.folder.path)), 2)

    def test_a_kill_loses_at_most_a_fragment(self):
        run = self.record("--video", CHART, "--audio", "test", "--fragment", "0.5")
        now = run.wait_for(lambda now: now["time"] > 3, "three seconds")
        run.process.kill()
        run.process.wait()
        (left,) = os.listdir(self.folder.path)
        copy = self.folder / "rescued.mp4"
        os.rename(self.folder / left, copy)
        _, times = rig.flashes(copy)
        # A fragment, and what was on its way through the encoder.
        self.assertGreater(times[-1], now["time"] - 0.5 - 0.5)

    def test_sound_alone(self):
        document = self.record("--audio", "test", "--duration", "3", name="out.mp4").result()
        found = rig.probe(self.folder / "out.mp4")
        self.assertEqual([one["codec_type"] for one in found["streams"]], ["audio"])
        self.assertAlmostEqual(float(found["format"]["duration"]), 3, delta=0.1)
        self.assertEqual(document["frames"], 0)
        self.assertGreaterEqual(len(rig.beeps(self.folder / "out.mp4")), 2)

    def test_two_sounds_are_mixed(self):
        self.record("--video", CHART, "--audio", "test,frequency=500,level=-20", "--audio", "test,gain=-6",
                    "--duration", "4").result()
        offsets = rig.offsets(self.folder / "out.mp4")
        self.assertLess(max(abs(offset + 0.0167) for offset in offsets), 0.05, offsets)


class Shell(rig.Terminal):
    """A shell in a terminal of its own: the terminal outlives the commands that the shell runs."""

    def __init__(self, test, *command):
        self.shown = b""
        self.process, self.leader = pty.fork()
        if self.process == 0:
            os.execvpe(command[0], list(map(str, command)), {**os.environ, "TERM": "dumb", "PS1": "ready> "})
        test.addCleanup(self.close)

    def local_flags(self):
        return termios.tcgetattr(self.leader)[3] & (termios.ECHO | termios.ICANON)


class Terminals(unittest.TestCase):
    """Keys, and what is left of the terminal."""

    ALL = termios.ECHO | termios.ICANON

    def setUp(self):
        self.folder = rig.Folder(self)
        self.command = [rig.PROGRAMS / "vatoolbox", "record", "--video", CHART, "--preset", "ultrafast"]

    def test_replays_that_are_being_saved_at_the_end_are_whole(self):
        terminal = rig.Terminal(self, *self.command[1:], "--audio", "test", "--replay", "60", "--key-interval", "0.5",
                                "-o", self.folder / "replay-{number}.mp4")
        terminal.wait_for("recording")
        for _ in range(12):
            terminal.wait_for("fps")
        terminal.press("s" * 20 + "q")
        status, shown = terminal.result()
        self.assertEqual(status, 0, shown)
        names = [f"replay-{number:03}.mp4" for number in range(1, 21)]
        self.assertEqual(sorted(os.listdir(self.folder.path)), names)
        for name in names:
            self.assertEqual(rig.decode_errors(self.folder / name), "")
            self.assertIn(name, shown)
        self.assertGreater(float(rig.probe(self.folder / names[-1])["format"]["duration"]), 2)

    def test_two_interrupts_leave_a_terminal_with_echo(self):
        # The shell reads a line after it, so that the terminal stays open.
        script = 'trap : INT; "$@"; echo "status $?"; read line'
        # An encoder that is still busy when the second interrupt comes.
        shell = Shell(self, "sh", "-c", script, "sh", self.command[0], "record", "--video", "test,size=3840x2160,rate=30",
                      "--codec", "hevc", "--preset", "placebo", "--b-frames", "auto", "-o", self.folder / "out.mp4")
        shell.wait_for("recording")
        rig.wait_until(lambda: shell.local_flags() == 0, "single keys")
        shell.press("\x03")
        shell.wait_for("interrupted")
        shell.press("\x03")
        shell.wait_for("status 130")
        self.assertEqual(shell.local_flags(), self.ALL)
        self.assertEqual(os.listdir(self.folder.path), [])

    def test_a_recording_in_the_background_leaves_the_terminal_alone(self):
        shell = Shell(self, "bash", "--norc", "--noediting", "-i")
        shell.wait_for("ready> ")
        shell.press(" ".join(map(str, [*self.command, "-o", self.folder / "out.mp4"])) + "\n")
        shell.wait_for("recording")
        rig.wait_until(lambda: shell.local_flags() == 0, "single keys")
        shell.press("\x1a")
        shell.wait_for("ready> ")
        shell.press("bg\n")
        shell.wait_for("recording")
        shell.press("echo $((40 + 2))\n")
        shell.wait_for("42")
        for _ in range(4):
            shell.wait_for("recording")
        self.assertEqual(shell.local_flags(), self.ALL)
        shell.press("fg\n")
        rig.wait_until(lambda: shell.local_flags() == 0, "single keys again")
        shell.press("p")
        shell.wait_for("paused")
        shell.press("\x1a")
        shell.wait_for("ready> ")
        shell.press("bg; kill %1; wait %1; echo status $?\n")
        shell.wait_for("status 0")
        self.assertEqual(shell.local_flags(), self.ALL)
        self.assertEqual(rig.decode_errors(self.folder / "out.mp4"), "")


class Warnings(unittest.TestCase):
    def test_a_loss_is_told_without_a_terminal(self):
        folder = rig.Folder(self)
        for index, more in enumerate([[], ["--json"]]):
            with self.subTest(more=more):
                screen = rig.Screen(self)
                name = f"out-{index}.mkv"
                with open(folder / f"log-{index}", "w", encoding="utf-8") as log:
                    program = rig.Program(self, rig.PROGRAMS / "vatoolbox", "record", "--video", f"x11:{screen.name}",
                                          "--preset", "ultrafast", "-o", folder / name, *more, stderr=log)
                rig.wait_until(lambda: any(name in file and not file.startswith("log") for file in os.listdir(folder.path)),
                               "the recording")
                screen.kill()
                rig.wait_until(lambda: "is gone" in (folder / f"log-{index}").read_text(), "the warning")
                program.process.send_signal(signal.SIGINT)
                self.assertEqual(program.process.wait(rig.PATIENCE), 0)
                self.assertEqual((folder / f"log-{index}").read_text().count("is gone"), 1)


class Refusals(unittest.TestCase):
    """Command lines that are not valid leave no file."""

    def setUp(self):
        self.folder = rig.Folder(self)

    def check(self, status, *texts, arguments):
        found, errors = rig.refused("record", *arguments)
        self.assertEqual(found, status, errors)
        for text in texts:
            self.assertIn(text, errors)
        self.assertEqual(os.listdir(self.folder.path), [])

    def test_values(self):
        path = self.folder / "out.mp4"
        for arguments, texts in [
            (["-o", path], ["nothing to record"]),
            (["--video", "vhs:1", "-o", path], ["vhs", "x11"]),
            (["--video", "test,size=0x0", "-o", path], ["size", "0x0"]),
            (["--video", "test,colour=1", "-o", path], ["colour", "size, rate"]),
            (["--video", "", "-o", path], ["device"]),
            (["--audio", "test,gain=loud", "-o", path], ["gain", "loud"]),
            (["--video", "test", "--fragment", "1", "-o", self.folder / "out.mkv"], ["fragment", ".mp4"]),
            (["--video", "test", "--replay", "0.1", "-o", path], ["replay", "0.1"]),
            (["--video", "test", "--replay", "5", "--split-time", "3", "-o", path], ["--replay", "--split-time"]),
            (["--video", "test", "--split-time", "3", "-o", path], ["{number}"]),
            (["--video", "test", "--key-interval", "100", "-o", path], ["--key-interval", "100"]),
            (["--video", "test", "-o", self.folder / "out.avi"], ["avi"]),
        ]:
            with self.subTest(arguments=arguments):
                self.check(2, *texts, arguments=arguments)

    def test_a_device_that_does_not_exist(self):
        self.check(1, "/dev/video99", arguments=["--video", "v4l2:/dev/video99", "-o", self.folder / "out.mp4"])


if __name__ == "__main__":
    unittest.main()
