# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of the judge of recordings: python3 -m unittest discover -s Tests/Streaming/live"""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import good_live  # noqa: E402
import live_counterexamples  # noqa: E402
import live_rules  # noqa: E402
from live_recording import Recording  # noqa: E402

live_rules.load()


def check(*arguments):
    return subprocess.run([sys.executable, str(HERE / "check_live.py"), *map(str, arguments)], capture_output=True,
                          text=True)


class JudgeTests(unittest.TestCase):
    def test_every_fault_is_caught_by_its_rule_alone(self):
        self.assertEqual(live_counterexamples.self_test(), [])

    def test_a_good_recording_breaks_no_must_rule(self):
        for entries in (good_live.entries(), good_live.plain_entries()):
            findings = live_rules.judge(Recording(entries))
            self.assertEqual([str(one) for one in findings if one.rule.level == live_rules.MUST], [])

    def test_a_stored_recording_is_judged_by_the_command(self):
        with tempfile.TemporaryDirectory() as name:
            good, bad = Path(name) / "good", Path(name) / "bad"
            good_live.recording().store(good)
            ended = check(good)
            self.assertEqual((ended.returncode, ended.stderr), (0, ""), ended.stdout)
            self.assertIn("2 playlists, 146 versions", ended.stdout)
            self.assertEqual(check("--strict", good).returncode, 1)
            entries = good_live.copies(good_live.entries())
            live_counterexamples.swap("PART-HOLD-BACK=3.0", "PART-HOLD-BACK=2.0")(entries)
            Recording(entries).store(bad)
            ended = check(good, bad)
            self.assertEqual(ended.returncode, 1)
            self.assertIn("bad: error: rule A14.3: /live/720p/index.m3u8", ended.stdout)

    def test_no_recording_is_an_error(self):
        with tempfile.TemporaryDirectory() as name:
            self.assertIn("no recording", check(name).stderr)
            for text in ("[]", "{}", '[{"url": "/a.m3u8"}]', "no"):
                (Path(name) / "log.json").write_text(text)
                ended = check(name)
                self.assertEqual(ended.returncode, 1)
                self.assertIn("check_live: ", ended.stderr)
                self.assertNotIn("Traceback", ended.stderr)

    def test_the_table_lists_all_rules(self):
        ended = check("--rules")
        self.assertEqual(ended.returncode, 0)
        for number in live_rules.RULES:
            self.assertIn(f"| {number} |", ended.stdout)


if __name__ == "__main__":
    unittest.main()
