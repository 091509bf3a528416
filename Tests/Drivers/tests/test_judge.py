#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The runner itself: it accepts what is right, and notices each thing that may be wrong."""

import json
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

DRIVERS = Path(__file__).resolve().parent.parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(DRIVERS))

from runner import allow, journal, launch, mutation, session, table, verdict  # noqa: E402
from runner.commands import ffmpeg_command, make_source  # noqa: E402
from runner.media import has_openh264, raw_md5s, source_md5s  # noqa: E402
from runner.places import Problem, build, client_environment  # noqa: E402
from runner.waiting import wait_until  # noqa: E402

ROW = table.Row("ffmpeg", "intel", "cqp", "2", "cabac", 1, (64, 64), "high")


def judge(*words, environment=None):
    return subprocess.run([DRIVERS / "judge", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=60, env=environment)


class CommandLineTest(unittest.TestCase):
    """What cannot be used ends with status 2 and one sentence."""

    def refused(self, sentence, *words):
        outcome = judge(*words)
        self.assertEqual(outcome.returncode, 2, outcome)
        self.assertIn(sentence, outcome.stderr)
        self.assertEqual(outcome.stdout, "")

    def test_no_client(self):
        self.refused("a client is needed after --")
        self.refused("a client is needed after --", "--fake", "--")

    def test_options(self):
        self.refused("is no number of seconds", "--timeout", "soon", "--", "true")
        self.refused("is not WIDTHxHEIGHT", "--source-size", "64", "--", "true")
        self.refused("invalid choice", "--persona", "nvidia", "--", "true")
        self.refused("not allowed with argument", "--real", "--fake", "--", "true")

    def test_output_is_needed(self):
        self.refused("say it with --output", "--fake", "--", "true")

    def test_files(self):
        self.refused("no such source", "--fake", "--source", "absent.y4m", "--", "true", "x.h264")
        self.refused("absent.txt", "--fake", "--allow", "absent.txt", "--", "true", "x.h264")
        self.refused("no-such-client", "--fake", "--", "no-such-client", "x.h264")

    def test_real_device(self):
        self.refused("belong to the reference driver" if session.real_device() else "no render node",
                     "--real", "--persona", "amd", "--", "true", "x.h264")


@unittest.skipUnless(shutil.which("ffmpeg"), "ffmpeg is not installed")
class VerdictTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = Path(cls.scratch.name)
        cls.source = make_source(cls.folder, (64, 64), 6)
        cls.output = cls.folder / "out.h264"
        build()

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def verdict(self, *options, command=None, source=None):
        outcome = judge("--fake", "--json", "--source", source or self.source, *options, "--",
                        *(command or ffmpeg_command(ROW, self.source, self.output)))
        self.assertIn(outcome.returncode, (0, 1), outcome)
        result = json.loads(outcome.stdout)
        self.assertEqual(result["good"], outcome.returncode == 0)
        return result

    def test_all_is_well(self):
        second = has_openh264()
        result = self.verdict(*(["--second-decoder"] if second else []))
        self.assertTrue(result["good"], result)
        self.assertEqual((result["frames"], result["bit_exact"], result["source"]), (6, [6, 6], [6, 6]))
        if second:
            self.assertTrue(result["second_decoder"]["agrees"])

    def test_one_line(self):
        outcome = judge("--fake", "--source", self.source, "--", *ffmpeg_command(ROW, self.source, self.output))
        self.assertEqual(outcome.returncode, 0, outcome)
        self.assertRegex(outcome.stdout, r"^ffmpeg, frames 6, decodes yes, bit-exact 6/6, source 6/6, findings none.*, "
                                         r"leaks none\n$")

    def test_containers(self):
        for suffix in ("mp4", "ts", "mkv"):
            with self.subTest(suffix):
                output = self.folder / f"out.{suffix}"
                self.assertTrue(self.verdict(command=ffmpeg_command(ROW, self.source, output))["good"])

    def test_another_source(self):
        other = self.folder / "other.y4m"
        subprocess.run(["ffmpeg", "-v", "error", "-y", "-i", self.source, "-vf", "hflip", other], check=True)
        result = self.verdict(source=other)
        self.assertFalse(result["good"])
        self.assertEqual((result["bit_exact"], result["source"]), ([6, 6], [0, 6]))

    def test_skipped_effort(self):
        result = self.verdict("--effort", "skip")
        self.assertTrue(result["good"], result)
        self.assertEqual((result["frames"], result["bit_exact"]), (6, None))
        result = self.verdict("--effort", "skip", source=make_source(self.folder, (64, 64), 7), command=ffmpeg_command(
            ROW, self.source, self.output))
        self.assertEqual((result["good"], result["problems"]), (False, ["7 frames were sent"]))

    def test_real_device(self):
        """The fake node and the reference driver stand for the machine's own."""
        def real(source, *options):
            outcome = judge("--real", "--json", "--source", source, *options, "--",
                            *ffmpeg_command(ROW, self.source, self.output), environment=client_environment(build()))
            self.assertIn(outcome.returncode, (0, 1), outcome)
            return json.loads(outcome.stdout)

        result = real(self.source)
        self.assertTrue(result["good"], result)
        self.assertEqual((result["frames"], result["device"]), (6, "/dev/dri/renderD128"))
        self.assertGreater(result["psnr"], 35)
        self.assertEqual(real(self.source, "--least-psnr", "90")["problems"], ["PSNR below 90 dB"])
        self.assertEqual(real(make_source(self.folder, (64, 64), 7))["problems"], ["7 frames were sent"])

    def damaged(self, script):
        """The client's output, changed by a Python expression on its bytes `data`."""
        wrapper = self.folder / "client.py"
        wrapper.write_text(f"import subprocess, sys\nsubprocess.run(sys.argv[2:], check=True)\n"
                           f"data = bytearray(open(sys.argv[1], 'rb').read())\n{script}\n"
                           f"open(sys.argv[1], 'wb').write(data)\n")
        return self.verdict("--output", self.output, "--client", "ffmpeg", command=[
            sys.executable, "-B", str(wrapper), str(self.output), *ffmpeg_command(ROW, self.source, self.output)])

    def test_undamaged(self):
        self.assertTrue(self.damaged("pass")["good"])

    def test_damaged_slice(self):
        result = self.damaged("data[len(data) // 2] ^= 0x55")
        self.assertFalse(result["good"])

    def test_missing_picture(self):
        result = self.damaged("data = data[:data.rfind(b'\\0\\0\\1')]")
        self.assertFalse(result["good"])
        self.assertLess(result["bit_exact"][0], result["bit_exact"][1])

    def test_stale_output_does_not_count(self):
        self.output.write_bytes(b"from an earlier run")
        result = self.verdict(command=["true", str(self.output)])
        self.assertFalse(result["good"])
        self.assertRegex(" ".join(result["problems"]), "no output")

    def test_allow_list_is_what_excuses(self):
        empty = self.folder / "empty.txt"
        empty.write_text("# nothing\n")
        result = self.verdict("--allow", empty)
        self.assertTrue(result["findings"], "ffmpeg's known findings")
        self.assertEqual((result["excused"], result["good"]), (0, False))

    def test_deadline_kills_the_whole_group(self):
        left = self.folder / "left"
        script = f"sleep 100 & echo $! > {left}; sleep 100"
        start = time.monotonic()
        result = self.verdict("--timeout", "0.5", command=["sh", "-c", script, "x", str(self.output)])
        self.assertLess(time.monotonic() - start, 20)
        self.assertTrue(result["timed_out"])
        self.assert_gone(int(left.read_text()))

    def test_terminating_judge_kills_the_client(self):
        left = self.folder / "left-by-judge"
        process = subprocess.Popen([DRIVERS / "judge", "--fake", "--output", self.output, "--", "sh", "-c",
                                    f"echo $$ > {left}; exec sleep 100"], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        self.assertTrue(wait_until(lambda: left.exists() and left.read_text().strip()))
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(20), 128 + signal.SIGTERM)
        self.assert_gone(int(left.read_text()))

    def assert_gone(self, process):
        def is_gone():
            try:
                return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
            except (FileNotFoundError, ProcessLookupError):
                return True
        self.assertTrue(wait_until(is_gone), f"process {process} is still there")


class PartsTest(unittest.TestCase):
    def test_presentation_order(self):
        def picture(poc, idr=False, context=1):
            return journal.Picture(context, 0, poc, idr, f"{context}:{poc}", "")

        kept = journal.Journal(pictures=[picture(0, True), picture(6), picture(2), picture(0, True), picture(8),
                                         picture(4), picture(0, True, 2)])
        self.assertEqual([picture.poc for picture in kept.in_presentation_order()], [0, 2, 6, 0, 4, 8, 0])

    @unittest.skipUnless(shutil.which("ffmpeg"), "ffmpeg is not installed")
    def test_raw_rows_and_y4m_give_the_same_sums(self):
        with tempfile.TemporaryDirectory() as folder:
            source = make_source(folder, (66, 34), 2)
            raw = Path(folder) / "raw.nv12"
            subprocess.run(["ffmpeg", "-v", "error", "-i", source, "-pix_fmt", "nv12", "-f", "rawvideo", raw],
                           check=True)
            self.assertEqual(source_md5s(source), source_md5s(raw, (66, 34)))
            padded = Path(folder) / "padded.nv12"
            data, rows = raw.read_bytes(), []
            rows = [data[i:i + 66] + b"??" for i in range(0, len(data), 66)]
            padded.write_bytes(b"".join(rows))
            self.assertEqual(source_md5s(source), raw_md5s(padded, 66, 34, stride=4))

    def test_entries_of_a_version_are_for_that_version_only(self):
        with mock.patch.object(allow, "ffmpeg_version", return_value=5):
            self.assertTrue(allow.is_client("ffmpeg", "ffmpeg"))
            self.assertFalse(allow.is_client("ffmpeg>=6", "ffmpeg"))
        with mock.patch.object(allow, "ffmpeg_version", return_value=7):
            self.assertTrue(allow.is_client("ffmpeg>=6", "ffmpeg"))
            self.assertFalse(allow.is_client("ffmpeg>=6", "gstreamer-va"))

    def test_displays_that_are_never_terminated(self):
        def problems(text, **ended):
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "journal"
                path.write_text(text)
                outcome = verdict.Verdict("x", launch.Ended(**{"status": 0, "timed_out": False, "output": "",
                                                               "seconds": 0, **ended}))
                session.read_verdict(outcome, journal.read_journal(path), session.Request(["x"]))
                return outcome.problems

        begun, ended = ('{"kind":"%s","process":%d}\n' % (kind, process) for kind, process in (
            ("initialise", 1), ("terminate", 1)))
        other = begun.replace("1", "2")
        self.assertEqual(problems(begun + ended + begun + ended), [])
        self.assertEqual(problems(begun + begun + ended), ["1 displays never terminated"])
        self.assertEqual(problems(begun + other + ended), ["1 displays never terminated"])
        self.assertEqual(problems(begun, status=-signal.SIGSEGV), [])
        self.assertEqual(problems(begun, timed_out=True), [])
        self.assertEqual(problems(begun + '{"kind":"fault"}\n'), [])

    def test_pairwise_sample_has_every_pair(self):
        for codec, dimensions in table.DIMENSIONS.items():
            rows = table.all_rows(dimensions["client"], codec)
            for seed in range(3):
                sample = table.pairwise(rows, seed)
                self.assertEqual(set().union(*map(table.pairs_of, sample)), set().union(*map(table.pairs_of, rows)))
                self.assertLess(len(sample), 60)
                self.assertEqual(sample, table.pairwise(rows, seed))

    def test_allow_list(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "allow.txt"
            path.write_text("# comment\nname | ffm* | H.264 7.4.3 | value \\d+ | because\n")
            entries = allow.read_allow_list(path)
            findings = [journal.Finding(name, clause, detail, 1, 2, None) for name, clause, detail in (
                ("name", "H.264 7.4.3", "value 12"), ("name", "H.264 7.4.3", "value 12 and more"),
                ("name", "H.264 7.4.2", "value 12"), ("other", "H.264 7.4.3", "value 12"))]
            excused, rest = allow.split_findings(entries, "ffmpeg", findings)
            self.assertEqual((excused, rest, entries[0].uses), (findings[:1], findings[1:], 1))
            self.assertEqual(allow.split_findings(entries, "gstreamer", findings)[1], findings)
            for text in ("name | ffmpeg | clause\n", "a | b | c | ( | e\n", "a | b | c | d | e\na | b | c | d | f\n"):
                path.write_text(text)
                self.assertRaises(Problem, allow.read_allow_list, path)

    def test_harmless_patterns(self):
        self.assertTrue(mutation.matches("slice.RefPicList0[*].flags=*", "slice.RefPicList0[3].flags=invalid"))
        self.assertFalse(mutation.matches("slice.RefPicList0[*].flags=*", "slice.RefPicList1[3].flags=invalid"))
        self.assertFalse(mutation.matches("a.b", "axb"))
        self.assertTrue(mutation.matches("a.{b,c-d}=*", "a.c-d=1"))
        self.assertFalse(mutation.matches("a.{b,c-d}", "a.b,c-d"))
        self.assertTrue(mutation.read_harmless() is not None)


if __name__ == "__main__":
    unittest.main(verbosity=2)
