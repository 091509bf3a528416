# SPDX-License-Identifier: GPL-2.0-or-later
"""vatoolbox devices and vatoolbox play, and their help."""

import json
import os
import subprocess
import unittest

import rig


def run(*arguments, env=()):
    return subprocess.run([str(rig.PROGRAMS / "vatoolbox"), *arguments], capture_output=True, text=True, check=False,
                          stdin=subprocess.DEVNULL, timeout=rig.PATIENCE, env={**os.environ, **dict(env)})


class Devices(unittest.TestCase):
    def test_every_kind_is_listed_or_explained(self):
        done = run("devices", "--json", env={"PULSE_SERVER": "unix:/nonexistent", "DISPLAY": ""}.items())
        self.assertEqual(done.returncode, 0, done.stderr)
        kinds = {one["kind"]: one for one in json.loads(done.stdout)["kinds"]}
        self.assertLessEqual({"v4l2", "x11", "pulse", "alsa", "test"}, set(kinds))
        self.assertIn("DISPLAY", kinds["x11"]["problem"])
        self.assertTrue(kinds["pulse"]["remedies"])
        self.assertEqual(kinds["test"]["devices"][0]["argument"], "test")

    def test_a_screen_and_a_sound_server(self):
        folder = rig.Folder(self)
        screen, server = rig.Screen(self), rig.SoundServer(self, folder)
        done = run("devices", env={**server.environment, "DISPLAY": screen.name}.items())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"x11:{screen.name}", done.stdout)
        self.assertIn("640x480", done.stdout)
        self.assertIn(f"pulse:{server.SINK}.monitor", done.stdout)


class Play(unittest.TestCase):
    def test_the_player_replaces_the_command(self):
        folder = rig.Folder(self)
        fake = folder / "mpv"
        fake.write_text('#!/bin/sh\necho "$@"\nexit 7\n')
        fake.chmod(0o755)
        done = run("play", "film.mp4", env={"PATH": f"{folder.path}:{os.environ['PATH']}"}.items())
        self.assertEqual(done.returncode, 7)
        self.assertTrue(done.stdout.strip().endswith("-- film.mp4"), done.stdout)

    def test_without_a_player(self):
        done = run("play", "film.mp4", env={"PATH": "/nonexistent"}.items())
        self.assertEqual(done.returncode, 1)
        self.assertIn("apt-get install mpv", done.stderr)
        self.assertEqual(run("play", "film.mp4", "--player", "realplayer").returncode, 2)
        self.assertEqual(run("play", "--", "--fullscreen").returncode, 2)


class Help(unittest.TestCase):
    def test_every_command_has_help(self):
        for command in ("devices", "record", "stream", "play"):
            done = run(command, "--help")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("USAGE: vatoolbox", done.stdout)
            # It must be readable on every terminal.
            self.assertTrue(done.stdout.isascii())
            self.assertEqual(run(command, "--no-such-option").returncode, 2)
        self.assertIn("record", run("--help").stdout)


if __name__ == "__main__":
    unittest.main()
