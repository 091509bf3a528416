# SPDX-License-Identifier: GPL-2.0-or-later
"""Screens of a real PipeWire server, whose pictures go to a GPU's encoder in DMA-BUFs.

The GPU is the simulated render node with the reference driver (Tests/Drivers). Memory files stand in for DMA-BUFs: few
kernels of test machines have an exporter."""

import os
import signal
import subprocess
import sys
import unittest

import rig

sys.path.insert(0, str(rig.ROOT / "Tests/Drivers"))
from runner.journal import read_journal  # noqa: E402
from runner.places import build, client_environment  # noqa: E402

SIZE = (1920, 1080)
#: The sides of the squares that show a bit each (Tests/CaptureTests/PipeWire/Producer).
SQUARE, BITS = 32, 16


class DMABufs(unittest.TestCase):
    def setUp(self):
        self.folder = rig.Folder(self)
        self.server = rig.PipeWire(self, self.folder)
        self.output = self.folder / "out.mkv"

    def source(self, *settings, size=SIZE, rate=60):
        return self.server.source("memory=dmabuf", "modifiers=0x100000000000001,0", f"size={size[0]}x{size[1]}",
                                  f"rate={rate}", *settings)

    def record(self, source, *arguments, **driver):
        """Starts a recording, on a machine with the reference driver unless `driver` is `node=None`."""
        environment = {"PIPEWIRE_REMOTE": f"{self.server.folder}/pipewire-0",
                       "RENDER_NODES_VANISH_FILE": str(self.folder / "no GPU")}
        if driver.get("node", "generic"):
            journal = self.folder / "journal"
            environment = client_environment(build(), journal=journal, extra=environment, **driver)
        return rig.Run(self, "record", "--video", f"pipewire:{source.node}", "-o", self.output, *arguments,
                       env=environment.items())

    def journal(self):
        return read_journal(self.folder / "journal")

    def check_file(self, source, document, reads=True):
        """The pictures of the file are those of the source, in order, at their times; gaps were counted as lost."""
        self.assertEqual(rig.decode_errors(self.output), "")
        video = rig.stream(rig.probe(self.output), "video")
        self.assertEqual((video["width"], video["height"], int(video["nb_read_frames"])),
                         (*self.size_of(source), document["frames"]))
        times = [float(packet["pts_time"]) for packet in self.packets()]
        if not reads:
            return times
        numbers = self.numbers()
        self.assertEqual(len(numbers), len(times))
        self.assertEqual(numbers, sorted(set(numbers)))
        gaps = numbers[-1] - numbers[0] + 1 - len(numbers)
        self.assertLessEqual(gaps, sum(document["lost"].values()))
        start = source.times[numbers[0]]
        for number, time in zip(numbers, times):
            # Matroska has milliseconds.
            self.assertAlmostEqual(time - times[0], source.times[number] - start, delta=0.0021, msg=number)
        return times

    def size_of(self, source):
        return next(tuple(map(int, word[5:].split("x"))) for word in source.program.command if word.startswith("size="))

    def packets(self):
        command = ["ffprobe", "-v", "error", "-select_streams", "v", "-show_entries", "packet=pts_time", "-of", "csv=p=0",
                   str(self.output)]
        lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
        return [{"pts_time": time} for time in sorted((line.strip(",") for line in lines), key=float)]

    def numbers(self):
        """The number that each picture of the file shows."""
        area = f"crop={SQUARE * BITS}:{SQUARE}:0:0,scale={BITS}:1:flags=area,format=gray"
        command = ["ffmpeg", "-v", "error", "-i", str(self.output), "-vf", area, "-f", "rawvideo", "-fps_mode",
                   "passthrough", "-"]
        data = subprocess.run(command, check=True, capture_output=True, stdin=subprocess.DEVNULL).stdout
        pictures = [data[place:place + BITS] for place in range(0, len(data), BITS)]
        return [sum((level > 128) << (BITS - 1 - bit) for bit, level in enumerate(picture)) for picture in pictures]

    def check_no_copy(self, document):
        """Neither the program nor the driver has seen a CPU touch a picture."""
        frames = document["frames"]
        self.assertEqual(document["copied"], {"device": 0, "encoder": 0})
        self.assertEqual(document["inputs"][0]["memory"], "dma-buf")
        self.assertEqual(document["converted"]["cpu"], 0)
        journal = self.journal()
        self.assertEqual([str(finding) for finding in journal.findings], [])
        conversions = [entry for entry in journal.entries if entry["kind"] == "conversion"]
        imported = [entry for entry in conversions if entry["imported"]]
        self.assertEqual(len(imported), frames)
        self.assertEqual({(entry["source_format"], *entry["source_size"]) for entry in imported}, {("bgrx", *SIZE)})
        # The CPU draws test cards, and reads the results. It has not touched the memory of the source.
        accesses = [entry for entry in journal.entries if entry["kind"] == "access"]
        self.assertEqual([entry for entry in accesses if entry["imported"]], [])
        last = max(journal.entries.index(entry) for entry in accesses) if accesses else 0
        first = journal.entries.index(imported[0])
        self.assertLess(last, first)
        return len(accesses)

    def test_60_pictures_a_second_reach_the_encoder_without_a_copy(self):
        source = self.source()
        document = self.record(source, "--require-hardware", "--duration", "3", effort="skip").result()
        times = self.check_file(source, document, reads=False)
        accesses = self.check_no_copy(document)
        lost = sum(document["lost"].values())
        print(f"pipewire: {document['frames']} pictures of 1920x1080 in {times[-1] - times[0]:.2f} s, lost "
              f"{document['lost']}, copied {document['copied']}, {accesses} accesses of the CPU to test cards")
        self.assertEqual(source.formats, ["BGRx dmabuf"])
        # The times are those of the source, from one of its pictures on; those that are missing were counted.
        stated = source.times
        def distance(time):
            return min(abs(other - time) for other in stated.values())
        start = min(stated, key=lambda number: sum(distance(stated[number] + time - times[0]) for time in times))
        for time in times:
            self.assertLess(distance(stated[start] + time - times[0]), 0.0021)
        end = min(stated, key=lambda number: abs(stated[number] - stated[start] - (times[-1] - times[0])))
        self.assertLessEqual(end - start + 1 - document["frames"], lost)
        if os.environ.get("VATOOLBOX_STRICT"):
            self.assertGreaterEqual(document["frames"], 160)

    def test_the_file_shows_the_pictures_of_the_source(self):
        source = self.source(rate=10)
        document = self.record(source, "--require-hardware", "--duration", "3").result()
        self.check_file(source, document)
        self.check_no_copy(document)
        self.assertGreater(document["frames"], 5)

    def test_a_driver_that_takes_no_such_pictures_gets_them_in_other_memory(self):
        source = self.source("also=sealed", size=(640, 360), rate=30)
        run = self.record(source, limits="video-processing=no", effort="skip")
        run.wait_for(lambda now: now["inputs"][0]["memory"] == "ordinary" and now["frames"] > 30, "other memory")
        document = run.end()
        self.check_file(source, document, reads=False)
        self.assertEqual(source.formats, ["BGRx dmabuf", "BGRx memory"])
        self.assertIsNotNone(document["encoder"]["device"])
        self.assertGreater(document["converted"]["cpu"], 8)
        self.assertEqual(document["inputs"][0]["losses"], 0)

    def test_after_a_gpu_fails_the_cpu_gets_other_memory(self):
        source = self.source("also=sealed", size=(640, 360), rate=20)
        run = self.record(source, "--preset", "ultrafast", "--codec", "h264")
        before = run.wait_for(lambda now: now["frames"] > 20, "pictures")
        self.assertEqual((before["encoder"]["device"], before["inputs"][0]["memory"]), ("/dev/dri/renderD128", "dma-buf"))
        (self.folder / "no GPU").touch()
        for helper in rig.children(run.process.pid, "vatoolbox-helpe"):
            os.kill(helper, signal.SIGKILL)
        run.wait_for(lambda now: now["encoder"]["device"] is None and now["inputs"][0]["memory"] == "ordinary"
                     and now["frames"] > before["frames"] + 40, "the other encoder")
        document = run.end()
        self.check_file(source, document)
        self.assertEqual(source.formats, ["BGRx dmabuf", "BGRx memory"])

    def test_an_encoder_that_stands_still_holds_up_nothing(self):
        source = self.source(size=(640, 360), rate=30)
        run = self.record(source, "--require-hardware")
        run.wait_for(lambda now: now["frames"] > 20, "pictures")
        helpers = rig.children(run.process.pid, "vatoolbox-helpe")
        for helper in helpers:
            os.kill(helper, signal.SIGSTOP)
        stopped = run.latest()
        # The source goes on: its buffers come back although the encoder keeps some.
        run.wait_for(lambda now: now["inputs"][0]["pictures"] > stopped["inputs"][0]["pictures"] + 60, "more pictures")
        for helper in helpers:
            os.kill(helper, signal.SIGCONT)
        waited = run.latest()
        run.wait_for(lambda now: now["frames"] > waited["frames"] + 30, "pictures that are encoded")
        document = run.end()
        self.check_file(source, document)
        self.assertGreater(document["lost"]["encoder"], 10)
        self.assertEqual(document["inputs"][0]["losses"], 0)

    def test_without_a_gpu_there_are_no_dma_bufs(self):
        for arguments, driver in [((), {"node": None}), (("--device", "software"), {})]:
            with self.subTest(driver=driver):
                source = self.source("also=sealed", size=(640, 360), rate=30)
                document = self.record(source, "--preset", "ultrafast", "--overwrite", "--duration", "1.5", *arguments,
                                       **driver).result()
                self.check_file(source, document)
                self.assertEqual(source.formats, ["BGRx memory"])
                self.assertEqual(document["inputs"][0]["memory"], "ordinary")

    def test_a_source_that_has_nothing_else_is_explained(self):
        source = self.source(size=(640, 360), rate=30)
        environment = {"PIPEWIRE_REMOTE": f"{self.server.folder}/pipewire-0"}
        _, errors = rig.refused("record", "--video", f"pipewire:{source.node}", "-o", self.output, env=environment.items())
        self.assertIn("DMA-BUF", errors)
        self.assertFalse(self.output.exists())


if __name__ == "__main__":
    unittest.main()
