# SPDX-License-Identifier: GPL-2.0-or-later
"""The test page of the server of live HLS in headless Chromium. The title of the page tells what happens."""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

TITLE = re.compile(r"(\w+), ([-\d.]+|NaN) s behind, (\d+) stalls, (\d+) frames, (\d+) dropped, (\d+) jumps, (\d+) errors")


def proportional(process):
    """The proportional set size of a process in bytes: Linux's proc_pid_smaps(5)."""
    text = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="utf-8")
    return int(re.search(r"^Pss:\s+(\d+) kB", text, re.MULTILINE)[1]) << 10


class Page:
    """A browser that shows a page until it is closed."""

    def __init__(self, url):
        self.profile = tempfile.mkdtemp(prefix="hls-page-")
        program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
        command = [program, "--headless=new", "--disable-gpu", "--no-first-run", f"--user-data-dir={self.profile}",
                   "--autoplay-policy=no-user-gesture-required", "--disable-dev-shm-usage", "--mute-audio",
                   "--ignore-certificate-errors", "--remote-debugging-port=0"]
        if os.geteuid() == 0:
            command.append("--no-sandbox")
        environment = {**os.environ, "HOME": self.profile, "XDG_CONFIG_HOME": self.profile,
                       "XDG_CACHE_HOME": self.profile}
        with open(Path(self.profile) / "log", "w", encoding="utf-8") as log:
            self.process = subprocess.Popen([*command, url], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            env=environment, start_new_session=True)
        self.url = url

    def title(self):
        """The title of the page; None while there is none."""
        try:
            port = (Path(self.profile) / "DevToolsActivePort").read_text(encoding="utf-8").split()[0]
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/json", timeout=10) as answer:
                pages = json.load(answer)
        except (OSError, IndexError):
            return None
        return next((page["title"] for page in pages if page["url"].startswith(self.url)), None)

    def told(self):
        """What the title tells, as a dictionary; None until the page plays."""
        title = self.title() or ""
        match = TITLE.match(title)
        if title.startswith("failed"):
            raise AssertionError(title)
        if not match:
            return None
        behind, rest = float(match[2]), [int(number) for number in match.groups()[2:]]
        return {"state": match[1], "behind": behind,
                **dict(zip(("stalls", "frames", "dropped", "jumps", "errors"), rest))}

    def memory(self):
        """The bytes of the processes that show pages, as their share of what they have together with others."""
        total = 0
        for status in Path("/proc").glob("[0-9]*/stat"):
            try:
                group = int(status.read_text(encoding="utf-8").rpartition(")")[2].split()[2])
                if group == self.process.pid and b"--type=renderer" in (status.parent / "cmdline").read_bytes():
                    total += proportional(status.parent.name)
            except (OSError, IndexError):
                continue
        return total

    def watch(self, seconds, limit=60, look=None):
        """Waits until the page plays, then looks at it for a time. Returns all that it has told, with what `look` adds."""
        end = time.monotonic() + limit
        while time.monotonic() < end:
            told = self.told()
            if told and told["state"] == "playing":
                break
            time.sleep(0.1)
        else:
            raise AssertionError(f"the page does not play: {self.title()}")
        found, end = [], time.monotonic() + seconds
        while time.monotonic() < end:
            told = self.told()
            if told:
                found.append({**told, **(look() if look else {})})
            time.sleep(0.5)
        return found

    def close(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)
